// Running compiled programs: those of XLA by calls of jaxlib's, tapes directly.

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "python/array.h"
#include "python/numpy_api.h"
#include "python/pending.h"
#include "python/tape.h"
#include "python/variant.h"

namespace evertrace {
namespace {

bool is_none(PyObject* x) { return x == nullptr || x == Py_None; }

ArrayObject* as_array(PyObject* x) { return reinterpret_cast<ArrayObject*>(x); }

// The objects that an engine keeps.
class Owned {
 public:
  // References to the items of a tuple, as so many; false with an error set.
  bool take(PyObject* tuple, Py_ssize_t count) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count) {
      PyErr_SetString(PyExc_ValueError, "an engine is made of other parts");
      return false;
    }
    tuple_ = Ref::borrow(tuple);
    return true;
  }
  PyObject* operator[](Py_ssize_t i) const { return PyTuple_GET_ITEM(tuple_.get(), i); }
  PyObject* tuple() const { return tuple_.get(); }
  void clear() { tuple_ = Ref(); }

 private:
  Ref tuple_;
};

// ------------------------------------------------------------------------ XLA

// What raises in the place of programs in a forked child, which has none of XLA's threads.
PyObject* refuse = nullptr;

PyObject* refuse_programs(PyObject*, PyObject* function) {
  Py_XSETREF(refuse, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"refuse_programs", as_method<refuse_programs>(), METH_O,
     "refuse_programs(function): call it, which raises, in the place of XLA's programs."},
    {nullptr, nullptr, 0, nullptr},
};

// How a program is started: jaxlib's function, the handlers of its outputs, what tells why a run has
// failed, what frees the rest of old runs.
struct Started {
  PyObject *execute, *handlers, *failed, *collect;
};

// Has the Python side raise the error that is set as one of ours.
void fail(const Started& how, PyObject* raws) {
  const Ref error(take_error());
  PyObject* args[] = {error.get(), raws};
  Py_XDECREF(PyObject_Vectorcall(how.failed, args, 2, nullptr));
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a program failed");
}

// What a lock's method returns; null with an error set.
Ref call_lock(PyObject* lock, const char* name) {
  return Ref(PyObject_CallMethod(lock, name, nullptr));
}

// Calls jaxlib's function, with a lock where there is one.
Ref execute(PyObject* function, PyObject* lock, PyObject* raws) {
  if (lock == Py_None) return Ref(PyObject_CallOneArg(function, raws));
  if (!call_lock(lock, "acquire")) return Ref();
  Ref running(PyObject_CallOneArg(function, raws));
  const Ref error = running ? Ref() : take_error();
  const Ref released = call_lock(lock, "release");
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return released ? std::move(running) : Ref();
}

// Starts a program; the list of the buffers of its `count` results, or null with an error set.
Ref start(const Started& how, PyObject* lock, PyObject* raws, Py_ssize_t count) {
  static PyObject* const consume = PyUnicode_InternFromString("consume_with_handlers");
  // Nobody else may do so in a loop of calls: it leaves nothing to Python's own collector.
  constexpr unsigned kRunsBetween = 1024;
  static unsigned runs = 0;
  if (++runs % kRunsBetween == 0 && !Ref(PyObject_CallNoArgs(how.collect))) return Ref();
  const Ref running = execute(how.execute, lock, raws);
  PyObject* args[] = {running.get(), how.handlers};
  Ref made(running ? PyObject_VectorcallMethod(consume, args, 2, nullptr) : nullptr);
  if (!made) return fail(how, raws), Ref();
  if (PyList_CheckExact(made.get()) && PyList_GET_SIZE(made.get()) == count) return made;
  PyErr_SetString(PyExc_RuntimeError, "a program gave another number of results");
  return Ref();
}

// Whether a buffer was donated or deleted; -1 with an error set.
int is_deleted(PyObject* raw) {
  static PyObject* const name = PyUnicode_InternFromString("is_deleted");
  PyObject* args[] = {raw};
  const Ref deleted(PyObject_VectorcallMethod(name, args, 1, nullptr));
  return deleted ? deleted.get() != Py_False : -1;
}

