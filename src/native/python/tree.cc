// Flattening trees, building them and matching them with structures; see tree.h.
//
// Tuples, lists, dicts, None and named tuples are walked here, other nodes are taken apart and put
// together by the functions of the Python registry. Those, `is_leaf`, and keys that compare can run
// any Python code: what is walked is owned, and a node's children are taken once. Whatever goes
// wrong is worded by Python functions.

#include "python/tree.h"

#include <algorithm>

namespace evertrace {
namespace {

PyObject* kinds = nullptr;  // `registry.KINDS`: type -> NodeKind
PyObject* faults[kFaults];

bool refuse(const char* what) {
  PyErr_SetString(PyExc_ValueError, what);
  return false;
}

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

// ---------------------------------------------------------------- one level

enum class Kind { kError, kLeaf, kNone, kTuple, kList, kDict, kNamed, kRegistered };

// What the values of types are.
class Kinds {
 public:
  // `functions` gets the `NodeKind` of a type that is registered.
  Kind find(PyTypeObject* type, Ref& functions) {
    if (type == last_leaf_ && PyDict_GET_SIZE(kinds) == num_kinds_) return Kind::kLeaf;
    if (type == &PyTuple_Type) return Kind::kTuple;
    if (type == &PyList_Type) return Kind::kList;
    if (type == &PyDict_Type) return Kind::kDict;
    if (type == Py_TYPE(Py_None)) return Kind::kNone;
    PyObject* object = reinterpret_cast<PyObject*>(type);
    PyObject* found = PyDict_GetItemWithError(kinds, object);
    if (found != nullptr) {
      functions = Ref::borrow(found);
      return Kind::kRegistered;
    }
    if (PyErr_Occurred()) return Kind::kError;
    if (PyType_HasFeature(type, Py_TPFLAGS_TUPLE_SUBCLASS)) return tuple_kind(object);
    last_leaf_ = type;
    num_kinds_ = PyDict_GET_SIZE(kinds);  // which grows where a type is registered meanwhile
    return Kind::kLeaf;
  }

 private:
  static Kind tuple_kind(PyObject* type) {
    static PyObject* const name = PyUnicode_InternFromString("_fields");
    const Ref fields(PyObject_GetAttr(type, name));
    if (fields) return Kind::kNamed;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return Kind::kError;
    PyErr_Clear();
    return Kind::kLeaf;
  }

  PyTypeObject* last_leaf_ = nullptr;  // a leaf among those that were taken has it
  Py_ssize_t num_kinds_ = 0;
};

bool are_strings(PyObject* keys) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys, i))) return false;
  }
  return true;
}

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

bool open_registered(PyObject* node, PyObject* functions, References& children, Ref& aux) {
  static PyObject* const name = PyUnicode_InternFromString("flatten");
  const Ref flatten(PyObject_GetAttr(functions, name));
  const Ref pair(flatten ? PyObject_CallOneArg(flatten.get(), node) : nullptr);
  if (!pair) return false;
  if (!PyTuple_CheckExact(pair.get()) || PyTuple_GET_SIZE(pair.get()) != 2 ||
      !PyTuple_CheckExact(PyTuple_GET_ITEM(pair.get(), 0))) {
    return refuse("tree: a node is taken apart into a tuple of children and static data");
  }
  PyObject* items = PyTuple_GET_ITEM(pair.get(), 0);
  const auto item = [](PyObject* x, Py_ssize_t i) { return PyTuple_GET_ITEM(x, i); };
  push_items(items, PyTuple_GET_SIZE(items), item, children);
  aux = Ref::borrow(PyTuple_GET_ITEM(pair.get(), 1));
  return true;
}

// Pushes the children of a node and gets its static data; false with an error set.
bool open(PyObject* node, Kind kind, PyObject* functions, References& children, Ref& aux) {
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
      push_items(node, PyTuple_GET_SIZE(node),
                 [](PyObject* x, Py_ssize_t i) { return PyTuple_GET_ITEM(x, i); }, children);
      break;
    default:
      break;
  }
  aux = Ref::borrow(kind == Kind::kNamed ? reinterpret_cast<PyObject*>(Py_TYPE(node)) : Py_None);
  return true;
}

