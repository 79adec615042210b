// The fields of arrays and avals; see array.h.

#define EVERTRACE_IMPORTS_NUMPY
#include "python/array.h"

#include <structmember.h>

#include <cstddef>
#include <vector>

#include "kernels/blocks.h"
#include "kernels/hidden.h"
#include "python/at.h"
#include "python/numpy_api.h"
#include "python/operators.h"
#include "python/pending.h"

namespace evertrace {

PyTypeObject* array_class = nullptr;
uint64_t last_mark = 0;

namespace {

ArrayObject* as_array(PyObject* x) { return reinterpret_cast<ArrayObject*>(x); }
AvalObject* as_aval(PyObject* x) { return reinterpret_cast<AvalObject*>(x); }

PyTypeObject* base_class = nullptr;
PyTypeObject* block_class = nullptr;

// Arrays that died, linked by `aval`, for the next ones: by how many lines of memory they still have.
constexpr size_t kMostSpare = 1024;  // of each kind
constexpr size_t kMostLines = 4;
struct {
  ArrayObject* first = nullptr;
  size_t count = 0;
} spare[kMostLines + 1];

// ---------------------------------------------------------------- memory

// Owns a block of memory that a NumPy array looks at.
struct BlockObject {
  PyObject_HEAD
  void* data;
};

void block_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  give_block(reinterpret_cast<BlockObject*>(self)->data);
  type->tp_free(self);
  Py_DECREF(type);
}

// Drops the memory that is known of an array.
void drop_data(ArrayObject* self) {
  if (self->owner == nullptr) give_block(const_cast<void*>(self->data));
  self->data = nullptr;
  self->lines = 0;
  Py_CLEAR(self->owner);
}

// Lets others share the memory of an array: from now on an object owns it. False with an error.
bool share_data(ArrayObject* self) {
  if (self->owner != nullptr || self->data == nullptr) return true;
  auto* block = PyObject_New(BlockObject, block_class);
  if (block == nullptr) return false;
  block->data = const_cast<void*>(self->data);
  self->owner = reinterpret_cast<PyObject*>(block);
  self->lines = 0;
  return true;
}

// What elements of an extended dtype are made of: their dtype, and the dimensions that one takes are
// put after the others. Null with a Python error.
PyObject* find_parts(PyObject* dtype, std::vector<int64_t>& dims) {
  const Ref suffix(PyObject_GetAttrString(dtype, "physical_suffix"));
  if (!suffix) return nullptr;
  if (!PyTuple_Check(suffix.get())) {
    PyErr_SetString(PyExc_TypeError, "the sizes of an element are a tuple");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(suffix.get()); ++i) {
    dims.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(suffix.get(), i)));
  }
  if (PyErr_Occurred()) return nullptr;
  Ref parts(PyObject_GetAttrString(dtype, "physical_dtype"));
  if (parts && !PyArray_DescrCheck(parts.get())) {
    PyErr_SetString(PyExc_TypeError, "elements are made of those of a NumPy dtype");
    return nullptr;
  }
  return parts.release();
}

// A NumPy array over the memory of an array: dense, and read-only. Null with a Python error.
PyObject* make_view(ArrayObject* self) {
  const AvalObject* aval = aval_facts(self->aval);
  if (aval == nullptr || !share_data(self)) return nullptr;
  std::vector<int64_t> dims(aval->dims, aval->dims + aval->rank);
  PyObject* dtype = PyArray_DescrCheck(aval->dtype) ? Py_NewRef(aval->dtype)
                                                    : find_parts(aval->dtype, dims);
  if (dtype == nullptr) return nullptr;
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  PyObject* view = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(dtype), static_cast<int>(dims.size()),
      reinterpret_cast<npy_intp*>(dims.data()), nullptr, const_cast<void*>(self->data),
      NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, nullptr);
  if (view == nullptr) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(view);
  if (PyArray_SetBaseObject(array, Py_NewRef(self->owner)) != 0) Py_CLEAR(view);
  return view;
}

// ---------------------------------------------------------------- the type of arrays

PyObject* get_host(PyObject* object, void*) {
  ArrayObject* self = as_array(object);
  if (!settle(object)) return nullptr;
  if (self->host == nullptr && self->data != nullptr) {
    self->host = make_view(self);
    if (self->host == nullptr) return nullptr;
  }
  return Py_NewRef(self->host == nullptr ? Py_None : self->host);
}