// Parts: (types of the inputs, `execute`, handlers of the outputs, device, types of the outputs,
// what makes a buffer of any input, what tells why a run has failed, what frees the rest of old runs,
// which inputs are donated, what makes a buffer of an array that nothing else sees, whether results
// are committed to the device).
class Xla : public Engine {
 public:
  bool compile(PyObject* parts) {
    if (!parts_.take(parts, 11)) return false;
    for (const int tuple : {0, 4, 8}) {
      if (PyTuple_Check(parts_[tuple])) continue;
      PyErr_SetString(PyExc_TypeError, "types come in a tuple");
      return false;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(parts_[0]);
    numbers_.resize(static_cast<size_t>(count));
    is_donated_.resize(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts_[8]); ++i) {
      const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(parts_[8], i));
      if (place < 0 || place >= count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "what is donated is no input");
        return false;
      }
      is_donated_[static_cast<size_t>(place)] = true;
    }
    return true;
  }

  size_t num_outputs() const override {
    return static_cast<size_t>(PyTuple_GET_SIZE(parts_[4]));
  }

  bool run(PyObject* const* inputs, PyObject** outs) override {
    if (refuse != nullptr && !Ref(PyObject_CallNoArgs(refuse))) return false;
    const Ref hold = Ref::borrow(parts_.tuple());
    const Py_ssize_t count = PyTuple_GET_SIZE(parts_[0]);
    const Ref raws(PyList_New(count));
    for (Py_ssize_t i = 0; raws && i < count; ++i) {
      PyObject* raw = buffer(inputs[i], i);
      if (raw == nullptr) return false;
      PyList_SET_ITEM(raws.get(), i, raw);
    }
    if (!raws || !own_donated(inputs, raws.get())) return false;
    const Started how{parts_[1], parts_[2], parts_[6], parts_[7]};
    const Ref made = start(how, Py_None, raws.get(), PyTuple_GET_SIZE(parts_[4]));
    return made && wrap(made.get(), outs);
  }

  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(parts_.tuple());
    return 0;
  }
  void clear() override {
    parts_.clear();
    numbers_.clear();
    is_donated_.clear();
  }

 private:
  // A number that was passed last, and its buffer: numbers often stay what they are.
  struct Number {
    Ref value, raw;
  };

  // A new reference to the buffer of an input.
  PyObject* buffer(PyObject* x, Py_ssize_t i) {
    if (is_array(x) && as_array(x)->device == parts_[3] && !is_none(as_array(x)->buffer) &&
        as_array(x)->sharding == nullptr) {  // then it may be of all the mesh's devices
      Ref raw = Ref::borrow(as_array(x)->buffer);
      const int deleted = is_deleted(raw.get());
      if (deleted <= 0) return deleted == 0 ? raw.release() : nullptr;
    }
    const bool is_number = PyFloat_CheckExact(x) || PyLong_CheckExact(x);
    if (!is_number || is_donated_[static_cast<size_t>(i)]) return made(x, i);
    Number& last = numbers_[static_cast<size_t>(i)];
    if (last.value && is_same(last.value.get(), x)) return Py_NewRef(last.raw.get());
    Ref raw(made(x, i));
    if (raw) {
      Number now{Ref::borrow(x), Ref::borrow(raw.get())};
      std::swap(numbers_[static_cast<size_t>(i)], now);
    }
    return raw.release();
  }

  PyObject* made(PyObject* x, Py_ssize_t i) {
    PyObject* args[] = {x, PyTuple_GET_ITEM(parts_[0], i), PyLong_FromSsize_t(i)};
    const Ref place(args[2]);
    return place ? PyObject_Vectorcall(parts_[5], args, 3, nullptr) : nullptr;
  }

  // Gives the program copies of donated memory that something else sees: views of host memory may be
  // alive, and another argument may be the same array.
  bool own_donated(PyObject* const* inputs, PyObject* raws) {
    if (PyTuple_GET_SIZE(parts_[8]) == 0) return true;
    PyObject* const* items = reinterpret_cast<PyListObject*>(raws)->ob_item;
    std::vector<PyObject*> sorted(items, items + PyList_GET_SIZE(raws));
    std::sort(sorted.begin(), sorted.end());
    const bool repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raws); ++i) {
      if (!is_donated_[static_cast<size_t>(i)] || !is_array(inputs[i])) continue;
      const ArrayObject* array = as_array(inputs[i]);
      if (!repeated && array->data == nullptr && is_none(array->host)) continue;
      PyObject* own = PyObject_CallOneArg(parts_[9], inputs[i]);
      if (own == nullptr || PyList_SetItem(raws, i, own) != 0) return false;
    }
    return true;
  }

  static bool is_same(PyObject* a, PyObject* b) {
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyFloat_CheckExact(a)) {
      return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    }
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  }

  // Puts the buffers of a list into arrays.
  bool wrap(PyObject* raws, PyObject** outs) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts_[4]); ++i) {
      PyObject* aval = PyTuple_GET_ITEM(parts_[4], i);
      outs[i] = new_buffer_array(aval, PyList_GET_ITEM(raws, i), parts_[3], parts_[10] == Py_True);
      if (outs[i] == nullptr) return false;
    }
    return true;
  }

  Owned parts_;
  std::vector<Number> numbers_;
  std::vector<bool> is_donated_;
};

