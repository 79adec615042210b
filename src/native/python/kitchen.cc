// Recipes, write-backs and effects; see variant.h, and `lifting/recipes.py` and `writes.py` for what they
// mean.

#include <cstring>

#include "python/tree.h"
#include "python/variant.h"

namespace evertrace {
namespace {

constexpr const char* kRecipes[] = {"out",      "out_tree", "existing", "number", "number_as_array",
                                    "constant", "tuple",    "list",     "dict",   "call"};
constexpr const char* kWrites[] = {"attributes", "names", "dict", "items", "extend", "cell"};

template <size_t n>
int find(const char* const (&names)[n], const char* name) {
  for (size_t i = 0; i < n; ++i) {
    if (std::strcmp(names[i], name) == 0) return static_cast<int>(i);
  }
  return -1;
}

bool refuse(const char* what) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, what);
  return false;
}

// Numbers of recipes, each below `count`.
bool take_indices(PyObject* sequence, size_t count, std::vector<int>& out) {
  const Ref items(PySequence_Tuple(sequence));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(items.get(), i));
    if (index < 0 || static_cast<size_t>(index) >= count) return refuse("no such recipe");
    out.push_back(static_cast<int>(index));
  }
  return true;
}

bool take_recipe(const Guards& guards, PyObject* entry, size_t count, Recipe& recipe) {
  const char* kind;
  PyObject *object, *parts;
  if (!PyArg_ParseTuple(entry, "siOO", &kind, &recipe.index, &object, &parts)) return false;
  const int found = find(kRecipes, kind);
  if (found < 0) return refuse("no such kind of recipe");
  recipe.kind = static_cast<Recipe::Kind>(found);
  if (recipe.kind == Recipe::kExisting) {
    if (recipe.index < 0 || recipe.index >= guards.node_count()) return refuse("no such node");
    recipe.index = guards.position(recipe.index);
    if (recipe.index < 0) return refuse("a node has no value");
  }
  recipe.object = Py_NewRef(object);
  return take_indices(parts, count, recipe.parts);
}

// Gives the recipes of dicts their keys, with None for each value, if these are known words: which
// order they are in, and which are the same, is then told by them alone.
bool add_keys(std::vector<Recipe>& recipes) {
  for (Recipe& recipe : recipes) {
    if (recipe.kind != Recipe::kDict) continue;
    Ref keys(PyDict_New());
    for (size_t i = 0; keys && i + 1 < recipe.parts.size(); i += 2) {
      const Recipe& key = recipes[static_cast<size_t>(recipe.parts[i])];
      if (key.kind != Recipe::kConstant || !PyUnicode_CheckExact(key.object)) {
        keys = Ref();
      } else if (PyDict_SetItem(keys.get(), key.object, Py_None) != 0) {
        return false;
      }
    }
    if (!keys && PyErr_Occurred()) return false;
    if (keys) Py_SETREF(recipe.object, keys.release());
  }
  return true;
}

bool take_write(const Guards& guards, PyObject* entry, size_t count, Write& write) {
  const char* kind;
  int node, shape;
  PyObject* recipes;
  if (!PyArg_ParseTuple(entry, "siiOOOO", &kind, &node, &shape, &write.names, &recipes,
                        &write.rest, &write.apply)) {
    return false;
  }
  for (PyObject* object : {write.names, write.rest, write.apply}) Py_INCREF(object);
  const int found = find(kWrites, kind);
  write.kind = found < 0 ? Write::kOther : static_cast<Write::Kind>(found);
  write.shape = static_cast<Write::Shape>(shape);
  if (node < 0 || node >= guards.node_count()) return refuse("no such node");
  write.node = guards.position(node);
  if (write.node < 0) return refuse("a node has no value");
  if (write.kind == Write::kItems &&
      !PyArg_ParseTuple(write.rest, "nn", &write.shift, &write.kept)) {
    return false;
  }
  if (!take_indices(recipes, count, write.recipes)) return false;
  if (write.shape != Write::kByName) return true;
  return PyTuple_CheckExact(write.names) &&
                 static_cast<size_t>(PyTuple_GET_SIZE(write.names)) == write.recipes.size()
             ? true
             : refuse("a name for each recipe");
}

bool take_effect(PyObject* entry, size_t count, Effect& effect) {
  PyObject* recipes;
  if (!PyArg_ParseTuple(entry, "OO!O", &effect.function, &PyTuple_Type, &effect.names, &recipes)) {
    return false;
  }
  Py_INCREF(effect.function);
  Py_INCREF(effect.names);
  if (!take_indices(recipes, count, effect.recipes)) return false;
  const auto named = static_cast<size_t>(PyTuple_GET_SIZE(effect.names));
  return named <= effect.recipes.size() || refuse("a recipe for each name");
}

