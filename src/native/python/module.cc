// The extension module `evertrace._src._native`.

#include "python/module.h"

namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "What evertrace has in C++.", -1, nullptr, nullptr, nullptr,
    nullptr, nullptr,
};

bool is_main_thread() {
  using evertrace::Ref;
  const Ref threading(PyImport_ImportModule("threading"));
  const Ref main(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
  const Ref ident(main ? PyObject_GetAttrString(main.get(), "ident") : nullptr);
  const bool is_main =
      ident && PyLong_AsUnsignedLong(ident.get()) == PyThread_get_thread_ident();
  PyErr_Clear();
  return is_main;
}

// A pending call, which the main thread makes between two instructions of Python.
int raise_again(void* error) {
  const evertrace::Ref owned(static_cast<PyObject*>(error));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(owned.get())), owned.get());
  return -1;
}

}  // namespace

void evertrace::forget_error() {
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_Exception)) return PyErr_Clear();
  Ref error = take_error();
  if (is_main_thread()) {
    if (Py_AddPendingCall(raise_again, error.get()) == 0) error.release();
  } else {  // another thread's: somebody has called `PyThreadState_SetAsyncExc`
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(),
                              reinterpret_cast<PyObject*>(Py_TYPE(error.get())));
  }
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
