// The nodes of trees: what is one, and how it is taken apart. What they are,
// `src/evertrace/_src/tree/registry.py` says.

#pragma once

#include "python/module.h"
#include "python/tree.h"

namespace evertrace {

enum class Kind { kError, kLeaf, kNone, kTuple, kList, kDict, kNamed, kRegistered };

// What the values of types are.
class Kinds {
 public:
  // `functions` gets the `NodeKind` of a type that is registered.
  Kind find(PyTypeObject* type, Ref& functions);

 private:
  PyTypeObject* last_leaf_ = nullptr;  // a leaf among those that were taken has it
  Py_ssize_t num_kinds_ = 0;
};

// Pushes the children of a node and gets its static data; false with an error set.
bool open_node(PyObject* node, Kind kind, PyObject* functions, References& children, Ref& aux);

// The same with the key of each child.
bool open_node_with_keys(PyObject* node, Kind kind, PyObject* functions, References& keys,
                         References& children, Ref& aux);

// The `NodeKind` of a type, borrowed; null where it has none, maybe with an error set.
PyObject* find_functions(PyTypeObject* type);

// Whether all items of a tuple are just strings.
bool are_strings(PyObject* keys);

// Takes the table of node types (`registry.KINDS`), and what `tree/keys.py` has for C++. False with an
// error set.
bool set_nodes(PyObject* table, PyObject* key_makers);

// One level of a recursion. There is a limit besides Python's, since that can be set higher than a
// stack is.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) {
    constexpr int kDeepest = 10000;
    if (++depth_ > kDeepest) {
      PyErr_SetString(PyExc_RecursionError, "a tree is nested too deeply");
    } else {
      entered_ = Py_EnterRecursiveCall(" while walking a tree") == 0;
    }
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() {
    --depth_;
    if (entered_) Py_LeaveRecursiveCall();
  }
  explicit operator bool() const { return entered_; }

 private:
  int& depth_;
  bool entered_ = false;
};

}  // namespace evertrace
