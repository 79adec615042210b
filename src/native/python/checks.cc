// Checks of guards: whether a value is what the trace saw. See `lifting/guards.py`.
//
// Whatever is not decided here, a check of the same name decides in Python.

#include <cmath>
#include <cstring>

#include "python/array.h"
#include "python/guards.h"
#include "python/numpy_api.h"

namespace evertrace {
namespace {

int in_python(Instruction& node, PyObject* value) {
  PyObject* args[] = {value, node.want};
  const Ref result(PyObject_Vectorcall(node.rest->check_py, args, 2, nullptr));
  return result ? PyObject_IsTrue(result.get()) : -1;
}

bool is_type(PyObject* value, PyObject* type) {
  return Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(type);
}

int check_type(Instruction& node, PyObject* value) { return is_type(value, node.want); }

int check_class(Instruction& node, PyObject* value) {
  if (node.has_passed(Py_TYPE(value))) return 1;
  if (!PyWeakref_Check(node.want)) return in_python(node, value);
  const Ref cls(referent(node.want));
  if (!cls || !is_type(value, cls.get())) return 0;
  node.pass(Py_TYPE(value));
  return 1;
}

int check_aval(Instruction& node, PyObject* value) {
  if (is_array(value)) return array_aval(value) == node.want;
  return in_python(node, value);  // which knows tracers
}

int check_ndarray(Instruction& node, PyObject* value) {
  if (!is_type(value, guard_types().ndarray)) return 0;
  auto* array = reinterpret_cast<PyArrayObject*>(value);
  PyObject* shape = PyTuple_GET_ITEM(node.want, 0);
  if (PyArray_NDIM(array) != PyTuple_GET_SIZE(shape)) return 0;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(array, i)) return 0;
  }
  if (reinterpret_cast<PyObject*>(PyArray_DESCR(array)) == PyTuple_GET_ITEM(node.want, 1)) return 1;
  return in_python(node, value);
}

int check_scalar(Instruction& node, PyObject* value) {
  return is_type(value, PyTuple_GET_ITEM(node.want, 0)) ? in_python(node, value) : 0;
}

bool same_float(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

// Whether two values of one type that compare without user code are the same; -2 if they are not
// of such a type.
int same_plain(PyObject* a, PyObject* b) {
  if (PyFloat_CheckExact(a)) return same_float(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a)) {
    return PyObject_RichCompareBool(a, b, Py_EQ);
  }
  if (PyBool_Check(a) || a == Py_None) return 0;  // these are one object each
  return -2;
}

int check_value(Instruction& node, PyObject* value) {
  if (value == node.want) return 1;
  if (Py_TYPE(value) != Py_TYPE(node.want)) return 0;
  const int same = same_plain(value, node.want);
  return same == -2 ? in_python(node, value) : same;
}

int check_identity(Instruction& node, PyObject* value) { return value == node.want; }

int check_referent(Instruction& node, PyObject* value) {
  if (!PyWeakref_Check(node.want)) return in_python(node, value);
  const Ref object(referent(node.want));
  return object && object.get() == value;
}

int check_length(Instruction& node, PyObject* value) {
  if (!is_type(value, PyTuple_GET_ITEM(node.want, 0))) return 0;
  const bool plain = PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
                     PyDict_CheckExact(value) || PyAnySet_CheckExact(value);
  if (!plain) return in_python(node, value);
  return PyObject_Size(value) == PyLong_AsSsize_t(PyTuple_GET_ITEM(node.want, 1));
}

int check_keys(Instruction& node, PyObject* value) {
  if (!is_type(value, PyTuple_GET_ITEM(node.want, 0))) return 0;
  if (!PyDict_CheckExact(value)) return in_python(node, value);
  PyObject* keys = node.rest->items;
  if (PyDict_GET_SIZE(value) != PyTuple_GET_SIZE(keys)) return 0;
  PyObject *key, *item;
  Py_ssize_t i = 0, at = 0;
  while (PyDict_Next(value, &at, &key, &item)) {  // nothing in this loop runs Python
    PyObject* want = PyTuple_GET_ITEM(keys, i++);
    if (key == want) continue;
    const bool texts = PyUnicode_CheckExact(key) && PyUnicode_CheckExact(want);
    const bool ints = PyLong_CheckExact(key) && PyLong_CheckExact(want);
    if (!texts && !ints) return in_python(node, value);
    const int same = PyObject_RichCompareBool(key, want, Py_EQ);
    if (same != 1) return same;
  }
  return 1;
}

int check_code(Instruction& node, PyObject* value) {
  if (!PyFunction_Check(value)) return 0;
  const Ref code(referent(node.want));
  return PyFunction_GET_CODE(value) == code.get() ? 1 : in_python(node, value);
}

