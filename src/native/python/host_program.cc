// Python's numbers, computed before the compiled program; see host_program.h.

#include "python/host_program.h"

#include <cstring>
#include <new>

namespace evertrace {
namespace {

// The operations that need no call; the numbers of others are kCall.
using Binary = PyObject* (*)(PyObject*, PyObject*);
using Unary = PyObject* (*)(PyObject*);

template <int op>
PyObject* compare(PyObject* a, PyObject* b) {
  return PyObject_RichCompare(a, b, op);
}

constexpr struct {
  const char* name;  // in the module `operator`
  Binary binary;
  Unary unary;
} operations[] = {
    {"add", PyNumber_Add, nullptr},
    {"sub", PyNumber_Subtract, nullptr},
    {"mul", PyNumber_Multiply, nullptr},
    {"truediv", PyNumber_TrueDivide, nullptr},
    {"floordiv", PyNumber_FloorDivide, nullptr},
    {"mod", PyNumber_Remainder, nullptr},
    {"and_", PyNumber_And, nullptr},
    {"or_", PyNumber_Or, nullptr},
    {"xor", PyNumber_Xor, nullptr},
    {"lt", compare<Py_LT>, nullptr},
    {"le", compare<Py_LE>, nullptr},
    {"eq", compare<Py_EQ>, nullptr},
    {"ne", compare<Py_NE>, nullptr},
    {"gt", compare<Py_GT>, nullptr},
    {"ge", compare<Py_GE>, nullptr},
    {"getitem", PyObject_GetItem, nullptr},
    {"neg", nullptr, PyNumber_Negative},
    {"pos", nullptr, PyNumber_Positive},
    {"invert", nullptr, PyNumber_Invert},
    {"index", nullptr, PyNumber_Index},
};

constexpr int kOperations = sizeof(operations) / sizeof(operations[0]);
constexpr int kCall = -1;
constexpr int kSame = -2;  // the value as it is

PyObject* functions[kOperations];
PyObject* value_of;  // of `lifting/hostprogram.py`

int code_of(PyObject* function, size_t operands) {
  if (function == value_of) return kSame;
  for (int i = 0; i < kOperations; ++i) {
    if (function == functions[i]) {
      return operands == (operations[i].binary != nullptr ? 2u : 1u) ? i : kCall;
    }
  }
  return kCall;
}

// Whether a result has the type and the bits of a plain value; -1 with an error set.
int is_value(PyObject* result, PyObject* want) {
  if (Py_TYPE(result) != Py_TYPE(want)) return 0;
  if (PyFloat_CheckExact(want)) {
    return same_bits(PyFloat_AS_DOUBLE(result), PyFloat_AS_DOUBLE(want));
  }
  return PyObject_RichCompareBool(result, want, Py_EQ);
}

bool is_plain(PyObject* x) {
  return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyUnicode_CheckExact(x) ||
         PyBytes_CheckExact(x) || x == Py_None;
}

}  // namespace

bool HostProgram::is_slot(Py_ssize_t slot) const {
  return 0 <= slot && slot < static_cast<Py_ssize_t>(size());
}

bool HostProgram::add(PyObject* entry) {
  PyObject *function, *operands, *want, *demand;
  Py_ssize_t out;
  if (!PyArg_ParseTuple(entry, "OO!nOO", &function, &PyTuple_Type, &operands, &out, &want,
                        &demand)) {
    return false;
  }
  Step step;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands); ++i) {
    const Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(operands, i));
    if (!is_slot(slot)) return false;
    step.operands.push_back(static_cast<int>(slot));
  }
  if (out != -1 && !is_slot(out)) return false;
  step.by_value = demand != Py_None && is_plain(want);
  if (demand != Py_None && !step.by_value) {
    function = demand;  // which compares, and gives True
    want = Py_True;
  }
  step.code = code_of(function, step.operands.size());
  if (step.code == kSame && step.operands.size() != 1) step.code = kCall;
  step.first = step.operands.empty() ? 0 : step.operands[0];
  step.second = step.operands.size() < 2 ? 0 : step.operands[1];
  step.out = static_cast<int>(out);
  step.function = Py_NewRef(function);
  step.want = Py_NewRef(want);
  steps_.push_back(std::move(step));
  return true;
}

