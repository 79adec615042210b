// What is in force in a thread; see thread_state.h.
//
// The values are in an object that the dict of Python's thread state owns, so that they die with
// the thread; a thread-local pointer finds them.

#include "python/thread_state.h"

#include <cstddef>

namespace evertrace {
namespace {

struct Owner {
  PyObject_HEAD
  ThreadState state;
};

constexpr int kCount = sizeof(ThreadState) / sizeof(PyObject*);

thread_local ThreadState* mine = nullptr;

PyTypeObject* owner_type = nullptr;
PyObject* owner_key = nullptr;  // in the dicts of thread states
PyObject* no_scope = nullptr;

// Of the process; owned.
PyObject* the_eval_trace = nullptr;
PyObject* process_config = nullptr;
PyObject* make_config = nullptr;  // makes those of a thread, `config.current`

// A thread's trace is None until it is set: the one that runs operations at once.
PyObject* trace_of(const ThreadState& state) {
  return state.trace == Py_None && the_eval_trace != nullptr ? the_eval_trace : state.trace;
}

PyObject** fields(ThreadState& state) { return reinterpret_cast<PyObject**>(&state); }

int owner_traverse(PyObject* self, visitproc visit, void* arg) {
  PyObject** all = fields(reinterpret_cast<Owner*>(self)->state);
  for (int i = 0; i < kCount; ++i) Py_VISIT(all[i]);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void owner_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  ThreadState& state = reinterpret_cast<Owner*>(self)->state;
  if (mine == &state) mine = nullptr;  // another thread's are given up after a fork
  for (int i = 0; i < kCount; ++i) Py_CLEAR(fields(state)[i]);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot owner_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(owner_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(owner_traverse)},
    {0, nullptr},
};

PyType_Spec owner_spec = {
    "evertrace._src._native._ThreadValues", sizeof(Owner), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, owner_slots,
};

// Makes the values of this thread on its first use.
ThreadState* make_state() {
  PyObject* dict = PyThreadState_GetDict();
  if (dict == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this thread has no Python state");
    return nullptr;
  }
  Ref owner(owner_type->tp_alloc(owner_type, 0));
  if (!owner) return nullptr;
  ThreadState& state = reinterpret_cast<Owner*>(owner.get())->state;
  PyObject** all = fields(state);
  for (int i = 0; i < kCount; ++i) all[i] = Py_NewRef(Py_None);
  Py_SETREF(state.scope, Py_NewRef(no_scope));
  if (PyDict_SetItem(dict, owner_key, owner.get()) != 0) return nullptr;
  return mine = &state;
}

// The attributes of the one object `_native.thread_state`; the closure is the field's offset.
PyObject* get_field(PyObject*, void* offset) {
  ThreadState* state = thread_state();
  if (state == nullptr) return nullptr;
  const auto i = reinterpret_cast<uintptr_t>(offset);
  return Py_NewRef(i == 0 ? trace_of(*state) : fields(*state)[i]);
}

int set_field(PyObject*, PyObject* value, void* offset) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a thread's values cannot be deleted");
    return -1;
  }
  ThreadState* state = thread_state();
  if (state == nullptr) return -1;
  PyObject*& field = fields(*state)[reinterpret_cast<uintptr_t>(offset)];
  PyObject* old = field;
  field = Py_NewRef(value);
  Py_DECREF(old);  // may run Python
  return 0;
}

#define FIELD(name) \
  {#name, get_field, set_field, nullptr, \
   reinterpret_cast<void*>(offsetof(ThreadState, name) / sizeof(PyObject*))}

PyGetSetDef access[] = {
    FIELD(trace), FIELD(src),  FIELD(scope),  FIELD(recorder), FIELD(overrides),
    FIELD(base),  FIELD(config), {nullptr, nullptr, nullptr, nullptr, nullptr},
};

#undef FIELD

PyType_Slot access_slots[] = {{Py_tp_getset, access}, {0, nullptr}};

PyType_Spec access_spec = {
    "evertrace._src._native.ThreadState", sizeof(PyObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, access_slots,
};

PyObject* set_eval_trace(PyObject*, PyObject* trace) {
  Py_XSETREF(the_eval_trace, Py_NewRef(trace));
  Py_RETURN_NONE;
}

PyObject* set_config(PyObject*, PyObject* args) {
  PyObject *process, *make = make_config;
  if (!PyArg_ParseTuple(args, "O|O", &process, &make)) return nullptr;
  Py_XSETREF(make_config, Py_XNewRef(make));
  Py_XSETREF(process_config, Py_NewRef(process));
  Py_RETURN_NONE;
}

PyObject* py_current_config(PyObject*, PyObject*) { return Py_XNewRef(current_config()); }

PyMethodDef methods[] = {
    {"set_eval_trace", as_method<set_eval_trace>(), METH_O, "Name the trace that runs operations at once."},
    {"set_config", as_method<set_config>(), METH_VARARGS,
     "Set the process's options, and, the first time, name what makes a thread's."},
    {"current_config", as_method<py_current_config>(), METH_NOARGS,
     "current_config()\n--\n\nReturn the options in force in this thread."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

ThreadState* thread_state() { return mine != nullptr ? mine : make_state(); }

PyObject* current_config() {
  ThreadState* state = thread_state();
  if (state == nullptr) return nullptr;
  if (make_config == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "there are no options yet");
    return nullptr;
  }
  if (state->overrides == Py_None) return process_config;
  if (state->base == process_config && state->config != Py_None) return state->config;
  PyObject* made = PyObject_CallNoArgs(make_config);
  Py_XDECREF(made);  // the thread's state owns it
  return made;
}

bool computes_at_once() {
  ThreadState* state = thread_state();
  if (state == nullptr) {
    forget_error();
    return false;
  }
  return trace_of(*state) == the_eval_trace && state->recorder == Py_None;
}

int add_thread_state(PyObject* module) {
  owner_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&owner_spec));
  Ref access_type(PyType_FromSpec(&access_spec));
  owner_key = PyUnicode_InternFromString("evertrace.thread_state");
  no_scope = PyUnicode_FromString("");
  if (owner_type == nullptr || !access_type || owner_key == nullptr || no_scope == nullptr) {
    return -1;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(access_type.get());
  Ref object(type->tp_alloc(type, 0));
  if (!object || PyModule_AddObjectRef(module, "thread_state", object.get()) != 0) return -1;
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
