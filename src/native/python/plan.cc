#include "python/plan.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <exception>
#include <limits>
#include <string_view>

#include "kernels/blocks.h"
#include "kernels/small_copy.h"
#include "python/tape.h"

namespace evertrace {
namespace {

constexpr int64_t kStackBytes = 4096;
constexpr int64_t kNumberBytes = 16;

int64_t round_up(int64_t bytes) {
  constexpr int64_t unit = kBlockAlignment;
  return (bytes + unit - 1) / unit * unit;
}

// Reads a tuple of integers. False with a Python error.
bool read_ints(PyObject* tuple, std::vector<int64_t>& out) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "a tuple of integers is missing");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    out.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  }
  return !PyErr_Occurred();
}

bool no_kernel(const char* name) {
  PyErr_Format(PyExc_LookupError, "there is no kernel for %s", name);
  return false;
}

// Memory for what steps pass on, on the stack where it is little.
struct Working {
  explicit Working(int64_t bytes)
      : data(bytes <= kStackBytes ? stack
                                  : static_cast<char*>(take_block(static_cast<size_t>(bytes)))) {}
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  ~Working() {
    if (data != stack) give_block(data);
  }

  alignas(kBlockAlignment) char stack[kStackBytes];
  char* data;
};

template <class T>
bool write_integer(PyObject* number, void* out) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return false;  // beyond int64; uint64 above that is for the Python path
  if constexpr (std::numeric_limits<T>::is_signed) {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  } else if (value < 0 || static_cast<uint64_t>(value) > std::numeric_limits<T>::max()) {
    return false;
  }
  const T item = static_cast<T>(value);
  std::memcpy(out, &item, sizeof(T));
  return true;
}

// Python's integers become floats by way of a double, as in NumPy.
template <class T>
bool write_float(PyObject* number, void* out) {
  double value;
  if (PyFloat_CheckExact(number)) {
    value = PyFloat_AS_DOUBLE(number);
  } else if (PyLong_Check(number)) {
    value = PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  } else {
    return false;
  }
  const T item = static_cast<T>(value);
  std::memcpy(out, &item, sizeof(T));
  return true;
}

template <class T>
bool write_complex(PyObject* number, void* out) {
  std::complex<T> item;
  if (PyComplex_CheckExact(number)) {
    const Py_complex value = PyComplex_AsCComplex(number);
    item = {static_cast<T>(value.real), static_cast<T>(value.imag)};
  } else {
    T real;
    if (!write_float<T>(number, &real)) return false;
    item = real;
  }
  std::memcpy(out, &item, sizeof item);
  return true;
}

}  // namespace

bool write_number(PyObject* number, DType dtype, void* out) {
  if (dtype == DType::kBool) {
    if (!PyBool_Check(number)) return false;
    *static_cast<uint8_t*>(out) = number == Py_True;
    return true;
  }
  switch (dtype) {
    case DType::kFloat32: return write_float<float>(number, out);
    case DType::kFloat64: return write_float<double>(number, out);
    case DType::kComplex64: return write_complex<float>(number, out);
    case DType::kComplex128: return write_complex<double>(number, out);
    default: break;
  }
  if (!PyLong_Check(number)) return false;
  switch (dtype) {
    case DType::kInt8: return write_integer<int8_t>(number, out);
    case DType::kInt16: return write_integer<int16_t>(number, out);
    case DType::kInt32: return write_integer<int32_t>(number, out);
    case DType::kInt64: return write_integer<int64_t>(number, out);
    case DType::kUInt8: return write_integer<uint8_t>(number, out);
    case DType::kUInt16: return write_integer<uint16_t>(number, out);
    case DType::kUInt32: return write_integer<uint32_t>(number, out);
    case DType::kUInt64: return write_integer<uint64_t>(number, out);
    default: return false;
  }
}

const void* array_contents(PyObject* array) {
  const void* data = array_data(array);
  if (data != nullptr) return data;
  auto* self = reinterpret_cast<ArrayObject*>(array);
  if (self->host != nullptr) return nullptr;  // it is not dense
  static PyObject* name = PyUnicode_InternFromString("_contents");
  Ref host(PyObject_CallMethodNoArgs(array, name));
  if (!host) {  // the Python path has the same error, with more to say
    forget_error();
    return nullptr;
  }
  return array_data(array);
}

// ---------------------------------------------------------------- making

Plan* Plan::make(PyObject* description) {
  auto* plan = new Plan;
  if (plan->read(description)) return plan;
  plan->release();
  return nullptr;
}

