// One level of trees; see nodes.h.

#include "python/nodes.h"

#include <algorithm>

namespace evertrace {
namespace {

PyObject* kinds = nullptr;  // `registry.KINDS`: type -> NodeKind

// Keys that are made once, by what they are of, and the function that makes any.
struct KeyTable {
  PyObject *known = nullptr, *make = nullptr;

  // A new reference to the key of something; null with an error set.
  PyObject* find(PyObject* of) const {
    PyObject* found = PyUnicode_CheckExact(of) ? PyDict_GetItemWithError(known, of) : nullptr;
    if (found != nullptr) return Py_NewRef(found);
    return PyErr_Occurred() ? nullptr : PyObject_CallOneArg(make, of);
  }
};

KeyTable words, fields;              // of dicts, of named tuples
PyObject* places = nullptr;          // the first keys of sequences: a tuple
PyObject* make_places = nullptr;     // the function that makes those of a length
PyObject* open_tuple = nullptr;      // the function that opens any named tuple

bool refuse(const char* what) {
  PyErr_SetString(PyExc_ValueError, what);
  return false;
}

Kind tuple_kind(PyObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("_fields");
  const Ref names(PyObject_GetAttr(type, name));
  if (names) return Kind::kNamed;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return Kind::kError;
  PyErr_Clear();
  return Kind::kLeaf;
}

// ---------------------------------------------------------------- children

// The keys of a dict as a sorted tuple; null with an error set.
PyObject* sorted_keys(PyObject* dict, bool& strings) {
  Ref keys(PyTuple_New(PyDict_GET_SIZE(dict)));
  if (!keys) return nullptr;
  PyObject *key, *value;
  for (Py_ssize_t at = 0, i = 0; PyDict_Next(dict, &at, &key, &value); ++i) {
    PyTuple_SET_ITEM(keys.get(), i, Py_NewRef(key));
  }
  strings = are_strings(keys.get());
  if (strings) {
    constexpr Py_ssize_t kFew = 16;  // of more, Python's own sort compares fewer
    PyObject** items = &PyTuple_GET_ITEM(keys.get(), 0);
    PyObject** const end = items + PyTuple_GET_SIZE(keys.get());
    const auto less = [](PyObject* a, PyObject* b) { return PyUnicode_Compare(a, b) < 0; };
    if (end - items <= kFew) std::sort(items, end, less);
    if (end - items <= kFew || std::is_sorted(items, end, less)) return keys.release();
  }
  const Ref list(PySequence_List(keys.get()));
  if (!list) return nullptr;
  if (PyList_Sort(list.get()) == 0) return PyList_AsTuple(list.get());
  if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
    raise_fault_from_error(kKeys, dict);
  }
  return nullptr;
}

bool open_dict(PyObject* dict, References& children, Ref& aux) {
  bool strings = false;
  Ref keys(sorted_keys(dict, strings));
  if (!keys) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    PyObject* value = strings ? Py_XNewRef(PyDict_GetItemWithError(dict, key))
                              : PyObject_GetItem(dict, key);
    if (value == nullptr) return false;
    children.push(value);
  }
  aux = std::move(keys);
  return true;
}

template <class Item>
void push_items(PyObject* node, Py_ssize_t count, const Item& item, References& children) {
  for (Py_ssize_t i = 0; i < count; ++i) children.push(Py_NewRef(item(node, i)));
}

PyObject* tuple_item(PyObject* x, Py_ssize_t i) { return PyTuple_GET_ITEM(x, i); }

// Calls a function that takes a node apart into so many things, of which one is the tuple of children;
// null with an error set.
Ref taken_apart(PyObject* function, PyObject* node, Py_ssize_t count, Py_ssize_t children) {
  Ref parts(PyObject_CallOneArg(function, node));
  if (!parts) return parts;
  const bool fits = PyTuple_CheckExact(parts.get()) && PyTuple_GET_SIZE(parts.get()) == count &&
                    PyTuple_CheckExact(PyTuple_GET_ITEM(parts.get(), children));
  if (fits) return parts;
  refuse("tree: a node is taken apart into a tuple of children and static data, maybe with keys");
  return Ref();
}

bool open_registered(PyObject* node, PyObject* functions, References& children, Ref& aux) {
  static PyObject* const name = PyUnicode_InternFromString("flatten");
  const Ref flatten(PyObject_GetAttr(functions, name));
  const Ref pair = flatten ? taken_apart(flatten.get(), node, 2, 0) : Ref();
  if (!pair) return false;
  PyObject* items = PyTuple_GET_ITEM(pair.get(), 0);
  push_items(items, PyTuple_GET_SIZE(items), tuple_item, children);
  aux = Ref::borrow(PyTuple_GET_ITEM(pair.get(), 1));
  return true;
}

// ---------------------------------------------------------------- keys

// Opens a node by a function that gives keys too.
bool open_by(PyObject* function, PyObject* node, References& keys, References& children, Ref& aux) {
  const Ref parts = taken_apart(function, node, 3, 1);
  if (!parts) return false;
  const Ref made(PySequence_Tuple(PyTuple_GET_ITEM(parts.get(), 0)));
  if (!made) return false;
  PyObject* items = PyTuple_GET_ITEM(parts.get(), 1);
  const Py_ssize_t count = PyTuple_GET_SIZE(items);
  if (PyTuple_GET_SIZE(made.get()) != count) return refuse("tree: a key for each child");
  push_items(made.get(), count, tuple_item, keys);
  push_items(items, count, tuple_item, children);
  aux = Ref::borrow(PyTuple_GET_ITEM(parts.get(), 2));
  return true;
}

