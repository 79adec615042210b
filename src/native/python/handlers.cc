// How often the handlers of signals were set: who keeps what they are asks whether they still are.
//
// Python tells nobody when a handler is set, and to ask for all 64 takes longer than what they have
// to wait for. But `_signal.signal` is the only way to set one, and there is one object of it, which
// whoever has taken the function holds: its entry in the module's table of methods is replaced by
// one that counts.

#include "python/module.h"

namespace evertrace {
namespace {

PyMethodDef counting;          // of `_signal.signal`, with `count_and_set`
PyObject* setter = nullptr;    // `_signal.signal`
_PyCFunctionFast set = nullptr;  // what it did
size_t changes = 0;            // with the GIL

PyObject* count_and_set(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  ++changes;
  return set(module, args, n);
}

PyObject* py_watch(PyObject*, PyObject* function) {
  if (setter != nullptr) return PyBool_FromLong(function == setter);
  if (!PyCFunction_CheckExact(function) || PyCFunction_GET_FLAGS(function) != METH_FASTCALL) {
    Py_RETURN_FALSE;
  }
  PyMethodDef*& entry = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  counting = *entry;
  set = reinterpret_cast<_PyCFunctionFast>(reinterpret_cast<void (*)()>(entry->ml_meth));
  counting.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(count_and_set));
  setter = Py_NewRef(function);
  entry = &counting;
  Py_RETURN_TRUE;
}

PyObject* py_changes(PyObject*, PyObject*) { return PyLong_FromSize_t(changes); }

PyObject* py_set(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return set(PyCFunction_GET_SELF(setter), args, n);
}

PyMethodDef methods[] = {
    {"watch_handlers", as_method<py_watch>(), METH_O,
     "watch_handlers(set): count calls of `_signal.signal`; whether that can be done."},
    {"handler_changes", as_method<py_changes>(), METH_NOARGS, "Return how many there were."},
    {"set_handler", as_method<py_set>(), METH_FASTCALL, "`_signal.signal`, not counted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_handlers(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