// (slots, steps, results, spec of the tree that these are put into or None, how they are laid out
// over a mesh, if one is)
bool Plan::read(PyObject* description) {
  PyObject *slots, *steps, *results, *tree, *places = nullptr;
  if (!PyArg_ParseTuple(description, "O!O!O!O|O!", &PyTuple_Type, &slots, &PyTuple_Type, &steps,
                        &PyTuple_Type, &results, &tree, &PyTuple_Type, &places)) {
    return false;
  }
  if (tree != Py_None) {
    kept_.push_back(Ref::borrow(tree));
    tree_ = tree;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots); ++i) {
    if (!add_slot(PyTuple_GET_ITEM(slots, i))) return false;
  }
  if (slots_.size() > kMostSlots) return no_kernel("so many arrays");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); ++i) {
    if (!add_result(PyTuple_GET_ITEM(results, i))) return false;
  }
  if (places != nullptr && !add_places(places)) return false;
  if (tree_ == nullptr && results_.size() != 1) return no_kernel("such a result");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i) {
    if (!add_step(PyTuple_GET_ITEM(steps, i))) return false;
  }
  const auto is_result = [this](int slot) { return slots_[slot].kind == Slot::Kind::kResult; };
  is_long_ = steps_.size() == 1 && steps_[0].kind == Step::Kind::kTape && steps_[0].tape->is_long &&
             std::all_of(steps_[0].outs, steps_[0].outs + steps_[0].num_outs, is_result) &&
             std::all_of(results_.begin(), results_.end(),
                         [&](const Result& result) { return is_result(result.slot); });
  for (Slot& slot : slots_) {
    if (slot.kind != Slot::Kind::kTemporary) continue;
    slot.offset = temporary_bytes_;
    const auto place = static_cast<size_t>(&slot - slots_.data());
    temporary_bytes_ += round_up(counts_[place] * static_cast<int64_t>(item_size(slot.dtype)));
  }
  return true;
}

// (slot, aval)
bool Plan::add_result(PyObject* description) {
  Result result{};
  if (!PyArg_ParseTuple(description, "iO", &result.slot, &result.aval)) return false;
  kept_.push_back(Ref::borrow(result.aval));
  if (result.slot < 0 || result.slot >= static_cast<int>(slots_.size())) {
    PyErr_SetString(PyExc_IndexError, "there is no such slot");
    return false;
  }
  const AvalObject* facts = aval_facts(result.aval);
  if (facts == nullptr) return false;
  Slot& slot = slots_[result.slot];
  if (slot.kind == Slot::Kind::kTemporary) {
    slot.kind = Slot::Kind::kResult;
  } else if (slot.kind != Slot::Kind::kArray && slot.kind != Slot::Kind::kConstant) {
    return no_kernel("such a result");  // say, what another result is too
  }
  const auto bytes = counts_[result.slot] * static_cast<int64_t>(item_size(slot.dtype));
  if (facts->count * facts->item_size != bytes) return no_kernel("another result");
  results_.push_back(result);
  return true;
}

// ((sharding, device) or None for each result)
bool Plan::add_places(PyObject* places) {
  const Py_ssize_t count = PyTuple_GET_SIZE(places);
  if (static_cast<size_t>(count) != results_.size()) return no_kernel("such places");
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* place = PyTuple_GET_ITEM(places, i);
    if (place == Py_None) continue;
    Result& result = results_[static_cast<size_t>(i)];
    if (!PyArg_ParseTuple(place, "OO", &result.sharding, &result.device)) return false;
    kept_.push_back(Ref::borrow(place));
  }
  return true;
}

// (kind, argument or array, aval)
bool Plan::add_slot(PyObject* description) {
  const char* kind;
  PyObject *what, *aval;
  if (!PyArg_ParseTuple(description, "sOO", &kind, &what, &aval)) return false;
  const AvalObject* facts = aval_facts(aval);
  if (facts == nullptr) return false;
  if (facts->code == DType::kUnknown) return no_kernel("this dtype");
  const std::string_view name = kind;
  Slot slot{};
  slot.dtype = facts->code;
  slot.is_scalar = facts->count == 1;
  if (name == "array" || name == "number") {
    slot.kind = name == "array" ? Slot::Kind::kArray : Slot::Kind::kNumber;
    slot.arg = static_cast<int>(PyLong_AsLong(what));
    if (PyErr_Occurred()) return false;
  } else if (name == "constant") {
    slot.kind = Slot::Kind::kConstant;
    slot.constant = array_data(what);  // of an `Array`
    if (slot.constant == nullptr) return no_kernel("constants that are not dense");
    kept_.push_back(Ref::borrow(what));
  } else if (name == "unused") {
    slot.kind = Slot::Kind::kUnused;
  } else {
    slot.kind = Slot::Kind::kTemporary;
  }
  slots_.push_back(slot);
  dtypes_.push_back(facts->code);
  counts_.push_back(facts->count);
  return true;
}