// ---------------------------------------------------------------- flattening

// The specs of some children, in their one valid form.
class Specs {
 public:
  explicit Specs(size_t count) : count_(static_cast<Py_ssize_t>(count)) {}

  // Takes the next one; false with an error set.
  bool add(Ref spec) {
    if (spec.get() != Py_None && !specs_) {
      specs_ = Ref(PyTuple_New(count_));
      if (!specs_) return false;
      for (Py_ssize_t i = 0; i < next_; ++i) PyTuple_SET_ITEM(specs_.get(), i, Py_NewRef(Py_None));
    }
    if (specs_) PyTuple_SET_ITEM(specs_.get(), next_, spec.release());
    ++next_;
    return true;
  }
  PyObject* finish() { return specs_ ? specs_.release() : PyLong_FromSsize_t(count_); }

 private:
  Py_ssize_t count_, next_ = 0;
  Ref specs_;
};

// A new tuple of owned objects, which are dropped on failure; any may be null with an error set.
PyObject* tuple_of(Ref a, Ref b, Ref c) {
  if (!a || !b || !c) return nullptr;
  PyObject* made = PyTuple_New(3);
  if (made == nullptr) return nullptr;
  PyTuple_SET_ITEM(made, 0, a.release());
  PyTuple_SET_ITEM(made, 1, b.release());
  PyTuple_SET_ITEM(made, 2, c.release());
  return made;
}

class Flattener {
 public:
  // `is_leaf` may be null. Without `structured`, there are no specs.
  Flattener(PyObject* is_leaf, bool structured, References& leaves)
      : is_leaf_(is_leaf), structured_(structured), leaves_(leaves) {}

  // Appends the leaves of a tree and returns its spec; null with an error set.
  PyObject* walk(PyObject* tree) {
    const int stops = is_leaf_ == nullptr ? 0 : ask(tree);
    if (stops < 0) return nullptr;
    Ref functions;
    const Kind kind = stops == 1 ? Kind::kLeaf : kinds_.find(Py_TYPE(tree), functions);
    if (kind == Kind::kError) return nullptr;
    if (kind != Kind::kLeaf) return walk_node(tree, kind, functions.get());
    leaves_.push(Py_NewRef(tree));
    return Py_NewRef(Py_None);
  }

 private:
  PyObject* walk_node(PyObject* node, Kind kind, PyObject* functions) {
    const Level level(depth_);
    if (!level) return nullptr;
    Ref type = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(node)));
    const size_t first = children_.size();
    Ref aux;
    if (!open(node, kind, functions, children_, aux)) return nullptr;
    const size_t count = children_.size() - first;
    Specs specs(count);
    for (size_t i = 0; i < count; ++i) {
      Ref spec(walk(children_[first + i]));
      if (!spec) return nullptr;
      if (structured_ && !specs.add(std::move(spec))) return nullptr;
    }
    children_.pop_to(first);
    if (!structured_) return Py_NewRef(Py_None);
    return tuple_of(std::move(type), std::move(aux), Ref(specs.finish()));
  }

  int ask(PyObject* tree) {
    const Ref verdict(PyObject_CallOneArg(is_leaf_, tree));
    if (!verdict) return -1;
    if (verdict.get() == Py_True) return 1;
    if (verdict.get() == Py_False || verdict.get() == Py_None) return 0;
    raise_fault(kVerdict, verdict.get());
    return -1;
  }

  PyObject* is_leaf_;
  bool structured_;
  References& leaves_;
  References children_;
  Kinds kinds_;
  int depth_ = 0;
};

// ---------------------------------------------------------------- specs

// The parts of a spec that is no leaf's: borrowed. False with an error set.
struct Parts {
  PyTypeObject* type;
  PyObject *aux, *children;  // children is null where all are leaves
  Py_ssize_t count;          // of children

