#include "python/function.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "python/at.h"
#include "python/indexing.h"
#include "python/numpy_api.h"
#include "python/plan.h"
#include "python/spans.h"
#include "python/thread_state.h"
#include "python/tree.h"

namespace evertrace {
namespace {

constexpr size_t kMostTokens = 32;
constexpr size_t kMostPlans = 4096;    // of a function, before it forgets them
constexpr size_t kMostMade = 1 << 16;  // of a function: after that, new operands take Python's path
constexpr size_t kMostAtOnce = 32;     // where numbers count: after that, a plan takes a second call
constexpr Py_ssize_t kMostArgs = 8;
constexpr int kMostDepth = 4;          // of containers among the arguments

// ---------------------------------------------------------------- keys

// What a plan depends on, as words: avals and types by address, static arguments by value.
struct Key {
  uint64_t words[kMostTokens];
  size_t count = 0;
  PyObject* kept[kMostTokens];  // objects that words are addresses of, borrowed
  size_t num_kept = 0;

  bool add(uint64_t word) {
    if (count == kMostTokens) return false;
    words[count++] = word;
    return true;
  }
  bool add_object(PyObject* object) {
    if (count == kMostTokens) return false;
    kept[num_kept++] = object;
    return add(reinterpret_cast<uint64_t>(object));
  }
  uint64_t hash() const {
    uint64_t out = count;
    for (size_t i = 0; i < count; ++i) {
      out = (out ^ words[i]) * 0x9E3779B97F4A7C15ull;
      out ^= out >> 32;
    }
    return out;
  }
  bool operator==(const Key& other) const {
    if (count != other.count) return false;
    for (size_t i = 0; i < count; ++i) {  // few words: a call of memcmp costs more
      if (words[i] != other.words[i]) return false;
    }
    return true;
  }
};

enum Tag : uint64_t { kInt = 1, kFloat, kTuple, kList, kSlice };

// Adds what is part of the program: by value, or by address for what does not change.
bool add_static(Key& key, PyObject* x) {
  if (PyLong_CheckExact(x)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
    return overflow == 0 && key.add(kInt) && key.add(static_cast<uint64_t>(value));
  }
  if (x == Py_None || x == Py_Ellipsis || PyBool_Check(x) || PyType_Check(x) ||
      PyUnicode_CheckExact(x) || PyArray_DescrCheck(x)) {
    return key.add_object(x);
  }
  if (PyFloat_CheckExact(x)) {
    uint64_t bits;
    const double value = PyFloat_AS_DOUBLE(x);
    std::memcpy(&bits, &value, sizeof bits);
    return key.add(kFloat) && key.add(bits);
  }
  if (PySlice_Check(x)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(x);
    return key.add(kSlice) && add_static(key, slice->start) && add_static(key, slice->stop) &&
           add_static(key, slice->step);
  }
  return false;
}

bool is_number(PyObject* x) {
  return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyComplex_CheckExact(x);
}

// ---------------------------------------------------------------- tables

struct Entry {
  Key key;
  uint64_t hash;
  const Plan* plan;  // owned; null: no plan can be made
  bool is_awaited;   // whether it is to be made when the key comes again
};

class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { clear(); }

  Entry* find(const Key& key) {
    if (last_ != nullptr && last_->key == key) return last_;
    if (entries_.empty()) return nullptr;
    const uint64_t hash = key.hash();
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      Entry* entry = places_[i];
      if (entry == nullptr) return nullptr;
      if (entry->hash == hash && entry->key == key) return last_ = entry;
    }
  }

  // Takes the reference to the plan.
  void insert(const Key& key, const Plan* plan, bool is_awaited = false) {
    if (Entry* known = find(key)) {  // awaited, or made meanwhile
      const Plan* old = std::exchange(known->plan, plan);
      known->is_awaited = is_awaited;
      if (old != nullptr) old->release();
      return;
    }
    if (entries_.size() >= kMostPlans) clear();
    ++made_;
    entries_.push_back(std::make_unique<Entry>(Entry{key, key.hash(), plan, is_awaited}));
    for (size_t i = 0; i < key.num_kept; ++i) Py_INCREF(key.kept[i]);
    if (2 * entries_.size() > places_.size()) {
      places_.assign(places_.empty() ? 16 : 2 * places_.size(), nullptr);
      for (const auto& entry : entries_) place(entry.get());
    } else {
      place(entries_.back().get());
    }
  }

