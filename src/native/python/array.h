// Arrays and avals as C sees them.
//
// `evertrace.Array` is a Python class over `_native.ArrayBase`, and `ShapedArray` one over
// `_native.AvalBase`: these hold the fields, with the names and meaning that the classes give them.
// The contents of an array are a NumPy array (`host`), an engine's buffer (`buffer`), or memory of
// our own (`data`), of which `_host` is made when Python asks for it. Those of a *pending* array are
// still being computed (see pending.h): it has no `data`, and an owner that knows what will be. Whoever
// reads goes by `array_data`, which does not wait, or by `_host`, which does.

#pragma once

#include "kernels/dtypes.h"
#include "python/module.h"

namespace evertrace {

// An aval. Avals are interned: identity is equality. What C wants to know is worked out on the first
// call of `aval_facts`.
struct AvalObject {
  PyObject_HEAD
  PyObject *shape, *dtype, *weak_type, *ndim, *size, *cache, *weakrefs;
  int64_t* dims;      // `rank` of them; null before `aval_facts`
  int64_t count;      // of elements
  int64_t item_size;  // in bytes; a random key's is that of its words
  int rank;
  uint64_t hash;  // of `find_aval`, if `is_known` to it
  DType code;     // kUnknown for dtypes that kernels do not know
  bool is_weak, is_known;
};

// An array. Fields may be null where Python sees None.
struct ArrayObject {
  PyObject_HEAD
  PyObject *aval, *host, *buffer, *device, *sharding, *weakrefs;
  const void* data;  // dense contents, or null where they are not known to be dense or to be here
  PyObject* owner;   // what holds `data`; null if that is a block of this array alone
  uint64_t mark;     // the last of `new_mark` that it got
  char committed;
  unsigned char lines;  // of 64 bytes that a small block of this array alone has; else 0
};

// The class `evertrace.Array`, once Python has made it; else null. Not to be subclassed.
extern PyTypeObject* array_class;
inline PyTypeObject* array_type() { return array_class; }

// The class `_native.ArrayBase`.
PyTypeObject* array_base();

inline bool is_array(PyObject* x) { return Py_TYPE(x) == array_type(); }

// The aval of an array: a borrowed reference.
inline PyObject* array_aval(PyObject* array) { return reinterpret_cast<ArrayObject*>(array)->aval; }

// A number that no array is marked with. Arrays are told apart by marks, without a table.
extern uint64_t last_mark;
inline uint64_t new_mark() { return ++last_mark; }

// The sharding over a mesh of an array that has one: a borrowed reference. Else null.
inline PyObject* array_sharding(PyObject* x) {
  return is_array(x) ? reinterpret_cast<ArrayObject*>(x)->sharding : nullptr;
}

// Lays a new array out over a mesh; `device` computes with it.
void lay_out(PyObject* array, PyObject* sharding, PyObject* device);

// Whether nothing asks for another place than a device; what is no array is nowhere. What is laid out
// over a mesh is on the device that computes with it.
inline bool is_on(PyObject* input, PyObject* device) {
  if (!is_array(input)) return true;
  auto* array = reinterpret_cast<ArrayObject*>(input);
  return array->device == nullptr || array->device == device || array->device == Py_None;
}

// Marks an array; false if it was so marked before.
inline bool mark_array(PyObject* array, uint64_t mark) {
  return std::exchange(reinterpret_cast<ArrayObject*>(array)->mark, mark) != mark;
}

// The class `_native.AvalBase`.
PyTypeObject* aval_base();

// The class over it that interns avals, once Python has made it; else null.
extern PyTypeObject* aval_class;

// The aval of a shape in a dtype, which is that of another aval; null with a Python error.
PyObject* find_aval(PyObject* dtype, bool is_weak, int rank, const int64_t* dims);

// An aval with its facts; null with a Python error if they make no sense.
const AvalObject* find_facts(PyObject* aval);  // the same, for the first time
inline const AvalObject* aval_facts(PyObject* aval) {
  auto* known = reinterpret_cast<const AvalObject*>(aval);
  return Py_TYPE(aval) == aval_class && known->dims != nullptr ? known : find_facts(aval);
}

// The contents of an array where they are dense, aligned memory of the host; else null without an
// error: then its method `_contents` has them. Valid while the array is alive and not deleted.
const void* find_data(PyObject* array);  // the same, for the first time
inline const void* array_data(PyObject* array) {
  const void* data = reinterpret_cast<ArrayObject*>(array)->data;
  return data != nullptr ? data : find_data(array);
}

// Whether an array has contents that are here, or will be.
inline bool is_here(const ArrayObject* array) {
  return array->data != nullptr || array->owner != nullptr ||
         (array->host != nullptr && array->host != Py_None);
}

// What owns the contents of an array that has `array_data`: while it is held they stay where they are,
// though the array is deleted. Null with a Python error.
PyObject* data_owner(PyObject* array);

// A read-only NumPy array over the contents of an array that has `array_data`: of keys, over their
// words.
PyObject* numpy_view(PyObject* array);

// A new array, uncommitted, whose contents the caller writes to `data` before Python runs. Null with
// a Python error if memory is short.
PyObject* new_array(PyObject* aval, void** data);

// Raises what says that there is no room for so many bytes, or for what a program works with (-1),
// with the user's line.
void raise_exhausted(long long bytes);

// A new array in the memory of another of as many bytes, which is deleted by that. Null where that
// has no memory of its own, or something else may see it; with an error where memory is short. That of
// a pending array only what comes later on the queue may have.
PyObject* new_array_on(PyObject* aval, PyObject* donor, bool for_queue, void** data);

// Gives up the contents of an array, as its method `delete()` does.
void delete_array(PyObject* array);

// A new array whose contents are an engine's buffer on a device.
PyObject* new_buffer_array(PyObject* aval, PyObject* buffer, PyObject* device, bool is_committed);

// A new array that shares the memory of another, `data` lies in that. Holds a reference to its owner.
PyObject* new_view(PyObject* aval, PyObject* array, const void* data);

// Gives the memory back that is kept for the next arrays.
void release_arrays();

// The code of a NumPy dtype in the machine's byte order; kUnknown for others, which may be with a
// Python error.
DType dtype_code(PyObject* dtype);

}  // namespace evertrace
