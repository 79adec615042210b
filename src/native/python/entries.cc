#include "python/entries.h"

#include <cstddef>
#include <utility>

#include "python/array.h"
#include "python/numpy_api.h"
#include "python/variant.h"

namespace evertrace {
namespace {

constexpr size_t kMaxEntries = 16;

PyTypeObject* entries_type;

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

// ------------------------------------------------------------------------ the type

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

}  // namespace

PyObject* make_entries() {
  return PyObject_CallNoArgs(reinterpret_cast<PyObject*>(entries_type));
}

bool is_entries(PyObject* x) { return Py_IS_TYPE(x, entries_type); }

bool is_open(PyObject* boxes) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(boxes); ++i) {
    if (PyList_GET_SIZE(PyTuple_GET_ITEM(boxes, i)) == 0) return false;
  }
  return true;
}

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

void add_entry(EntriesObject* entries, std::unique_ptr<Entry> entry) {
  Entries old;  // what is dropped may run Python
  old.swap(*entries->list);
  ++entries->learnings;
  Entries& kept = *entries->list;
  kept.push_back(std::move(entry));
  for (auto& one : old) {
    if (kept.size() < kMaxEntries && is_open(one->boxes)) kept.push_back(std::move(one));
  }
}

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

int add_entries(PyObject* module) {
  Ref type(PyType_FromSpec(&entries_spec));
  if (!type || PyModule_AddObjectRef(module, "Entries", type.get()) != 0) return -1;
  entries_type = reinterpret_cast<PyTypeObject*>(type.release());
  if (add_names(module, "ENTRY_TOKENS", Token::kNames) != 0) return -1;
  return add_names(module, "ENTRY_SOURCES", Source::kNames);
}

}  // namespace evertrace
