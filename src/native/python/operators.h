// What Python's operators do on arrays.

#pragma once

#include "python/module.h"

namespace evertrace {

// The slots of operators of the type of arrays; ended by an empty one.
extern const PyType_Slot kOperatorSlots[];

// The class whose methods are the Python path of the operators.
void set_operators_class(PyObject* cls);

// A property of that class, of an array.
PyObject* python_property(PyObject* array, const char* name);

}  // namespace evertrace
