// The kernels on NumPy arrays as functions of Python, and the handlers that the XLA engine registers.
//
// The Python side (`evertrace/_src/kernels.py`) allocates results.

#include "python/module.h"

#include <new>

#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/key_sort.h"
#include "kernels/scratch.h"
#include "python/array.h"
#include "python/ndarrays.h"
#include "python/numpy_api.h"
#include "xla/handlers.h"

namespace evertrace {
namespace {

constexpr int64_t kReleaseSize = 1 << 14;  // elements from which on the GIL is worth releasing

// Calls a kernel on (in, out), without the GIL where there is much to do.
template <class Kernel>
PyObject* call(PyObject* operands, PyObject* results, size_t num_in, size_t num_out,
               const Kernel& kernel) {
  Arrays in, out;
  if (!take_arrays(operands, false, in) || !take_arrays(results, true, out)) return nullptr;
  if ((num_in != 0 && in.size() != num_in) || (num_out != 0 && out.size() != num_out)) {
    PyErr_SetString(PyExc_ValueError, "wrong number of arrays");
    return nullptr;
  }
  Failure failure = nullptr;
  const auto is_large = [](const Arrays& x) { return !x.empty() && x.back().size() >= kReleaseSize; };
  const bool release = is_large(in) || is_large(out);
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

PyObject* py_random_words(PyObject*, PyObject* args) {
  PyObject *in, *out;
  if (!PyArg_ParseTuple(args, "OO", &in, &out)) return nullptr;
  return call(in, out, 1, 1, [&](auto& x, auto& y) { return random_words(x[0], y[0]); });
}

PyObject* py_release_memory(PyObject*, PyObject*) {
  release_scratch();
  release_arrays();
  release_blocks();
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

// NumPy's own sort of a builtin type, which needs neither the GIL nor an array; or null.
KeySort numpy_sort(int type) {
  PyArray_Descr* dtype = PyArray_DescrFromType(type);
  const KeySort found = PyDataType_GetArrFuncs(dtype)->sort[NPY_QUICKSORT];
  Py_DECREF(dtype);
  return found;
}

PyMethodDef methods[] = {
    {"sort", py_sort, METH_VARARGS, "sort(in, out, num_keys): sort rows by their first arrays."},
    {"top_k", py_top_k, METH_VARARGS, "top_k(in, out): the largest of each row, and where."},
    {"search", py_search, METH_VARARGS, "search(in, out, right): places of values in sorted rows."},
    {"threefry", py_threefry, METH_VARARGS, "threefry(in, out): encrypt counters under keys."},
    {"random_words", py_random_words, METH_VARARGS, "random_words(in, out): numbers or keys of keys."},
    {"release_memory", py_release_memory, METH_NOARGS, "Give kept working memory back."},
    {"xla_handlers", py_xla_handlers, METH_NOARGS, "Custom call targets and their handlers."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_kernels(PyObject* module) {
  set_key_sorts(numpy_sort(NPY_UINT32), numpy_sort(NPY_UINT64));
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