// (kind, slots of the results, slots of the operands, ...); all but tapes have one result
bool Plan::add_step(PyObject* description) {
  if (!PyTuple_Check(description) || PyTuple_GET_SIZE(description) < 3) {
    PyErr_SetString(PyExc_TypeError, "a step is (kind, results, operands, ...)");
    return false;
  }
  const char* kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(description, 0));
  if (kind == nullptr) return false;
  Step step{};
  std::vector<int64_t> outs, operands;
  if (!read_ints(PyTuple_GET_ITEM(description, 1), outs)) return false;
  if (!read_ints(PyTuple_GET_ITEM(description, 2), operands)) return false;
  const std::string_view name = kind;
  if (operands.size() > kMostOperands || outs.empty() ||
      outs.size() > (name == "tape" ? kMostOuts : 1)) {
    return no_kernel("so many operands or results");
  }
  const auto is_slot = [&](int64_t i) {
    return i >= 0 && i < static_cast<int64_t>(slots_.size());
  };
  if (!std::all_of(outs.begin(), outs.end(), is_slot) ||
      !std::all_of(operands.begin(), operands.end(), is_slot)) {
    PyErr_SetString(PyExc_IndexError, "there is no such slot");
    return false;
  }
  for (const int64_t i : outs) step.outs[step.num_outs++] = static_cast<int>(i);
  for (const int64_t i : operands) step.operands[step.count++] = static_cast<int>(i);
  step.out = step.outs[0];
  Ref rest(PyTuple_GetSlice(description, 3, PyTuple_GET_SIZE(description)));
  if (!rest) return false;
  const bool ok = name == "loop"     ? add_loop(step, rest.get())
                  : name == "reduce" ? add_reduce(step, rest.get())
                  : name == "copy"   ? add_copy(step, rest.get())
                  : name == "matmul" ? add_matmul(step, rest.get())
                  : name == "draw"   ? add_draw(step, rest.get())
                  : name == "tape"   ? add_tape(step, rest.get())
                                     : no_kernel(kind);
  if (ok) steps_.push_back(std::move(step));
  return ok;
}

bool Plan::add_loop(Step& step, PyObject* rest) {
  const char* name;
  long long param;
  if (!PyArg_ParseTuple(rest, "sL", &name, &param)) return false;
  DType dtypes[kMostOperands];
  step.n = counts_[step.out];
  for (int i = 0; i < step.count; ++i) {
    dtypes[i] = dtypes_[step.operands[i]];
    const int64_t count = counts_[step.operands[i]];
    if (count != 1 && count != step.n) return no_kernel("operands of several shapes");
  }
  step.kind = Step::Kind::kLoop;
  step.param = param;
  step.loop = find_loop(name, dtypes, step.count, dtypes_[step.out]);
  return step.loop != nullptr || no_kernel(name);
}

bool Plan::add_reduce(Step& step, PyObject* rest) {
  const char* name;
  long long outer, reduced, inner;
  if (!PyArg_ParseTuple(rest, "sLLL", &name, &outer, &reduced, &inner)) return false;
  step.kind = Step::Kind::kReduce;
  step.outer = outer, step.reduced = reduced, step.inner = inner;
  if (step.count != 1 || outer * reduced * inner != counts_[step.operands[0]] ||
      outer * inner != counts_[step.out]) {
    return no_kernel("such a reduction");
  }
  step.reduce = find_reduce(name, dtypes_[step.operands[0]], dtypes_[step.out]);
  return step.reduce != nullptr || no_kernel(name);
}

