// `x.at[index]`: the objects between an array and its update.

#pragma once

#include "python/module.h"

namespace evertrace {

// Whether the classes of `x.at` are there.
bool has_helper();

// `x.at`, once Python has named the classes; null with a Python error.
PyObject* make_helper(PyObject* array);

// Whether `x` is `array.at[index]`, and of what: borrowed references.
bool is_place(PyObject* x, PyObject** array, PyObject** index);

}  // namespace evertrace
