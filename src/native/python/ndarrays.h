// NumPy arrays as kernels take them: memory, shape, and the dtype that the array says.

#pragma once

#include "kernels/kernels.h"
#include "python/array.h"
#include "python/numpy_api.h"

namespace evertrace {

// A NumPy array; null with a Python error for other objects.
inline PyArrayObject* ndarray(PyObject* object) {
  if (PyArray_Check(object)) return reinterpret_cast<PyArrayObject*>(object);
  PyErr_SetString(PyExc_TypeError, "expected a NumPy array");
  return nullptr;
}

// One that can be written to.
inline PyArrayObject* writable_ndarray(PyObject* object) {
  PyArrayObject* out = ndarray(object);
  if (out == nullptr || PyArray_ISWRITEABLE(out)) return out;
  PyErr_SetString(PyExc_ValueError, "the result is read-only");
  return nullptr;
}

// The code of its dtype; kUnknown for those that kernels do not know.
inline DType dtype_of(PyArrayObject* x) {
  return dtype_code(reinterpret_cast<PyObject*>(PyArray_DESCR(x)));
}

// Takes a dense array of a dtype that kernels know; false with a Python error. The caller keeps it.
inline bool take_array(PyObject* object, bool writable, Arrays& arrays) {
  PyArrayObject* x = writable ? writable_ndarray(object) : ndarray(object);
  if (x == nullptr) return false;
  const DType dtype = dtype_of(x);
  if (dtype == DType::kUnknown || !PyArray_ISCARRAY_RO(x)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a dense array of a known dtype");
    return false;
  }
  arrays.push_back({dtype, {PyArray_DIMS(x), PyArray_DIMS(x) + PyArray_NDIM(x)}, PyArray_DATA(x)});
  return true;
}

// Takes a tuple of them.
inline bool take_arrays(PyObject* tuple, bool writable, Arrays& arrays) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of NumPy arrays");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!take_array(PyTuple_GET_ITEM(tuple, i), writable, arrays)) return false;
  }
  return true;
}

}  // namespace evertrace
