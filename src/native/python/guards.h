// What a variant of a jitted function depends on, compiled from the nodes of `lifting/guards.py`.
//
// That file says what every step and check means; those that are frequent are here again, the
// others are called there. Python of the user's can run in any of them, so all values are owned.

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "python/module.h"

namespace evertrace {

struct Instruction;

// How to get from the parent's value to a node's; a new reference, or null with an error set.
using StepFunction = PyObject* (*)(Instruction& node, PyObject* parent);
// Whether a value is what the trace saw: 1, 0, or -1 with an error set.
using CheckFunction = int (*)(Instruction& node, PyObject* value);

// Whether what the first class that has something under the name `__dict__` has there gives the dict
// that holds an instance's attributes: what the class was made with, and no property of the user's.
bool has_usual_dict(PyTypeObject* cls);

// A node whose value is read with its parent's, see `Guards::sweep`.
struct Swept {
  Py_ssize_t place;  // in the container
  size_t at;         // in the walk
  PyObject* aval;    // that the value, an array, must have; null where the node's own check follows
};

// What a class holds that has passed, with the class of it. All borrowed: looked at only where the
// class is as it was.
struct Watched {
  PyObject* entry;
  PyTypeObject* cls;
  unsigned int version;
};

// What few nodes need of theirs.
struct Details {
  PyObject* items = nullptr;     // `want` as a tuple, for checks that walk it
  PyObject* step_py = nullptr;   // the Python functions
  PyObject* check_py = nullptr;
  std::vector<Watched> watched;  // what the class that passed holds
  Py_ssize_t count = 0;          // of the items of what is swept
  std::vector<Swept> swept;      // in order of their places
};

// One node. All references are owned by the `Guards`. Large graphs have thousands, which are read in
// turn: each is one line of the cache.
struct alignas(64) Instruction {
  enum Sweep : char { kNoSweep, kDict, kList, kTuple };
  StepFunction step = nullptr;
  CheckFunction check = nullptr;  // null where nothing is checked
  PyObject* key = nullptr;
  PyObject* want = nullptr;
  PyTypeObject* seen_type = nullptr;  // a class that passed, compared only
  std::unique_ptr<Details> rest = std::make_unique<Details>();
  unsigned int seen_tag = 0;  // the version that the class had
  int parent = -1;            // position in the walk, or -1
  int root = -1;              // the number of a root, or -1
  Sweep sweep = kNoSweep;     // what the value is, if its items are read in one go
  // Notes that a class has passed, of which nothing but its version is to be looked at next time.
  void pass(PyTypeObject* cls) {
    seen_type = cls;
    seen_tag = cls->tp_version_tag;
  }
  // Whether it is the class that has passed, unchanged. No two classes ever have one version.
  bool has_passed(PyTypeObject* cls) const {
    return cls == seen_type && cls->tp_version_tag == seen_tag && seen_tag != 0;
  }
};
static_assert(sizeof(Instruction) == 64);

// The value of each node of a walk during one call: owned references, null where there is none.
class Values {
 public:
  explicit Values(size_t size) : size_(size) {
    if (size > kInline) many_.resize(size);
    data_ = size > kInline ? many_.data() : few_;
    for (size_t i = 0; i < size; ++i) data_[i] = nullptr;
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() {
    for (size_t i = 0; i < size_; ++i) Py_XDECREF(data_[i]);
  }
  PyObject*& operator[](size_t i) { return data_[i]; }
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): they begin as null pointers
  PyObject* operator[](size_t i) const { return data_[i]; }
  PyObject** data() { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kInline = 128;
  size_t size_;
  PyObject** data_;
  PyObject* few_[kInline];
  std::vector<PyObject*> many_;
};

class Guards {
 public:
  Guards() = default;
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;
  ~Guards() { clear(); }

  // Takes the walk: a list of (index, parent, kind, key, check, want, step function, check
  // function), with pairs of indices that are one object, and indices that are different ones.
  // False with an error set if it makes no sense.
  bool compile(PyObject* walk, PyObject* same, PyObject* distinct, Py_ssize_t count);

  // Fills `values`, of `size()`; returns 1, 0 for a call that is another variant's, or -1 with an
  // error set that is no `Exception`.
  int match(PyObject* const* roots, Py_ssize_t count, Values& values);

  size_t size() const { return walk_.size(); }
  // How many nodes there are, and where the value of one is; -1 if it has none.
  Py_ssize_t node_count() const { return static_cast<Py_ssize_t>(position_.size()); }
  int position(Py_ssize_t node) const { return position_[static_cast<size_t>(node)]; }

  int traverse(visitproc visit, void* arg);
  void clear();

 private:
  struct Kinds {
    const char *step, *check;
  };

  bool add(PyObject* entry, std::vector<Kinds>& kinds);
  bool plan_sweeps(const std::vector<Kinds>& kinds);
  // Reads a container and all that is swept with it; returns as a check does.
  int sweep(Instruction& node, PyObject* container, Values& values);
  bool are_distinct(const Values& values) const;
  bool are_distinct_others(const Values& values) const;

  // The references of a node.
  static std::array<PyObject*, 5> references(const Instruction& node) {
    return {node.key, node.want, node.rest->items, node.rest->step_py, node.rest->check_py};
  }

  std::vector<Instruction> walk_;
  std::vector<size_t> order_;  // what is run of the walk: not what a sweep is done with
  std::vector<int> position_;
  std::vector<std::pair<int, int>> same_;
  std::vector<int> distinct_;
};

// The values as the Python side has them: a list, by node with its guards, else by position.
PyObject* listed(const Guards& guards, const Values& values);
PyObject* listed(const Values& values);

// The dict of a class: a new reference.
PyObject* names_of(PyTypeObject* cls);

// What the object of a weak reference is: a new reference, null where it is gone. No error is set.
PyObject* referent(PyObject* weak);

// The functions of the kinds that are here, by name; those that are not get one that calls Python.
StepFunction find_step(const char* kind);
CheckFunction find_check(const char* kind);

// What the Python side hands over once; borrowed, they live for ever.
struct GuardTypes {
  PyObject *tracer, *ndarray, *weak, *absent;
  PyObject* changed;  // a dict: the functions that a trace has changed for its time
};
const GuardTypes& guard_types();

}  // namespace evertrace