// ------------------------------------------------------------------------ tapes

// Whether a Python number is one of a dtype exactly as NumPy converts it; others go by Python.
bool convert(PyObject* x, DType dtype, Scalar& out) {
  if (PyFloat_CheckExact(x)) {
    const double value = PyFloat_AS_DOUBLE(x);
    if (dtype == DType::kFloat64) return out.f64 = value, true;
    out.f32 = static_cast<float>(value);
    const bool overflows = out.f32 - out.f32 != 0 && value - value == 0;
    return dtype == DType::kFloat32 && !overflows;
  }
  if (PyBool_Check(x)) return out.truth = x == Py_True, dtype == DType::kBool;
  if (!PyLong_CheckExact(x)) return false;
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
  if (overflow != 0) return false;
  if (dtype == DType::kInt64) return out.i64 = value, true;
  out.i32 = static_cast<int32_t>(value);
  return dtype == DType::kInt32 && out.i32 == value;
}

// Parts: (types of the inputs, the tape, what makes a NumPy array of any input).
class OnTape : public Engine {
 public:
  bool compile(PyObject* parts) {
    if (!parts_.take(parts, 3)) return false;
    if (!PyTuple_Check(parts_[0]) || Py_TYPE(parts_[1]) != tape_type()) {
      PyErr_SetString(PyExc_TypeError, "types and a tape are expected");
      return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts_[0]); ++i) {
      PyObject* aval = PyTuple_GET_ITEM(parts_[0], i);
      const AvalObject* facts = PyObject_TypeCheck(aval, aval_base()) ? aval_facts(aval) : nullptr;
      if (facts == nullptr) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "types are expected");
        return false;
      }
      avals_.push_back(facts);
    }
    const auto& tape = *reinterpret_cast<TapeObject*>(parts_[1]);
    num_outputs_ = static_cast<size_t>(PyTuple_GET_SIZE(tape.avals));
    if ((*tape.tape)->num_inputs() == avals_.size() &&
        (*tape.tape)->num_outputs() == num_outputs_) {
      return true;
    }
    PyErr_SetString(PyExc_ValueError, "a tape of other arrays");
    return false;
  }

  size_t num_outputs() const override { return num_outputs_; }

  bool run(PyObject* const* inputs, PyObject** outs) override {
    const Ref hold = Ref::borrow(parts_.tuple());
    const auto* tape = reinterpret_cast<const TapeObject*>(parts_[1]);
    if (is_for_queue(tape, inputs)) return start(tape, inputs, outs);
    const size_t num_in = avals_.size();
    Few<const void*> in(num_in);
    Few<void*> out(num_outputs_);
    Few<Scalar> scalars(num_in);
    std::vector<Ref> held;
    return make_outputs(tape, inputs, false, in.data(), out.data(), outs) &&
           find_inputs(*tape, inputs, false, in.data(), scalars.data(), held) &&
           execute_tape(tape, in.data(), out.data());
  }

  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(parts_.tuple());
    return 0;
  }
  void clear() override {
    parts_.clear();
    avals_.clear();
  }

 private:
  // Puts a run on the queue.
  bool start(const TapeObject* tape, PyObject* const* inputs, PyObject** outs) {
    const auto run = begin_run(tape, inputs);
    return run && make_outputs(tape, inputs, true, run->in.data(), run->out.data(), outs) &&
           find_inputs(*tape, inputs, true, run->in.data(), run->numbers.data(), run->held) &&
           put_on_queue(run, outs);
  }

  // Fills the addresses of the inputs that are not lent. Those that take Python code to find come
  // first: it can delete arrays.
  bool find_inputs(const TapeObject& tape, PyObject* const* inputs, bool for_queue, const void** in,
                   Scalar* scalars, std::vector<Ref>& held) {
    const size_t count = avals_.size();
    std::vector<bool> lent((*tape.tape)->has_donors() ? count : 0);
    for (size_t i = 0; i < lent.size(); ++i) lent[i] = in[i] != nullptr;
    const auto is_lent = [&](size_t i) { return !lent.empty() && lent[i]; };
    bool ready = true;
    for (size_t i = 0; i < count; ++i) {
      if (is_lent(i)) continue;
      in[i] = find_ready(tape, inputs[i], i, scalars[i]);
      ready = ready && in[i] != nullptr;
    }
    if (ready) return true;
    std::vector<bool> slow(count);
    for (size_t i = 0; i < count; ++i) {
      slow[i] = in[i] == nullptr;
      if (slow[i] && (in[i] = find(tape, inputs[i], i, for_queue, held)) == nullptr) return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (slow[i] || is_lent(i)) continue;
      in[i] = find_ready(tape, inputs[i], i, scalars[i]);
      if (in[i] == nullptr && (in[i] = find(tape, inputs[i], i, for_queue, held)) == nullptr) {
        return false;
      }
    }
    return true;
  }

  // The address of an input where that takes no Python code; else null without an error.
  const void* find_ready(const TapeObject& tape, PyObject* x, size_t i, Scalar& scalar) const {
    const AvalObject& aval = *avals_[i];
    if (!is_array(x)) return aval.rank == 0 && convert(x, aval.code, scalar) ? &scalar : nullptr;
    // Without the GIL another thread may delete the array, but not a view that is held.
    const bool is_known = reinterpret_cast<const PyObject*>(&aval) == array_aval(x);
    return is_known && !tape.is_long ? array_data(x) : nullptr;
  }

  // The address of any input, with what has to be kept alive for it; null with an error set.
  const void* find(const TapeObject& tape, PyObject* x, size_t i, bool for_queue,
                   std::vector<Ref>& held) {
    const int64_t bytes = (*tape.tape)->input_bytes(i);  // an aval does not know how long keys are
    Ref keep, host;
    if (!is_array(x)) {
      PyObject* args[] = {x, PyTuple_GET_ITEM(parts_[0], static_cast<Py_ssize_t>(i))};
      host = Ref(PyObject_Vectorcall(parts_[2], args, 2, nullptr));
      if (!host) return nullptr;
      x = host.get();
    }
    const void* data = tape_input(x, bytes, tape.is_long, for_queue, keep);
    if (!keep) keep = Ref::borrow(x);
    held.push_back(std::move(keep));
    return data;
  }

  Owned parts_;
  std::vector<const AvalObject*> avals_;  // the tuple of types owns them
  size_t num_outputs_ = 0;
};