// Takes the items of a sequence by a function that fills one of `out`.
template <class T, class Take>
bool take_all(PyObject* sequence, std::vector<T>& out, const Take& take) {
  const Ref items(PySequence_Tuple(sequence));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
    out.push_back(T());
    if (!take(PyTuple_GET_ITEM(items.get(), i), out.back())) return false;
  }
  return static_cast<bool>(items);
}

}  // namespace

bool Kitchen::compile(const Guards& guards, PyObject* recipes, Py_ssize_t result,
                      PyObject* writes, PyObject* effects) {
  const Py_ssize_t size = PyObject_Size(recipes);
  if (size < 0) return false;
  const auto count = static_cast<size_t>(size);
  if (result < 0 || result >= size) return refuse("no result");
  result_ = static_cast<int>(result);
  const auto take_one = [&](PyObject* entry, Recipe& recipe) {
    return take_recipe(guards, entry, count, recipe);
  };
  const auto take_change = [&](PyObject* entry, Write& write) {
    return take_write(guards, entry, count, write);
  };
  const auto take_call = [&](PyObject* entry, Effect& effect) {
    return take_effect(entry, count, effect);
  };
  return take_all(recipes, recipes_, take_one) && add_keys(recipes_) &&
         take_all(writes, writes_, take_change) && take_all(effects, effects_, take_call);
}

PyObject* Kitchen::make(int number, Call& call) const {
  const Recipe& recipe = recipes_[static_cast<size_t>(number)];
  const size_t index = static_cast<size_t>(recipe.index);
  switch (recipe.kind) {
    case Recipe::kOut:
      return Py_NewRef(call.outs[index]);
    case Recipe::kOutTree:
      return build_tree(recipe.object, call.outs, recipe.index);
    case Recipe::kExisting:
      return Py_NewRef(call.values[index]);
    case Recipe::kNumber:
      return Py_NewRef(call.slots[index]);
    case Recipe::kNumberAsArray:
      return PyObject_CallOneArg(recipe.object, call.slots[index]);
    case Recipe::kConstant:
      return Py_NewRef(recipe.object);
    default:
      break;
  }
  PyObject*& made = (*call.made)[static_cast<size_t>(number)];
  if (made != nullptr) return Py_NewRef(made);
  if (Py_EnterRecursiveCall(" while making the result of a jitted function")) return nullptr;
  PyObject* result = make_new(number, call);
  Py_LeaveRecursiveCall();
  return result;
}

// Makes a container, or calls what makes something; what can hold itself is noted before it is filled.
PyObject* Kitchen::make_new(int number, Call& call) const {
  const Recipe& recipe = recipes_[static_cast<size_t>(number)];
  PyObject*& made = (*call.made)[static_cast<size_t>(number)];
  const auto& parts = recipe.parts;
  if (recipe.kind == Recipe::kDict) return make_dict(recipe, made, call);
  if (recipe.kind == Recipe::kList) {
    made = PyList_New(0);
    for (size_t i = 0; made != nullptr && i < parts.size(); ++i) {
      const Ref item(make(parts[i], call));
      if (!item || PyList_Append(made, item.get()) != 0) return nullptr;
    }
    return Py_XNewRef(made);
  }
  Ref items(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; items && i < parts.size(); ++i) {
    PyObject* item = make(parts[i], call);
    if (item == nullptr) return nullptr;
    PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), item);
  }
  if (!items) return nullptr;
  if (recipe.kind == Recipe::kCall) {
    const Ref result(PyObject_Call(recipe.object, items.get(), nullptr));
    if (result && made == nullptr) made = Py_NewRef(result.get());  // else an inner visit has made it
    return result ? Py_NewRef(made) : nullptr;
  }
  if (recipe.object != Py_None) {  // a named tuple: tuple.__new__(cls, items)
    const Ref args(PyTuple_Pack(1, items.get()));
    if (!args) return nullptr;
    auto* cls = reinterpret_cast<PyTypeObject*>(recipe.object);
    items = Ref(PyTuple_Type.tp_new(cls, args.get(), nullptr));
    if (!items) return nullptr;
  }
  Py_XDECREF(made);  // of an inner visit: a tuple that holds itself by way of a list
  made = Py_NewRef(items.get());
  return items.release();
}

// A dict that has its keys from the start is not made larger time and again.
PyObject* Kitchen::make_dict(const Recipe& recipe, PyObject*& made, Call& call) const {
  const auto& parts = recipe.parts;
  const bool has_keys = PyDict_CheckExact(recipe.object);
  made = has_keys ? PyDict_Copy(recipe.object) : PyDict_New();
  for (size_t i = 0; made != nullptr && i + 1 < parts.size(); i += 2) {
    const Ref key(make(parts[i], call));
    const Ref value(key ? make(parts[i + 1], call) : nullptr);
    if (!value || PyDict_SetItem(made, key.get(), value.get()) != 0) return nullptr;
  }
  return Py_XNewRef(made);
}

