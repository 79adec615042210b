// Running compiled programs: those of XLA by calls of jaxlib's, tapes directly.

#include <cstring>
#include <limits>

#include "python/array.h"
#include "python/numpy_api.h"
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

// Parts: (types of the inputs, `execute`, handlers of the outputs, device, types of the outputs,
// what makes a buffer of any input, what tells why a run has failed).
class Xla : public Engine {
 public:
  bool compile(PyObject* parts) {
    if (!parts_.take(parts, 7)) return false;
    for (const int tuple : {0, 4}) {
      if (PyTuple_Check(parts_[tuple])) continue;
      PyErr_SetString(PyExc_TypeError, "types come in a tuple");
      return false;
    }
    numbers_.resize(static_cast<size_t>(PyTuple_GET_SIZE(parts_[0])));
    return true;
  }

  PyObject* run(PyObject* const* inputs) override {
    const Ref hold = Ref::borrow(parts_.tuple());
    const Py_ssize_t count = PyTuple_GET_SIZE(parts_[0]);
    const Ref raws(PyList_New(count));
    for (Py_ssize_t i = 0; raws && i < count; ++i) {
      PyObject* raw = buffer(inputs[i], i);
      if (raw == nullptr) return nullptr;
      PyList_SET_ITEM(raws.get(), i, raw);
    }
    if (!raws) return nullptr;
    static PyObject* const consume = PyUnicode_InternFromString("consume_with_handlers");
    const Ref running(PyObject_CallOneArg(parts_[1], raws.get()));
    if (!running) return failed(raws.get());
    PyObject* args[] = {running.get(), parts_[2]};
    const Ref made(PyObject_VectorcallMethod(consume, args, 2, nullptr));
    return made ? wrapped(made.get()) : failed(raws.get());
  }

  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(parts_.tuple());
    return 0;
  }
  void clear() override {
    parts_.clear();
    numbers_.clear();
  }

 private:
  // A number that was passed last, and its buffer: numbers often stay what they are.
  struct Number {
    Ref value, raw;
  };

  // A new reference to the buffer of an input.
  PyObject* buffer(PyObject* x, Py_ssize_t i) {
    if (is_array(x) && as_array(x)->device == parts_[3] && !is_none(as_array(x)->buffer)) {
      PyObject* raw = as_array(x)->buffer;
      static PyObject* const name = PyUnicode_InternFromString("is_deleted");
      PyObject* args[] = {raw};
      const Ref hold = Ref::borrow(raw);
      const Ref deleted(PyObject_VectorcallMethod(name, args, 1, nullptr));
      if (!deleted) return nullptr;
      if (deleted.get() == Py_False) return Py_NewRef(raw);
    }
    if (!PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return made(x, i);
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

  static bool is_same(PyObject* a, PyObject* b) {
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyFloat_CheckExact(a)) {
      const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
      return std::memcmp(&x, &y, sizeof x) == 0;
    }
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  }

  // Puts the buffers of a list into arrays.
  PyObject* wrapped(PyObject* raws) {
    const Py_ssize_t count = PyTuple_GET_SIZE(parts_[4]);
    if (!PyList_CheckExact(raws) || PyList_GET_SIZE(raws) != count) {
      PyErr_SetString(PyExc_RuntimeError, "a program gave another number of results");
      return nullptr;
    }
    Ref list(PyList_New(count));
    for (Py_ssize_t i = 0; list && i < count; ++i) {
      PyObject* aval = PyTuple_GET_ITEM(parts_[4], i);
      PyObject* array = new_buffer_array(aval, PyList_GET_ITEM(raws, i), parts_[3]);
      if (array == nullptr) return nullptr;
      PyList_SET_ITEM(list.get(), i, array);
    }
    return list.release();
  }

  // Has the Python side raise the error that is set as one of ours.
  PyObject* failed(PyObject* raws) {
    const Ref error(take_error());
    PyObject* args[] = {error.get(), raws};
    Py_XDECREF(PyObject_Vectorcall(parts_[6], args, 2, nullptr));
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a program failed");
    return nullptr;
  }

  Owned parts_;
  std::vector<Number> numbers_;
};