// ------------------------------------------------------------------------ in Python

// Parts: (a function of the list of inputs that gives the list of outputs, how many there are of both).
class InPython : public Engine {
 public:
  bool compile(PyObject* parts) {
    if (!parts_.take(parts, 3)) return false;
    const Py_ssize_t in = PyLong_AsSsize_t(parts_[1]), out = PyLong_AsSsize_t(parts_[2]);
    if (in < 0 || out < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "inputs and outputs are counted");
      return false;
    }
    num_inputs_ = static_cast<size_t>(in), num_outputs_ = static_cast<size_t>(out);
    return true;
  }

  size_t num_outputs() const override { return num_outputs_; }

  bool run(PyObject* const* inputs, PyObject** outs) override {
    const Ref hold = Ref::borrow(parts_.tuple());
    const Ref args(PyList_New(static_cast<Py_ssize_t>(num_inputs_)));
    for (size_t i = 0; args && i < num_inputs_; ++i) {
      PyList_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), Py_NewRef(inputs[i]));
    }
    const Ref found(args ? PyObject_CallOneArg(parts_[0], args.get()) : nullptr);
    if (!found) return false;
    if (!PyList_CheckExact(found.get()) ||
        static_cast<size_t>(PyList_GET_SIZE(found.get())) != num_outputs_) {
      PyErr_SetString(PyExc_RuntimeError, "a program gave another number of results");
      return false;
    }
    for (size_t i = 0; i < num_outputs_; ++i) {
      outs[i] = Py_NewRef(PyList_GET_ITEM(found.get(), static_cast<Py_ssize_t>(i)));
      if (is_array(outs[i])) continue;
      PyErr_SetString(PyExc_TypeError, "a program gave what is no array");
      return false;
    }
    return true;
  }

  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(parts_.tuple());
    return 0;
  }
  void clear() override { parts_.clear(); }

 private:
  Owned parts_;
  size_t num_inputs_ = 0, num_outputs_ = 0;
};