  // Drops references, which may run Python: the table is empty by then.
  void clear() {
    std::vector<std::unique_ptr<Entry>> dropped;
    dropped.swap(entries_);
    places_.clear();
    last_ = nullptr;
    for (const auto& entry : dropped) {
      if (entry->plan != nullptr) entry->plan->release();
      for (size_t i = 0; i < entry->key.num_kept; ++i) Py_DECREF(entry->key.kept[i]);
    }
  }

  void forget() {
    clear();
    made_ = 0;
  }
  bool is_closed() const { return made_ >= kMostMade; }
  size_t made() const { return made_; }
  size_t num_plans() const {
    size_t count = 0;
    for (const auto& entry : entries_) count += entry->plan != nullptr;
    return count;
  }

 private:
  size_t mask() const { return places_.size() - 1; }
  void place(Entry* entry) {
    size_t i = entry->hash & mask();
    while (places_[i] != nullptr) i = (i + 1) & mask();
    places_[i] = entry;
  }

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> places_;
  Entry* last_ = nullptr;
  size_t made_ = 0;
};

// ---------------------------------------------------------------- when plans are used

thread_local bool is_recording = false;
PyObject* planner = nullptr;

// What of the options plans depend on, as a number; -1 where they are not used. Of the last options
// it is kept.
int64_t code_of_options(PyObject* options) {
  static PyObject* last = nullptr;
  static int64_t last_code = -1;
  static PyObject* codes = PyDict_New();
  if (options == last) return last_code;
  Ref usable(PyObject_GetAttrString(options, "plans"));
  if (!usable) return -1;
  int64_t code = -1;
  if (usable.get() != Py_None) {
    PyObject* known = PyDict_GetItemWithError(codes, usable.get());
    if (known == nullptr && PyErr_Occurred()) return -1;
    if (known == nullptr) {
      Ref made(PyLong_FromSsize_t(PyDict_GET_SIZE(codes)));
      if (!made || PyDict_SetItem(codes, usable.get(), made.get()) != 0) return -1;
      known = made.get();
    }
    code = PyLong_AsLongLong(known);
  }
  Ref old(last);
  last = Py_NewRef(options);
  last_code = code;
  return code;
}

// The number of the options in force, or -1 where plans are not used now.
int64_t current_code() {
  if (planner == nullptr || is_recording || !computes_at_once()) return -1;
  PyObject* options = current_config();
  const int64_t code = options == nullptr ? -1 : code_of_options(options);
  if (code < 0) forget_error();
  return code;
}

// ---------------------------------------------------------------- the type

struct FunctionObject {
  PyObject_HEAD
  PyObject* function;
  PyObject* dict;
  PyObject* weakrefs;
  vectorcallfunc vectorcall;
  Table* table;
  bool by_type;         // Python numbers are operands; else parts of the program
  const char* update;   // of a method of `x.at[i]`: what `update_static` does; null of all others
};

FunctionObject* as_function(PyObject* x) { return reinterpret_cast<FunctionObject*>(x); }
PyTypeObject* function_class = nullptr;

// A call: what its plan depends on, and its arguments in order, those in lists and tuples too.
struct Call {
  Key key;
  PyObject* operands[kMostTokens];
  size_t num_operands = 0;
  bool has_array = false;
  References held;  // what is in a list, which others may change
};

// Adds an argument, or a part of one. False where the Python path has to look at it.
bool add_argument(Call& call, bool is_operand, PyObject* x, int depth) {
  Key& key = call.key;
  if (PyTuple_CheckExact(x) || PyList_CheckExact(x)) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(x);
    bool ok = depth < kMostDepth && key.add(PyList_CheckExact(x) ? kList : kTuple) &&
              key.add(static_cast<uint64_t>(size));
    for (Py_ssize_t i = 0; ok && i < size; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(x, i);
      if (PyList_CheckExact(x)) call.held.push(Py_NewRef(item));
      ok = add_argument(call, false, item, depth + 1);
    }
    return ok;
  }
  if (is_array(x)) {
    if (!is_on_host(x) || !key.add_object(array_aval(x))) return false;
    // Results are laid out as operands are: what is no aval says so.
    PyObject* sharding = array_sharding(x);
    if (sharding != nullptr && !key.add_object(sharding)) return false;
    call.has_array = true;
  } else if (is_operand && is_number(x)) {
    if (!key.add(reinterpret_cast<uint64_t>(Py_TYPE(x)))) return false;
  } else if (!add_static(key, x)) {
    return false;
  }
  call.operands[call.num_operands++] = x;  // one of them has a token at least
  return true;
}

