// The kernels on host memory as functions of Python, and the handlers that the XLA engine registers.
//
// An array comes as a tuple of its dtype's name and an object with a buffer, which is dense; only
// its memory and its shape are taken from that, since not every dtype has a buffer format. The
// Python side (`evertrace/_src/native.py`) allocates results.

#include "python/module.h"

#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/scratch.h"
#include "xla/handlers.h"

namespace evertrace {
namespace {

constexpr int64_t kReleaseSize = 1 << 14;  // elements from which on the GIL is worth releasing

DType dtype_named(std::string_view name) {
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

// Calls a kernel on (in, out), without the GIL where there is much to do.
template <class Kernel>
PyObject* call(PyObject* in_pairs, PyObject* out_pairs, size_t num_in, size_t num_out,
               const Kernel& kernel) {
  Held held;
  Arrays in, out;
  if (!held.take(in_pairs, false, in) || !held.take(out_pairs, true, out)) return nullptr;
  if ((num_in != 0 && in.size() != num_in) || (num_out != 0 && out.size() != num_out)) {
    PyErr_SetString(PyExc_ValueError, "wrong number of arrays");
    return nullptr;
  }
  Failure failure = nullptr;
  const bool release = !in.empty() && in.back().size() >= kReleaseSize;
  PyThreadState* state = release ? PyEval_SaveThread() : nullptr;
  bool exhausted = false;
  try {
    failure = kernel(in, out);
  } catch (const std::bad_alloc&) {
    exhausted = true;
  }
  if (state != nullptr) PyEval_RestoreThread(state);
  if (exhausted) return PyErr_NoMemory();
  if (failure != nullptr) {
    PyErr_SetString(PyExc_ValueError, failure);
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* py_sort(PyObject*, PyObject* args) {
  PyObject *in, *out;
  Py_ssize_t num_keys;
  if (!PyArg_ParseTuple(args, "OOn", &in, &out, &num_keys)) return nullptr;
  return call(in, out, 0, 0, [&](auto& x, auto& y) { return sort(x, y, num_keys); });
}

PyObject* py_top_k(PyObject*, PyObject* args) {
  PyObject *in, *out;
  if (!PyArg_ParseTuple(args, "OO", &in, &out)) return nullptr;
  return call(in, out, 1, 2, [&](auto& x, auto& y) { return top_k(x[0], y[0], y[1]); });
}

PyObject* py_scan(PyObject*, PyObject* args) {
  PyObject *in, *out;
  Py_ssize_t axis;
  int reverse;
  const char* operation;
  if (!PyArg_ParseTuple(args, "OOnps", &in, &out, &axis, &reverse, &operation)) return nullptr;
  return call(in, out, 1, 1, [&](auto& x, auto& y) {
    return scan(x[0], y[0], axis, reverse != 0, operation);
  });
}

PyObject* py_search(PyObject*, PyObject* args) {
  PyObject *in, *out;
  int right;
  if (!PyArg_ParseTuple(args, "OOp", &in, &out, &right)) return nullptr;
  return call(in, out, 2, 1, [&](auto& x, auto& y) { return search(x[0], x[1], y[0], right != 0); });
}

PyObject* py_threefry(PyObject*, PyObject* args) {
  PyObject *in, *out;
  if (!PyArg_ParseTuple(args, "OO", &in, &out)) return nullptr;
  return call(in, out, 3, 2,
              [&](auto& x, auto& y) { return threefry(x[0], x[1], x[2], y[0], y[1]); });
}

PyObject* py_release_memory(PyObject*, PyObject*) {
  release_scratch();
  Py_RETURN_NONE;
}

PyObject* py_xla_handlers(PyObject*, PyObject*) {
  PyObject* handlers = PyDict_New();
  if (handlers == nullptr) return nullptr;
  for (const Handler* handler = kHandlers; handler->target != nullptr; ++handler) {
    PyObject* capsule = PyCapsule_New(handler->function, "xla._CUSTOM_CALL_TARGET", nullptr);
    if (capsule == nullptr || PyDict_SetItemString(handlers, handler->target, capsule) != 0) {
      Py_XDECREF(capsule);
      Py_DECREF(handlers);
      return nullptr;
    }
    Py_DECREF(capsule);
  }
  return handlers;
}

PyMethodDef methods[] = {
    {"sort", py_sort, METH_VARARGS, "sort(in, out, num_keys): sort rows by their first arrays."},
    {"top_k", py_top_k, METH_VARARGS, "top_k(in, out): the largest of each row, and where."},
    {"scan", py_scan, METH_VARARGS, "scan(in, out, axis, reverse, operation): a running reduction."},
    {"search", py_search, METH_VARARGS, "search(in, out, right): places of values in sorted rows."},
    {"threefry", py_threefry, METH_VARARGS, "threefry(in, out): encrypt counters under keys."},
    {"release_memory", py_release_memory, METH_NOARGS, "Give kept working memory back."},
    {"xla_handlers", py_xla_handlers, METH_NOARGS, "Custom call targets and their handlers."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_kernels(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