// Pushes the keys of what each item of a tuple is of.
bool push_keys(const KeyTable& table, PyObject* of, References& keys) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(of); ++i) {
    PyObject* key = table.find(PyTuple_GET_ITEM(of, i));
    if (key == nullptr) return false;
    keys.push(key);
  }
  return true;
}

bool push_places(Py_ssize_t count, References& keys) {
  Ref made = Ref::borrow(places);
  if (count > PyTuple_GET_SIZE(places)) {
    const Ref length(PyLong_FromSsize_t(count));
    made = Ref(length ? PyObject_CallOneArg(make_places, length.get()) : nullptr);
    if (!made) return false;
    if (!PyTuple_CheckExact(made.get()) || PyTuple_GET_SIZE(made.get()) < count) {
      return refuse("tree: a key for each place");
    }
  }
  push_items(made.get(), count, tuple_item, keys);
  return true;
}

bool open_named(PyObject* node, References& keys, References& children, Ref& aux) {
  static PyObject* const name = PyUnicode_InternFromString("_fields");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(node));
  const Ref names(PyObject_GetAttr(type, name));
  if (!names) return false;
  const bool is_usual = PyTuple_CheckExact(names.get()) && are_strings(names.get()) &&
                        PyTuple_GET_SIZE(names.get()) == PyTuple_GET_SIZE(node);
  if (!is_usual) return open_by(open_tuple, node, keys, children, aux);
  return open_node(node, Kind::kNamed, nullptr, children, aux) &&
         push_keys(fields, names.get(), keys);
}

}  // namespace

bool are_strings(PyObject* keys) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys, i))) return false;
  }
  return true;
}

PyObject* find_functions(PyTypeObject* type) {
  return PyDict_GetItemWithError(kinds, reinterpret_cast<PyObject*>(type));
}

Kind Kinds::find(PyTypeObject* type, Ref& functions) {
  if (type == last_leaf_ && PyDict_GET_SIZE(kinds) == num_kinds_) return Kind::kLeaf;
  if (type == &PyTuple_Type) return Kind::kTuple;
  if (type == &PyList_Type) return Kind::kList;
  if (type == &PyDict_Type) return Kind::kDict;
  if (type == Py_TYPE(Py_None)) return Kind::kNone;
  PyObject* found = find_functions(type);
  if (found != nullptr) {
    functions = Ref::borrow(found);
    return Kind::kRegistered;
  }
  if (PyErr_Occurred()) return Kind::kError;
  if (PyType_HasFeature(type, Py_TPFLAGS_TUPLE_SUBCLASS)) {
    return tuple_kind(reinterpret_cast<PyObject*>(type));
  }
  last_leaf_ = type;
  num_kinds_ = PyDict_GET_SIZE(kinds);  // which grows where a type is registered meanwhile
  return Kind::kLeaf;
}

bool open_node(PyObject* node, Kind kind, PyObject* functions, References& children, Ref& aux) {
  switch (kind) {
    case Kind::kDict:
      return open_dict(node, children, aux);
    case Kind::kRegistered:
      return open_registered(node, functions, children, aux);
    case Kind::kList:
      push_items(node, PyList_GET_SIZE(node),
                 [](PyObject* x, Py_ssize_t i) { return PyList_GET_ITEM(x, i); }, children);
      break;
    case Kind::kTuple:
    case Kind::kNamed:
      push_items(node, PyTuple_GET_SIZE(node), tuple_item, children);
      break;
    default:
      break;
  }
  aux = Ref::borrow(kind == Kind::kNamed ? reinterpret_cast<PyObject*>(Py_TYPE(node)) : Py_None);
  return true;
}

bool open_node_with_keys(PyObject* node, Kind kind, PyObject* functions, References& keys,
                         References& children, Ref& aux) {
  if (kind == Kind::kNamed) return open_named(node, keys, children, aux);
  if (kind == Kind::kRegistered) {
    static PyObject* const name = PyUnicode_InternFromString("flatten_with_keys");
    const Ref flatten(PyObject_GetAttr(functions, name));
    return flatten && open_by(flatten.get(), node, keys, children, aux);
  }
  const size_t first = children.size();
  if (!open_node(node, kind, functions, children, aux)) return false;
  if (kind == Kind::kDict) return push_keys(words, aux.get(), keys);
  return push_places(static_cast<Py_ssize_t>(children.size() - first), keys);
}

bool set_nodes(PyObject* table, PyObject* key_makers) {
  PyObject *first, *make_first, *of_words, *make_word, *of_fields, *make_field, *open;
  if (!PyArg_ParseTuple(key_makers, "O!OO!OO!OO", &PyTuple_Type, &first, &make_first, &PyDict_Type,
                        &of_words, &make_word, &PyDict_Type, &of_fields, &make_field, &open)) {
    return false;
  }
  Py_XSETREF(kinds, Py_NewRef(table));
  Py_XSETREF(places, Py_NewRef(first));
  Py_XSETREF(make_places, Py_NewRef(make_first));
  Py_XSETREF(words.known, Py_NewRef(of_words));
  Py_XSETREF(words.make, Py_NewRef(make_word));
  Py_XSETREF(fields.known, Py_NewRef(of_fields));
  Py_XSETREF(fields.make, Py_NewRef(make_field));
  Py_XSETREF(open_tuple, Py_NewRef(open));
  return true;
}

}  // namespace evertrace
