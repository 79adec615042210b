// Programs of tapes: read from what the native engine emits, or copied and filled in for sizes.

#pragma once

#include <utility>
#include <vector>

#include "python/module.h"
#include "tape/program.h"

namespace evertrace {

// Thrown where a Python error is set.
struct PythonError {};

std::vector<int> read_indices(PyObject* sequence);

// From values, inputs, outputs, constants and instructions.
tape::Program read_program(PyObject* const* parts);

// From pairs (input, output).
std::vector<std::pair<int, int>> read_carried(PyObject* pairs);

// A copy of the program of a `TapeTemplate`, with what is given in its holes.
tape::Program filled_program(PyObject* tape_template, PyObject* given);

}  // namespace evertrace
