// The call of a jitted function: `_native.JitBase`, the base of `jit.dispatch.JitFunction`.
//
// A call is recognised by an *entry*: how many arguments there are, names, types and avals, and the
// options in force. An entry has boxes with the variants that such calls may want, last hit first.
// Functions that share their variants may share their entries: one that is made anew before each
// call has them from the start. The Python side makes entries, after a call that none fitted; it
// empties a box when its variants change. What is not recognised, or fits no variant, is called as
// the Python class does it.

#include "python/module.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "python/array.h"
#include "python/numpy_api.h"
#include "python/thread_state.h"
#include "python/tree.h"
#include "python/variant.h"

namespace evertrace {
namespace {

constexpr size_t kMaxEntries = 16;
constexpr int kPatience = 64;  // calls without a fitting entry, after which few more are made

PyObject* call_in_python = nullptr;  // `JitFunction.__call__`
PyObject* shorten = nullptr;         // takes our frames out of an error's traceback
PyObject* make_entry = nullptr;      // `jit.compiled.entry`

// What is known of one root, or of a leaf of a tree.
struct Token {
  enum Kind { kArray, kNumpy, kType, kClass, kObject } kind;
  PyObject* object;  // the aval, (shape, dtype), the type, a weak reference to it, the very object
};

// Where a root comes from, or, by JAX's rules, where several do: the leaves of a tree.
struct Source {
  enum Kind { kArgument, kDefault, kKeywordDefault, kTree } kind;
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

struct JitObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* fun;      // what is called; null before there are entries
  PyObject* entries;  // an `Entries`, or null
  bool is_shared;     // whether other functions have the entries, too
  int misses;         // calls in a row without an entry
};

PyTypeObject *entries_type, *jit_type;

JitObject* as_jit(PyObject* x) { return reinterpret_cast<JitObject*>(x); }
EntriesObject* as_entries(PyObject* x) { return reinterpret_cast<EntriesObject*>(x); }

// Whether no variants have changed since the entry was made.
bool is_open(PyObject* boxes) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(boxes); ++i) {
    if (PyList_GET_SIZE(PyTuple_GET_ITEM(boxes, i)) == 0) return false;
  }
  return true;
}

// ------------------------------------------------------------------------ recognising a call

bool fits(const Token& token, PyObject* x) {
  switch (token.kind) {
    case Token::kArray:
      return is_array(x) && array_aval(x) == token.object;
    case Token::kType:
      return reinterpret_cast<PyObject*>(Py_TYPE(x)) == token.object;
    case Token::kClass: {
      const Ref cls(referent(token.object));
      return cls.get() == reinterpret_cast<PyObject*>(Py_TYPE(x));
    }
    case Token::kObject:
      return x == token.object;
    case Token::kNumpy:
      break;
  }
  if (reinterpret_cast<PyObject*>(Py_TYPE(x)) != guard_types().ndarray) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(x);
  PyObject* shape = PyTuple_GET_ITEM(token.object, 0);
  if (PyTuple_GET_ITEM(token.object, 1) != reinterpret_cast<PyObject*>(PyArray_DESCR(array)) ||
      PyArray_NDIM(array) != PyTuple_GET_SIZE(shape)) {
    return false;
  }
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(array, i)) return false;
  }
  return true;
}

bool same_names(PyObject* have, PyObject* want) {
  const Py_ssize_t count = have == nullptr ? 0 : PyTuple_GET_SIZE(have);
  if (count != PyTuple_GET_SIZE(want)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *a = PyTuple_GET_ITEM(have, i), *b = PyTuple_GET_ITEM(want, i);
    if (a != b && PyUnicode_Compare(a, b) != 0) return false;
  }
  return true;
}

// Whether the function still has the defaults that the entry was made with.
bool same_defaults(const Entry& entry, PyObject* fun) {
  if (entry.defaults == nullptr && entry.kwdefaults == nullptr) return true;
  if (PyMethod_Check(fun)) fun = PyMethod_GET_FUNCTION(fun);
  if (!PyFunction_Check(fun)) return false;
  auto* function = reinterpret_cast<PyFunctionObject*>(fun);
  if (entry.defaults != nullptr && function->func_defaults != entry.defaults) return false;
  return entry.kwdefaults == nullptr || (function->func_kwdefaults == entry.kwdefaults &&
                                         PyDict_GET_SIZE(entry.kwdefaults) == entry.kwdefaults_size);
}