// The new values of a write: a tuple.
PyObject* Kitchen::gather(const Write& write, Call& call) const {
  Ref made(PyTuple_New(static_cast<Py_ssize_t>(write.recipes.size())));
  for (size_t i = 0; made && i < write.recipes.size(); ++i) {
    PyObject* value = make(write.recipes[i], call);
    if (value == nullptr) return nullptr;
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), value);
  }
  return made.release();
}

namespace {

bool apply_names(PyObject* names, const Write& write, PyObject* made) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made); ++i) {
    if (PyDict_SetItem(names, PyTuple_GET_ITEM(write.names, i), PyTuple_GET_ITEM(made, i)) != 0) {
      return false;
    }
  }
  return true;
}

// Of what may be done twice, nothing is half done where memory is short for a moment.
template <class Change>
bool insist(Change change) {
  if (change()) return true;
  if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyErr_Clear();
  return change();
}

bool apply_items(PyObject* list, const Write& write, PyObject* made) {
  if (write.kind == Write::kItems) {
    return PyList_SetSlice(list, write.kept + write.shift, PY_SSIZE_T_MAX, made) == 0 &&
           (write.shift == 0 || PyList_SetSlice(list, 0, write.shift, nullptr) == 0);
  }
  return PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, made) == 0;
}

// The new values as the Python function takes them.
PyObject* shaped(const Write& write, PyObject* made) {
  if (write.shape == Write::kOne) return Py_NewRef(PyTuple_GET_ITEM(made, 0));
  if (write.shape == Write::kSeveral) return PySequence_List(made);
  Ref dict(PyDict_New());
  return dict && apply_names(dict.get(), write, made) ? dict.release() : nullptr;
}

bool apply_in_python(PyObject* thing, const Write& write, PyObject* made) {
  const Ref values(shaped(write, made));
  if (!values) return false;
  PyObject* args[] = {thing, values.get(), write.rest};
  const Ref done(PyObject_Vectorcall(write.apply, args, 3, nullptr));
  return static_cast<bool>(done);
}

PyObject* held_class = nullptr;  // `interrupts.held`

// Has the handlers of signals wait while writes are applied of which some run Python: between two
// of its instructions one could raise, with some of the writes made. What C writes runs nothing.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { (void)end(true); }

  // False with an error set, and nothing held.
  bool begin() {
    if (held_class == nullptr) return true;
    held_ = Ref(PyObject_CallNoArgs(held_class));
    return held_ && (said("hold") || end(false));
  }

  // Lets the handlers through; `ok` is returned, or false where one has raised.
  bool end(bool ok) {
    if (!held_) return ok;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const bool is_quiet = said("release");
    held_ = Ref();
    if (is_quiet) {
      PyErr_Restore(type, value, traceback);
      return ok;
    }
    for (PyObject* object : {type, value, traceback}) Py_XDECREF(object);
    return false;
  }

 private:
  bool said(const char* name) const {
    const Ref done(PyObject_CallMethod(held_.get(), name, nullptr));
    return static_cast<bool>(done);
  }

  Ref held_;
};

}  // namespace

// What C writes to, a new reference; null without an error where Python has to apply the write.
PyObject* Kitchen::target(const Write& write, PyObject* thing, PyObject* made) const {
  switch (write.kind) {
    case Write::kAttributes: {
      static PyObject* const name = PyUnicode_InternFromString("__dict__");
      PyTypeObject* const cls = Py_TYPE(thing);
      if (cls->tp_getattro != PyObject_GenericGetAttr || !has_usual_dict(cls)) return nullptr;
      Ref names(PyObject_GenericGetAttr(thing, name));
      if (!names) forget_error();
      return names && PyDict_CheckExact(names.get()) ? names.release() : nullptr;
    }
    case Write::kNames:
    case Write::kEntries:
      return PyDict_CheckExact(thing) ? Py_NewRef(thing) : nullptr;
    case Write::kItems:
    case Write::kExtend:
      return PyList_Check(thing) ? Py_NewRef(thing) : nullptr;
    case Write::kCell:
      return PyCell_Check(thing) && PyTuple_GET_SIZE(made) == 1 ? Py_NewRef(thing) : nullptr;
    case Write::kOther:
      break;
  }
  return nullptr;
}