// ------------------------------------------------------------------------ XLA, on several devices

// What inputs that are laid out in one way are run by. Parts: (those of `InPython`, `execute`, handlers of
// the outputs, what tells why a run has failed, what frees the rest of old runs, the lock under which
// programs are started, a list with nothing in it while this process is alone, which inputs are donated,
// types and layouts of the inputs, those of the outputs, the class of parts, the outputs' device, their
// shardings). What an input is that it should not be goes Python's way, which says what is wrong.
class Divided : public Engine {
 public:
  bool compile(PyObject* parts) {
    if (!parts_.take(parts, kNumParts)) return false;
    for (const int tuple : {kDonated, kTypes, kLayouts, kOutTypes, kOutLayouts, kOutShardings}) {
      if (PyTuple_Check(parts_[tuple])) continue;
      PyErr_SetString(PyExc_TypeError, "types and layouts come in tuples");
      return false;
    }
    return PyList_Check(parts_[kJoined]) && in_python_.compile(parts_[kInPython]);
  }

  size_t num_outputs() const override { return in_python_.num_outputs(); }

  bool run(PyObject* const* inputs, PyObject** outs) override {
    if (refuse != nullptr && !Ref(PyObject_CallNoArgs(refuse))) return false;
    const Ref hold = Ref::borrow(parts_.tuple());
    const Ref raws(PyList_New(count(kTypes)));
    if (!raws) return false;
    const int found = gather(inputs, raws.get());
    if (found < 0) return false;
    if (found == 0) return in_python_.run(inputs, outs);
    const Started how{parts_[kExecute], parts_[kHandlers], parts_[kFailed], parts_[kCollect]};
    const Ref made = start(how, parts_[kLock], raws.get(), count(kOutTypes));
    for (Py_ssize_t i = 0; made && i < count(kOutTypes); ++i) {
      if ((outs[i] = wrap(PyList_GET_ITEM(made.get(), i), i)) == nullptr) return false;
    }
    return static_cast<bool>(made);
  }

  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(parts_.tuple());
    return in_python_.traverse(visit, arg);
  }
  void clear() override {
    parts_.clear();
    in_python_.clear();
  }

 private:
  enum Part { kInPython, kExecute, kHandlers, kFailed, kCollect, kLock, kJoined, kDonated, kTypes,
              kLayouts, kOutTypes, kOutLayouts, kClass, kDevice, kOutShardings, kNumParts };

  Py_ssize_t count(Part part) const { return PyTuple_GET_SIZE(parts_[part]); }
  PyObject* item(Part part, Py_ssize_t i) const { return PyTuple_GET_ITEM(parts_[part], i); }

  // Fills a list with jaxlib's arrays of the inputs. Returns 1, 0 where it is for Python to start the
  // program or to say why it cannot, -1 with an error set.
  int gather(PyObject* const* inputs, PyObject* raws) const {
    if (PyList_GET_SIZE(parts_[kJoined]) != 0) return 0;
    for (Py_ssize_t i = 0; i < count(kTypes); ++i) {
      PyObject* parts = is_array(inputs[i]) ? as_array(inputs[i])->buffer : nullptr;
      if (parts == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(parts)) != parts_[kClass]) return 0;
      static PyObject* const names[] = {PyUnicode_InternFromString("aval"),
                                        PyUnicode_InternFromString("layout"),
                                        PyUnicode_InternFromString("raw")};
      const Ref hold = Ref::borrow(parts);
      const Ref type(PyObject_GetAttr(parts, names[0])), layout(PyObject_GetAttr(parts, names[1]));
      Ref raw(PyObject_GetAttr(parts, names[2]));
      if (!type || !layout || !raw) return -1;
      if (type.get() != item(kTypes, i) || layout.get() != item(kLayouts, i)) return 0;
      PyList_SET_ITEM(raws, i, raw.release());
    }
    return are_there(raws);
  }

  // Whether nothing was deleted, and what is donated is passed once; -1 with an error set.
  int are_there(PyObject* raws) const {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raws); ++i) {
      if (const int deleted = is_deleted(PyList_GET_ITEM(raws, i))) return deleted < 0 ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < count(kDonated); ++i) {
      const Py_ssize_t place = PyLong_AsSsize_t(item(kDonated, i));
      if (place < 0 || place >= PyList_GET_SIZE(raws)) return PyErr_Occurred() ? -1 : 0;
      const PyObject* given = PyList_GET_ITEM(raws, place);
      for (Py_ssize_t j = 0; j < PyList_GET_SIZE(raws); ++j) {
        if (j != place && PyList_GET_ITEM(raws, j) == given) return 0;
      }
    }
    return 1;
  }

  // An array of the parts that jaxlib's array has.
  PyObject* wrap(PyObject* raw, Py_ssize_t i) const {
    PyObject* args[] = {raw, item(kOutTypes, i), item(kOutLayouts, i)};
    const Ref parts(PyObject_Vectorcall(parts_[kClass], args, 3, nullptr));
    PyObject* device = parts_[kDevice];
    PyObject* made = parts ? new_buffer_array(args[1], parts.get(), device, true) : nullptr;
    if (made != nullptr) lay_out(made, item(kOutShardings, i), device);
    return made;
  }

  Owned parts_;
  InPython in_python_;
};

template <class E>
std::unique_ptr<Engine> make(PyObject* parts) {
  auto engine = std::make_unique<E>();
  return engine->compile(parts) ? std::move(engine) : nullptr;
}

}  // namespace

int add_engines(PyObject* module) { return PyModule_AddFunctions(module, methods); }

std::unique_ptr<Engine> make_xla(PyObject* parts) { return make<Xla>(parts); }
std::unique_ptr<Engine> make_tape(PyObject* parts) { return make<OnTape>(parts); }
std::unique_ptr<Engine> make_in_python(PyObject* parts) { return make<InPython>(parts); }
std::unique_ptr<Engine> make_divided(PyObject* parts) { return make<Divided>(parts); }

}  // namespace evertrace
