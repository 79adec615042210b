#include "python/at.h"

#include <structmember.h>

#include <cstddef>

namespace evertrace {
namespace {

// Of both classes; `index` is null in `x.at`.
struct PlaceObject {
  PyObject_HEAD
  PyObject *array, *index;
};

PlaceObject* as_place(PyObject* x) { return reinterpret_cast<PlaceObject*>(x); }

PyTypeObject* helper_class = nullptr;
PyTypeObject* place_class = nullptr;

PyObject* make(PyTypeObject* type, PyObject* array, PyObject* index) {
  if (type == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the classes of x.at are not there yet");
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_place(self)->array = Py_XNewRef(array);
  as_place(self)->index = Py_XNewRef(index);
  return self;
}

int helper_init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"array", nullptr};
  PyObject* array;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &array)) return -1;
  Py_XSETREF(as_place(self)->array, Py_NewRef(array));
  return 0;
}

int place_init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"array", "index", nullptr};
  PyObject *array, *index;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &array, &index)) {
    return -1;
  }
  Py_XSETREF(as_place(self)->array, Py_NewRef(array));
  Py_XSETREF(as_place(self)->index, Py_NewRef(index));
  return 0;
}

PyObject* subscript(PyObject* self, PyObject* index) {
  return make(place_class, as_place(self)->array, index);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_place(self)->array);
  Py_VISIT(as_place(self)->index);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_place(self)->array);
  Py_CLEAR(as_place(self)->index);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"array", T_OBJECT_EX, offsetof(PlaceObject, array), READONLY, nullptr},
    {"index", T_OBJECT_EX, offsetof(PlaceObject, index), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot helper_slots[] = {
    {Py_tp_init, as_slot<helper_init>()}, {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_mp_subscript, as_slot<subscript>()}, {Py_tp_members, members}, {0, nullptr},
};

PyType_Slot place_slots[] = {
    {Py_tp_init, as_slot<place_init>()}, {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_members, members}, {0, nullptr},
};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;

PyType_Spec helper_spec = {
    "evertrace._src._native.IndexHelperBase", sizeof(PlaceObject), 0, kFlags, helper_slots,
};

PyType_Spec place_spec = {
    "evertrace._src._native.IndexRefBase", sizeof(PlaceObject), 0, kFlags, place_slots,
};

// set_at_classes(helper, place): the classes of `x.at` and of `x.at[index]`, without more fields.
PyObject* set_at_classes(PyObject*, PyObject* args) {
  PyTypeObject *helper, *place;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &helper, &PyType_Type, &place)) return nullptr;
  for (PyTypeObject* type : {helper, place}) {
    if (type->tp_basicsize != static_cast<Py_ssize_t>(sizeof(PlaceObject))) {
      PyErr_SetString(PyExc_TypeError, "set_at_classes: classes with other fields");
      return nullptr;
    }
    type->tp_dealloc = dealloc;  // the classes add nothing to look after
  }
  Py_XSETREF(helper_class, reinterpret_cast<PyTypeObject*>(Py_NewRef(helper)));
  Py_XSETREF(place_class, reinterpret_cast<PyTypeObject*>(Py_NewRef(place)));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_at_classes", as_method<set_at_classes>(), METH_VARARGS, "Name the classes of x.at and x.at[i]."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool has_helper() { return helper_class != nullptr; }

PyObject* make_helper(PyObject* array) { return make(helper_class, array, nullptr); }

bool is_place(PyObject* x, PyObject** array, PyObject** index) {
  if (Py_TYPE(x) != place_class || as_place(x)->index == nullptr) return false;
  *array = as_place(x)->array;
  *index = as_place(x)->index;
  return *array != nullptr;
}

int add_at(PyObject* module) {
  Ref helper(PyType_FromSpec(&helper_spec)), place(PyType_FromSpec(&place_spec));
  if (!helper || !place || PyModule_AddObjectRef(module, "IndexHelperBase", helper.get()) != 0 ||
      PyModule_AddObjectRef(module, "IndexRefBase", place.get()) != 0) {
    return -1;
  }
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