  bool take(PyObject* spec) {
    if (!PyTuple_CheckExact(spec) || PyTuple_GET_SIZE(spec) != 3 ||
        !PyType_Check(PyTuple_GET_ITEM(spec, 0))) {
      return refuse("tree: a spec is None or (type, static data, children)");
    }
    type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(spec, 0));
    aux = PyTuple_GET_ITEM(spec, 1);
    children = PyTuple_GET_ITEM(spec, 2);
    if (PyTuple_CheckExact(children)) {
      count = PyTuple_GET_SIZE(children);
      return true;
    }
    count = PyLong_CheckExact(children) ? PyLong_AsSsize_t(children) : -1;
    children = nullptr;
    if (count >= 0) return true;
    PyErr_Clear();
    return refuse("tree: the children of a spec are a tuple of specs or their number");
  }
  PyObject* child(Py_ssize_t i) const {
    return children == nullptr ? Py_None : PyTuple_GET_ITEM(children, i);
  }
};

class Builder {
 public:
  Builder(PyObject* const* leaves, Py_ssize_t count) : leaves_(leaves), end_(leaves + count) {}

  PyObject* build(PyObject* spec) {
    if (spec == Py_None) {
      if (leaves_ == end_) return refuse("tree: there are fewer leaves than in the spec"), nullptr;
      return Py_NewRef(*leaves_++);
    }
    const Level level(depth_);
    Parts parts;
    if (!level || !parts.take(spec)) return nullptr;
    if (parts.children == nullptr && end_ - leaves_ < parts.count) {
      return refuse("tree: there are fewer leaves than in the spec"), nullptr;
    }
    if (parts.type == &PyDict_Type) return dict(parts);
    if (parts.type == &PyList_Type) return list(parts);
    Ref children(tuple(parts));
    if (!children || parts.type == &PyTuple_Type) return children.release();
    return node(parts, children.get());
  }

 private:
  PyObject* dict(const Parts& parts) {
    if (!PyTuple_CheckExact(parts.aux)) return refuse("tree: the keys are a tuple"), nullptr;
    Ref made(PyDict_New());
    for (Py_ssize_t i = 0; made && i < parts.count; ++i) {
      const Ref child(build(parts.child(i)));
      if (!child) return nullptr;
      if (i < PyTuple_GET_SIZE(parts.aux) &&
          PyDict_SetItem(made.get(), PyTuple_GET_ITEM(parts.aux, i), child.get()) != 0) {
        return nullptr;
      }
    }
    return made.release();
  }

  PyObject* list(const Parts& parts) {
    Ref made(PyList_New(parts.count));
    for (Py_ssize_t i = 0; made && i < parts.count; ++i) {
      PyObject* child = build(parts.child(i));
      if (child == nullptr) return nullptr;
      PyList_SET_ITEM(made.get(), i, child);
    }
    return made.release();
  }

  PyObject* tuple(const Parts& parts) {
    Ref made(PyTuple_New(parts.count));
    for (Py_ssize_t i = 0; made && i < parts.count; ++i) {
      PyObject* child = build(parts.child(i));
      if (child == nullptr) return nullptr;
      PyTuple_SET_ITEM(made.get(), i, child);
    }
    return made.release();
  }

  static PyObject* node(const Parts& parts, PyObject* children) {
    PyObject* found = PyDict_GetItemWithError(kinds, reinterpret_cast<PyObject*>(parts.type));
    if (found == nullptr) return PyErr_Occurred() ? nullptr : PyObject_CallObject(parts.aux, children);
    const Ref functions = Ref::borrow(found);
    static PyObject* const name = PyUnicode_InternFromString("unflatten");
    const Ref unflatten(PyObject_GetAttr(found, name));
    PyObject* args[] = {parts.aux, children};
    return unflatten ? PyObject_Vectorcall(unflatten.get(), args, 2, nullptr) : nullptr;
  }

  PyObject* const* leaves_;
  PyObject* const* const end_;
  int depth_ = 0;
};

class Matcher {
 public:
  explicit Matcher(References& leaves) : leaves_(leaves) {}

  int match(PyObject* spec, PyObject* tree) {
    if (spec == Py_None) {
      leaves_.push(Py_NewRef(tree));
      return 1;
    }
    Parts parts;
    const Level level(depth_);
    if (!level || !parts.take(spec)) return -1;
    if (Py_TYPE(tree) != parts.type) return 0;
    const size_t first = children_.size();
    int same = parts.type == &PyDict_Type ? open_known(tree, parts.aux) : 0;
    if (same == 0) same = open_and_compare(tree, parts);
    for (Py_ssize_t i = 0; same == 1 && i < parts.count; ++i) {
      same = match(parts.child(i), children_[first + static_cast<size_t>(i)]);
    }
    children_.pop_to(first);
    return same;
  }