// ------------------------------------------------------------------------ tapes

// A number as a tape reads it.
union Scalar {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
  bool truth;
};

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
    const auto outs = static_cast<size_t>(PyTuple_GET_SIZE(tape.avals));
    if ((*tape.tape)->num_inputs() == avals_.size() && (*tape.tape)->num_outputs() == outs) {
      return true;
    }
    PyErr_SetString(PyExc_ValueError, "a tape of other arrays");
    return false;
  }

  PyObject* run(PyObject* const* inputs) override {
    const Ref hold = Ref::borrow(parts_.tuple());
    auto* tape = reinterpret_cast<TapeObject*>(parts_[1]);
    const size_t num_in = avals_.size();
    const size_t num_out = (*tape->tape)->num_outputs();
    Few<const void*> in(num_in);
    Few<void*> out(num_out);
    Few<Scalar> scalars(num_in);
    Values held(num_in);
    for (size_t i = 0; i < num_in; ++i) {
      if (!(in[i] = input(*tape, inputs[i], i, scalars[i], held[i]))) return nullptr;
    }
    Ref results(PyList_New(static_cast<Py_ssize_t>(num_out)));
    for (size_t i = 0; results && i < num_out; ++i) {
      PyObject* aval = PyTuple_GET_ITEM(tape->avals, static_cast<Py_ssize_t>(i));
      PyObject* array = new_array(aval, &out[i]);
      if (array == nullptr) return nullptr;
      PyList_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), array);
    }
    if (!results || !execute_tape(tape, in.data(), out.data())) return nullptr;
    return results.release();
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
  // As many things as there are inputs: on the stack, if they are few.
  template <class T>
  class Few {
   public:
    explicit Few(size_t count) : many_(count > kFew ? count : 0) {
      data_ = count > kFew ? many_.data() : few_;
    }
    T& operator[](size_t i) { return data_[i]; }
    T* data() { return data_; }

   private:
    static constexpr size_t kFew = 12;
    T* data_;
    T few_[kFew];
    std::vector<T> many_;
  };

  const void* input(const TapeObject& tape, PyObject* x, size_t i, Scalar& scalar,
                    PyObject*& held) {
    const AvalObject& aval = *avals_[i];
    Ref keep;
    const int64_t bytes = aval.count * aval.item_size;
    const void* data = nullptr;
    if (is_array(x)) {
      data = tape_input(x, bytes, tape.is_long, keep);
    } else if (aval.rank == 0 && convert(x, aval.code, scalar)) {
      return &scalar;
    } else {
      PyObject* args[] = {x, PyTuple_GET_ITEM(parts_[0], static_cast<Py_ssize_t>(i))};
      const Ref host(PyObject_Vectorcall(parts_[2], args, 2, nullptr));
      if (!host) return nullptr;
      data = tape_input(host.get(), bytes, tape.is_long, keep);
      if (!keep) keep = Ref::borrow(host.get());
    }
    held = keep.release();
    return data;
  }

  Owned parts_;
  std::vector<const AvalObject*> avals_;  // the tuple of types owns them
};

template <class E>
std::unique_ptr<Engine> make(PyObject* parts) {
  auto engine = std::make_unique<E>();
  return engine->compile(parts) ? std::move(engine) : nullptr;
}

}  // namespace

std::unique_ptr<Engine> make_xla(PyObject* parts) { return make<Xla>(parts); }
std::unique_ptr<Engine> make_tape(PyObject* parts) { return make<OnTape>(parts); }

bool is_on(PyObject* input, PyObject* device) {
  return !is_array(input) || is_none(as_array(input)->device) || as_array(input)->device == device;
}

}  // namespace evertrace
