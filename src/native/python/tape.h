// Tapes as Python objects, and how C runs them.

#pragma once

#include "python/module.h"
#include "tape/tape.h"

namespace evertrace {

struct TapeObject {
  PyObject_HEAD
  std::shared_ptr<const tape::Tape>* tape;
  PyObject* avals;  // of the outputs: a tuple; empty for the bodies of control flow
  bool is_long;     // whether a run is worth releasing the GIL for
};

// The class `_native.Tape`.
PyTypeObject* tape_type();

// Runs a tape on arrays and NumPy arrays; returns a new list of arrays, or null with an error.
PyObject* run_tape(PyObject* tape, PyObject* const* args, Py_ssize_t count);

// The dense memory of an array or NumPy array of so many bytes; null with an error. What has to be
// kept alive for it is put into `held`; `is_long`: the GIL will be released while it is read.
const void* tape_input(PyObject* x, int64_t bytes, bool is_long, Ref& held);

// Runs a tape on memory, without the GIL if it is long; false with an error.
bool execute_tape(const TapeObject* tape, const void* const* in, void* const* out);

}  // namespace evertrace
