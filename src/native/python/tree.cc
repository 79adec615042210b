// Flattening trees, building them and matching them with structures; see tree.h.
//
// Tuples, lists, dicts, None and named tuples are walked here, other nodes are taken apart and put
// together by the functions of the Python registry. Those, `is_leaf`, and keys that compare can run
// any Python code: what is walked is owned, and a node's children are taken once. Whatever goes
// wrong is worded by Python functions.

#include "python/tree.h"

#include "python/nodes.h"

namespace evertrace {
namespace {

PyObject* faults[kFaults];

bool refuse(const char* what) {
  PyErr_SetString(PyExc_ValueError, what);
  return false;
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
  // `is_leaf` may be null.
  Flattener(PyObject* is_leaf, const Wanted& wanted, References& leaves)
      : is_leaf_(is_leaf), wanted_(wanted), leaves_(leaves) {}

  // Appends the leaves of a tree and returns its spec; null with an error set.
  PyObject* walk(PyObject* tree) {
    const int stops = is_leaf_ == nullptr ? 0 : ask(tree);
    if (stops < 0) return nullptr;
    Ref functions;
    const Kind kind = stops == 1 ? Kind::kLeaf : kinds_.find(Py_TYPE(tree), functions);
    if (kind == Kind::kError) return nullptr;
    if (kind != Kind::kLeaf) return walk_node(tree, kind, functions.get());
    PyObject* leaf = wanted_.paths ? with_path(tree) : Py_NewRef(tree);
    if (leaf == nullptr) return nullptr;
    leaves_.push(leaf);
    return Py_NewRef(Py_None);
  }

 private:
  PyObject* walk_node(PyObject* node, Kind kind, PyObject* functions) {
    const Level level(depth_);
    if (!level) return nullptr;
    Ref type = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(node)));
    const size_t first = children_.size(), first_key = keys_.size();
    Ref aux;
    const bool opened =
        wanted_.paths ? open_node_with_keys(node, kind, functions, keys_, children_, aux)
                      : open_node(node, kind, functions, children_, aux);
    if (!opened) return nullptr;
    const size_t count = children_.size() - first;
    Specs specs(count);
    for (size_t i = 0; i < count; ++i) {
      if (wanted_.paths) path_.push_back(keys_[first_key + i]);
      Ref spec(walk(children_[first + i]));
      if (!spec) return nullptr;
      if (wanted_.paths) path_.pop_back();
      if (wanted_.spec && !specs.add(std::move(spec))) return nullptr;
    }
    children_.pop_to(first);
    keys_.pop_to(first_key);
    if (!wanted_.spec) return Py_NewRef(Py_None);
    return tuple_of(std::move(type), std::move(aux), Ref(specs.finish()));
  }

  // Where the walk is: a new tuple of keys.
  PyObject* path() const {
    PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(path_.size()));
    for (size_t i = 0; made != nullptr && i < path_.size(); ++i) {
      PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), Py_NewRef(path_[i]));
    }
    return made;
  }

  PyObject* with_path(PyObject* leaf) const {
    const Ref where(path());
    return where ? PyTuple_Pack(2, where.get(), leaf) : nullptr;
  }

  int ask(PyObject* tree) {
    const Ref where(wanted_.leaf_by_path ? path() : nullptr);
    if (wanted_.leaf_by_path && !where) return -1;
    PyObject* args[] = {where.get(), tree};
    const bool skip = !wanted_.leaf_by_path;
    const Ref verdict(PyObject_Vectorcall(is_leaf_, args + skip, 2u - skip, nullptr));
    if (!verdict) return -1;
    if (verdict.get() == Py_True) return 1;
    if (verdict.get() == Py_False || verdict.get() == Py_None) return 0;
    raise_fault(kVerdict, verdict.get());
    return -1;
  }

  PyObject* is_leaf_;
  const Wanted wanted_;
  References& leaves_;
  References children_, keys_;
  std::vector<PyObject*> path_;  // those of the keys that lead to where the walk is
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
    PyObject* found = find_functions(parts.type);
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
    if (kind == Kind::kError || !open_node(node, kind, functions.get(), children_, aux)) return -1;
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

void set_faults(PyObject* functions) {
  for (int i = 0; i < kFaults; ++i) Py_XSETREF(faults[i], Py_NewRef(PyTuple_GET_ITEM(functions, i)));
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

Ref flatten_tree(PyObject* tree, PyObject* is_leaf, const Wanted& wanted, References& leaves) {
  return Ref(Flattener(is_leaf == Py_None ? nullptr : is_leaf, wanted, leaves).walk(tree));
}

}  // namespace evertrace
