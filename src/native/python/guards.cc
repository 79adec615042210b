// The match of a call against what a variant depends on; see guards.h.

#include "python/guards.h"

#include <string_view>

#include "python/array.h"

namespace evertrace {
namespace {

GuardTypes the_types;

// `want` as a tuple, for the checks that walk over it; null with or without an error set.
PyObject* items_of(const char* check, PyObject* want) {
  const std::string_view kind(check);
  if (kind == "lacks") return PySequence_Tuple(want);
  if (kind == "keys") return PySequence_Tuple(PyTuple_GET_ITEM(want, 1));
  if (kind != "entries") return nullptr;
  const Ref items(PyDict_Items(want));
  return items ? PySequence_Tuple(items.get()) : nullptr;
}

}  // namespace

const GuardTypes& guard_types() { return the_types; }

bool Guards::add(PyObject* entry, std::vector<Kinds>& kinds) {
  Py_ssize_t index, parent;
  const char *kind, *check;
  Instruction node;
  if (!PyArg_ParseTuple(entry, "nnsOsOOO", &index, &parent, &kind, &node.key, &check, &node.want,
                        &node.rest->step_py, &node.rest->check_py)) {
    return false;
  }
  const bool valid = 0 <= index && index < node_count() && parent < node_count() &&
                     (parent < 0 || position(parent) >= 0);
  if (!valid) {
    PyErr_SetString(PyExc_ValueError, "a node comes after its parent");
    return false;
  }
  node.parent = parent < 0 ? -1 : position(parent);
  if (std::string_view(kind) == "root") {
    node.root = static_cast<int>(PyLong_AsLong(node.key));
    if (node.root < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a root has a number");
      return false;
    }
  }
  node.rest->items = items_of(check, node.want);
  if (PyErr_Occurred()) return false;
  node.step = find_step(kind);
  node.check = find_check(check);
  for (PyObject* object : {node.key, node.want, node.rest->step_py, node.rest->check_py}) {
    Py_INCREF(object);
  }
  position_[static_cast<size_t>(index)] = static_cast<int>(walk_.size());
  walk_.push_back(std::move(node));
  kinds.push_back({kind, check});
  return true;
}

bool Guards::compile(PyObject* walk, PyObject* same, PyObject* distinct, Py_ssize_t count) {
  clear();
  position_.assign(static_cast<size_t>(count), -1);
  const Ref entries(PySequence_Tuple(walk)), pairs(PySequence_Tuple(same)),
      ones(PySequence_Tuple(distinct));
  if (!entries || !pairs || !ones) return false;
  std::vector<Kinds> kinds;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries.get()); ++i) {
    if (!add(PyTuple_GET_ITEM(entries.get(), i), kinds)) return false;
  }
  if (!plan_sweeps(kinds)) return false;
  const auto place = [this](Py_ssize_t node) {
    const int found = 0 <= node && node < node_count() ? position(node) : -1;
    if (found < 0) PyErr_SetString(PyExc_ValueError, "no such node");
    return found;
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs.get()); ++i) {
    Py_ssize_t a, b;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs.get(), i), "nn", &a, &b)) return false;
    same_.emplace_back(place(a), place(b));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ones.get()); ++i) {
    distinct_.push_back(place(PyLong_AsSsize_t(PyTuple_GET_ITEM(ones.get(), i))));
  }
  return !PyErr_Occurred();
}

int Guards::match(PyObject* const* roots, Py_ssize_t count, Values& values) {
  for (const size_t i : order_) {
    Instruction& node = walk_[i];
    PyObject*& value = values[i];
    if (node.root >= 0) {
      if (node.root >= count) return 0;
      value = Py_NewRef(roots[node.root]);
    } else if (value == nullptr) {  // not yet swept
      value = node.step(node, node.parent < 0 ? Py_None : values[static_cast<size_t>(node.parent)]);
    }
    const int holds = value == nullptr                         ? -1
                      : node.sweep != Instruction::kNoSweep ? sweep(node, value, values)
                      : node.check == nullptr                  ? 1
                                                               : node.check(node, value);
    if (holds == 1) continue;
    if (holds == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
  }
  for (const auto& [a, b] : same_) {
    if (values[static_cast<size_t>(a)] != values[static_cast<size_t>(b)]) return 0;
  }
  return are_distinct(values) ? 1 : 0;
}

bool Guards::are_distinct(const Values& values) const {
  constexpr size_t kFew = 12;
  const uint64_t mark = new_mark();
  PyObject* few[kFew];
  size_t others = 0;
  for (const int at : distinct_) {
    PyObject* const one = values[static_cast<size_t>(at)];
    if (is_array(one)) {
      if (!mark_array(one, mark)) return false;
      continue;
    }
    if (others == kFew) return are_distinct_others(values);
    for (size_t i = 0; i < others; ++i) {
      if (few[i] == one) return false;
    }
    few[others++] = one;
  }
  return true;
}

// The same for many things that are no arrays: open addressing in a table of at most half its size.
bool Guards::are_distinct_others(const Values& values) const {
  const size_t n = distinct_.size();
  size_t size = 32;
  while (size < 2 * n) size *= 2;
  static thread_local std::vector<PyObject*> table;
  table.assign(size, nullptr);
  for (size_t i = 0; i < n; ++i) {
    PyObject* const one = values[static_cast<size_t>(distinct_[i])];
    size_t at = (reinterpret_cast<size_t>(one) >> 4) * 0x9E3779B97F4A7C15u >> 32 & (size - 1);
    for (; table[at] != nullptr; at = (at + 1) & (size - 1)) {
      if (table[at] == one) return false;
    }
    table[at] = one;
  }
  return true;
}

int Guards::traverse(visitproc visit, void* arg) {
  for (const Instruction& node : walk_) {
    for (PyObject* object : references(node)) Py_VISIT(object);
  }
  return 0;
}

void Guards::clear() {
  std::vector<Instruction> old;
  old.swap(walk_);
  order_.clear();
  position_.clear();
  same_.clear();
  distinct_.clear();
  for (const Instruction& node : old) {
    for (PyObject* object : references(node)) Py_XDECREF(object);
  }
}

PyObject* listed(const Guards& guards, const Values& values) {
  PyObject* list = PyList_New(guards.node_count());
  for (Py_ssize_t i = 0; list != nullptr && i < guards.node_count(); ++i) {
    const int at = guards.position(i);
    PyList_SET_ITEM(list, i, Py_NewRef(at < 0 ? Py_None : values[static_cast<size_t>(at)]));
  }
  return list;
}

PyObject* listed(const Values& values) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; list != nullptr && i < values.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(values[i]));
  }
  return list;
}

// ------------------------------------------------------------------------ what Python hands over

namespace {

// Called once, by `lifting/guards.py`; the objects live as long as the process.
PyObject* py_set_types(PyObject*, PyObject* args) {
  GuardTypes& types = the_types;
  if (!PyArg_ParseTuple(args, "OOOOO!", &types.tracer, &types.ndarray, &types.weak, &types.absent,
                        &PyDict_Type, &types.changed)) {
    return nullptr;
  }
  Py_INCREF(args);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_guard_types", as_method<py_set_types>(), METH_VARARGS,
     "Name the types that guards know, Tracer, ndarray, Weak, and ABSENT, and the changed functions."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_guards(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