bool HostProgram::compile(PyObject* slots, PyObject* leaves, PyObject* instructions) {
  clear();
  const Ref all(PySequence_Tuple(slots)), given(PySequence_Tuple(leaves)),
      steps(PySequence_Tuple(instructions));
  if (!all || !given || !steps) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    constants_.push_back(Py_NewRef(PyTuple_GET_ITEM(all.get(), i)));
  }
  bool valid = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); ++i) {
    const Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(given.get(), i));
    valid = valid && is_slot(slot);
    leaves_.push_back(static_cast<int>(slot));
  }
  for (Py_ssize_t i = 0; valid && i < PyTuple_GET_SIZE(steps.get()); ++i) {
    valid = add(PyTuple_GET_ITEM(steps.get(), i));
  }
  if (!valid && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such slot");
  return valid;
}

void HostProgram::fill(PyObject* const* leaves, Values& slots) const {
  for (size_t i = 0; i < constants_.size(); ++i) slots[i] = Py_NewRef(constants_[i]);
  for (size_t i = 0; i < leaves_.size(); ++i) {
    PyObject*& slot = slots[static_cast<size_t>(leaves_[i])];
    PyObject* old = slot;
    slot = Py_NewRef(leaves[i]);
    Py_DECREF(old);
  }
}

PyObject* HostProgram::apply(const Step& step, const Values& slots) const {
  PyObject* first = slots[static_cast<size_t>(step.first)];
  if (step.code >= 0) {
    const auto& operation = operations[step.code];
    if (operation.unary != nullptr) return operation.unary(first);
    return operation.binary(first, slots[static_cast<size_t>(step.second)]);
  }
  if (step.code == kSame) return Py_NewRef(first);
  std::vector<PyObject*> args;
  args.reserve(step.operands.size());
  for (const int slot : step.operands) args.push_back(slots[static_cast<size_t>(slot)]);
  return PyObject_Vectorcall(step.function, args.data(), args.size(), nullptr);
}

int HostProgram::run(Values& slots) const {
  for (const Step& step : steps_) {
    PyObject* result = apply(step, slots);
    int fits;
    if (result == nullptr) {
      fits = -1;
    } else if (step.out >= 0) {
      fits = reinterpret_cast<PyObject*>(Py_TYPE(result)) == step.want;
    } else {
      fits = step.by_value ? is_value(result, step.want) : result == step.want;
    }
    if (fits == 1) {
      if (step.out < 0) {
        Py_DECREF(result);
      } else {
        PyObject* old = std::exchange(slots[static_cast<size_t>(step.out)], result);
        Py_DECREF(old);
      }
      continue;
    }
    Py_XDECREF(result);
    if (fits == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
  }
  return 1;
}

int HostProgram::traverse(visitproc visit, void* arg) {
  for (PyObject* object : constants_) Py_VISIT(object);
  for (const Step& step : steps_) {
    Py_VISIT(step.function);
    Py_VISIT(step.want);
  }
  return 0;
}

void HostProgram::clear() {
  std::vector<PyObject*> constants;
  std::vector<Step> steps;
  constants.swap(constants_);
  steps.swap(steps_);
  leaves_.clear();
  for (PyObject* object : constants) Py_XDECREF(object);
  for (const Step& step : steps) {
    Py_XDECREF(step.function);
    Py_XDECREF(step.want);
  }
}

// ------------------------------------------------------------------------ the Python types

namespace {

PyTypeObject *the_guards_type, *the_program_type;

// Types that hold one C++ object, made by `compile` from the arguments of the constructor.
template <class Object, class Part>
struct Holder {
  static PyObject* make(PyTypeObject* type) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self != nullptr) new (&part(self)) Part();
    return self;
  }
  static Part& part(PyObject* self) {
    return *reinterpret_cast<Part*>(reinterpret_cast<char*>(self) + sizeof(PyObject));
  }
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return part(self).traverse(visit, arg);
  }
  static int clear(PyObject* self) {
    part(self).clear();
    return 0;
  }
  static void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    part(self).~Part();
    type->tp_free(self);
    Py_DECREF(type);
  }
};

using GuardsHolder = Holder<GuardsObject, Guards>;
using ProgramHolder = Holder<HostProgramObject, HostProgram>;

PyObject* guards_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *walk, *same, *distinct;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OOOn", &walk, &same, &distinct, &count)) return nullptr;
  Ref self(GuardsHolder::make(type));
  if (!self || !GuardsHolder::part(self.get()).compile(walk, same, distinct, count)) return nullptr;
  return self.release();
}

