// `_native.Tape`: programs of kernels, made of what the native engine emits.

#include "python/tape.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/loops.h"
#include "kernels/structure.h"
#include "python/array.h"
#include "python/numpy_api.h"
#include "python/pending.h"
#include "python/tape_program.h"
#include "python/unlocked.h"
#include "tape/fuse.h"

namespace evertrace {
namespace {

PyTypeObject* type = nullptr;

// ---------------------------------------------------------------- running

void dealloc(PyObject* self) {
  TapeObject* object = reinterpret_cast<TapeObject*>(self);
  delete object->tape;
  delete object->least;
  Py_XDECREF(object->avals);
  PyTypeObject* own = Py_TYPE(self);
  own->tp_free(self);
  Py_DECREF(own);
}

// Tape(values, inputs, outputs, constants, instructions, carried, avals, is_long), or
// Tape(template, what is filled in, carried, avals, is_long)
PyObject* make(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if ((count != 8 && count != 5) || (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0)) {
    PyErr_SetString(PyExc_TypeError, "Tape takes eight arguments, or five with a template");
    return nullptr;
  }
  PyObject* const* parts = &PyTuple_GET_ITEM(args, 0);
  Ref avals(PySequence_Tuple(parts[count - 2]));
  const int is_long = PyObject_IsTrue(parts[count - 1]);
  if (!avals || is_long < 0) return nullptr;
  std::shared_ptr<const tape::Tape> made;
  try {
    tape::Program program = count == 8 ? read_program(parts) : filled_program(parts[0], parts[1]);
    program.carried = read_carried(parts[count - 3]);
    made = std::make_shared<const tape::Tape>(std::move(program));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(avals.get()); ++i) {
      PyObject* aval = PyTuple_GET_ITEM(avals.get(), i);
      if (!PyObject_TypeCheck(aval, aval_base())) throw std::invalid_argument("tape: no aval");
      const AvalObject* facts = aval_facts(aval);
      if (facts == nullptr) throw PythonError();
      const bool fits = static_cast<size_t>(i) < made->num_outputs() &&
                        facts->count * facts->item_size == made->output_bytes(static_cast<size_t>(i));
      if (!fits) throw std::invalid_argument("tape: an aval does not fit its output");
    }
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
  PyObject* self = cls->tp_alloc(cls, 0);
  if (self == nullptr) return nullptr;
  TapeObject* object = reinterpret_cast<TapeObject*>(self);
  object->tape = new std::shared_ptr<const tape::Tape>(std::move(made));
  object->least = new std::shared_ptr<std::atomic<int64_t>>(
      std::make_shared<std::atomic<int64_t>>(kNeverRun));
  object->avals = avals.release();
  object->is_long = is_long != 0;
  return self;
}

// Puts a run on the queue. False with an error.
bool start(const TapeObject* self, PyObject* const* items, PyObject** outs) {
  const auto run = begin_run(self, items);
  if (!run || !make_outputs(self, items, true, run->in.data(), run->out.data(), outs)) return false;
  for (size_t i = 0; i < run->in.size(); ++i) {
    if (run->in[i] != nullptr) continue;
    Ref held;
    run->in[i] = tape_input(items[i], run->tape->input_bytes(i), true, true, held);
    if (run->in[i] == nullptr) return false;
    run->held.push_back(std::move(held));
  }
  return put_on_queue(run, outs);
}

PyObject* run(PyObject* self, PyObject* args) {
  const Ref inputs(PySequence_Tuple(args));  // nobody else changes it
  if (!inputs) return nullptr;
  const TapeObject* object = reinterpret_cast<TapeObject*>(self);
  const tape::Tape& tape = **object->tape;
  if (static_cast<size_t>(PyTuple_GET_SIZE(inputs.get())) != tape.num_inputs() ||
      static_cast<size_t>(PyTuple_GET_SIZE(object->avals)) != tape.num_outputs()) {
    PyErr_SetString(PyExc_ValueError, "a tape is run on another number of arrays");
    return nullptr;
  }
  PyObject* const* items = &PyTuple_GET_ITEM(inputs.get(), 0);
  const Ref results(PyList_New(static_cast<Py_ssize_t>(tape.num_outputs())));
  if (!results) return nullptr;
  PyObject** outs = reinterpret_cast<PyListObject*>(results.get())->ob_item;
  try {
    if (is_for_queue(object, items)) return start(object, items, outs) ? Py_NewRef(results.get()) : nullptr;
    Few<const void*> in(tape.num_inputs());
    Few<void*> out(tape.num_outputs());
    std::vector<Ref> held(tape.num_inputs());
    if (!make_outputs(object, items, false, in.data(), out.data(), outs)) return nullptr;
    for (size_t i = 0; i < tape.num_inputs(); ++i) {
      if (tape.has_donors() && in[i] != nullptr) continue;
      in[i] = tape_input(items[i], tape.input_bytes(i), object->is_long, false, held[i]);
      if (in[i] == nullptr) return nullptr;
    }
    const bool done = execute_tape(object, in.data(), out.data());
    return done ? Py_NewRef(results.get()) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* counts(PyObject* self, PyObject*) {
  const tape::Counts& c = (*reinterpret_cast<TapeObject*>(self)->tape)->counts();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "thunks", static_cast<long long>(c.thunks),
                       "loops", static_cast<long long>(c.loops), "fused",
                       static_cast<long long>(c.fused), "copies", static_cast<long long>(c.copies),
                       "reuses", static_cast<long long>(c.reuses), "arena_bytes",
                       static_cast<long long>(c.arena_bytes), "buffers",
                       static_cast<long long>(c.buffers), "functions",
                       static_cast<long long>(c.functions));
}

// The inputs whose memory the outputs may be given; -1 for none.
PyObject* donors(PyObject* self, PyObject*) {
  const auto& made = *reinterpret_cast<TapeObject*>(self)->tape;
  Ref result(PyTuple_New(static_cast<Py_ssize_t>(made->num_outputs())));
  for (size_t i = 0; result && i < made->num_outputs(); ++i) {
    PyObject* number = PyLong_FromLong(made->donor(i));
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), number);
  }
  return result.release();
}

// has_kernel(kind, name, dtypes of the operands, dtype of the result)
PyObject* has_kernel(PyObject*, PyObject* args) {
  const char *kind, *name;
  PyObject* dtypes;
  int result;
  if (!PyArg_ParseTuple(args, "ssOi", &kind, &name, &dtypes, &result)) return nullptr;
  try {
    std::vector<DType> in;
    for (int code : read_indices(dtypes)) in.push_back(static_cast<DType>(code));
    const DType out = static_cast<DType>(result);
    const std::string_view wanted = kind;
    bool found = false;
    if (wanted == "loop" && in.size() <= tape::kMaxOperands) {
      found = find_loop(name, in.data(), static_cast<int>(in.size()), out) != nullptr;
    } else if (wanted == "reduce" && in.size() == 1) {
      found = find_reduce(name, in[0], out) != nullptr;
    } else if (wanted == "matmul") {
      found = find_matmul(out) != nullptr;
    }
    return PyBool_FromLong(found);
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
}

PyObject* py_loop_cost(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  return text == nullptr ? nullptr : PyFloat_FromDouble(loop_cost(text));
}

PyMethodDef functions[] = {
    {"has_kernel", as_method<has_kernel>(), METH_VARARGS, "has_kernel(kind, name, dtypes, result): is there one?"},
    {"loop_cost", as_method<py_loop_cost>(), METH_O, "loop_cost(name): of an element, in additions."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef methods[] = {
    {"run", as_method<run>(), METH_O, "run(inputs): the outputs as a list of arrays."},
    {"counts", as_method<counts>(), METH_NOARGS, "counts(): how many thunks, loops, copies, ... there are."},
    {"donors", as_method<donors>(), METH_NOARGS, "donors(): whose memory outputs may be given, -1 for none."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, as_slot<make>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A program of kernels over planned memory.")},
    {0, nullptr},
};

PyType_Spec spec = {"evertrace._src._native.Tape", sizeof(TapeObject), 0, Py_TPFLAGS_DEFAULT, slots};

// Makes those outputs whose donors can give their memory away.
bool lend_outputs(const TapeObject* self, PyObject* const* inputs, bool for_queue, const void** in,
                  void** out, PyObject** outs) {
  const tape::Tape& tape = **self->tape;
  std::fill(in, in + tape.num_inputs(), nullptr);
  // An array that is passed twice is still read as the other one.
  std::vector<PyObject*> sorted(inputs, inputs + tape.num_inputs());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < tape.num_outputs(); ++i) {
    if (tape.donor(i) < 0) continue;
    const auto donor = static_cast<size_t>(tape.donor(i));
    PyObject* x = inputs[donor];
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), x);
    if (!is_array(x) || last - first != 1) continue;
    const AvalObject* aval = aval_facts(array_aval(x));
    if (aval == nullptr) return false;
    if (aval->count * aval->item_size != tape.input_bytes(donor)) continue;
    outs[i] = new_array_on(PyTuple_GET_ITEM(self->avals, static_cast<Py_ssize_t>(i)), x, for_queue,
                           &out[i]);
    if (outs[i] != nullptr) in[donor] = out[i];
    else if (PyErr_Occurred()) return false;
  }
  return true;
}

}  // namespace

PyTypeObject* tape_type() { return type; }

const void* tape_input(PyObject* x, int64_t bytes, bool is_long, bool for_queue, Ref& held) {
  if (for_queue && is_array(x) && pending_run(x)) {
    const AvalObject* aval = aval_facts(array_aval(x));
    if (aval == nullptr) return nullptr;
    if (aval->count * aval->item_size == bytes) {
      // What is held here is not given away either: another thread's call may be queued before.
      held = Ref::borrow(reinterpret_cast<ArrayObject*>(x)->owner);
      return pending_data(x).data;
    }
  }
  if (is_array(x)) {
    const void* data = array_data(x);
    if (data != nullptr) {
      const AvalObject* aval = aval_facts(array_aval(x));
      if (aval != nullptr && aval->count * aval->item_size == bytes) {
        // Another thread may delete the array while the GIL is released, but not what is held.
        if (is_long) held = Ref(data_owner(x));
        return is_long && !held ? nullptr : data;
      }
      if (PyErr_Occurred()) return nullptr;
    }
    held = Ref(PyObject_CallMethod(x, "_contents", nullptr));
    if (!held) return nullptr;
  } else {
    held = Ref::borrow(x);
  }
  if (!PyArray_Check(held.get())) {
    PyErr_Format(PyExc_TypeError, "a tape runs on arrays, not on %s", Py_TYPE(x)->tp_name);
    return nullptr;
  }
  PyArrayObject* array = reinterpret_cast<PyArrayObject*>(held.get());
  if (PyArray_NBYTES(array) != bytes) {
    PyErr_Format(PyExc_ValueError, "an input of %lld bytes has %lld", static_cast<long long>(bytes),
                 static_cast<long long>(PyArray_NBYTES(array)));
    return nullptr;
  }
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array) ||
      !PyArray_ISNOTSWAPPED(array)) {
    held = Ref(PyArray_FROM_OF(held.get(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED));
    if (!held) return nullptr;
    array = reinterpret_cast<PyArrayObject*>(held.get());
  }
  static const char empty[64] = {};
  return bytes == 0 ? empty : PyArray_DATA(array);
}

