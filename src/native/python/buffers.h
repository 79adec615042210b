// Arrays that come from Python as a tuple of their dtype's name and an object with a dense buffer.
//
// Only the memory and the shape are taken from the buffer, since not every dtype has a format.

#pragma once

#include "python/module.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace evertrace {

inline DType dtype_named(std::string_view name) {
  constexpr std::string_view names[] = {
      "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
  };
  for (size_t i = 0; i < std::size(names); ++i) {
    if (names[i] == name) return static_cast<DType>(i);
  }
  return DType::kUnknown;
}

// The arrays of one call, whose buffers are held until it ends.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }

  // Takes a sequence of (dtype name, buffer); sets a Python error if it is none.
  bool take(PyObject* pairs, bool writable, Arrays& arrays) {
    PyObject* sequence = PySequence_Fast(pairs, "arrays come in a sequence");
    if (sequence == nullptr) return false;
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(sequence); ++i) {
      ok = take_one(PySequence_Fast_GET_ITEM(sequence, i), writable, arrays);
    }
    Py_DECREF(sequence);
    return ok;
  }

 private:
  bool take_one(PyObject* pair, bool writable, Arrays& arrays) {
    const char* name;
    PyObject* owner;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "sO", &name, &owner)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an array is (dtype name, buffer)");
      return false;
    }
    const DType dtype = dtype_named(name);
    Py_buffer view;
    const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(owner, &view, flags) != 0) return false;
    views_.push_back(view);
    if (static_cast<size_t>(view.itemsize) != item_size(dtype)) {
      PyErr_Format(PyExc_TypeError, "items of %zd bytes are not of dtype %s", view.itemsize, name);
      return false;
    }
    arrays.push_back({dtype, {view.shape, view.shape + view.ndim}, view.buf});
    return true;
  }

  std::vector<Py_buffer> views_;
};

}  // namespace evertrace