// The version of a class; 0 where it has none, after a lookup that would have given it one.
unsigned int version_of(PyTypeObject* cls) {
  if (cls->tp_version_tag == 0 && Py_IS_TYPE(cls, &PyType_Type)) {
    static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
    Py_XDECREF(PyType_Type.tp_getattro(reinterpret_cast<PyObject*>(cls), name));
    forget_error();
  }
  return cls->tp_version_tag;
}

// Notes the entries of a class that lookups find whose own classes can change: these can become
// descriptors. False where that cannot be told.
bool watch_entries(Instruction& node, PyTypeObject* cls) {
  node.rest->watched.clear();
  const Ref columns(PyObject_GetAttrString(node.want, "columns"));
  const Ref known(columns ? PySequence_Tuple(columns.get()) : nullptr);
  if (!known || PyTuple_GET_SIZE(known.get()) >= PyTuple_GET_SIZE(cls->tp_mro)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(known.get()); ++i) {
    const Ref names(names_of(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(cls->tp_mro, i))));
    const Ref column(PySequence_Tuple(PyTuple_GET_ITEM(known.get(), i)));
    if (!names || !column) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(column.get()); ++k) {
      PyObject* name = PyTuple_GET_ITEM(PyTuple_GET_ITEM(column.get(), k), 0);
      PyObject* entry = PyDict_GetItemWithError(names.get(), name);
      if (entry == nullptr || (Py_TYPE(entry)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) continue;
      const unsigned int version = version_of(Py_TYPE(entry));
      if (version == 0) return false;
      node.rest->watched.push_back({entry, Py_TYPE(entry), version});
    }
  }
  return !PyErr_Occurred();
}

bool are_as_watched(const Instruction& node) {
  for (const Watched& watched : node.rest->watched) {
    if (Py_TYPE(watched.entry) != watched.cls || watched.cls->tp_version_tag != watched.version) {
      return false;
    }
  }
  return true;
}

// A class that passed passes again while it has the version it had: any change in it or in a base
// of it gives it another. What it holds is there as long, so that may be looked at.
int check_dispatch(Instruction& node, PyObject* value) {
  if (!PyType_Check(value)) return in_python(node, value);
  auto* cls = reinterpret_cast<PyTypeObject*>(value);
  if (node.has_passed(cls) && are_as_watched(node)) return 1;
  const unsigned int before = version_of(cls);
  const int same = in_python(node, value);
  if (same == 1) {
    node.seen_type = cls;
    node.seen_tag = watch_entries(node, cls) ? before : 0;
    forget_error();
  }
  return same;
}

int check_lacks(Instruction& node, PyObject* value) {
  if (!PyDict_CheckExact(value)) return in_python(node, value);
  if (PyDict_GET_SIZE(value) == 0) return 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node.rest->items); ++i) {
    const int has = PyDict_Contains(value, PyTuple_GET_ITEM(node.rest->items, i));
    if (has != 0) return has < 0 ? -1 : 0;
  }
  return 1;
}

int check_entries(Instruction& node, PyObject* value) {
  if (!PyDict_CheckExact(value)) return in_python(node, value);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node.rest->items); ++i) {
    PyObject* pair = PyTuple_GET_ITEM(node.rest->items, i);
    PyObject* want = PyTuple_GET_ITEM(pair, 1);
    PyObject* have = PyDict_GetItemWithError(value, PyTuple_GET_ITEM(pair, 0));
    if (have == nullptr) {
      if (PyErr_Occurred()) return -1;
      have = guard_types().absent;
    }
    if (have == want) continue;
    if (!is_type(want, guard_types().weak)) return 0;
#if PY_VERSION_HEX >= 0x030D0000
    const Ref object(referent(want));
    if (object.get() != have) return in_python(node, value);
#else
    if (PyWeakref_GET_OBJECT(want) != have) return in_python(node, value);
#endif
  }
  return 1;
}

constexpr struct {
  const char* kind;
  CheckFunction check;
} checks[] = {
    {"any", nullptr},
    {"type", check_type},
    {"class", check_class},
    {"aval", check_aval},
    {"ndarray", check_ndarray},
    {"scalar", check_scalar},
    {"value", check_value},
    {"identity", check_identity},
    {"referent", check_referent},
    {"length", check_length},
    {"keys", check_keys},
    {"code", check_code},
    {"dispatch", check_dispatch},
    {"lacks", check_lacks},
    {"entries", check_entries},
};

}  // namespace

CheckFunction find_check(const char* kind) {
  for (const auto& entry : checks) {
    if (std::strcmp(entry.kind, kind) == 0) return entry.check;
  }
  return in_python;
}

}  // namespace evertrace
