// Sweeps: a container whose items are nodes of their own is read once, in order, instead of by a
// lookup for each of them. Most leaves of a call's arguments are found so.

#include <cstring>

#include "python/array.h"
#include "python/guards.h"

namespace evertrace {
namespace {

// Says how a container is swept, and of how many items.
void find_kind(Instruction& node, const char* check) {
  const bool by_keys = std::strcmp(check, "keys") == 0;
  if (!by_keys && std::strcmp(check, "length") != 0) return;
  PyObject* cls = PyTuple_GET_ITEM(node.want, 0);
  const auto is = [&](PyTypeObject& type) { return cls == reinterpret_cast<PyObject*>(&type); };
  node.sweep = by_keys && is(PyDict_Type)     ? Instruction::kDict
               : !by_keys && is(PyList_Type)  ? Instruction::kList
               : !by_keys && is(PyTuple_Type) ? Instruction::kTuple
                                              : Instruction::kNoSweep;
  node.rest->count = by_keys ? PyTuple_GET_SIZE(node.rest->items)
                             : PyLong_AsSsize_t(PyTuple_GET_ITEM(node.want, 1));
}

// The place of a child in a container, -1 if it is found in another way. Children come in order:
// the search begins behind the last one.
Py_ssize_t place_of(const Instruction& parent, const Instruction& child, const char* step) {
  const char* const usual = parent.sweep == Instruction::kDict   ? "key"
                            : parent.sweep == Instruction::kList ? "list"
                                                                 : "index";
  if (std::strcmp(step, usual) != 0) return -1;
  const Details& rest = *parent.rest;
  const Py_ssize_t first = rest.swept.empty() ? 0 : rest.swept.back().place + 1;
  if (parent.sweep != Instruction::kDict) {
    const Py_ssize_t i = PyLong_CheckExact(child.key) ? PyLong_AsSsize_t(child.key) : -1;
    if (i < 0) PyErr_Clear();
    return i >= first && i < rest.count ? i : -1;
  }
  for (Py_ssize_t i = first; i < rest.count; ++i) {
    if (PyTuple_GET_ITEM(rest.items, i) == child.key) return i;
  }
  return -1;
}

bool take(const Swept& child, PyObject* value, Values& values) {
  values[child.at] = Py_NewRef(value);
  return child.aval == nullptr || (is_array(value) && array_aval(value) == child.aval);
}

bool is_same_text(PyObject* a, PyObject* b) {
  return PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
}

// Each of these returns whether all was as usual: nothing in them runs Python.
bool sweep_dict(const Details& node, PyObject* dict, Values& values) {
  if (PyDict_GET_SIZE(dict) != node.count) return false;
  const Swept* child = node.swept.data();
  const Swept* const end = child + node.swept.size();
  PyObject *key, *value;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < node.count && PyDict_Next(dict, &at, &key, &value); ++i) {
    PyObject* want = PyTuple_GET_ITEM(node.items, i);
    if (key != want && !is_same_text(key, want)) return false;
    if (child == end || child->place != i) continue;
    if (!take(*child++, value, values)) return false;
  }
  return true;
}

bool sweep_items(const Details& node, PyObject* const* items, Py_ssize_t count,
                 Values& values) {
  if (count != node.count) return false;
  for (const Swept& child : node.swept) {
    if (!take(child, items[child.place], values)) return false;
  }
  return true;
}

}  // namespace

// Keys are compared by identity here and tracers are not known: one by one, all is.
int Guards::sweep(Instruction& node, PyObject* container, Values& values) {
  bool done = false;
  if (node.sweep == Instruction::kDict && PyDict_CheckExact(container)) {
    done = sweep_dict(*node.rest, container, values);
  } else if (node.sweep == Instruction::kList && PyList_CheckExact(container)) {
    auto* list = reinterpret_cast<PyListObject*>(container);
    done = sweep_items(*node.rest, list->ob_item, PyList_GET_SIZE(container), values);
  } else if (node.sweep == Instruction::kTuple && PyTuple_CheckExact(container)) {
    auto* tuple = reinterpret_cast<PyTupleObject*>(container);
    done = sweep_items(*node.rest, tuple->ob_item, PyTuple_GET_SIZE(container), values);
  }
  if (done) return 1;
  const int holds = node.check(node, container);
  if (holds != 1) return holds;
  for (const Swept& swept : node.rest->swept) {
    Instruction& child = walk_[swept.at];
    PyObject*& value = values[swept.at];
    Py_XDECREF(std::exchange(value, child.step(child, container)));
    if (value == nullptr) return -1;
    const int fits = swept.aval == nullptr ? 1 : child.check(child, value);
    if (fits != 1) return fits;
  }
  return 1;
}

bool Guards::plan_sweeps(const std::vector<Kinds>& kinds) {
  for (size_t i = 0; i < walk_.size(); ++i) {
    Instruction& node = walk_[i];
    const auto& [step, check] = kinds[i];
    bool is_done = false;
    Instruction* parent = node.parent < 0 ? nullptr : &walk_[static_cast<size_t>(node.parent)];
    const Py_ssize_t place = parent == nullptr || parent->sweep == Instruction::kNoSweep
                                 ? -1
                                 : place_of(*parent, node, step);
    if (place >= 0) {
      const bool is_leaf = std::strcmp(check, "aval") == 0;
      parent->rest->swept.push_back({place, i, is_leaf ? node.want : nullptr});
      is_done = is_leaf || node.check == nullptr;
    }
    find_kind(node, check);
    if (PyErr_Occurred()) return false;
    if (!is_done) order_.push_back(i);
  }
  return true;
}

}  // namespace evertrace