// Whether the contents are here: what `_host` is not None tells, without making it or waiting for it.
PyObject* get_on_host(PyObject* object, void*) {
  return PyBool_FromLong(is_here(as_array(object)));
}

int set_host(PyObject* object, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "_host cannot be deleted");
    return -1;
  }
  ArrayObject* self = as_array(object);
  drop_data(self);
  Py_XSETREF(self->host, value == Py_None ? nullptr : Py_NewRef(value));
  return 0;
}

// What was made without `array_init` has an aval that is of no array, which every path asks for.
PyObject* array_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = type->tp_alloc(type, 0);
  if (made != nullptr) as_array(made)->aval = Py_NewRef(Py_None);
  return made;
}

int array_init(PyObject* object, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"aval", "host", "buffer", "device", "committed", nullptr};
  PyObject *aval, *host = nullptr, *buffer = nullptr, *device = nullptr;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOp:Array", const_cast<char**>(names), &aval,
                                   &host, &buffer, &device, &committed) ||
      !PyObject_TypeCheck(aval, aval_base())) {
    forget_error();
    const Ref none(PyObject_CallMethod(object, "_not_made_so", nullptr));  // it raises
    return -1;
  }
  ArrayObject* self = as_array(object);
  Py_XSETREF(self->aval, Py_NewRef(aval));
  if (set_host(object, host == nullptr ? Py_None : host, nullptr) != 0) return -1;
  Py_XSETREF(self->buffer, Py_XNewRef(buffer));
  Py_XSETREF(self->device, Py_XNewRef(device));
  self->committed = static_cast<char>(committed);
  return 0;
}

void drop_rest(ArrayObject* self) {
  Py_CLEAR(self->host);
  Py_CLEAR(self->buffer);
  Py_CLEAR(self->device);
  Py_CLEAR(self->sharding);
}

int array_clear(PyObject* object) {
  drop_data(as_array(object));
  drop_rest(as_array(object));
  return 0;
}

int array_traverse(PyObject* object, visitproc visit, void* arg) {
  ArrayObject* self = as_array(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->aval);
  Py_VISIT(self->host);
  Py_VISIT(self->buffer);
  Py_VISIT(self->device);
  Py_VISIT(self->sharding);
  Py_VISIT(self->owner);
  return 0;
}

// Makes an array that is dead a spare one. False if there are enough.
bool keep_spare(ArrayObject* self) {
  auto& list = spare[self->lines];
  if (list.count == kMostSpare) return false;
  ++list.count;
  self->aval = reinterpret_cast<PyObject*>(list.first);
  list.first = self;
  hide_memory(const_cast<void*>(self->data), self->lines * kBlockAlignment);
  hide_memory(self, sizeof(ArrayObject));
  return true;
}

// Takes a spare array with so many lines of memory, or null.
ArrayObject* take_spare(size_t lines) {
  auto& list = spare[lines];
  ArrayObject* self = list.first;
  if (self == nullptr) return nullptr;
  show_memory(self, sizeof(ArrayObject));
  --list.count;
  list.first = as_array(self->aval);
  self->aval = nullptr;
  return self;
}

void drop_spare() {
  for (size_t lines = 0; lines <= kMostLines; ++lines) {
    while (ArrayObject* dead = take_spare(lines)) {
      drop_data(dead);
      PyObject_GC_Del(dead);
    }
  }
}

void array_dealloc(PyObject* object) {
  ArrayObject* self = as_array(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  if (self->lines == 0) drop_data(self);
  drop_rest(self);
  Py_CLEAR(self->aval);
  if (type != array_class || !keep_spare(self)) {
    drop_data(self);
    type->tp_free(object);
  }
  Py_DECREF(type);
}

// The attribute of an aval that an array has too; the closure is its offset.
PyObject* get_of_aval(PyObject* object, void* offset) {
  PyObject* aval = as_array(object)->aval;
  if (aval == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "aval");
    return nullptr;
  }
  static const char* names[] = {"shape", "dtype", "weak_type", "ndim", "size"};
  const auto place = reinterpret_cast<size_t>(offset);
  if (PyObject_TypeCheck(aval, aval_base())) {
    PyObject* found = (&as_aval(aval)->shape)[place];
    if (found != nullptr) return Py_NewRef(found);
  }
  return PyObject_GetAttrString(aval, names[place]);
}