// (offset, shape, strides), in elements of the operand; the result is dense
bool Plan::add_copy(Step& step, PyObject* rest) {
  long long offset;
  PyObject *shape, *strides;
  if (!PyArg_ParseTuple(rest, "LOO", &offset, &shape, &strides)) return false;
  if (!read_ints(shape, step.shape) || !read_ints(strides, step.strides)) return false;
  step.kind = Step::Kind::kCopy;
  step.item_size = static_cast<int64_t>(item_size(dtypes_[step.out]));
  const size_t in_size = item_size(dtypes_[step.operands[0]]);  // a dtype may be read as another
  if (step.count != 1 || step.item_size == 0 || in_size != static_cast<size_t>(step.item_size) ||
      step.shape.size() != step.strides.size()) {
    return no_kernel("such a copy");
  }
  step.offset = offset * step.item_size;
  step.out_strides.resize(step.shape.size());
  int64_t stride = step.item_size, least = offset, greatest = offset;
  for (size_t i = step.shape.size(); i-- > 0;) {
    step.out_strides[i] = stride;
    stride *= step.shape[i];
    const int64_t reach = (step.shape[i] - 1) * step.strides[i];
    (reach < 0 ? least : greatest) += reach;
    step.strides[i] *= step.item_size;
  }
  const bool is_inside = least >= 0 && greatest < counts_[step.operands[0]];
  if (stride != counts_[step.out] * step.item_size || (stride != 0 && !is_inside)) {
    return no_kernel("such a copy");
  }
  return true;
}

bool Plan::add_matmul(Step& step, PyObject* rest) {
  std::vector<int64_t> all;
  if (!read_ints(rest, all)) return false;
  if (all.size() != 10 || step.count != 2) return no_kernel("such a product");
  step.kind = Step::Kind::kMatmul;
  step.matmul_shape = {all[0], all[1], all[2], all[3], all[4],
                       all[5], all[6], all[7], all[8], all[9]};
  const DType dtype = dtypes_[step.out];
  if (dtypes_[step.operands[0]] != dtype || dtypes_[step.operands[1]] != dtype) {
    return no_kernel("products of several dtypes");
  }
  step.matmul = find_matmul(dtype);
  return step.matmul != nullptr || no_kernel("products of this dtype");
}

// (keys, draws of each, whether these are keys)
bool Plan::add_draw(Step& step, PyObject* rest) {
  long long keys, draws;
  int makes_keys;
  if (!PyArg_ParseTuple(rest, "LLp", &keys, &draws, &makes_keys)) return false;
  step.kind = Step::Kind::kDraw;
  step.num_keys = keys, step.num_draws = draws;
  step.draw = Draw::kKey;
  const DType dtype = dtypes_[step.out];
  const bool known = makes_keys != 0 ? dtype == DType::kUInt32 : find_draw(dtype, step.draw);
  const bool fits = step.count == 1 && keys >= 0 && draws >= 0 &&
                    counts_[step.operands[0]] == 2 * keys &&
                    counts_[step.out] == keys * draws * (makes_keys != 0 ? 2 : 1);
  if (!fits || !known || dtypes_[step.operands[0]] != DType::kUInt32) return no_kernel("such draws");
  return true;
}

// (tape), of an operation that has no step of its own
bool Plan::add_tape(Step& step, PyObject* rest) {
  PyObject* object;
  if (!PyArg_ParseTuple(rest, "O!", tape_type(), &object)) return false;
  const auto* made = reinterpret_cast<TapeObject*>(object);
  step.kind = Step::Kind::kTape;
  step.tape = made;
  const tape::Tape& tape = **made->tape;
  const auto bytes = [&](int slot) {
    return counts_[slot] * static_cast<int64_t>(item_size(dtypes_[slot]));
  };
  bool fits = static_cast<size_t>(step.count) == tape.num_inputs() &&
              static_cast<size_t>(step.num_outs) == tape.num_outputs();
  for (int i = 0; fits && i < step.count; ++i) {
    fits = bytes(step.operands[i]) == tape.input_bytes(static_cast<size_t>(i));
  }
  for (int i = 0; fits && i < step.num_outs; ++i) {
    fits = bytes(step.outs[i]) == tape.output_bytes(static_cast<size_t>(i));
  }
  if (!fits) return no_kernel("such arrays");
  kept_.push_back(Ref::borrow(object));
  return true;
}

// ---------------------------------------------------------------- running

bool Plan::fits(PyObject* const* args, size_t count) const {
  return std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    const bool is_array_slot = slot.kind == Slot::Kind::kArray;
    if (!is_array_slot && slot.kind != Slot::Kind::kNumber) return true;
    const auto place = static_cast<size_t>(slot.arg);
    return slot.arg >= 0 && place < count && is_array(args[place]) == is_array_slot;
  });
}

// Has arrays bring their contents to the host, which may run Python. False: the Python path.
bool Plan::prepare(PyObject* const* args) const {
  for (const Slot& slot : slots_) {
    if (slot.kind == Slot::Kind::kArray && array_contents(args[slot.arg]) == nullptr) return false;
  }
  return true;
}

