// Trees as C++ walks them; what they are, `src/evertrace/_src/tree` says.

#pragma once

#include <vector>

#include "python/module.h"

namespace evertrace {

// A stack of owned references.
class References {
 public:
  References() = default;
  References(const References&) = delete;
  References& operator=(const References&) = delete;
  ~References() { pop_to(0); }

  void push(PyObject* owned) {
    if (size_ == room_) grow();
    data_[size_++] = owned;
  }
  // What is dropped may run Python, which sees the rest.
  void pop_to(size_t size) {
    while (size_ > size) Py_DECREF(data_[--size_]);
  }
  PyObject* operator[](size_t i) const { return data_[i]; }
  PyObject* const* data() const { return data_; }
  size_t size() const { return size_; }

  // A new list that the references go to; null with an error set.
  PyObject* into_list();

 private:
  static constexpr size_t kInline = 32;
  void grow();

  size_t size_ = 0, room_ = kInline;
  PyObject** data_ = few_;
  PyObject* few_[kInline];
  std::vector<PyObject*> many_;
};

// What is asked of the walk over a tree.
struct Wanted {
  bool spec = true;           // else it is None
  bool paths = false;         // leaves come as pairs of a path, a tuple of keys, and the leaf
  bool leaf_by_path = false;  // `is_leaf` takes a path first; only where there are paths
};

// Appends the leaves of a tree and returns its spec; null with an error set. `is_leaf` may be None.
Ref flatten_tree(PyObject* tree, PyObject* is_leaf, const Wanted& wanted, References& leaves);

// Appends the subtrees that sit where a spec has its leaves. Returns 1, 0 where the spec is no prefix
// of the tree's structure, or -1 with an error set.
int match_tree(PyObject* spec, PyObject* tree, References& leaves);

// Builds the tree of a spec; null with an error set.
PyObject* build_tree(PyObject* spec, PyObject* const* leaves, Py_ssize_t count);

// What goes wrong: Python functions that make the errors, in the order in which they are set.
enum Fault { kKeys, kVerdict, kStatic, kCount, kCompare, kHash, kFaults };

// Sets the error that such a function makes of one or two things.
void raise_fault(Fault fault, PyObject* a, PyObject* b = nullptr);
// The same of a thing and the error that is set, which becomes the cause.
void raise_fault_from_error(Fault fault, PyObject* a);

// Takes a tuple of functions, one for each fault.
void set_faults(PyObject* functions);

}  // namespace evertrace
