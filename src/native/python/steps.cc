// Steps of guards: from a thing to what is in it. See `lifting/guards.py` for what they mean.

#include <cstring>

#include "python/guards.h"

namespace evertrace {

bool has_usual_dict(PyTypeObject* cls) {
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(cls->tp_mro, i));
    const Ref names(names_of(base));
    PyObject* found = names ? PyDict_GetItemWithError(names.get(), name) : nullptr;
    if (found != nullptr) {
      return Py_IS_TYPE(found, &PyGetSetDescr_Type) || Py_IS_TYPE(found, &PyMemberDescr_Type);
    }
    if (PyErr_Occurred()) PyErr_Clear();
  }
  return false;
}

namespace {

PyObject* missing() {
  PyErr_SetNone(PyExc_LookupError);  // a mismatch: nobody reads it
  return nullptr;
}

PyObject* found_or_missing(PyObject* borrowed) {
  if (borrowed != nullptr) return Py_NewRef(borrowed);
  return PyErr_Occurred() ? nullptr : missing();
}

PyObject* in_python(Instruction& node, PyObject* parent) {
  PyObject* args[] = {parent, node.key};
  return PyObject_Vectorcall(node.rest->step_py, args, 2, nullptr);
}

// The dict of an instance; thread-local objects, and those whose class has a `__dict__` of its own,
// have another way. A class whose instances have the usual dict is known again by its version.
PyObject* step_vars(Instruction& node, PyObject* obj) {
  PyTypeObject* cls = Py_TYPE(obj);
  if (node.has_passed(cls)) return PyObject_GenericGetDict(obj, nullptr);
  if (cls->tp_getattro != PyObject_GenericGetAttr) return in_python(node, obj);
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  if (!has_usual_dict(cls)) return in_python(node, obj);
  Ref found(PyObject_GenericGetAttr(obj, name));  // which gives the class a version
  if (!found) return nullptr;
  const Ref usual(PyObject_GenericGetDict(obj, nullptr));
  if (!usual) PyErr_Clear();
  if (usual.get() == found.get()) node.pass(cls);
  return found.release();
}

PyObject* step_slot(Instruction& node, PyObject* obj) {
  const descrgetfunc get = Py_TYPE(node.key)->tp_descr_get;
  if (get == nullptr || Py_TYPE(node.key) != &PyMemberDescr_Type) return in_python(node, obj);
  return get(node.key, obj, nullptr);
}

PyObject* step_key(Instruction& node, PyObject* mapping) {
  if (!PyDict_CheckExact(mapping)) return in_python(node, mapping);
  if (Py_TYPE(node.key) != reinterpret_cast<PyTypeObject*>(guard_types().weak)) {
    return found_or_missing(PyDict_GetItemWithError(mapping, node.key));
  }
  const Ref key(referent(node.key));
  return key ? found_or_missing(PyDict_GetItemWithError(mapping, key.get())) : missing();
}

PyObject* step_get(Instruction& node, PyObject* mapping) {
  if (!PyDict_CheckExact(mapping)) return in_python(node, mapping);
  PyObject* found = PyDict_GetItemWithError(mapping, node.key);
  if (found == nullptr && PyErr_Occurred()) return nullptr;
  return Py_NewRef(found != nullptr ? found : guard_types().absent);
}

// A position, -1 where it is none.
Py_ssize_t position_of(PyObject* key) {
  const Py_ssize_t i = PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : -1;
  if (i < 0) PyErr_Clear();
  return i;
}

PyObject* step_index(Instruction& node, PyObject* sequence) {
  const bool plain = PyTuple_Check(sequence) && Py_TYPE(sequence)->tp_as_mapping->mp_subscript ==
                                                    PyTuple_Type.tp_as_mapping->mp_subscript;
  const Py_ssize_t i = position_of(node.key);
  if (!plain || i < 0 || i >= PyTuple_GET_SIZE(sequence)) return in_python(node, sequence);
  return Py_NewRef(PyTuple_GET_ITEM(sequence, i));
}

PyObject* step_list(Instruction& node, PyObject* sequence) {
  const Py_ssize_t i = position_of(node.key);
  if (!PyList_Check(sequence) || i < 0 || i >= PyList_GET_SIZE(sequence)) {
    return in_python(node, sequence);
  }
  return Py_NewRef(PyList_GET_ITEM(sequence, i));
}

// What functions and modules have in their structs, under interned names; null for the rest.
PyObject* struct_attribute(PyObject* obj, PyObject* name) {
  static PyObject* const globals = PyUnicode_InternFromString("__globals__");
  static PyObject* const closure = PyUnicode_InternFromString("__closure__");
  static PyObject* const dict = PyUnicode_InternFromString("__dict__");
  if (PyFunction_Check(obj)) {
    auto* fun = reinterpret_cast<PyFunctionObject*>(obj);
    if (name == globals) return fun->func_globals;
    if (name == dict) return fun->func_dict;
    if (name == closure) return fun->func_closure;
  } else if (PyModule_CheckExact(obj) && name == dict) {
    return PyModule_GetDict(obj);
  }
  return nullptr;
}

PyObject* step_attribute(Instruction& node, PyObject* obj) {
  if (PyObject* found = struct_attribute(obj, node.key)) return Py_NewRef(found);
  return PyObject_GetAttr(obj, node.key);
}

PyObject* step_type(Instruction&, PyObject* obj) {
  return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(obj)));
}