// Puts where the operands are, and the numbers among them. False: they take the Python path.
bool Plan::find_operands(PyObject* const* args, void** at, char* numbers) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    switch (slot.kind) {
      case Slot::Kind::kArray:
        at[i] = const_cast<void*>(array_data(args[slot.arg]));
        if (at[i] == nullptr) return false;
        break;
      case Slot::Kind::kNumber:
        at[i] = numbers + kNumberBytes * static_cast<int64_t>(i);
        if (!write_number(args[slot.arg], slot.dtype, at[i])) return false;
        break;
      case Slot::Kind::kConstant: at[i] = const_cast<void*>(slot.constant); break;
      default: break;
    }
  }
  return true;
}

// False: the Python path has the error.
bool Plan::execute(const Step& step, void* const* at, const Slot* slots) {
  void* out = at[step.out];
  const void* in = at[step.operands[0]];
  switch (step.kind) {
    case Step::Kind::kLoop: {
      Operand operands[kMostOperands];
      for (int i = 0; i < step.count; ++i) {
        const int place = step.operands[i];
        operands[i] = {at[place], slots[place].is_scalar};
      }
      if (step.n != 0) step.loop(operands, out, step.n, step.param);
      break;
    }
    case Step::Kind::kReduce: step.reduce(in, out, step.outer, step.reduced, step.inner); break;
    case Step::Kind::kCopy: {
      const char* start = static_cast<const char*>(in) + step.offset;
      copy_items(start, out, static_cast<int>(step.shape.size()), step.shape.data(),
                 step.strides.data(), step.out_strides.data(), step.item_size);
      break;
    }
    case Step::Kind::kMatmul: step.matmul(in, at[step.operands[1]], out, step.matmul_shape); break;
    case Step::Kind::kDraw:
      draw(step.draw, static_cast<const uint32_t*>(in), step.num_keys, step.num_draws, out);
      break;
    case Step::Kind::kTape: {
      const void* ins[kMostOperands];
      void* outs[kMostOuts];
      for (int i = 0; i < step.count; ++i) ins[i] = at[step.operands[i]];
      for (int i = 0; i < step.num_outs; ++i) outs[i] = at[step.outs[i]];
      try {
        (*step.tape->tape)->run(ins, outs);
      } catch (const std::exception&) {
        return false;
      }
      break;
    }
  }
  return true;
}

// Makes an array of the result, and puts where steps write it. Null without an error: Python's path.
PyObject* Plan::make_result(const Result& result, PyObject* const* args, void** at) const {
  PyObject* made = make_array(result, args, at);
  if (made != nullptr && result.sharding != nullptr) lay_out(made, result.sharding, result.device);
  return made;
}

PyObject* Plan::make_array(const Result& result, PyObject* const* args, void** at) const {
  const Slot& slot = slots_[result.slot];
  if (slot.kind == Slot::Kind::kArray) {  // the operand itself, or its memory with another type
    PyObject* arg = args[slot.arg];
    if (array_aval(arg) == result.aval) return Py_NewRef(arg);
    const void* data = array_data(arg);
    return data == nullptr ? nullptr : new_view(result.aval, arg, data);
  }
  void* data;
  PyObject* made = new_array(result.aval, &data);
  if (made == nullptr || slot.kind == Slot::Kind::kResult) {
    at[result.slot] = data;
  } else if (const size_t bytes = static_cast<size_t>(counts_[result.slot]) * item_size(slot.dtype)) {
    std::memcpy(data, slot.constant, bytes);
  }
  return made;
}

// Puts arrays of the result into the tree that they are for.
PyObject* Plan::finish(const References& made) const {
  if (tree_ == nullptr) return Py_NewRef(made[0]);
  return build_tree(tree_, made.data(), static_cast<Py_ssize_t>(made.size()));
}

PyObject* Plan::run(PyObject* const* args) const {
  void* at[kMostSlots];
  alignas(kNumberBytes) char numbers[kMostSlots * kNumberBytes];
  if (is_long_) return run_long(args);
  if (!prepare(args)) return nullptr;
  References made;
  for (const Result& result : results_) {
    PyObject* array = make_result(result, args, at);
    if (array == nullptr) return nullptr;
    made.push(array);
  }
  Working working(temporary_bytes_);
  if (working.data == nullptr) {
    raise_exhausted(static_cast<long long>(temporary_bytes_));
    return nullptr;
  }
  // Nothing runs Python from here on, so that operands stay where they are.
  if (!find_operands(args, at, numbers)) return nullptr;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].kind == Slot::Kind::kTemporary) at[i] = working.data + slots_[i].offset;
  }
  for (const Step& step : steps_) {
    if (!execute(step, at, slots_.data())) return nullptr;
  }
  return finish(made);
}

}  // namespace evertrace
