// Functions of arrays with plans: a Python function that is called for each new kind of operands,
// and a plan that repeats what it did.

#pragma once

#include "python/module.h"

namespace evertrace {

// Whether `x` is such a function, `_native.Function`.
bool is_function(PyObject* x);

// Calls it like its vectorcall, with positional arguments.
PyObject* call_function(PyObject* function, PyObject* const* args, Py_ssize_t count);

// Whether operations of this thread run at once, by plans: no trace is active, nobody records and
// no option asks to look at each.
bool may_use_plans();

// Whether an array's operations run on the host, and give results that are not committed or, where
// the array is laid out over a mesh, lie as it says.
bool is_on_host(PyObject* array);

}  // namespace evertrace
