// Python's operators on arrays. Where the operands are arrays or Python numbers, they call the
// functions that Python has named; everything else is for the methods of `core.operators`.

#include "python/operators.h"

#include <cstring>
#include <iterator>
#include <vector>

#include "python/array.h"
#include "python/function.h"
#include "python/indexing.h"
#include "python/numpy_api.h"
#include "python/plan.h"
#include "python/spans.h"

namespace evertrace {
namespace {

enum Operation {
  kAdd, kSubtract, kMultiply, kTrueDivide, kFloorDivide, kMod, kDivmod, kPower, kAnd, kOr, kXor,
  kLeftShift, kRightShift, kMatmul, kLess, kLessEqual, kEqual, kNotEqual, kGreater, kGreaterEqual,
  kNegative, kPositive, kAbsolute, kInvert,
};

// The method of an operator, the reflected one, and the function that Python names for both.
struct Names {
  const char *method, *reflected;
  PyObject* function;
};

Names operations[] = {
    {"__add__", "__radd__", nullptr},           {"__sub__", "__rsub__", nullptr},
    {"__mul__", "__rmul__", nullptr},           {"__truediv__", "__rtruediv__", nullptr},
    {"__floordiv__", "__rfloordiv__", nullptr}, {"__mod__", "__rmod__", nullptr},
    {"__divmod__", "__rdivmod__", nullptr},     {"__pow__", "__rpow__", nullptr},
    {"__and__", "__rand__", nullptr},           {"__or__", "__ror__", nullptr},
    {"__xor__", "__rxor__", nullptr},           {"__lshift__", "__rlshift__", nullptr},
    {"__rshift__", "__rrshift__", nullptr},     {"__matmul__", "__rmatmul__", nullptr},
    {"__lt__", nullptr, nullptr},               {"__le__", nullptr, nullptr},
    {"__eq__", nullptr, nullptr},               {"__ne__", nullptr, nullptr},
    {"__gt__", nullptr, nullptr},               {"__ge__", nullptr, nullptr},
    {"__neg__", nullptr, nullptr},              {"__pos__", nullptr, nullptr},
    {"__abs__", nullptr, nullptr},              {"__invert__", nullptr, nullptr},
};

PyObject* operators_class = nullptr;

bool is_operand(PyObject* x) {
  return is_array(x) || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
         PyComplex_CheckExact(x);
}

PyObject* call(PyObject* function, PyObject* const* args, Py_ssize_t count) {
  if (is_function(function)) return call_function(function, args, count);
  return PyObject_Vectorcall(function, args, static_cast<size_t>(count), nullptr);
}

// Calls the method of the Python path.
PyObject* call_method(const char* name, PyObject* const* args, Py_ssize_t count) {
  if (operators_class == nullptr) return Py_NewRef(Py_NotImplemented);
  Ref method(PyObject_GetAttrString(operators_class, name));
  if (!method) return nullptr;
  return PyObject_Vectorcall(method.get(), args, static_cast<size_t>(count), nullptr);
}

PyObject* apply(Operation operation, PyObject* left, PyObject* right) {
  const Names& names = operations[operation];
  PyObject* const args[] = {left, right};
  if (names.function != nullptr && is_operand(left) && is_operand(right)) {
    return call(names.function, args, 2);
  }
  if (PyObject_TypeCheck(left, array_base())) return call_method(names.method, args, 2);
  PyObject* const swapped[] = {right, left};
  return call_method(names.reflected, swapped, 2);
}

template <Operation operation>
PyObject* binary(PyObject* left, PyObject* right) {
  return apply(operation, left, right);
}

template <Operation operation>
PyObject* unary(PyObject* x) {
  const Names& names = operations[operation];
  if (names.function != nullptr && is_array(x)) return call(names.function, &x, 1);
  return call_method(names.method, &x, 1);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus == Py_None) return apply(kPower, left, right);
  PyObject* const args[] = {left, right, modulus};
  return call_method("__pow__", args, 3);
}

PyObject* compare(PyObject* left, PyObject* right, int how) {
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  return apply(static_cast<Operation>(kLess + how), left, right);
}

// ---------------------------------------------------------------- numbers

// The one element of an array of a dtype that C knows; null where the Python path is to look.
const void* only_element(PyObject* x, bool of_rank_zero, DType& dtype) {
  if (!is_array(x)) return nullptr;
  const AvalObject* aval = aval_facts(array_aval(x));
  if (aval == nullptr) {
    forget_error();
    return nullptr;
  }
  if (aval->count != 1 || (of_rank_zero && aval->rank != 0)) return nullptr;
  dtype = aval->code;
  return is_on_host(x) ? array_contents(x) : array_data(x);
}

template <class T>
T read(const void* data) {
  T out;
  std::memcpy(&out, data, sizeof out);
  return out;
}

// The element as a Python integer; null without an error where it is none.
PyObject* read_integer(const void* data, DType dtype) {
  switch (dtype) {
    case DType::kInt8: return PyLong_FromLong(read<int8_t>(data));
    case DType::kInt16: return PyLong_FromLong(read<int16_t>(data));
    case DType::kInt32: return PyLong_FromLong(read<int32_t>(data));
    case DType::kInt64: return PyLong_FromLongLong(read<int64_t>(data));
    case DType::kUInt8: return PyLong_FromLong(read<uint8_t>(data));
    case DType::kUInt16: return PyLong_FromLong(read<uint16_t>(data));
    case DType::kUInt32: return PyLong_FromUnsignedLong(read<uint32_t>(data));
    case DType::kUInt64: return PyLong_FromUnsignedLongLong(read<uint64_t>(data));
    default: return nullptr;
  }
}

bool read_float(const void* data, DType dtype, double& out) {
  if (dtype == DType::kFloat32) {
    out = read<float>(data);
  } else if (dtype == DType::kFloat64) {
    out = read<double>(data);
  } else {
    return false;
  }
  return true;
}

int to_bool(PyObject* x) {
  DType dtype;
  const void* data = only_element(x, false, dtype);
  double value;
  if (data != nullptr && dtype == DType::kBool) return read<uint8_t>(data) != 0;
  if (data != nullptr && read_float(data, dtype, value)) return value != 0;
  Ref found(data == nullptr ? nullptr : read_integer(data, dtype));
  if (!found) found = Ref(call_method("__bool__", &x, 1));
  return found ? PyObject_IsTrue(found.get()) : -1;
}

PyObject* to_int(PyObject* x) {
  DType dtype;
  const void* data = only_element(x, true, dtype);
  double value;
  PyObject* found = nullptr;
  if (data != nullptr && dtype == DType::kBool) return PyLong_FromLong(read<uint8_t>(data) != 0);
  if (data != nullptr && read_float(data, dtype, value)) return PyLong_FromDouble(value);
  if (data != nullptr) found = read_integer(data, dtype);
  return found != nullptr ? found : call_method("__int__", &x, 1);
}

PyObject* to_index(PyObject* x) {
  DType dtype;
  const void* data = only_element(x, true, dtype);
  PyObject* found = data == nullptr ? nullptr : read_integer(data, dtype);
  return found != nullptr ? found : call_method("__index__", &x, 1);
}

PyObject* to_float(PyObject* x) {
  DType dtype;
  const void* data = only_element(x, true, dtype);
  double value;
  if (data != nullptr && read_float(data, dtype, value)) return PyFloat_FromDouble(value);
  return call_method("__float__", &x, 1);
}

Py_ssize_t length(PyObject* x) {
  const AvalObject* aval = is_array(x) ? aval_facts(array_aval(x)) : nullptr;
  forget_error();
  if (aval != nullptr && aval->rank > 0) return static_cast<Py_ssize_t>(aval->dims[0]);
  Ref found(call_method("__len__", &x, 1));
  return found ? PyLong_AsSsize_t(found.get()) : -1;
}

PyObject* subscript(PyObject* x, PyObject* index) {
  const bool at_once = is_array(x) && may_use_plans();
  if (at_once) {
    static PyObject* const name = PyUnicode_InternFromString("x[index]");
    const Span span(name);
    PyObject* found = take_static(x, index);
    if (found != nullptr || PyErr_Occurred()) return found;
  }
  PyObject* const args[] = {x, index};
  PyObject* found = call_method("__getitem__", args, 2);
  if (found != nullptr && at_once && array_sharding(x) != nullptr) note_static(x, index, found);
  return found;
}

PyObject* iterate(PyObject* x) {
  if (is_array(x) && may_use_plans()) {
    Ref rows(take_rows(x));
    if (rows) return PyObject_GetIter(rows.get());
    if (PyErr_Occurred()) return nullptr;
  }
  return call_method("__iter__", &x, 1);
}

// `x.__array__()`, that NumPy calls; with a dtype, or a wish to copy, it is the Python path's.
PyObject* to_numpy(PyObject* x, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 0 && names == nullptr && is_array(x) && may_use_plans() && is_on_host(x)) {
    const AvalObject* aval = aval_facts(array_aval(x));
    if (aval == nullptr) return nullptr;
    const bool is_of_numbers = PyArray_DescrCheck(aval->dtype);
    if (is_of_numbers && array_contents(x) != nullptr) return numpy_view(x);
  }
  const Py_ssize_t num_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  std::vector<PyObject*> all{x};
  all.insert(all.end(), args, args + count + num_names);
  Ref method(PyObject_GetAttrString(operators_class, "__array__"));
  if (!method) return nullptr;
  return PyObject_Vectorcall(method.get(), all.data(), static_cast<size_t>(count) + 1, names);
}

