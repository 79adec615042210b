// The kernels on NumPy arrays as functions of Python, and the handlers that the XLA engine registers.
//
// The Python side (`evertrace/_src/kernels.py`) allocates results.

#include "python/module.h"

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "kernels/blocks.h"
#include "kernels/fft.h"
#include "kernels/key_sort.h"
#include "kernels/lapack.h"
#include "kernels/linalg.h"
#include "kernels/long_fft.h"
#include "kernels/loops.h"
#include "kernels/named.h"
#include "kernels/scratch.h"
#include "kernels/structure.h"
#include "python/array.h"
#include "python/ndarrays.h"
#include "python/numpy_api.h"
#include "python/unlocked.h"
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>
#include "xla/handlers.h"

namespace evertrace {
namespace {

constexpr int64_t kReleaseSize = 1 << 14;  // elements from which on the GIL is worth releasing

bool is_large(const Arrays& arrays) {
  return !arrays.empty() && arrays.back().size() >= kReleaseSize;
}

// Takes the numbers of a tuple; sets a Python error if it has others.
bool take_options(PyObject* tuple, Options& options) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    options.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
    if (options.back() == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

PyObject* py_kernel(PyObject*, PyObject* args) {
  PyObject *operands, *results, *numbers;
  const char* name;
  Arrays in, out;
  Options options;
  if (!PyArg_ParseTuple(args, "sOOO!", &name, &operands, &results, &PyTuple_Type, &numbers) ||
      !take_arrays(operands, false, in) || !take_arrays(results, true, out) ||
      !take_options(numbers, options)) {
    return nullptr;
  }
  const NamedKernel* kernel = find_kernel(name);
  if (kernel == nullptr || !kernel->takes(in.size(), out.size(), options)) {
    return PyErr_Format(PyExc_ValueError, "there is no kernel %s of so many arrays", name);
  }
  Failure failure = nullptr;
  try {
    const Unlocked unlocked(is_large(in) || is_large(out));
    failure = kernel->run(in, out, options);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  if (failure != nullptr) {
    PyErr_SetString(PyExc_ValueError, failure);
    return nullptr;
  }
  Py_RETURN_NONE;
}

// Finds a routine in one of the dictionaries of capsules, whose names are signatures.
void* find_routine(void* dictionaries, const std::string& name) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(static_cast<PyObject*>(dictionaries)); ++i) {
    PyObject* found = PyDict_GetItemString(
        PyTuple_GET_ITEM(static_cast<PyObject*>(dictionaries), i), name.c_str());
    if (found == nullptr || !PyCapsule_CheckExact(found)) continue;
    const char* signature = PyCapsule_GetName(found);
    // Sizes are to be of 32 bits.
    if (signature == nullptr || std::strstr(signature, " int *") == nullptr) return nullptr;
    return PyCapsule_GetPointer(found, signature);
  }
  return nullptr;
}

PyObject* py_load_lapack(PyObject*, PyObject* args) {
  PyObject *lapack, *blas;
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &lapack, &PyDict_Type, &blas)) return nullptr;
  const bool found = lapack::load(find_routine, args);
  return PyErr_Occurred() ? nullptr : PyBool_FromLong(found);
}

// Takes (universal function, its loop for floats, for doubles) of each step of a transform.
PyObject* py_load_fft(PyObject*, PyObject* args) {
  constexpr size_t kSteps = static_cast<size_t>(FftStep::kCount);
  FftLoop found[kSteps][2];
  for (size_t i = 0; i < kSteps; ++i) {
    PyObject* function;
    int places[2];
    if (PyTuple_GET_SIZE(args) != static_cast<Py_ssize_t>(kSteps) ||
        !PyArg_ParseTuple(PyTuple_GET_ITEM(args, i), "Oii", &function, &places[0], &places[1])) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected five triples");
      return nullptr;
    }
    const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(function);
    const bool is_ufunc = std::strcmp(Py_TYPE(function)->tp_name, "numpy.ufunc") == 0;
    for (size_t k = 0; k < 2; ++k) {
      if (!is_ufunc || places[k] < 0 || places[k] >= ufunc->ntypes) Py_RETURN_FALSE;
      void* data = ufunc->data == nullptr ? nullptr : ufunc->data[places[k]];  // not all have some
      found[i][k] = {ufunc->functions[places[k]], data};
      if (found[i][k].run == nullptr) Py_RETURN_FALSE;
    }
  }
  Py_INCREF(args);  // the functions, and their loops with them, stay
  for (size_t i = 0; i < kSteps; ++i) {
    for (size_t k = 0; k < 2; ++k) set_fft_loop(static_cast<FftStep>(i), k == 1, found[i][k]);
  }
  Py_RETURN_TRUE;
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
    {"kernel", as_method<py_kernel>(), METH_VARARGS, "kernel(name, in, out, options): run a kernel on arrays."},
    {"load_lapack", as_method<py_load_lapack>(), METH_VARARGS,
     "load_lapack(lapack, blas): take SciPy's routines; whether all are there."},
    {"load_fft", as_method<py_load_fft>(), METH_VARARGS, "load_fft(*functions): take NumPy's transforms."},
    {"release_memory", as_method<py_release_memory>(), METH_NOARGS, "Give kept working memory back."},
    {"xla_handlers", as_method<py_xla_handlers>(), METH_NOARGS, "Custom call targets and their handlers."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_kernels(PyObject* module) {
  set_key_sorts(numpy_sort(NPY_UINT32), numpy_sort(NPY_UINT64));
  if (PyModule_AddIntConstant(module, "SMALL_MATRIX", kSmallMatrix) != 0) return -1;
  if (PyModule_AddIntConstant(module, "LONG_FFT", kLongFft) != 0) return -1;
  std::vector<const char*> names, reductions, loops;
  while (const char* name = kernel_name(names.size())) names.push_back(name);
  while (const char* name = reduce_name(reductions.size())) reductions.push_back(name);
  while (const char* name = loop_name(static_cast<int>(loops.size()))) loops.push_back(name);
  if (add_names(module, "KERNELS", names.data(), names.size()) != 0) return -1;
  if (add_names(module, "REDUCTIONS", reductions.data(), reductions.size()) != 0) return -1;
  if (add_names(module, "LOOPS", loops.data(), loops.size()) != 0) return -1;
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