// Borrowed; null where it is not there, without an error set.
PyObject* take(const Entry& entry, const Source& source, PyObject* const* args) {
  if (source.kind == Source::kArgument) return args[source.index];
  if (source.kind == Source::kDefault) return PyTuple_GET_ITEM(entry.defaults, source.index);
  PyObject* found = PyDict_GetItemWithError(entry.kwdefaults, source.name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

// Finds the leaves of a tree, if it is one of that spec. Nodes that are registered run Python: their
// errors are left to the Python path, and the entry may be gone then. May set an error that is no
// `Exception`.
bool take_leaves(const EntriesObject* entries, PyObject* of_entry, PyObject* x,
                 References& leaves) {
  const Ref spec = Ref::borrow(of_entry);
  const int learnings = entries->learnings;
  const int found = match_tree(spec.get(), x, leaves);
  if (found < 0 && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return found == 1 && learnings == entries->learnings;
}

// The same, if its leaves are such as the tokens say.
bool take_tree(const EntriesObject* entries, const Source& source, PyObject* x,
               const Token* tokens, References& leaves) {
  const size_t first = leaves.size();
  if (!take_leaves(entries, source.name, x, leaves)) return false;
  for (size_t i = first; i < leaves.size(); ++i) {
    if (!fits(tokens[i - first], leaves[i])) return false;
  }
  return true;
}

// Whether the arrays of an argument lie as they are to.
bool lies(const EntriesObject* entries, const Held& held, PyObject* x) {
  References leaves;
  if (!take_leaves(entries, held.spec, x, leaves)) return false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    PyObject* wanted = held.shardings[i];
    if (wanted == nullptr) continue;
    if (!is_array(leaves[i]) || array_sharding(leaves[i]) != wanted) return false;
  }
  return true;
}

// Fills the roots of a call, which are borrowed, if it is one of the entry's.
bool recognise(const EntriesObject* entries, const Entry& entry, PyObject* fun, PyObject* config,
               PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** roots,
               References& leaves) {
  if (entry.config != config || entry.count != count || !same_names(names, entry.names) ||
      !same_defaults(entry, fun) || !is_open(entry.boxes)) {
    return false;
  }
  roots[0] = fun;
  size_t at = 0;
  for (const Source& source : entry.sources) {
    if (source.kind == Source::kTree) {
      const size_t first = leaves.size();
      const Token* tokens = entry.tokens.data() + at;
      if (!take_tree(entries, source, args[source.index], tokens, leaves)) return false;
      for (size_t i = first; i < leaves.size(); ++i) roots[++at] = leaves[i];
      continue;
    }
    PyObject* x = take(entry, source, args);
    if (x == nullptr || !fits(entry.tokens[at], x)) return false;
    roots[++at] = x;
  }
  for (size_t i = 0; i < entry.held.size(); ++i) {
    if (!lies(entries, entry.held[i], args[entry.held[i].index])) return false;
  }
  return is_open(entry.boxes);  // Python can have emptied one on the way
}

// ------------------------------------------------------------------------ making entries

bool refuse(const char* what) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, what);
  return false;
}

// The tokens of a tree's leaves: ((kind, object), ...)
bool take_tokens(PyObject* tuple, Py_ssize_t count, Entry& entry) {
  if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != count) {
    return refuse("a token for each leaf");
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    int kind;
    PyObject* object;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "iO", &kind, &object)) return false;
    entry.tokens.push_back({static_cast<Token::Kind>(kind), Py_NewRef(object)});
  }
  return true;
}

bool take_roots(PyObject* list, Entry& entry) {
  const Ref roots(PySequence_Tuple(list));
  for (Py_ssize_t i = 0; roots && i < PyTuple_GET_SIZE(roots.get()); ++i) {
    int source, token;
    Py_ssize_t index;
    PyObject *name, *object;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(roots.get(), i), "inOiO", &source, &index, &name,
                          &token, &object)) {
      return false;
    }
    const bool is_given = source == Source::kArgument || source == Source::kTree;
    const Py_ssize_t limit = is_given ? entry.count
                             : source == Source::kDefault && entry.defaults != nullptr
                                 ? PyTuple_GET_SIZE(entry.defaults)
                                 : 0;
    if (source == Source::kKeywordDefault ? entry.kwdefaults == nullptr
                                          : index < 0 || index >= limit) {
      return refuse("a root comes from nowhere");
    }
    entry.sources.push_back({static_cast<Source::Kind>(source), index, Py_NewRef(name)});
    if (source == Source::kTree) {
      if (!take_tokens(object, token, entry)) return false;
    } else {
      entry.tokens.push_back({static_cast<Token::Kind>(token), Py_NewRef(object)});
    }
  }
  return static_cast<bool>(roots);
}