 private:
  // Pushes the values of a dict if its keys are just these strings; else returns 0.
  int open_known(PyObject* dict, PyObject* keys) {
    if (!PyTuple_CheckExact(keys) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys) ||
        !are_strings(keys)) {
      return 0;
    }
    const size_t first = children_.size();
    PyObject *key, *value;
    bool in_order = true;
    for (Py_ssize_t at = 0, i = 0; PyDict_Next(dict, &at, &key, &value); ++i) {
      if (!PyUnicode_CheckExact(key)) return children_.pop_to(first), 0;
      in_order = in_order && key == PyTuple_GET_ITEM(keys, i);
      if (in_order) children_.push(Py_NewRef(value));
    }
    for (size_t i = children_.size() - first; i < static_cast<size_t>(PyTuple_GET_SIZE(keys)); ++i) {
      value = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(keys, static_cast<Py_ssize_t>(i)));
      if (value == nullptr) return children_.pop_to(first), 0;
      children_.push(Py_NewRef(value));
    }
    return 1;
  }

  int open_and_compare(PyObject* node, const Parts& parts) {
    const size_t first = children_.size();
    Ref functions, aux;
    const Kind kind = kinds_.find(parts.type, functions);
    if (kind == Kind::kLeaf) return 0;
    if (kind == Kind::kError || !open(node, kind, functions.get(), children_, aux)) return -1;
    if (children_.size() - first != static_cast<size_t>(parts.count)) return 0;
    const int same = PyObject_RichCompareBool(parts.aux, aux.get(), Py_EQ);
    if (same < 0 && PyErr_ExceptionMatches(PyExc_Exception)) {
      raise_fault_from_error(kStatic, reinterpret_cast<PyObject*>(parts.type));
    }
    return same;
  }

  References& leaves_;
  References children_;
  Kinds kinds_;
  int depth_ = 0;
};

}  // namespace

void raise_fault(Fault fault, PyObject* a, PyObject* b) {
  const Ref error(PyObject_CallFunctionObjArgs(faults[fault], a, b, nullptr));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

void raise_fault_from_error(Fault fault, PyObject* a) {
  Ref cause(take_error());
  const Ref error(PyObject_CallFunctionObjArgs(faults[fault], a, cause.get(), nullptr));
  if (!error) return;
  if (error.get() != cause.get() && PyExceptionInstance_Check(error.get())) {
    PyException_SetContext(error.get(), Py_NewRef(cause.get()));
    PyException_SetCause(error.get(), cause.release());
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

void set_tree_functions(PyObject* table, PyObject* functions) {
  for (int i = 0; i < kFaults; ++i) Py_XSETREF(faults[i], Py_NewRef(PyTuple_GET_ITEM(functions, i)));
  Py_XSETREF(kinds, Py_NewRef(table));
}

void References::grow() {
  if (many_.empty()) {
    many_.assign(few_, few_ + size_);
  }
  room_ *= 2;
  many_.resize(room_);
  data_ = many_.data();
}

PyObject* References::into_list() {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(size_));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < size_; ++i) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), data_[i]);
  size_ = 0;
  return list;
}

int match_tree(PyObject* spec, PyObject* tree, References& leaves) {
  return Matcher(leaves).match(spec, tree);
}

PyObject* build_tree(PyObject* spec, PyObject* const* leaves, Py_ssize_t count) {
  return Builder(leaves, count).build(spec);
}

bool flatten_tree(PyObject* tree, PyObject* is_leaf, References& leaves, Ref* spec) {
  Flattener flattener(is_leaf == Py_None ? nullptr : is_leaf, spec != nullptr, leaves);
  Ref found(flattener.walk(tree));
  const bool done = static_cast<bool>(found);
  if (spec != nullptr) *spec = std::move(found);
  return done;
}

}  // namespace evertrace
