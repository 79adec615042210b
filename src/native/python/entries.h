// Entries: how calls of a jitted function are recognised.
//
// An entry says how many arguments there are, their names, types and avals, and the options in
// force. It has boxes with the variants that such calls may want, last hit first. The Python side
// makes entries, after a call that none fitted; it empties a box when its variants change.

#pragma once

#include <memory>
#include <vector>

#include "python/module.h"
#include "python/tree.h"

namespace evertrace {

// What is known of one root, or of a leaf of a tree.
struct Token {
  enum Kind { kArray, kNumpy, kType, kClass, kObject } kind;
  static constexpr const char* kNames[] = {"array", "numpy", "type", "class", "object"};
  PyObject* object;  // the aval, (shape, dtype), the type, a weak reference to it, the very object
};

// Where a root comes from, or, by JAX's rules, where several do: the leaves of a tree.
struct Source {
  enum Kind { kArgument, kDefault, kKeywordDefault, kTree } kind;
  static constexpr const char* kNames[] = {"argument", "default", "keyword_default", "tree"};
  Py_ssize_t index;
  PyObject* name;  // of a keyword's default; the spec of a tree
};

// An argument whose arrays are to lie over a mesh; in Python, `jit.placements.Placements.held`.
struct Held {
  Py_ssize_t index;
  PyObject* spec;                    // of its tree
  std::vector<PyObject*> shardings;  // of its leaves; null where any will do
};

// All references are owned.
struct Entry {
  PyObject* config = nullptr;
  PyObject* names = nullptr;       // of arguments given by name: a tuple
  PyObject* defaults = nullptr;    // the function's, if roots come from them; else null
  PyObject* kwdefaults = nullptr;  // the same
  PyObject* counts = nullptr;
  PyObject* boxes = nullptr;  // a tuple of lists: empty, or of one tuple of variants
  Py_ssize_t kwdefaults_size = 0;
  Py_ssize_t count = 0;  // of arguments, those by name too
  std::vector<Source> sources;
  std::vector<Token> tokens;
  std::vector<Held> held;

  template <class Function>
  int each(const Function& function) {
    for (PyObject* object : {config, names, defaults, kwdefaults, counts, boxes}) {
      if (const int stopped = function(object)) return stopped;
    }
    for (const Token& token : tokens) {
      if (const int stopped = function(token.object)) return stopped;
    }
    for (const Source& source : sources) {
      if (const int stopped = function(source.name)) return stopped;
    }
    for (const Held& one : held) {
      if (const int stopped = function(one.spec)) return stopped;
      for (PyObject* sharding : one.shardings) {
        if (const int stopped = function(sharding)) return stopped;
      }
    }
    return 0;
  }
  ~Entry() {
    each([](PyObject* object) {
      Py_XDECREF(object);
      return 0;
    });
  }
};

using Entries = std::vector<std::unique_ptr<Entry>>;

// `_native.Entries`: the entries of one jitted function, or of several.
struct EntriesObject {
  PyObject_HEAD
  Entries* list;
  int learnings;  // how often entries may have been dropped
};

inline EntriesObject* as_entries(PyObject* x) { return reinterpret_cast<EntriesObject*>(x); }

// An `Entries` without any; null with a Python error.
PyObject* make_entries();
bool is_entries(PyObject* x);

// Whether no variants have changed since an entry was made that has these boxes.
bool is_open(PyObject* boxes);

// Reads an entry: (config, function, number of arguments, names, defaults or None, defaults by name or
// None, variants, boxes, roots, what is held). The function is given back besides; null with a Python
// error.
std::unique_ptr<Entry> read_entry(PyObject* parts, Ref& function);

// Puts an entry before the others, and drops those that serve no more. It may run Python.
void add_entry(EntriesObject* entries, std::unique_ptr<Entry> entry);

// Fills the roots of a call, which are borrowed, if it is one of the entry's. The leaves are those of
// its trees. May set an error that is no `Exception`.
bool recognise(const EntriesObject* entries, const Entry& entry, PyObject* fun, PyObject* config,
               PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** roots,
               References& leaves);

}  // namespace evertrace
