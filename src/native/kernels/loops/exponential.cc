// Exponentials, logarithms, hyperbolic functions and their inverses.

#include "kernels/loops/exponential.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

// Of 1 / (1 + exp(-x)), the form that neither overflows nor loses small values.
struct Logistic {
  template <class T>
  static T of(T x) {
    const T e = Exp::of(-std::fabs(x));
    return quotient_by_sum(x < 0 ? e : T{1}, T{1}, e, true);
  }
};

// (sinh(x) - x) / x ** 3 of the square of x, for |x| <= 1.
inline float sinh_remainder(float z) {
  return polynomial(z, 0.166666672, 0.00833330676, 0.000198437978, 2.77695722e-6);
}
inline double sinh_remainder(double z) {
  return polynomial(z, 0.16666666666666669, 0.00833333333333287, 0.0001984126984163428,
                    2.7557319092157784e-6, 2.5052133426048015e-8, 1.6056468380707964e-10,
                    7.7823337461430718e-13);
}

struct Sinh {
  template <class T>
  static T of(T x) {
    const T z = x * x, half = half_exp(std::fabs(x));
    const T near = fused(z * x, sinh_remainder(z), x);
    return z < 1 ? near : with_sign_of(half - T{0.25} / half, x);
  }
};

struct Cosh {
  template <class T>
  static T of(T x) {
    const T half = half_exp(std::fabs(x));
    return half + T{0.25} / half;
  }
};

// Formulas that are good enough for float when evaluated in double.
struct Asinh {
  static double of(double x) {
    const double magnitude = std::fabs(x);
    const double square = magnitude * magnitude;
    const double value = Log1p::of(magnitude + square / (1 + std::sqrt(1 + square)));
    return with_sign_of(square < kInfinity<double> ? value : magnitude, x);
  }
};

struct Acosh {
  static double of(double x) {
    const double t = x - 1;
    const double value = Log1p::of(t + std::sqrt(t * (t + 2)));
    return x >= 1 ? value : kNaN<double>;
  }
};

// The C library's own function of doubles is off by more than two units near 1.
inline double precise_acosh(double x) {
  return static_cast<double>(std::acosh(static_cast<long double>(x)));
}

struct Atanh {
  static double of(double x) { return 0.5 * Log1p::of(2 * x / (1 - x)); }
};

}  // namespace

Loop find_exponential(const Query& query) {
  if (query.out != query.in) return nullptr;
  switch (query.op) {
    case Op::kExp: return find_quick<Exp>(query.in);
    case Op::kExp2: return find_quick<Exp2>(query.in);
    case Op::kExpm1: return find_unary_of_floats<Expm1>(query.in);
    case Op::kLog: return find_quick<Log>(query.in);
    case Op::kLog1p: return find_unary_of_floats<Log1p>(query.in);
    case Op::kLogistic: return find_unary_of_floats<Logistic>(query.in);
    case Op::kTanh: return find_tanh(query);
    case Op::kSinh: return find_unary_of_floats<Sinh>(query.in);
    case Op::kCosh: return find_unary_of_floats<Cosh>(query.in);
    case Op::kAsinh: return find_unary_of_floats<InDouble<Asinh, std::asinh>>(query.in);
    case Op::kAcosh: return find_unary_of_floats<InDouble<Acosh, precise_acosh>>(query.in);
    case Op::kAtanh: return find_unary_of_floats<InDouble<Atanh, std::atanh>>(query.in);
    default: return nullptr;
  }
}

}  // namespace evertrace::EVERTRACE_TARGET
