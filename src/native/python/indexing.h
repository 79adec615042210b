// Elements of arrays at static indices: ints that are inside, slices, `...` and None.

#pragma once

#include "python/module.h"

namespace evertrace {

// x[index]. Null without a Python error: the Python path is to look at it.
PyObject* take_static(PyObject* array, PyObject* index);

// Notes how the Python path has laid out x[index] over the mesh that the array is laid out over; from
// then on `take_static` does so, too.
void note_static(PyObject* array, PyObject* index, PyObject* part);

// The list of an array's rows; null without a Python error as above.
PyObject* take_rows(PyObject* array);

// x.at[index].set(values), or `add` and the like: `operation` is the name of a primitive, "" for
// set. Null without a Python error as above.
PyObject* update_static(PyObject* array, PyObject* index, PyObject* values, const char* operation);

// The name of an operation for `update_static`, for ever; null if there is none.
const char* update_named(const char* name);

}  // namespace evertrace