// `x.at`, whose classes come with its first use
PyObject* get_at(PyObject* object, void*) {
  return has_helper() ? make_helper(object) : python_property(object, "at");
}

// What a class in Python gets that has weak references.
PyObject* get_weakref(PyObject* object, void*) {
  PyObject* first = as_array(object)->weakrefs;
  return Py_NewRef(first == nullptr ? Py_None : first);
}

PyMemberDef array_members[] = {
    {"aval", T_OBJECT_EX, offsetof(ArrayObject, aval), 0, "What is known of the contents."},
    {"_buffer", T_OBJECT, offsetof(ArrayObject, buffer), 0, "An engine's buffer, or None."},
    {"_device", T_OBJECT, offsetof(ArrayObject, device), 0, "Where the buffer is, or None."},
    {"_sharding", T_OBJECT, offsetof(ArrayObject, sharding), 0, "Set where over a mesh."},
    {"_committed", T_BOOL, offsetof(ArrayObject, committed), 0, "Put there by the user."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

void* closure(size_t place) noexcept { return reinterpret_cast<void*>(place); }

PyGetSetDef array_getset[] = {
    {"_host", guarded<get_host>(), guarded<set_host>(), "The contents as a NumPy array, or None.", nullptr},
    {"_on_host", guarded<get_on_host>(), nullptr, "Whether the contents are here.", nullptr},
    {"_settled", get_settled, nullptr, "Whether the queue has computed it.", nullptr},
    {"shape", guarded<get_of_aval>(), nullptr, "Sizes of the dimensions.", closure(0)},
    {"dtype", guarded<get_of_aval>(), nullptr, "The dtype of the elements.", closure(1)},
    {"weak_type", guarded<get_of_aval>(), nullptr, "Whether it gives way in promotion.", closure(2)},
    {"ndim", guarded<get_of_aval>(), nullptr, "The number of dimensions.", closure(3)},
    {"size", guarded<get_of_aval>(), nullptr, "The number of elements.", closure(4)},
    {"at", get_at, nullptr, "Indexed, it gives what updates are methods of.", nullptr},
    {"__weakref__", get_weakref, nullptr, "The first of the weak references to it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// Lends the memory of a NumPy array, but not to be written to.
int lend_memory(PyObject* host, Py_buffer* view, int flags) {
  if ((flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, "arrays are not written to");
    return -1;
  }
  if (PyObject_GetBuffer(host, view, flags) != 0) return -1;
  view->readonly = 1;
  return 0;
}

int lend(PyObject* object, Py_buffer* view, int flags) {
  const AvalObject* aval = is_array(object) ? aval_facts(as_array(object)->aval) : nullptr;
  PyErr_Clear();
  if (aval != nullptr && PyArray_DescrCheck(aval->dtype)) {
    if (PyTypeNum_ISUSERDEF(reinterpret_cast<PyArray_Descr*>(aval->dtype)->type_num)) {
      PyErr_SetString(PyExc_BufferError, "the buffer protocol has no elements of this dtype");
      return -1;
    }
    const Ref host(get_host(object, nullptr));
    if (!host) return -1;
    if (PyArray_Check(host.get())) return lend_memory(host.get(), view, flags);
  }
  const Ref memory(PyObject_CallMethod(object, "__buffer__", "i", flags));
  return memory ? PyObject_GetBuffer(memory.get(), view, flags) : -1;
}

// Lends the contents: what `__buffer__` does, which Python itself would call from 3.12 on. NumPy asks
// for it before anything else, so what is here is not asked for in Python. It forgets whatever
// is raised here, and asks in another way.
int lend_buffer(PyObject* object, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (lend(object, view, flags) == 0) return 0;
  keep_interrupt();
  return -1;
}

const PyType_Slot array_slots[] = {
    {Py_bf_getbuffer, as_slot<lend_buffer>()},
    {Py_tp_doc, const_cast<char*>("The fields of an array.")},
    {Py_tp_init, as_slot<array_init>()},
    {Py_tp_new, as_slot<array_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(array_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(array_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(array_clear)},
    {Py_tp_members, array_members},
    {Py_tp_getset, array_getset},
    {0, nullptr},
};

// The type with the slots above and those of the operators.
PyObject* make_base() {
  std::vector<PyType_Slot> slots;
  for (const PyType_Slot* part : {array_slots, kOperatorSlots}) {
    for (; part->slot != 0; ++part) slots.push_back(*part);
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {
      "evertrace._src._native.ArrayBase", sizeof(ArrayObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data(),
  };
  return PyType_FromSpec(&spec);
}

PyType_Slot block_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(block_dealloc)},
    {0, nullptr},
};

PyType_Spec block_spec = {
    "evertrace._src._native.Block", sizeof(BlockObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, block_slots,
};

// ---------------------------------------------------------------- the module's functions

// set_array_class(cls, operators): from now on `new_array` makes arrays of that class, which adds no
// fields; the methods of `operators` are the Python path of its operators.
PyObject* set_array_class(PyObject*, PyObject* args) {
  PyObject *cls, *operators;
  if (!PyArg_ParseTuple(args, "OO", &cls, &operators)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_Check(cls) || type->tp_basicsize != static_cast<Py_ssize_t>(sizeof(ArrayObject)) ||
      type->tp_weaklistoffset != static_cast<Py_ssize_t>(offsetof(ArrayObject, weakrefs))) {
    PyErr_SetString(PyExc_TypeError, "set_array_class: not a class over ArrayBase without fields");
    return nullptr;
  }
  drop_spare();  // of another class, where the package is imported anew
  // The class adds nothing that its own deallocation would have to look after.
  type->tp_dealloc = array_dealloc;
  // From Python 3.12 on the `__buffer__` of the class would be asked instead.
  reinterpret_cast<PyHeapTypeObject*>(type)->as_buffer.bf_getbuffer = guarded<lend_buffer>();
  Py_XSETREF(array_class, reinterpret_cast<PyTypeObject*>(Py_NewRef(cls)));
  set_operators_class(operators);
  Py_RETURN_NONE;
}

// lend_buffers(cls): what is of a class, or of one made over it from now on, lends its `__buffer__`.
PyObject* lend_buffers(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls) || !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(cls), Py_TPFLAGS_HEAPTYPE)) {
    PyErr_SetString(PyExc_TypeError, "lend_buffers: not a class that Python code has made");
    return nullptr;
  }
  reinterpret_cast<PyHeapTypeObject*>(cls)->as_buffer.bf_getbuffer = guarded<lend_buffer>();
  Py_RETURN_NONE;
}

PyObject* py_new_array(PyObject*, PyObject* aval) {
  void* data;
  return new_array(aval, &data);
}

// waiting(leaves): those items of a list that are arrays without contents on the host.
PyObject* waiting(PyObject*, PyObject* leaves) {
  if (!PyList_CheckExact(leaves)) {
    PyErr_SetString(PyExc_TypeError, "waiting: leaves come in a list");
    return nullptr;
  }
  Ref found(PyList_New(0));
  for (Py_ssize_t i = 0; found && i < PyList_GET_SIZE(leaves); ++i) {
    PyObject* x = PyList_GET_ITEM(leaves, i);
    if (!is_array(x) || as_array(x)->data != nullptr || as_array(x)->host != nullptr) continue;
    if (PyList_Append(found.get(), x) != 0) return nullptr;
  }
  return found.release();
}

PyObject* py_kept_bytes(PyObject*, PyObject*) {
  size_t bytes = kept_block_bytes();
  for (size_t lines = 0; lines <= kMostLines; ++lines) {
    bytes += spare[lines].count * lines * kBlockAlignment;
  }
  return PyLong_FromSize_t(bytes);
}

// is_laid_out(xs): see `engines.placing`.
PyObject* py_is_laid_out(PyObject*, PyObject* xs) {
  const Ref items(PySequence_Fast(xs, "a sequence is expected"));
  if (!items) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(items.get(), i);
    PyObject* sharding = array_sharding(x);
    if (sharding != nullptr && sharding != Py_None) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

// _named_devices(xs): see `engines.runtime`.
PyObject* named_devices(PyObject*, PyObject* xs) {
  const Ref items(PySequence_Fast(xs, "a sequence is expected"));
  Ref found(PyList_New(0));
  if (!items || !found) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(items.get(), i);
    PyObject* device = is_array(x) ? reinterpret_cast<ArrayObject*>(x)->device : nullptr;
    if (device == nullptr || device == Py_None) continue;
    if (PyList_Append(found.get(), device) != 0) return nullptr;
  }
  return found.release();
}

PyMethodDef methods[] = {
    {"is_laid_out", as_method<py_is_laid_out>(), METH_O, "Whether one of the arrays lies over a mesh."},
    {"_named_devices", as_method<named_devices>(), METH_O, "The devices of those that say where they are."},
    {"set_array_class", as_method<set_array_class>(), METH_VARARGS, "Say which class arrays made in C are of."},
    {"lend_buffers", as_method<lend_buffers>(), METH_O, "Let objects of a class lend their __buffer__."},
    {"empty_array", as_method<py_new_array>(), METH_O, "Return an array of an aval with any contents."},
    {"waiting", as_method<waiting>(), METH_O, "Return the arrays of a list that may still be computed."},
    {"kept_bytes", as_method<py_kept_bytes>(), METH_NOARGS, "How much memory of arrays is kept for the next."},
    {nullptr, nullptr, 0, nullptr},
};

int import_numpy() {
  import_array1(-1);
  return 0;
}

// Makes an array, uncommitted, with no contents; with so many lines of memory, if one is spare.
ArrayObject* allocate(size_t lines) {
  if (ArrayObject* self = take_spare(lines)) {
    self->committed = 0;
    PyObject_Init(reinterpret_cast<PyObject*>(self), array_class);
    PyObject_GC_Track(self);
    return self;
  }
  if (array_class == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "evertrace.Array is not there yet");
    return nullptr;
  }
  return lines == 0 ? as_array(array_class->tp_alloc(array_class, 0)) : allocate(0);
}

// Whether what owns the memory of an array owns all of it: a block, or a NumPy array that has
// allocated it, or is all that knows the one that has.
bool owns_all(const ArrayObject* self) {
  PyObject* const owner = self->owner;
  if (Py_TYPE(owner) == block_class) {
    return reinterpret_cast<BlockObject*>(owner)->data == self->data;
  }
  if (!PyArray_CheckExact(owner)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(owner);
  if (PyArray_DATA(array) != self->data) return false;
  PyObject* const base = PyArray_BASE(array);
  if (base != nullptr && PyArray_CheckExact(base) && Py_REFCNT(base) == 1) {
    array = reinterpret_cast<PyArrayObject*>(base);
  }
  return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
}

// Whether an array has memory of its own that nothing else sees.
bool is_alone(const ArrayObject* self) {
  const bool has_buffer = self->buffer != nullptr && self->buffer != Py_None;
  if (self->data == nullptr || has_buffer || self->sharding != nullptr) return false;
  if (self->owner == nullptr) return true;
  // The array, and the NumPy array that it alone knows, are all that may hold the owner; it may be
  // that array.
  const Py_ssize_t holders = self->host == nullptr ? 1 : 2;
  return Py_REFCNT(self->owner) == holders && owns_all(self) &&
         (self->host == nullptr || self->host == self->owner || Py_REFCNT(self->host) == 1);
}

}  // namespace

PyTypeObject* array_base() { return base_class; }

const void* find_data(PyObject* array) {
  ArrayObject* self = as_array(array);
  if (take_pending(array) || self->data != nullptr) return self->data;
  if (self->host == nullptr || !PyArray_Check(self->host)) return nullptr;
  auto* host = reinterpret_cast<PyArrayObject*>(self->host);
  if (!PyArray_ISCARRAY_RO(host)) return nullptr;
  self->owner = Py_NewRef(self->host);
  self->data = PyArray_DATA(host);
  return self->data;
}

PyObject* new_array_on(PyObject* aval, PyObject* array, bool for_queue, void** data) {
  Ref result(reinterpret_cast<PyObject*>(allocate(0)));  // may run Python, which may see the donor
  if (!result) return nullptr;
  ArrayObject *donor = as_array(array), *self = as_array(result.get());
  if (take_pending(array)) {
    const PendingData pending = pending_data(array);
    // What writes it is on the queue, before what is going to write it now, and nothing reads it.
    if (!for_queue || Py_REFCNT(donor->owner) != 1 || donor->sharding != nullptr) return nullptr;
    self->aval = Py_NewRef(aval);
    self->data = *data = pending.data;
    self->owner = Py_NewRef(pending.owner);
    Py_CLEAR(donor->owner);
    return result.release();
  }
  if (find_data(array) == nullptr || !is_alone(donor)) return nullptr;
  self->aval = Py_NewRef(aval);
  self->data = std::exchange(donor->data, nullptr);
  self->lines = std::exchange(donor->lines, 0);
  *data = const_cast<void*>(self->data);
  PyObject* const owner = std::exchange(donor->owner, nullptr);
  if (owner != nullptr && Py_TYPE(owner) == block_class) {  // the memory is the array's alone again
    reinterpret_cast<BlockObject*>(owner)->data = nullptr;
    Py_DECREF(owner);
  } else {
    self->owner = owner;
  }
  Py_CLEAR(donor->host);
  return result.release();
}

PyObject* data_owner(PyObject* array) {
  return share_data(as_array(array)) ? Py_NewRef(as_array(array)->owner) : nullptr;
}

PyObject* numpy_view(PyObject* array) { return make_view(as_array(array)); }

void raise_exhausted(long long bytes) {
  const Ref errors(PyImport_ImportModule("evertrace._src.errors"));
  const Ref error(errors ? PyObject_CallMethod(errors.get(), "out_of_memory", "L", bytes) : nullptr);
  if (!error) return;  // whatever was raised instead
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

PyObject* new_array(PyObject* aval, void** data) {
  const AvalObject* facts = aval_facts(aval);
  if (facts == nullptr) return nullptr;
  const auto bytes = static_cast<size_t>(facts->count * facts->item_size);
  const size_t small = bytes == 0 ? 1 : (bytes + kBlockAlignment - 1) / kBlockAlignment;
  const size_t lines = small <= kMostLines ? small : 0;
  ArrayObject* self = allocate(lines);
  if (self == nullptr) return nullptr;
  self->aval = Py_NewRef(aval);
  if (self->data == nullptr) {
    self->data = take_block(bytes);
    self->lines = self->data == nullptr ? 0 : static_cast<unsigned char>(lines);
  } else {
    show_memory(const_cast<void*>(self->data), bytes);
  }
  *data = const_cast<void*>(self->data);
  if (self->data != nullptr) return reinterpret_cast<PyObject*>(self);
  Py_DECREF(self);
  raise_exhausted(static_cast<long long>(bytes));
  return nullptr;
}

void delete_array(PyObject* array) {
  drop_data(as_array(array));
  Py_CLEAR(as_array(array)->host);
  Py_CLEAR(as_array(array)->buffer);
}

void lay_out(PyObject* array, PyObject* sharding, PyObject* device) {
  ArrayObject* self = as_array(array);
  Py_XSETREF(self->sharding, Py_NewRef(sharding));
  Py_XSETREF(self->device, Py_NewRef(device));
  self->committed = 1;
}

PyObject* new_buffer_array(PyObject* aval, PyObject* buffer, PyObject* device, bool is_committed) {
  ArrayObject* self = allocate(0);
  if (self == nullptr) return nullptr;
  self->aval = Py_NewRef(aval);
  self->buffer = Py_NewRef(buffer);
  self->device = Py_NewRef(device);
  self->committed = is_committed;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* new_view(PyObject* aval, PyObject* array, const void* data) {
  ArrayObject* source = as_array(array);
  if (!share_data(source)) return nullptr;
  Ref owner = Ref::borrow(source->owner);  // a finalizer that is run now may delete the array
  ArrayObject* self = allocate(0);
  if (self == nullptr) return nullptr;
  self->aval = Py_NewRef(aval);
  self->data = data;
  self->owner = owner.release();
  return reinterpret_cast<PyObject*>(self);
}

void release_arrays() { drop_spare(); }

int add_array(PyObject* module) {
  if (import_numpy() != 0) return -1;
  Ref base(make_base()), block(PyType_FromSpec(&block_spec));
  if (!base || !block || PyModule_AddObjectRef(module, "ArrayBase", base.get()) != 0) return -1;
  base_class = reinterpret_cast<PyTypeObject*>(base.release());
  block_class = reinterpret_cast<PyTypeObject*>(block.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