PyMethodDef array_methods[] = {
    {"__array__", as_method<to_numpy>(),
     METH_FASTCALL | METH_KEYWORDS, "Return the contents as a NumPy array, read-only if a view."},
    {nullptr, nullptr, 0, nullptr},
};

// set_operators(functions): functions of operators by the names of their methods; others stay.
PyObject* set_operators(PyObject*, PyObject* functions) {
  for (Names& names : operations) {
    PyObject* function = PyDict_GetItemString(functions, names.method);
    if (function != nullptr) Py_XSETREF(names.function, Py_NewRef(function));
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_operators", as_method<set_operators>(), METH_O, "Name the functions that operators call."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

const PyType_Slot kOperatorSlots[] = {
    {Py_nb_add, as_slot<binary<kAdd>>()},
    {Py_nb_subtract, as_slot<binary<kSubtract>>()},
    {Py_nb_multiply, as_slot<binary<kMultiply>>()},
    {Py_nb_true_divide, as_slot<binary<kTrueDivide>>()},
    {Py_nb_floor_divide, as_slot<binary<kFloorDivide>>()},
    {Py_nb_remainder, as_slot<binary<kMod>>()},
    {Py_nb_divmod, as_slot<binary<kDivmod>>()},
    {Py_nb_power, as_slot<power>()},
    {Py_nb_and, as_slot<binary<kAnd>>()},
    {Py_nb_or, as_slot<binary<kOr>>()},
    {Py_nb_xor, as_slot<binary<kXor>>()},
    {Py_nb_lshift, as_slot<binary<kLeftShift>>()},
    {Py_nb_rshift, as_slot<binary<kRightShift>>()},
    {Py_nb_matrix_multiply, as_slot<binary<kMatmul>>()},
    {Py_nb_negative, as_slot<unary<kNegative>>()},
    {Py_nb_positive, as_slot<unary<kPositive>>()},
    {Py_nb_absolute, as_slot<unary<kAbsolute>>()},
    {Py_nb_invert, as_slot<unary<kInvert>>()},
    {Py_nb_bool, as_slot<to_bool>()},
    {Py_nb_int, as_slot<to_int>()},
    {Py_nb_float, as_slot<to_float>()},
    {Py_nb_index, as_slot<to_index>()},
    {Py_mp_length, as_slot<length>()},
    {Py_mp_subscript, as_slot<subscript>()},
    {Py_tp_iter, as_slot<iterate>()},
    {Py_tp_richcompare, as_slot<compare>()},
    {Py_tp_methods, array_methods},
    {0, nullptr},
};

void set_operators_class(PyObject* cls) { Py_XSETREF(operators_class, Py_NewRef(cls)); }

PyObject* python_property(PyObject* array, const char* name) {
  Ref found(PyObject_GetAttrString(operators_class, name));
  if (!found) return nullptr;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(array));
  return Py_TYPE(found.get())->tp_descr_get(found.get(), array, type);
}

int add_operators(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