// Describes a call. False where the Python path has to look at the arguments.
bool describe(Call& call, int64_t code, bool by_type, PyObject* const* args, Py_ssize_t count,
              PyObject* names) {
  call.key.add(static_cast<uint64_t>(code));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!add_argument(call, by_type, args[i], 0)) return false;
  }
  const Py_ssize_t num_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < num_names; ++i) {
    if (!call.key.add_object(PyTuple_GET_ITEM(names, i))) return false;
  }
  return call.has_array || !by_type;
}

// Runs a plan, which the table may drop meanwhile.
PyObject* run(const Plan* plan, PyObject* function, PyObject* const* args) {
  const Span span(function);
  plan->retain();
  PyObject* result = plan->run(args);
  plan->release();
  return result;
}

// Has Python find out what the function does, and makes a plan of it. Null without an error: the
// function has to be called.
PyObject* call_and_plan(FunctionObject* self, const Call& call, PyObject* const* args,
                        Py_ssize_t count, PyObject* names) {
  Ref all(PyTuple_New(count));
  if (!all) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(all.get(), i, Py_NewRef(args[i]));
  Ref pair(PyObject_CallFunctionObjArgs(planner, self->function, all.get(),
                                        names == nullptr ? Py_None : names,
                                        self->by_type ? Py_True : Py_False, nullptr));
  if (!pair) return nullptr;
  PyObject *out, *description;
  if (!PyArg_ParseTuple(pair.get(), "OO", &out, &description)) return nullptr;
  const Plan* plan = nullptr;
  if (description != Py_None) {
    plan = Plan::make(description);
    if (plan == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_LookupError)) return nullptr;
      PyErr_Clear();
    } else if (!plan->fits(call.operands, call.num_operands)) {
      std::exchange(plan, nullptr)->release();
    }
  }
  self->table->insert(call.key, plan);
  if (plan != nullptr) {  // its result, so that the first call has the bits of all others
    PyObject* result = run(plan, self->function, call.operands);
    if (result != nullptr || PyErr_Occurred()) return result;
  }
  return out == Py_None ? nullptr : Py_NewRef(out);
}

// A method of `x.at[index]`.
PyObject* update_call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  FunctionObject* self = as_function(object);
  PyObject *array, *index;
  if (names == nullptr && PyVectorcall_NARGS(flags) == 2 && is_place(args[0], &array, &index) &&
      is_array(array) && may_use_plans()) {
    const Span span(self->function);
    PyObject* result = update_static(array, index, args[1], self->update);
    if (result != nullptr || PyErr_Occurred()) return result;
  }
  return PyObject_Vectorcall(self->function, args, flags, names);
}

PyObject* function_call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  FunctionObject* self = as_function(object);
  const Py_ssize_t num_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const Py_ssize_t count = PyVectorcall_NARGS(flags) + num_names;
  const int64_t code = count > kMostArgs ? -1 : current_code();
  if (code >= 0) {
    Call call;
    if (describe(call, code, self->by_type, args, count, names)) {
      Entry* entry = self->table->find(call.key);
      const bool is_first = entry == nullptr && !self->table->is_closed();
      const bool is_one_of_many = !self->by_type && self->table->made() >= kMostAtOnce;
      if (is_first && (!call.has_array || is_one_of_many)) {
        // Numbers change from call to call more often than types do: that costs no plan.
        self->table->insert(call.key, nullptr, true);
      } else if (is_first || (entry != nullptr && entry->is_awaited)) {
        PyObject* result = call_and_plan(self, call, args, count, names);
        if (result != nullptr || PyErr_Occurred()) return result;
      } else if (entry != nullptr && entry->plan != nullptr) {
        PyObject* result = run(entry->plan, self->function, call.operands);
        if (result != nullptr || PyErr_Occurred()) return result;
      }
    }
  }
  return PyObject_Vectorcall(self->function, args, flags, names);
}

PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"function", "by_type", "update", nullptr};
  PyObject* function;
  int by_type = 0;
  const char* update = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pz:Function", const_cast<char**>(names),
                                   &function, &by_type, &update)) {
    return nullptr;
  }
  if (update != nullptr) {
    update = update_named(update);
    if (update == nullptr) {
      PyErr_SetString(PyExc_ValueError, "Function: there is no such update");
      return nullptr;
    }
  }
  auto* self = as_function(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->function = Py_NewRef(function);
  self->vectorcall = update == nullptr ? guarded<function_call>() : guarded<update_call>();
  self->update = update;
  self->by_type = by_type != 0;
  self->table = new Table;
  return reinterpret_cast<PyObject*>(self);
}

int function_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(as_function(object)->function);
  Py_VISIT(as_function(object)->dict);
  return 0;
}

int function_clear(PyObject* object) {
  Py_CLEAR(as_function(object)->function);
  Py_CLEAR(as_function(object)->dict);
  return 0;
}

void function_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (as_function(object)->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  function_clear(object);
  delete as_function(object)->table;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* function_get(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

// What the function does not have itself, such as `__code__`, is that of the Python function.
PyObject* function_getattro(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(as_function(self)->function, name);
}

PyObject* function_repr(PyObject* self) {
  Ref name(PyObject_GetAttrString(as_function(self)->function, "__qualname__"));
  return name ? PyUnicode_FromFormat("<function %U>", name.get()) : nullptr;
}

// Pickled and copied by name, as Python functions are.
PyObject* function_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(self, "__qualname__");
}

PyObject* num_plans(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(as_function(self)->table->num_plans());
}

PyObject* forget_plans(PyObject* self, PyObject*) {
  as_function(self)->table->forget();
  Py_RETURN_NONE;
}

PyMethodDef function_methods[] = {
    {"__reduce__", as_method<function_reduce>(), METH_NOARGS, nullptr},
    {"_num_plans", as_method<num_plans>(), METH_NOARGS, "Return how many plans there are."},
    {"_forget_plans", as_method<forget_plans>(), METH_NOARGS, "Drop all plans."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef function_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot function_slots[] = {
    {Py_tp_new, as_slot<function_new>()},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, as_slot<function_get>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(function_clear)},
    {Py_tp_getattro, as_slot<function_getattro>()},
    {Py_tp_repr, as_slot<function_repr>()},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {Py_tp_getset, function_getset},
    {0, nullptr},
};

PyType_Spec function_spec = {
    "evertrace._src._native.Function", sizeof(FunctionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    function_slots,
};

// ---------------------------------------------------------------- the module's functions

PyObject* set_planner(PyObject*, PyObject* function) {
  Py_XSETREF(planner, Py_NewRef(function));
  Py_RETURN_NONE;
}

// set_recording(flag): whether this thread runs functions to see what they do; the old flag.
PyObject* set_recording(PyObject*, PyObject* flag) {
  const bool old = is_recording;
  is_recording = flag == Py_True;
  return PyBool_FromLong(old);
}

PyMethodDef methods[] = {
    {"set_planner", as_method<set_planner>(), METH_O, "Name the function that describes what others do."},
    {"set_recording", as_method<set_recording>(), METH_O, "Switch plans off in this thread, or on again."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_function(PyObject* x) { return Py_TYPE(x) == function_class; }

PyObject* call_function(PyObject* function, PyObject* const* args, Py_ssize_t count) {
  return function_call(function, args, static_cast<size_t>(count), nullptr);
}

bool may_use_plans() { return current_code() >= 0; }

bool is_on_host(PyObject* array) {
  auto* self = reinterpret_cast<ArrayObject*>(array);
  if (self->sharding != nullptr && !is_here(self)) return false;
  if (self->device == nullptr || self->device == Py_None) return true;
  if (self->committed && self->sharding == nullptr) return false;
  // Devices are few and live for ever; the last one that was found on the host is remembered.
  static PyObject* known = nullptr;
  if (self->device == known) return true;
  Ref platform(PyObject_GetAttrString(self->device, "platform"));
  if (!platform) {
    forget_error();
    return false;
  }
  if (PyUnicode_CompareWithASCIIString(platform.get(), "cpu") != 0) return false;
  Py_XSETREF(known, Py_NewRef(self->device));
  return true;
}

int add_function(PyObject* module) {
  Ref type(PyType_FromSpec(&function_spec));
  if (!type || PyModule_AddObjectRef(module, "Function", type.get()) != 0) return -1;
  function_class = reinterpret_cast<PyTypeObject*>(type.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
