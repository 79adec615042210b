// The extension module `evertrace._src._native`.

#include "python/module.h"

namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "What evertrace has in C++.", -1, nullptr, nullptr, nullptr,
    nullptr, nullptr,
};

using evertrace::Ref;

bool is_main_thread() {
  const Ref threading(PyImport_ImportModule("threading"));
  const Ref main(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
  const Ref ident(main ? PyObject_GetAttrString(main.get(), "ident") : nullptr);
  const bool is_main =
      ident && PyLong_AsUnsignedLong(ident.get()) == PyThread_get_thread_ident();
  PyErr_Clear();
  return is_main;
}

// A pending call, which the main thread makes between two instructions of Python. It raises an error
// that went no further; one that did has a longer traceback.
int raise_again(void* kept) {
  const Ref pair(static_cast<PyObject*>(kept));
  PyObject* error = PyTuple_GET_ITEM(pair.get(), 0);
  const Ref traceback(PyException_GetTraceback(error));
  if (traceback && traceback.get() != PyTuple_GET_ITEM(pair.get(), 1)) return 0;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  return -1;
}

void raise_later(PyObject* error) {
  const Ref traceback(PyException_GetTraceback(error));
  Ref pair(PyTuple_Pack(2, error, traceback ? traceback.get() : Py_None));
  if (pair && Py_AddPendingCall(raise_again, pair.get()) == 0) pair.release();
}

}  // namespace

void evertrace::forget_error() {
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_Exception)) return PyErr_Clear();
  const Ref error = take_error();
  if (is_main_thread()) {
    raise_later(error.get());
  } else {  // another thread's: somebody has called `PyThreadState_SetAsyncExc`
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(),
                              reinterpret_cast<PyObject*>(Py_TYPE(error.get())));
  }
}

void evertrace::keep_interrupt() {
  if (PyErr_Occurred() == nullptr || PyErr_ExceptionMatches(PyExc_Exception)) return;
  const Ref error = take_error();
  if (is_main_thread()) raise_later(error.get());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

int evertrace::add_names(PyObject* module, const char* what, const char* const* names, size_t count) {
  const Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; tuple && i < count; ++i) {
    PyObject* name = PyUnicode_FromString(names[i]);
    if (name == nullptr) return -1;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), name);
  }
  return tuple ? PyModule_AddObjectRef(module, what, tuple.get()) : -1;
}

PyMODINIT_FUNC PyInit__native() {
  evertrace::Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  using namespace evertrace;
  for (const auto add : {
           add_engines,
           add_exit,
           add_handlers,
           add_in_force,
           add_spans,
           add_thread_state,
           add_aval,
           add_array,
           add_operators,
           add_function,
           add_at,
           add_kernels,
           add_loops,
           add_structure,
           add_pending,
           add_queue,
           add_tape,
           add_tape_template,
           add_tree,
           add_guards,
           add_host_program,
           add_kitchen,
           add_variant,
           add_call,
           add_entries,
       }) {
    if (add(module.get()) != 0) return nullptr;
  }
  return module.release();
}
