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

// The inverse functions: for float by formulas in double, for double with what is lost on the way.

// log(1 + x + more), or log(2 large) from where on that is the same.
inline double log1p_or_twice(double x, double more, double large) {
  const bool is_large = large > 1e8;
  const double value = log1p_of(is_large ? large : x, is_large ? -1 : more);
  return value + (is_large ? 0.69314718055994530942 : 0);
}

struct Asinh {
  static double of(double x) {
    const double magnitude = std::fabs(x);
    const double square = magnitude * magnitude;
    const double value = Log1p::of(magnitude + square / (1 + std::sqrt(1 + square)));
    return with_sign_of(square < kInfinity<double> ? value : magnitude, x);
  }
};

inline double exact_asinh(double x) {
  const double magnitude = std::fabs(x), square = magnitude * magnitude;
  const double more = square / (1 + std::sqrt(1 + square)), sum = magnitude + more;
  return with_sign_of(log1p_or_twice(sum, (magnitude - sum) + more, magnitude), x);
}

struct Acosh {
  static double of(double x) {
    const double t = x - 1;
    const double value = Log1p::of(t + std::sqrt(t * (t + 2)));
    return x >= 1 ? value : kNaN<double>;
  }
};

// Of 1 + t, t + sqrt(t (t + 2)) being `sum` and what it lacks.
inline double exact_acosh(double x) {
  if constexpr (!kFuses) return static_cast<double>(std::acosh(static_cast<long double>(x)));
  const double t = x - 1, t_lost = (x - t) - 1, v = x + 1, v_lost = 1 - (v - x);
  const double product = t * v, lost = fused(t, v, -product) + fused(t, v_lost, t_lost * v);
  const double root = std::sqrt(product);
  const double root_lost = root > 0 ? (fused(-root, root, product) + lost) / (2 * root) : 0;
  const double sum = root + t, sum_lost = ((root - sum) + t) + (root_lost + t_lost);
  const double value = log1p_or_twice(sum, sum_lost, x);
  return x >= 1 ? value : kNaN<double>;
}

struct Atanh {
  static double of(double x) { return 0.5 * Log1p::of(2 * x / (1 - x)); }
};

inline double exact_atanh(double x) {
  if constexpr (!kFuses) return std::atanh(x);
  const double twice = 2 * std::fabs(x), t = 1 - std::fabs(x), lost = (1 - t) - std::fabs(x);
  const double quotient = twice / t;
  const double more = (fused(-quotient, t, twice) - quotient * lost) / t;
  return with_sign_of(0.5 * log1p_of(quotient, more), x);
}

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
    case Op::kAsinh: return find_unary_of_floats<InDouble<Asinh, exact_asinh>>(query.in);
    case Op::kAcosh: return find_unary_of_floats<InDouble<Acosh, exact_acosh>>(query.in);
    case Op::kAtanh: return find_unary_of_floats<InDouble<Atanh, exact_atanh>>(query.in);
    default: return nullptr;
  }
}

}  // namespace evertrace::EVERTRACE_TARGET