// ((index, spec, (sharding or None, ...)), ...)
bool take_held(PyObject* tuple, Entry& entry) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    Held held{};
    PyObject *spec, *shardings;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "nOO!", &held.index, &spec, &PyTuple_Type,
                          &shardings)) {
      return false;
    }
    if (held.index < 0 || held.index >= entry.count) return refuse("what is held is no argument");
    held.spec = Py_NewRef(spec);
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(shardings); ++j) {
      PyObject* sharding = PyTuple_GET_ITEM(shardings, j);
      held.shardings.push_back(sharding == Py_None ? nullptr : Py_NewRef(sharding));
    }
    entry.held.push_back(std::move(held));
  }
  return true;
}

// (config, function, number of arguments, names, defaults or None, defaults by name or None, variants,
// boxes, roots, what is held)
std::unique_ptr<Entry> read_entry(PyObject* parts, Ref& function) {
  auto entry = std::make_unique<Entry>();
  PyObject *config, *fun, *names, *defaults, *kwdefaults, *counts, *boxes, *roots, *held;
  if (!PyArg_ParseTuple(parts, "OOnO!OOO!O!OO!", &config, &fun, &entry->count, &PyTuple_Type, &names,
                        &defaults, &kwdefaults, counts_type(), &counts, &PyTuple_Type, &boxes,
                        &roots, &PyTuple_Type, &held)) {
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(boxes); ++i) {
    if (PyList_CheckExact(PyTuple_GET_ITEM(boxes, i))) continue;
    refuse("a box is a list");
    return nullptr;
  }
  entry->config = Py_NewRef(config);
  function = Ref::borrow(fun);
  entry->names = Py_NewRef(names);
  entry->counts = Py_NewRef(counts);
  entry->boxes = Py_NewRef(boxes);
  if (PyTuple_CheckExact(defaults)) entry->defaults = Py_NewRef(defaults);
  if (PyDict_CheckExact(kwdefaults)) {
    entry->kwdefaults = Py_NewRef(kwdefaults);
    entry->kwdefaults_size = PyDict_GET_SIZE(kwdefaults);
  }
  if (!take_roots(roots, *entry) || !take_held(held, *entry)) return nullptr;
  return entry;
}

PyObject* make_entries() {
  return PyObject_CallNoArgs(reinterpret_cast<PyObject*>(entries_type));
}

// Has the Python side say how calls like this one are recognised. What goes wrong in it is no
// error of the call.
void learn(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  JitObject* jit = as_jit(self);
  ++jit->misses;
  if (make_entry == nullptr || (jit->misses > kPatience && jit->misses % 256 != 0)) return;
  const Ref given(PyTuple_New(count));
  if (!given) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(args[i]));
  const Ref no_names(PyTuple_New(0));
  const Ref parts(PyObject_CallFunctionObjArgs(make_entry, self, given.get(),
                                               names == nullptr ? no_names.get() : names,
                                               nullptr));
  Ref fun;
  auto entry = parts && parts.get() != Py_None ? read_entry(parts.get(), fun) : nullptr;
  if (entry && jit->entries == nullptr) jit->entries = make_entries();
  if (entry && jit->entries != nullptr) {
    if (jit->fun == nullptr) jit->fun = fun.release();
    const Ref hold = Ref::borrow(jit->entries);
    EntriesObject* kept = as_entries(hold.get());
    Entries old;  // what is dropped may run Python
    old.swap(*kept->list);
    ++kept->learnings;
    Entries& entries = *kept->list;
    entries.push_back(std::move(entry));
    for (auto& one : old) {
      if (entries.size() < kMaxEntries && is_open(one->boxes)) entries.push_back(std::move(one));
    }
  }
  forget_error();
}

// ------------------------------------------------------------------------ the call

PyObject* slow_call(PyObject* self, PyObject* const* args, Py_ssize_t positional,
                    Py_ssize_t count, PyObject* names) {
  constexpr Py_ssize_t kFew = 16;
  PyObject* few[kFew + 1];
  std::vector<PyObject*> many;
  if (count > kFew) many.resize(static_cast<size_t>(count) + 1);
  PyObject** all = count > kFew ? many.data() : few;
  all[0] = self;
  for (Py_ssize_t i = 0; i < count; ++i) all[i + 1] = args[i];
  return PyObject_Vectorcall(call_in_python, all, static_cast<size_t>(positional) + 1, names);
}