bool make_outputs(const TapeObject* self, PyObject* const* inputs, bool for_queue, const void** in,
                  void** out, PyObject** outs) {
  const bool lends = (*self->tape)->has_donors();
  if (lends && !lend_outputs(self, inputs, for_queue, in, out, outs)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->avals); ++i) {
    if (outs[i] != nullptr) continue;
    outs[i] = new_array(PyTuple_GET_ITEM(self->avals, i), &out[i]);
    if (outs[i] == nullptr) return false;
  }
  return true;
}

bool execute_tape(const TapeObject* self, const void* const* in, void* const* out) {
  std::string failure;
  bool exhausted = false;
  try {
    const Unlocked unlocked(self->is_long);
    if (self->is_long) run_measured(**self->tape, **self->least, in, out);
    else (*self->tape)->run(in, out);
  } catch (const PythonError&) {
    return false;
  } catch (const std::bad_alloc&) {
    exhausted = true;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (exhausted) raise_exhausted(-1);
  if (!failure.empty()) PyErr_SetString(PyExc_RuntimeError, failure.c_str());
  return !exhausted && failure.empty();
}

int add_tape(PyObject* module) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr || PyModule_AddFunctions(module, functions) != 0) return -1;
  if (add_names(module, "DTYPES", kDTypeNames) != 0) return -1;
  if (add_names(module, "TAPE_OPS", tape::kOpNames) != 0) return -1;
  if (add_names(module, "PATTERNS", tape::kPatternNames) != 0) return -1;
  Py_INCREF(type);
  return PyModule_AddObject(module, "Tape", reinterpret_cast<PyObject*>(type));
}

}  // namespace evertrace
