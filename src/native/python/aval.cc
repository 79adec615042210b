// The fields of avals, and what kernels want to know of them; see array.h.

#include "python/array.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "python/numpy_api.h"

namespace evertrace {

PyTypeObject* aval_class = nullptr;

namespace {

PyTypeObject* base_class = nullptr;

AvalObject* as_aval(PyObject* x) { return reinterpret_cast<AvalObject*>(x); }

int aval_clear(PyObject* object) {
  AvalObject* self = as_aval(object);
  for (PyObject** field : {&self->shape, &self->dtype, &self->weak_type, &self->ndim, &self->size,
                           &self->cache}) {
    Py_CLEAR(*field);
  }
  return 0;
}

int aval_traverse(PyObject* object, visitproc visit, void* arg) {
  AvalObject* self = as_aval(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dtype);
  Py_VISIT(self->cache);
  return 0;
}

// The avals that `find_aval` has made or found, by its hash; each leaves when it dies.
using Known = std::unordered_multimap<uint64_t, AvalObject*>;
Known& known() {
  static auto* avals = new Known;  // never destroyed: objects outlive `main`
  return *avals;
}

void forget(AvalObject* aval) {
  const auto [first, last] = known().equal_range(aval->hash);
  known().erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == aval; }));
}

void aval_dealloc(PyObject* object) {
  AvalObject* self = as_aval(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->is_known) forget(self);  // before Python runs and asks for it
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  aval_clear(object);
  PyMem_Free(self->dims);
  type->tp_free(object);
  Py_DECREF(type);
}

