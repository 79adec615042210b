// Copies, reductions, matrix products, gathers and scatters of NumPy arrays, as functions of Python.
//
// Arrays may have any strides where the kernel takes them. The Python side (`_src/kernels.py`)
// allocates results; shapes and dtypes are checked here.

#include "python/module.h"

#include <cstring>
#include <new>
#include <vector>

#include "kernels/gather.h"
#include "kernels/structure.h"
#include "python/ndarrays.h"
#include "python/unlocked.h"

namespace evertrace {
namespace {

constexpr int64_t kReleaseBytes = 1 << 16;  // from which on the GIL is worth releasing

// Calls a kernel, without the GIL where there is much to do; returns None.
template <class Kernel>
PyObject* call(int64_t bytes, const Kernel& kernel) {
  try {
    const Unlocked unlocked(bytes >= kReleaseBytes);
    kernel();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  Py_RETURN_NONE;
}

PyObject* failure(const char* what) {
  PyErr_SetString(PyExc_ValueError, what);
  return nullptr;
}

PyObject* py_copy(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return failure("copy(in, out)");
  PyArrayObject *in = ndarray(args[0]), *out = writable_ndarray(args[1]);
  if (in == nullptr || out == nullptr) return nullptr;
  const int rank = PyArray_NDIM(in);
  if (rank != PyArray_NDIM(out) || PyArray_ITEMSIZE(in) != PyArray_ITEMSIZE(out) ||
      !PyArray_CompareLists(PyArray_DIMS(in), PyArray_DIMS(out), rank)) {
    return failure("copy: arrays of one shape and item size");
  }
  int64_t shape[NPY_MAXDIMS], from[NPY_MAXDIMS], to[NPY_MAXDIMS];
  for (int d = 0; d < rank; ++d) {
    shape[d] = PyArray_DIM(in, d);
    from[d] = PyArray_STRIDE(in, d);
    to[d] = PyArray_STRIDE(out, d);
  }
  return call(PyArray_NBYTES(out), [&] {
    copy_strided(PyArray_DATA(in), PyArray_DATA(out), rank, shape, from, to, PyArray_ITEMSIZE(in));
  });
}

PyObject* py_reduce(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return failure("reduce(primitive, in, (first, last), out)");
  PyArrayObject *in = ndarray(args[1]), *out = writable_ndarray(args[3]);
  if (in == nullptr || out == nullptr) return nullptr;
  const char* primitive = PyUnicode_AsUTF8(args[0]);
  // The dimensions from `first` to `last` are reduced.
  int first, last;
  if (primitive == nullptr || !PyArg_ParseTuple(args[2], "ii", &first, &last)) return nullptr;
  const int rank = PyArray_NDIM(in);
  if (first < 0 || last < first || last > rank) return failure("reduce: dimensions");
  const Reduce reduce = find_reduce(primitive, dtype_of(in), dtype_of(out));
  if (PyErr_Occurred()) return nullptr;
  if (reduce == nullptr) return failure("reduce: not known for these dtypes");
  int64_t sizes[3] = {1, 1, 1};
  for (int d = 0; d < rank; ++d) sizes[d < first ? 0 : d < last ? 1 : 2] *= PyArray_DIM(in, d);
  if (PyArray_SIZE(out) != sizes[0] * sizes[2] || !PyArray_IS_C_CONTIGUOUS(in) ||
      !PyArray_IS_C_CONTIGUOUS(out)) {
    return failure("reduce: dense arrays of fitting shapes");
  }
  return call(PyArray_NBYTES(in), [&] {
    reduce(PyArray_DATA(in), PyArray_DATA(out), sizes[0], sizes[1], sizes[2]);
  });
}

// The dimensions before the last two as one; false if their strides do not allow it.
bool batch_of(PyArrayObject* x, int64_t& size, int64_t& stride) {
  size = 1;
  stride = 0;
  for (int d = PyArray_NDIM(x) - 3; d >= 0; --d) {
    if (PyArray_DIM(x, d) == 1) continue;
    if (size > 1 && PyArray_STRIDE(x, d) != stride * size) return false;
    if (size == 1) stride = PyArray_STRIDE(x, d);
    size *= PyArray_DIM(x, d);
  }
  return true;
}

PyObject* py_matmul(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return failure("matmul(x, y, out)");
  PyArrayObject *x = ndarray(args[0]), *y = ndarray(args[1]), *out = writable_ndarray(args[2]);
  if (x == nullptr || y == nullptr || out == nullptr) return nullptr;
  const Matmul multiply = find_matmul(dtype_of(out));
  if (PyErr_Occurred()) return nullptr;
  const int64_t item = PyArray_ITEMSIZE(out);
  if (multiply == nullptr || dtype_of(x) != dtype_of(out) || dtype_of(y) != dtype_of(out)) {
    return failure("matmul: not known for this dtype");
  }
  const int rank = PyArray_NDIM(out);
  if (rank < 2 || PyArray_NDIM(x) != rank || PyArray_NDIM(y) != rank) {
    return failure("matmul: stacks of matrices");
  }
  int64_t x_count, y_count;
  MatmulShape s{1, PyArray_DIM(x, rank - 2), PyArray_DIM(y, rank - 1), PyArray_DIM(x, rank - 1),
                0, PyArray_STRIDE(x, rank - 2), PyArray_STRIDE(x, rank - 1),
                0, PyArray_STRIDE(y, rank - 2), PyArray_STRIDE(y, rank - 1)};
  if (!batch_of(x, x_count, s.x_batch) || !batch_of(y, y_count, s.y_batch) ||
      !PyArray_IS_C_CONTIGUOUS(out)) {
    return failure("matmul: strides");
  }
  s.batch = x_count;
  for (int64_t* stride : {&s.x_batch, &s.x_m, &s.x_k, &s.y_batch, &s.y_k, &s.y_n}) {
    if (*stride % item != 0) return failure("matmul: strides");
    *stride /= item;
  }
  if (y_count != s.batch || PyArray_DIM(y, rank - 2) != s.k ||
      PyArray_SIZE(out) != s.batch * s.m * s.n) {
    return failure("matmul: shapes do not fit");
  }
  return call(s.batch * s.m * s.n * s.k, [&] {
    multiply(PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(out), s);
  });
}

// Takes a tuple of integers; false with a Python error set.
bool take_sizes(PyObject* tuple, std::vector<int64_t>& sizes) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of integers");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  }
  return PyErr_Occurred() == nullptr;
}

std::vector<int64_t> shape_of(PyArrayObject* x) {
  return {PyArray_DIMS(x), PyArray_DIMS(x) + PyArray_NDIM(x)};
}

// What gather and scatter have in common: (array, indices, dimension numbers, sizes, windows). False with a Python error set.
bool take_windows(PyObject* const* args, Windows& windows) {
  PyArrayObject *x = ndarray(args[0]), *indices = ndarray(args[1]), *taken = ndarray(args[4]);
  if (x == nullptr || indices == nullptr || taken == nullptr) return false;
  DimensionNumbers dims;
  std::vector<int64_t> sizes;
  if (!PyTuple_Check(args[2]) || PyTuple_GET_SIZE(args[2]) != 5) {
    failure("five dimension numbers");
    return false;
  }
  std::vector<int64_t>* const parts[] = {&dims.window_dims, &dims.dropped, &dims.index_map,
                                         &dims.operand_batch, &dims.indices_batch};
  for (int i = 0; i < 5; ++i) {
    if (!take_sizes(PyTuple_GET_ITEM(args[2], i), *parts[i])) return false;
  }
  if (!take_sizes(args[3], sizes)) return false;
  const DType index_dtype = dtype_of(indices);
  if (PyErr_Occurred()) return false;
  if (!windows.set(shape_of(x), shape_of(indices), sizes, dims, index_dtype, PyArray_ITEMSIZE(x)) ||
      PyArray_SIZE(taken) != windows.size() || PyArray_ITEMSIZE(taken) != PyArray_ITEMSIZE(x)) {
    failure("windows that do not fit");
    return false;
  }
  for (PyArrayObject* dense : {x, indices, taken}) {
    if (PyArray_IS_C_CONTIGUOUS(dense) && PyArray_ISALIGNED(dense)) continue;
    failure("arrays must be dense");
    return false;
  }
  return true;
}

PyObject* py_gather(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 6) return failure("gather(in, indices, dims, sizes, out, filler or None)");
  Windows windows;
  if (!take_windows(args, windows) || writable_ndarray(args[4]) == nullptr) return nullptr;
  PyArrayObject *in = ndarray(args[0]), *indices = ndarray(args[1]), *out = ndarray(args[4]);
  PyArrayObject* filler = args[5] == Py_None ? nullptr : ndarray(args[5]);
  if (args[5] != Py_None && filler == nullptr) return nullptr;
  if (filler != nullptr && PyArray_NBYTES(filler) != PyArray_ITEMSIZE(in)) {
    return failure("gather: the filler is one item");
  }
  return call(PyArray_NBYTES(out), [&] {
    windows.gather(PyArray_DATA(in), PyArray_DATA(indices),
                   filler == nullptr ? nullptr : PyArray_DATA(filler), PyArray_DATA(out));
  });
}

PyObject* py_scatter(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 7) return failure("scatter(out, indices, dims, sizes, updates, loop, drops)");
  Windows windows;
  if (!take_windows(args, windows) || writable_ndarray(args[0]) == nullptr) return nullptr;
  PyArrayObject *out = ndarray(args[0]), *indices = ndarray(args[1]), *updates = ndarray(args[4]);
  const DType dtypes[] = {dtype_of(out), dtype_of(out)};
  const int drops = PyObject_IsTrue(args[6]);
  if (PyErr_Occurred()) return nullptr;
  Loop join = nullptr;
  if (args[5] != Py_None) {
    const char* name = PyUnicode_AsUTF8(args[5]);
    if (name == nullptr) return nullptr;
    join = find_loop(name, dtypes, 2, dtypes[0]);
    if (join == nullptr) return failure("scatter: no such loop");
  }
  return call(PyArray_NBYTES(updates), [&] {
    windows.scatter(PyArray_DATA(out), PyArray_DATA(indices), PyArray_DATA(updates), join,
                    drops != 0);
  });
}

PyMethodDef methods[] = {
    {"copy", as_method<py_copy>(), METH_FASTCALL, "copy(in, out): copy items between strided arrays."},
    {"reduce", as_method<py_reduce>(), METH_FASTCALL,
     "reduce(primitive, in, (first, last), out): reduce these dimensions."},
    {"matmul", as_method<py_matmul>(), METH_FASTCALL,
     "matmul(x, y, out): the products of two stacks of matrices."},
    {"gather", as_method<py_gather>(), METH_FASTCALL,
     "gather(in, indices, dims, sizes, out, filler): take windows of an array."},
    {"scatter", as_method<py_scatter>(), METH_FASTCALL,
     "scatter(out, indices, dims, sizes, updates, loop, drops): put windows."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_structure(PyObject* module) {
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