PyObject* step_contents(Instruction& node, PyObject* cell) {
  return PyCell_Check(cell) ? found_or_missing(PyCell_GET(cell)) : in_python(node, cell);
}

PyObject* step_deref(Instruction& node, PyObject* ref) {
  if (!PyWeakref_CheckRefExact(ref)) return in_python(node, ref);
  PyObject* found = referent(ref);
  return found != nullptr ? found : Py_NewRef(Py_None);
}

PyObject* step_class_entry(Instruction& node, PyObject* cls) {
  // A metaclass may have a `__dict__` of its own.
  if (!PyType_Check(cls) || !Py_IS_TYPE(cls, &PyType_Type)) return in_python(node, cls);
  const Ref names(names_of(reinterpret_cast<PyTypeObject*>(cls)));
  PyObject* found = names ? PyDict_GetItemWithError(names.get(), node.key) : nullptr;
  if (found == nullptr && PyErr_Occurred()) return nullptr;
  return Py_NewRef(found != nullptr ? found : guard_types().absent);
}

PyObject* step_constant(Instruction& node, PyObject*) {
  if (Py_TYPE(node.key) != reinterpret_cast<PyTypeObject*>(guard_types().weak)) {
    return Py_NewRef(node.key);
  }
  PyObject* found = referent(node.key);
  return found != nullptr ? found : Py_NewRef(Py_None);
}

// What a function has in its struct, unless a trace, on another thread, has put something there.
PyObject* as_written(Instruction& node, PyObject* fun, PyObject* PyFunctionObject::* member) {
  if (!PyFunction_Check(fun) || PyDict_GET_SIZE(guard_types().changed) != 0) {
    return in_python(node, fun);
  }
  PyObject* found = reinterpret_cast<PyFunctionObject*>(fun)->*member;
  return Py_NewRef(found != nullptr ? found : Py_None);
}

PyObject* step_defaults(Instruction& node, PyObject* fun) {
  return as_written(node, fun, &PyFunctionObject::func_defaults);
}

PyObject* step_kwdefaults(Instruction& node, PyObject* fun) {
  return as_written(node, fun, &PyFunctionObject::func_kwdefaults);
}

PyObject* step_same(Instruction&, PyObject* value) { return Py_NewRef(value); }

constexpr struct {
  const char* kind;
  StepFunction step;
} steps[] = {
    {"vars", step_vars},         {"slot", step_slot},
    {"key", step_key},           {"get", step_get},
    {"index", step_index},       {"list", step_list},
    {"attribute", step_attribute}, {"type", step_type},
    {"contents", step_contents}, {"deref", step_deref},
    {"class_entry", step_class_entry}, {"constant", step_constant},
    {"mapping", step_same},      {"defaults", step_defaults},
    {"kwdefaults", step_kwdefaults},
};

}  // namespace

PyObject* names_of(PyTypeObject* cls) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyType_GetDict(cls);
#else
  return Py_XNewRef(cls->tp_dict);
#endif
}

PyObject* referent(PyObject* weak) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  if (PyWeakref_GetRef(weak, &found) < 0) PyErr_Clear();
  return found;
#else
  PyObject* found = PyWeakref_GET_OBJECT(weak);
  return found == Py_None ? nullptr : Py_NewRef(found);
#endif
}

StepFunction find_step(const char* kind) {
  for (const auto& entry : steps) {
    if (std::strcmp(entry.kind, kind) == 0) return entry.step;
  }
  return in_python;
}

}  // namespace evertrace