#define FIELD(name, doc) {#name, T_OBJECT_EX, offsetof(AvalObject, name), 0, doc}
PyMemberDef members[] = {
    FIELD(shape, "Sizes of the dimensions."),
    FIELD(dtype, "The dtype of the elements."),
    FIELD(weak_type, "Whether it gives way in promotion."),
    FIELD(ndim, "The number of dimensions."),
    FIELD(size, "The number of elements."),
    FIELD(cache, "What other parts have worked out of it."),
    {"__weaklistoffset__", T_PYSSIZET, offsetof(AvalObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
#undef FIELD

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("The fields of an aval.")},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_dealloc, reinterpret_cast<void*>(aval_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(aval_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(aval_clear)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "evertrace._src._native.AvalBase", sizeof(AvalObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
};

// Puts the size of an element in bytes, and the code, of a dtype. False with a Python error.
bool find_dtype(PyObject* dtype, AvalObject* out) {
  Ref item_size(PyObject_GetAttrString(dtype, "itemsize"));
  if (!item_size) return false;
  out->item_size = PyLong_AsLongLong(item_size.get());
  out->code = PyArray_DescrCheck(dtype) ? dtype_code(dtype) : DType::kUnknown;  // of an extended one
  return !PyErr_Occurred();
}

// Copies the sizes of the dimensions. False with a Python error.
bool find_shape(PyObject* shape, AvalObject* out) {
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  auto* dims = static_cast<int64_t*>(PyMem_Malloc(sizeof(int64_t) * (rank == 0 ? 1 : rank)));
  if (dims == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  out->count = PyLong_AsLongLong(out->size);
  out->rank = static_cast<int>(rank);
  if (PyErr_Occurred()) {
    PyMem_Free(dims);
    return false;
  }
  out->dims = dims;
  return true;
}

// set_aval_class(cls): the class over AvalBase that returns the one aval of three facts.
PyObject* set_aval_class(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_SetString(PyExc_TypeError, "set_aval_class: not a class");
    return nullptr;
  }
  Py_XSETREF(aval_class, reinterpret_cast<PyTypeObject*>(Py_NewRef(cls)));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_aval_class", as_method<set_aval_class>(), METH_O, "Name the class that interns avals."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* aval_base() { return base_class; }

DType dtype_code(PyObject* object) {
  const auto* dtype = reinterpret_cast<PyArray_Descr*>(object);
  if (!PyArray_ISNBO(dtype->byteorder)) return DType::kUnknown;
  if (PyTypeNum_ISUSERDEF(dtype->type_num)) {  // NumPy does not know bfloat16
    Ref name(PyObject_GetAttrString(object, "name"));
    const bool is_bfloat16 = name && PyUnicode_Check(name.get()) &&
                             PyUnicode_CompareWithASCIIString(name.get(), "bfloat16") == 0;
    return is_bfloat16 ? DType::kBFloat16 : DType::kUnknown;
  }
  const auto size = static_cast<size_t>(PyDataType_ELSIZE(dtype));
  constexpr struct { char kind; DType first, last; } kKinds[] = {
      {'b', DType::kBool, DType::kBool},       {'i', DType::kInt8, DType::kInt64},
      {'u', DType::kUInt8, DType::kUInt64},    {'f', DType::kFloat16, DType::kFloat64},
      {'c', DType::kComplex64, DType::kComplex128},
  };
  for (const auto& [kind, first, last] : kKinds) {
    if (kind != dtype->kind) continue;
    for (auto code = first; code <= last; code = static_cast<DType>(static_cast<int>(code) + 1)) {
      if (item_size(code) == size) return code;
    }
  }
  return DType::kUnknown;
}

const AvalObject* find_facts(PyObject* object) {
  if (!PyObject_TypeCheck(object, base_class)) {
    PyErr_SetString(PyExc_TypeError, "not an aval");
    return nullptr;
  }
  AvalObject* self = as_aval(object);
  if (self->dims != nullptr) return self;
  if (self->shape == nullptr || self->dtype == nullptr || self->size == nullptr ||
      self->weak_type == nullptr || !PyTuple_Check(self->shape)) {
    PyErr_SetString(PyExc_TypeError, "an aval without shape and dtype");
    return nullptr;
  }
  self->is_weak = self->weak_type == Py_True;
  if (!find_dtype(self->dtype, self) || !find_shape(self->shape, self)) return nullptr;
  return self;
}

PyObject* find_aval(PyObject* dtype, bool is_weak, int rank, const int64_t* dims) {
  uint64_t hash = reinterpret_cast<uint64_t>(dtype) + is_weak;
  for (int i = 0; i < rank; ++i) {
    hash = (hash ^ static_cast<uint64_t>(dims[i])) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  const auto [first, last] = known().equal_range(hash);
  for (auto it = first; it != last; ++it) {
    AvalObject* aval = it->second;
    if (aval->dtype == dtype && aval->is_weak == is_weak && aval->rank == rank &&
        std::equal(dims, dims + rank, aval->dims)) {
      return Py_NewRef(reinterpret_cast<PyObject*>(aval));
    }
  }
  Ref shape(PyTuple_New(rank));
  if (!shape || aval_class == nullptr) return nullptr;
  for (int i = 0; i < rank; ++i) {
    PyObject* size = PyLong_FromLongLong(dims[i]);
    if (size == nullptr) return nullptr;
    PyTuple_SET_ITEM(shape.get(), i, size);
  }
  Ref made(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(aval_class), shape.get(), dtype,
                                        is_weak ? Py_True : Py_False, nullptr));
  if (!made || aval_facts(made.get()) == nullptr) return nullptr;
  AvalObject* aval = as_aval(made.get());
  // Interned by another dtype object that is equal, it would not be found again.
  if (aval->dtype == dtype && !aval->is_known) {
    known().emplace(hash, aval);
    aval->hash = hash;
    aval->is_known = true;
  }
  return made.release();
}

int add_aval(PyObject* module) {
  Ref base(PyType_FromSpec(&spec));
  if (!base || PyModule_AddObjectRef(module, "AvalBase", base.get()) != 0) return -1;
  base_class = reinterpret_cast<PyTypeObject*>(base.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