bool Kitchen::apply(const Write& write, PyObject* target, PyObject* made) const {
  switch (write.kind) {
    case Write::kEntries:
      for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(made); i += 2) {
        PyObject *key = PyTuple_GET_ITEM(made, i), *value = PyTuple_GET_ITEM(made, i + 1);
        if (!insist([&] { return PyDict_SetItem(target, key, value) == 0; })) return false;
      }
      return true;
    case Write::kItems:
    case Write::kExtend:
      return insist([&] { return apply_items(target, write, made); });
    case Write::kCell:
      return PyCell_Set(target, PyTuple_GET_ITEM(made, 0)) == 0;
    default:
      return insist([&] { return apply_names(target, write, made); });
  }
}

// Whether there is one change in all, which is made or not: an attribute, or items at the end.
bool Kitchen::is_one_change(const Values& changes) const {
  if (writes_.size() != 1) return false;
  const Write& write = writes_[0];
  const bool deletes = PyTuple_CheckExact(write.rest) && PyTuple_GET_SIZE(write.rest) != 0;
  return write.kind == Write::kExtend ||
         (write.shape == Write::kByName && !deletes && PyTuple_GET_SIZE(changes[0]) == 1);
}

bool Kitchen::apply_all(Call& call, const Values& changes) const {
  Values targets(writes_.size());
  Held held;
  bool runs_python = false;
  for (size_t i = 0; i < writes_.size(); ++i) {
    PyObject* thing = call.values[static_cast<size_t>(writes_[i].node)];
    targets[i] = target(writes_[i], thing, changes[i]);
    runs_python = runs_python || targets[i] == nullptr;
  }
  if (runs_python && !is_one_change(changes) && !held.begin()) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < writes_.size(); ++i) {
    PyObject* thing = call.values[static_cast<size_t>(writes_[i].node)];
    ok = targets[i] != nullptr ? apply(writes_[i], targets[i], changes[i])
                               : apply_in_python(thing, writes_[i], changes[i]);
  }
  return held.end(ok);
}

bool Kitchen::repeat(const Effect& effect, Call& call) const {
  Values args(effect.recipes.size());
  for (size_t i = 0; i < args.size(); ++i) {
    args[i] = make(effect.recipes[i], call);
    if (args[i] == nullptr) return false;
  }
  const size_t named = static_cast<size_t>(PyTuple_GET_SIZE(effect.names));
  const Ref done(PyObject_Vectorcall(effect.function, args.data(), args.size() - named,
                                     effect.names));
  return static_cast<bool>(done);
}

PyObject* Kitchen::serve(Call& call) const {
  if (writes_.empty() && effects_.empty() &&
      recipes_[static_cast<size_t>(result_)].kind <= Recipe::kConstant) {
    return make(result_, call);
  }
  Values made(recipes_.size());
  call.made = &made;
  Values changes(writes_.size());
  for (size_t i = 0; i < writes_.size(); ++i) {
    changes[i] = gather(writes_[i], call);
    if (changes[i] == nullptr) return nullptr;
  }
  Ref result(make(result_, call));
  if (result && !writes_.empty() && !apply_all(call, changes)) return nullptr;
  for (size_t i = 0; result && i < effects_.size(); ++i) {
    if (!repeat(effects_[i], call)) return nullptr;
  }
  return result.release();
}

int Kitchen::traverse(visitproc visit, void* arg) {
  for (const Recipe& recipe : recipes_) Py_VISIT(recipe.object);
  for (const Write& write : writes_) {
    for (PyObject* object : {write.names, write.rest, write.apply}) Py_VISIT(object);
  }
  for (const Effect& effect : effects_) {
    Py_VISIT(effect.function);
    Py_VISIT(effect.names);
  }
  return 0;
}

void Kitchen::clear() {
  std::vector<Recipe> recipes;
  std::vector<Write> writes;
  std::vector<Effect> effects;
  recipes.swap(recipes_);
  writes.swap(writes_);
  effects.swap(effects_);
  for (const Recipe& recipe : recipes) Py_XDECREF(recipe.object);
  for (const Write& write : writes) {
    for (PyObject* object : {write.names, write.rest, write.apply}) Py_XDECREF(object);
  }
  for (const Effect& effect : effects) {
    Py_XDECREF(effect.function);
    Py_XDECREF(effect.names);
  }
}

namespace {

PyObject* set_held(PyObject*, PyObject* cls) {
  Py_XSETREF(held_class, Py_NewRef(cls));
  Py_RETURN_NONE;
}

PyMethodDef kitchen_methods[] = {
    {"set_held", as_method<set_held>(), METH_O, "Name the class that has handlers of signals wait."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_kitchen(PyObject* module) { return PyModule_AddFunctions(module, kitchen_methods); }

}  // namespace evertrace