PyObject* guards_match(PyObject* self, PyObject* roots_given) {
  Guards& guards = GuardsHolder::part(self);
  const Ref roots(PySequence_Tuple(roots_given));
  if (!roots) return nullptr;
  Values values(guards.size());
  const int matched = guards.match(&PyTuple_GET_ITEM(roots.get(), 0),
                                   PyTuple_GET_SIZE(roots.get()), values);
  if (matched < 0) return nullptr;
  if (matched == 0) Py_RETURN_NONE;
  return listed(guards, values);
}

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *slots, *leaves, *instructions;
  if (!PyArg_ParseTuple(args, "OOO", &slots, &leaves, &instructions)) return nullptr;
  Ref self(ProgramHolder::make(type));
  if (!self || !ProgramHolder::part(self.get()).compile(slots, leaves, instructions)) return nullptr;
  return self.release();
}

PyObject* program_run(PyObject* self, PyObject* given) {
  const HostProgram& program = ProgramHolder::part(self);
  const Ref leaves(PySequence_Tuple(given));
  if (!leaves) return nullptr;
  if (static_cast<size_t>(PyTuple_GET_SIZE(leaves.get())) != program.leaf_count()) {
    PyErr_SetString(PyExc_ValueError, "a value for each leaf is wanted");
    return nullptr;
  }
  Values slots(program.size());
  program.fill(&PyTuple_GET_ITEM(leaves.get(), 0), slots);
  const int done = program.run(slots);
  if (done < 0) return nullptr;
  if (done == 0) Py_RETURN_NONE;
  return listed(slots);
}

PyMethodDef guards_methods[] = {
    {"match", as_method<guards_match>(), METH_O,
     "Return the values of the nodes that are used, for a call's roots, or None."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef program_methods[] = {
    {"run", as_method<program_run>(), METH_O,
     "Return the slots for these leaves, or None where a call would go another way."},
    {nullptr, nullptr, 0, nullptr},
};

template <class H>
void fill_slots(PyType_Slot* slots, newfunc make, PyMethodDef* methods) {
  slots[0] = {Py_tp_new, reinterpret_cast<void*>(make)};
  slots[1] = {Py_tp_dealloc, reinterpret_cast<void*>(H::dealloc)};
  slots[2] = {Py_tp_traverse, reinterpret_cast<void*>(H::traverse)};
  slots[3] = {Py_tp_clear, reinterpret_cast<void*>(H::clear)};
  slots[4] = {Py_tp_methods, methods};
  slots[5] = {0, nullptr};
}

PyTypeObject* make_type(PyObject* module, const char* name, size_t size, PyType_Slot* slots) {
  PyType_Spec spec = {name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                      slots};
  Ref type(PyType_FromSpec(&spec));
  const char* last = std::strrchr(name, '.') + 1;
  if (!type || PyModule_AddObjectRef(module, last, type.get()) != 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type.release());
}

PyObject* set_value_of(PyObject*, PyObject* function) {
  value_of = Py_NewRef(function);  // for ever
  Py_RETURN_NONE;
}

PyMethodDef functions_of_module[] = {
    {"set_value_of", as_method<set_value_of>(), METH_O, "Name the function that demands a value as it is."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* guards_type() { return the_guards_type; }
PyTypeObject* host_program_type() { return the_program_type; }

int add_host_program(PyObject* module) {
  const Ref home(PyImport_ImportModule("operator"));
  if (!home) return -1;
  for (int i = 0; i < kOperations; ++i) {
    functions[i] = PyObject_GetAttrString(home.get(), operations[i].name);
    if (functions[i] == nullptr) return -1;
  }
  static PyType_Slot guards_slots[6], program_slots[6];
  fill_slots<GuardsHolder>(guards_slots, guarded<guards_new>(), guards_methods);
  fill_slots<ProgramHolder>(program_slots, guarded<program_new>(), program_methods);
  the_guards_type = make_type(module, "evertrace._src._native.Guards", sizeof(GuardsObject),
                              guards_slots);
  the_program_type = make_type(module, "evertrace._src._native.HostProgram",
                               sizeof(HostProgramObject), program_slots);
  if (the_guards_type == nullptr || the_program_type == nullptr) return -1;
  return PyModule_AddFunctions(module, functions_of_module);
}

}  // namespace evertrace
