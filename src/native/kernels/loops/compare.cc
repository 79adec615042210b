// Comparisons. NaN is unequal to everything and not ordered; nor are complex numbers ordered.

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

struct Eq {
  template <class T>
  static uint8_t of(T x, T y) { return x == y; }
};

struct Ne {
  template <class T>
  static uint8_t of(T x, T y) { return x != y; }
};

struct Lt {
  template <class T>
  static uint8_t of(T x, T y) { return x < y; }
};

struct Le {
  template <class T>
  static uint8_t of(T x, T y) { return x <= y; }
};

struct IsFinite {
  template <class T>
  static uint8_t of(T x) { return x - x == 0; }
};

template <class T>
struct Complex {
  T real, imag;
  friend bool operator==(Complex x, Complex y) {
    return static_cast<bool>((x.real == y.real) & (x.imag == y.imag));
  }
  friend bool operator!=(Complex x, Complex y) {
    return static_cast<bool>((x.real != y.real) | (x.imag != y.imag));
  }
};

template <class F, class... Ts>
Loop find_predicate(DType dtype, Types<Ts...>) {
  Loop found = nullptr;
  ((dtype == kDType<Ts> ? void(found = &binary<F, Ts, uint8_t>) : void()), ...);
  if (found != nullptr) return found;
  switch (dtype) {
    case DType::kFloat32: return &binary<F, float, uint8_t>;
    case DType::kFloat64: return &binary<F, double, uint8_t>;
    case DType::kFloat16: return &in_float<Half, &binary<F, float, uint8_t>, 2, uint8_t>;
    case DType::kBFloat16: return &in_float<BFloat, &binary<F, float, uint8_t>, 2, uint8_t>;
    default: return nullptr;
  }
}

template <class F>
Loop find_equality(DType dtype) {
  if (dtype == DType::kComplex64) return &binary<F, Complex<float>, uint8_t>;
  if (dtype == DType::kComplex128) return &binary<F, Complex<double>, uint8_t>;
  return find_predicate<F>(without_sign(dtype), Unsigneds{});
}

template <class F>
Loop find_order(DType dtype) {
  return find_predicate<F>(bool_as_byte(dtype), Integers{});
}

template <class F, class T>
constexpr Loop kTurned = &swapped<&binary<F, T, uint8_t>>;

// y < x is found by the loops of x < y.
template <class F, class... Ts>
Loop find_turned(DType dtype, Types<Ts...>) {
  Loop found = nullptr;
  ((dtype == kDType<Ts> ? void(found = kTurned<F, Ts>) : void()), ...);
  if (found != nullptr) return found;
  if (dtype == DType::kFloat16) return &in_float<Half, kTurned<F, float>, 2, uint8_t>;
  if (dtype == DType::kBFloat16) return &in_float<BFloat, kTurned<F, float>, 2, uint8_t>;
  return nullptr;
}

Loop find_is_finite(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return &unary<IsFinite, float, uint8_t>;
    case DType::kFloat64: return &unary<IsFinite, double, uint8_t>;
    case DType::kFloat16: return &in_float<Half, &unary<IsFinite, float, uint8_t>, 1, uint8_t>;
    case DType::kBFloat16: return &in_float<BFloat, &unary<IsFinite, float, uint8_t>, 1, uint8_t>;
    default: return nullptr;
  }
}

template <class F>
Loop find_turned_order(DType dtype) {
  return find_turned<F>(bool_as_byte(dtype), Reals{});
}

constexpr Entry kEntries[] = {
    {"eq", 2, 1, test<find_equality<Eq>>},
    {"ne", 2, 1, test<find_equality<Ne>>},
    {"lt", 2, 1, test<find_order<Lt>>},
    {"le", 2, 1, test<find_order<Le>>},
    {"gt", 2, 1, test<find_turned_order<Lt>>},
    {"ge", 2, 1, test<find_turned_order<Le>>},
    {"is_finite", 1, 1, test<find_is_finite>},
};

}  // namespace

constexpr Family kCompare = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
