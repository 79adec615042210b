// What holds for the time of a `with` block: `InForce`, attributes that have other values, and
// `Uncollected`, without the garbage collector.
//
// Python runs the handlers of signals where a Python function begins: an `__exit__` in Python may
// never come to put back what its `__enter__` has changed. Between the ends of these and the block
// nothing can come.

#include "python/module.h"

namespace evertrace {
namespace {

struct InForceObject {
  PyObject_HEAD
  PyObject* object;   // whose attributes
  PyObject* names;    // a tuple
  PyObject* values;   // a tuple; null: the method `values` is asked at each beginning
  PyObject* outside;  // a list: the values that blocks put back, the innermost last
};

InForceObject* as_in_force(PyObject* self) { return reinterpret_cast<InForceObject*>(self); }

int in_force_init(PyObject* self, PyObject* args, PyObject*) {
  PyObject *object, *names, *values = nullptr;
  if (!PyArg_ParseTuple(args, "OO!|O!", &object, &PyTuple_Type, &names, &PyTuple_Type, &values)) {
    return -1;
  }
  InForceObject* my = as_in_force(self);
  PyObject* outside = PyList_New(0);
  if (outside == nullptr) return -1;
  Py_XSETREF(my->object, Py_NewRef(object));
  Py_XSETREF(my->names, Py_NewRef(names));
  Py_XSETREF(my->values, Py_XNewRef(values));
  Py_XSETREF(my->outside, outside);
  return 0;
}

// Sets all attributes, whichever fail: an error is that of the last that does.
bool set_all(const InForceObject* my, PyObject* values) {
  bool good = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(my->names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(my->names, i);
    good &= PyObject_SetAttr(my->object, name, PyTuple_GET_ITEM(values, i)) == 0;
  }
  return good;
}

PyObject* in_force_enter(PyObject* self, PyObject*) {
  InForceObject* my = as_in_force(self);
  if (my->outside == nullptr) {
    PyErr_SetString(PyExc_TypeError, "InForce: not initialised");
    return nullptr;
  }
  const Ref values(my->values != nullptr ? Py_NewRef(my->values)
                                         : PyObject_CallMethod(self, "values", nullptr));
  const Py_ssize_t n = PyTuple_GET_SIZE(my->names);
  if (!values) return nullptr;
  if (!PyTuple_Check(values.get()) || PyTuple_GET_SIZE(values.get()) != n || n == 0) {
    PyErr_SetString(PyExc_TypeError, "InForce: a value for each name");
    return nullptr;
  }
  const Ref outside(PyTuple_New(n));
  if (!outside) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* value = PyObject_GetAttr(my->object, PyTuple_GET_ITEM(my->names, i));
    if (value == nullptr) return nullptr;
    PyTuple_SET_ITEM(outside.get(), i, value);
  }
  if (PyList_Append(my->outside, outside.get()) != 0) return nullptr;
  if (!set_all(my, values.get())) return nullptr;
  return Py_NewRef(my->values != nullptr ? PyTuple_GET_ITEM(values.get(), 0) : Py_None);
}

PyObject* in_force_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  InForceObject* my = as_in_force(self);
  const Py_ssize_t last = my->outside == nullptr ? -1 : PyList_GET_SIZE(my->outside) - 1;
  if (last < 0) {
    PyErr_SetString(PyExc_RuntimeError, "InForce: no block has begun");
    return nullptr;
  }
  const Ref outside = Ref::borrow(PyList_GET_ITEM(my->outside, last));
  if (PyList_SetSlice(my->outside, last, last + 1, nullptr) != 0) return nullptr;
  if (!set_all(my, outside.get())) return nullptr;
  Py_RETURN_NONE;
}