// Puts the variant that was hit first in a box, if the box still has these variants.
void move_to_front(PyObject* box, PyObject* variants, Py_ssize_t hit) {
  if (PyList_GET_SIZE(box) != 1 || PyList_GET_ITEM(box, 0) != variants) return;
  PyObject* order = PyTuple_New(PyTuple_GET_SIZE(variants));
  if (order == nullptr) return PyErr_Clear();
  Py_ssize_t at = 0;
  PyTuple_SET_ITEM(order, at++, Py_NewRef(PyTuple_GET_ITEM(variants, hit)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(variants); ++i) {
    if (i != hit) PyTuple_SET_ITEM(order, at++, Py_NewRef(PyTuple_GET_ITEM(variants, i)));
  }
  if (PyList_SetItem(box, 0, order) != 0) PyErr_Clear();
}

// Runs the variant of a box that fits. Returns as `call_variant`.
int try_box(PyObject* box, PyObject* const* roots, Py_ssize_t count, PyObject* counts,
            PyObject** result) {
  if (PyList_GET_SIZE(box) != 1) return 0;
  const Ref variants = Ref::borrow(PyList_GET_ITEM(box, 0));
  if (!PyTuple_CheckExact(variants.get())) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(variants.get()); ++i) {
    PyObject* variant = PyTuple_GET_ITEM(variants.get(), i);
    if (!is_variant(variant)) continue;
    const int done = call_variant(variant, roots, count, counts, result);
    if (done == 0) continue;
    if (done == 1 && i != 0) move_to_front(box, variants.get(), i);
    return done;
  }
  return 0;
}

// Runs the variant of an entry that fits. Returns as `call_variant`. Python code on the way can drop
// the entry.
int try_variants(const Entry& entry, PyObject* const* roots, PyObject** result) {
  const Py_ssize_t count = static_cast<Py_ssize_t>(entry.tokens.size()) + 1;
  const Ref fun = Ref::borrow(roots[0]), boxes = Ref::borrow(entry.boxes),
            counts = Ref::borrow(entry.counts);
  // Defaults are the function's, which Python code on the way can change.
  const bool own = entry.defaults != nullptr || entry.kwdefaults != nullptr;
  if (own) {
    for (Py_ssize_t i = 0; i < count; ++i) Py_INCREF(roots[i]);
  }
  int done = 0;
  for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(boxes.get()); ++i) {
    done = try_box(PyTuple_GET_ITEM(boxes.get(), i), roots, count, counts.get(), result);
  }
  if (own) {
    for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(roots[i]);
  }
  return done;
}

// Has the traceback of the error that is set lose our frames; only Python can say which.
void shorten_traceback() {
  PyObject *kind, *error, *traceback;
  PyErr_Fetch(&kind, &error, &traceback);
  PyErr_NormalizeException(&kind, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  if (shorten == nullptr || !Ref(PyObject_CallOneArg(shorten, error))) PyErr_Clear();
  Py_XDECREF(traceback);
  PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  const Py_ssize_t count = positional + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  if (call_in_python == nullptr) {
    PyErr_SetString(PyExc_TypeError, "JitBase is called by a class over it");
    return nullptr;
  }
  JitObject* jit = as_jit(self);
  if (!computes_at_once()) return slow_call(self, args, positional, count, names);
  PyObject* config = current_config();  // compared only
  if (config == nullptr) return nullptr;
  constexpr Py_ssize_t kFew = 24;
  PyObject* few[kFew];
  std::vector<PyObject*> many;
  Ref boxes;
  References leaves;  // of trees, so that they live as long as the call
  const Ref hold(Py_XNewRef(jit->entries));
  EntriesObject* kept = as_entries(hold.get());
  for (size_t i = 0; kept != nullptr && i < kept->list->size(); ++i) {
    const Entry& entry = *(*kept->list)[i];
    const size_t needed = entry.tokens.size() + 1;
    if (needed > kFew && many.size() < needed) many.resize(needed);
    PyObject** roots = needed > kFew ? many.data() : few;
    if (!recognise(kept, entry, jit->fun, config, args, count, names, roots, leaves)) {
      if (PyErr_Occurred()) return nullptr;
      leaves.pop_to(0);
      continue;
    }
    if (i != 0) std::swap((*kept->list)[0], (*kept->list)[i]);
    jit->misses = 0;
    boxes = Ref::borrow(entry.boxes);
    PyObject* result = nullptr;
    const int done = try_variants(entry, roots, &result);
    if (done == 1) return result;
    if (done < 0) return nullptr;
    break;
  }
  PyObject* result = slow_call(self, args, positional, count, names);
  const bool is_known = boxes && is_open(boxes.get());  // unless something new was traced
  if (result != nullptr && !is_known && computes_at_once()) learn(self, args, count, names);
  return result;
}

PyObject* jit_vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  PyObject* result = jit_call(self, args, flags, names);
  if (result == nullptr && PyErr_Occurred()) shorten_traceback();
  return result;
}

// ------------------------------------------------------------------------ the types

PyObject* entries_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) as_entries(self)->list = new Entries();
  return self;
}

int entries_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (as_entries(self)->list == nullptr) return 0;
  for (const auto& entry : *as_entries(self)->list) {
    const int stopped = entry->each([&](PyObject* object) {
      Py_VISIT(object);
      return 0;
    });
    if (stopped != 0) return stopped;
  }
  return 0;
}

int entries_clear(PyObject* self) {
  EntriesObject* entries = as_entries(self);
  if (entries->list != nullptr) {
    Entries old;
    old.swap(*entries->list);
    ++entries->learnings;
  }
  return 0;
}

void entries_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  entries_clear(self);
  delete std::exchange(as_entries(self)->list, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot entries_slots[] = {
    {Py_tp_new, as_slot<entries_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(entries_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(entries_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(entries_clear)},
    {0, nullptr},
};

PyType_Spec entries_spec = {
    "evertrace._src._native.Entries", sizeof(EntriesObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, entries_slots,
};

PyObject* jit_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_jit(self)->vectorcall = guarded<jit_vectorcall>();
  return self;
}

int jit_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_jit(self)->fun);
  Py_VISIT(as_jit(self)->entries);
  return 0;
}

int jit_clear(PyObject* self) {
  Py_CLEAR(as_jit(self)->entries);
  Py_CLEAR(as_jit(self)->fun);
  return 0;
}

void jit_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  jit_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// _share(fun, entries): calls of the function are recognised by entries that others have, too.
PyObject* jit_share(PyObject* self, PyObject* args) {
  PyObject *fun, *entries;
  if (!PyArg_ParseTuple(args, "OO!", &fun, entries_type, &entries)) return nullptr;
  Py_XSETREF(as_jit(self)->fun, Py_NewRef(fun));
  Py_XSETREF(as_jit(self)->entries, Py_NewRef(entries));
  as_jit(self)->is_shared = true;
  Py_RETURN_NONE;
}

// _share_no_more(): the entries that are made from now on are this function's alone.
PyObject* jit_share_no_more(PyObject* self, PyObject*) {
  if (std::exchange(as_jit(self)->is_shared, false)) Py_CLEAR(as_jit(self)->entries);
  Py_RETURN_NONE;
}

PyMethodDef jit_methods[] = {
    {"_share", as_method<jit_share>(), METH_VARARGS, "Have entries that other functions have, too."},
    {"_share_no_more", as_method<jit_share_no_more>(), METH_NOARGS, "Have entries of its own."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, as_slot<jit_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(jit_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(jit_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(jit_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {Py_tp_methods, jit_methods},
    {0, nullptr},
};

PyType_Spec spec = {
    "evertrace._src._native.JitBase", sizeof(JitObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots,
};

// set_jit_class(cls, entry, shorten): the class whose `__call__` does what is not done here, what
// makes entries, and what takes our frames out of an error's traceback. Python classes do not inherit how they are called fast; this one may.
PyObject* set_jit_class(PyObject*, PyObject* args) {
  PyObject *cls, *entry, *function;
  if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &cls, &entry, &function)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_IsSubtype(type, jit_type)) {
    PyErr_SetString(PyExc_TypeError, "set_jit_class: not a class over JitBase");
    return nullptr;
  }
  Ref call(PyObject_GetAttrString(cls, "__call__"));
  if (!call) return nullptr;
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(type);
  Py_XSETREF(call_in_python, call.release());
  Py_XSETREF(make_entry, Py_NewRef(entry));
  Py_XSETREF(shorten, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_jit_class", as_method<set_jit_class>(), METH_VARARGS, "Name the class of jitted functions."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_call(PyObject* module) {
  Ref entries(PyType_FromSpec(&entries_spec));
  if (!entries || PyModule_AddObjectRef(module, "Entries", entries.get()) != 0) return -1;
  entries_type = reinterpret_cast<PyTypeObject*>(entries.release());
  Ref type(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, "JitBase", type.get()) != 0) return -1;
  jit_type = reinterpret_cast<PyTypeObject*>(type.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