int in_force_traverse(PyObject* self, visitproc visit, void* arg) {
  InForceObject* my = as_in_force(self);
  for (PyObject* one : {my->object, my->names, my->values, my->outside}) Py_VISIT(one);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int in_force_clear(PyObject* self) {
  InForceObject* my = as_in_force(self);
  Py_CLEAR(my->object);
  Py_CLEAR(my->values);
  return 0;
}

void in_force_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  InForceObject* my = as_in_force(self);
  for (PyObject** one : {&my->object, &my->names, &my->values, &my->outside}) Py_CLEAR(*one);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef in_force_methods[] = {
    {"__enter__", as_method<in_force_enter>(), METH_NOARGS, "Begin a block; returns the first value given."},
    {"__exit__", as_method<in_force_exit>(), METH_FASTCALL, "End the block."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("InForce(object, names, values=None)\n--\n\n"
                                  "Attributes that have other values for a `with` block.")},
    {Py_tp_init, as_slot<in_force_init>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(in_force_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(in_force_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(in_force_clear)},
    {Py_tp_methods, in_force_methods},
    {0, nullptr},
};

PyType_Spec spec = {
    "evertrace._src._native.InForce", sizeof(InForceObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
};

// ---------------------------------------------------------------- the garbage collector

struct UncollectedObject {
  PyObject_HEAD
  PyObject* pausing;  // a list: the threads of the blocks that have turned it off
  bool has_paused;
};

UncollectedObject* as_uncollected(PyObject* self) {
  return reinterpret_cast<UncollectedObject*>(self);
}

PyObject* uncollected_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* pausing;
  if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &pausing)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) as_uncollected(self)->pausing = Py_NewRef(pausing);
  return self;
}

void uncollected_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(as_uncollected(self)->pausing);
  type->tp_free(self);
  Py_DECREF(type);
}

Ref this_thread() { return Ref(PyLong_FromUnsignedLong(PyThread_get_thread_ident())); }

PyObject* uncollected_enter(PyObject* self, PyObject*) {
  UncollectedObject* my = as_uncollected(self);
  if (PyGC_IsEnabled() == 0 || my->has_paused) Py_RETURN_NONE;
  const Ref thread = this_thread();
  if (!thread || PyList_Append(my->pausing, thread.get()) != 0) return nullptr;
  PyGC_Disable();
  my->has_paused = true;
  Py_RETURN_NONE;
}

PyObject* uncollected_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  UncollectedObject* my = as_uncollected(self);
  if (!std::exchange(my->has_paused, false)) Py_RETURN_NONE;
  PyGC_Enable();
  const Ref thread = this_thread();
  const Py_ssize_t at = thread ? PySequence_Index(my->pausing, thread.get()) : -1;
  if (at < 0 || PySequence_DelItem(my->pausing, at) != 0) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef uncollected_methods[] = {
    {"__enter__", as_method<uncollected_enter>(), METH_NOARGS, "Turn the collector off."},
    {"__exit__", as_method<uncollected_exit>(), METH_FASTCALL, "Turn it on again."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot uncollected_slots[] = {
    {Py_tp_new, as_slot<uncollected_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(uncollected_dealloc)},
    {Py_tp_methods, uncollected_methods},
    {0, nullptr},
};

PyType_Spec uncollected_spec = {
    "evertrace._src._native.Uncollected", sizeof(UncollectedObject), 0, Py_TPFLAGS_DEFAULT,
    uncollected_slots,
};

PyObject* call_alone(PyObject* function, PyObject*) { return PyObject_CallNoArgs(function); }

PyMethodDef alone = {"alone", as_method<call_alone>(), METH_VARARGS, "A function without what it is called with."};

PyObject* py_without_arguments(PyObject*, PyObject* function) {
  return PyCFunction_New(&alone, function);
}

PyMethodDef methods[] = {
    {"without_arguments", as_method<py_without_arguments>(), METH_O,
     "without_arguments(function): it, called with none of the arguments."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_in_force(PyObject* module) {
  const Ref type(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, "InForce", type.get()) != 0) return -1;
  const Ref uncollected(PyType_FromSpec(&uncollected_spec));
  if (!uncollected || PyModule_AddObjectRef(module, "Uncollected", uncollected.get()) != 0) {
    return -1;
  }
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
