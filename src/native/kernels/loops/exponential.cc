// Exponentials, logarithms, hyperbolic functions and their inverses.

#include "kernels/loops/exponential.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

// Of 1 / (1 + exp(-x)), the form that neither overflows nor loses small values.
struct Logistic {
  template <class T>
  static T of(T x) {
    const T e = Exp::of(-std::fabs(x)), sum = 1 + e, lost = e - (sum - 1);
    const T quotient = (x < 0 ? e : T{1}) / sum;
    return fused(-quotient, lost * rough_reciprocal(sum, T{1}), quotient);
  }
};

// (sinh(x) - x) / x ** 3 and (cosh(x) - 1 - x ** 2 / 2) / x ** 4 of the square of x, for
// |x| <= ln(2) / 2.
inline float sinh_remainder(float z) {
  return polynomial(z, 0.16666667, 0.00833328794, 0.000199056843);
}
inline double sinh_remainder(double z) {
  return polynomial(z, 0.16666666666666677, 0.0083333333333210741, 0.00019841269887706213,
                    2.7557242466684016e-6, 2.5109692087193746e-8);
}
inline float cosh_remainder(float z) { return polynomial(z, 0.0416664547, 0.00139359332); }
inline double cosh_remainder(double z) {
  return polynomial(z, 0.041666666666599895, 0.0013888888928566765, 2.4801506316327663e-5,
                    2.7626178676310044e-7);
}

// x = n ln(2) + r: sinh(r), cosh(r) - 1, and the sum and difference of half of 2 ** n and 2 ** -n.
template <class T>
struct HyperbolicParts {
  T sinh, cosh_less_one, sum, difference;
};

template <class T>
inline HyperbolicParts<T> hyperbolic_parts(T x) {
  const Rounded<T> n = rounded(x * Ln2<T>::kInverse);
  const T r = fused(-n.value, Ln2<T>::kLow, fused(-n.value, Ln2<T>::kHigh, x)), z = r * r;
  const T up = power_of_two<T>(n.bits - 1), down = power_of_two<T>(-1 - n.bits);
  return {fused(z * r, sinh_remainder(z), r), z * fused(z, cosh_remainder(z), T{0.5}), up + down,
          up - down};
}

// Up to where both powers are normal numbers. Beyond that the smaller one does not count.
template <class T>
constexpr T kHyperbolicMost = sizeof(T) == 4 ? 86 : 707;

struct Sinh {
  template <class T>
  static T of(T x) {
    return is_rare(x) ? with_sign_of(half_exp(std::fabs(x)), x) : quick(x);
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= kHyperbolicMost<T>); }
  template <class T>
  static T quick(T x) {
    const HyperbolicParts<T> h = hyperbolic_parts(std::fabs(x));
    const T more = h.difference * h.cosh_less_one;
    const T rest = kFuses ? fused(h.sum, h.sinh, more) : h.sinh + ((h.sum - 1) * h.sinh + more);
    return with_sign_of(h.difference + rest, x);
  }
};

struct Cosh {
  template <class T>
  static T of(T x) { return is_rare(x) ? half_exp(std::fabs(x)) : quick(x); }
  template <class T>
  static bool is_rare(T x) { return Sinh::is_rare(x); }
  template <class T>
  static T quick(T x) {
    const HyperbolicParts<T> h = hyperbolic_parts(x);
    return h.sum + fused(h.sum, h.cosh_less_one, h.difference * h.sinh);
  }
};

// The inverse functions, with what is lost on the way. Where products are not fused that cannot be
// had of all, and the C library serves.

// From where on squares overflow, and asinh and acosh are log(2 |x|).
template <class T>
constexpr T kSquareMost = static_cast<T>(sizeof(T) == 4 ? 1e19 : 1e154);

template <class T>
inline T log_of_twice(T x) {
  return Log::of(x) + T{0.69314718055994530942};
}

struct Asinh {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    return magnitude < kSquareMost<T> ? quick(x) : with_sign_of(log_of_twice(magnitude), x);
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) < kSquareMost<T>); }
  template <class T>
  static T quick(T x) {
    const T magnitude = std::fabs(x), square = magnitude * magnitude;
    const T more = square / (1 + std::sqrt(1 + square)), sum = magnitude + more;
    return with_sign_of(log1p_of(sum, (magnitude - sum) + more), x);
  }
};

// Of 1 + t, t + sqrt(t (t + 2)) being a sum and what it lacks.
struct Acosh {
  template <class T>
  static T of(T x) {
    const T value = x < kSquareMost<T> ? quick(x) : log_of_twice(x);
    return x >= 1 ? value : kNaN<T>;
  }
  template <class T>
  static bool is_rare(T x) { return !(x >= 1) | !(x < kSquareMost<T>); }
  template <class T>
  static T quick(T x) {
    if constexpr (!kFuses) return std::acosh(static_cast<Wider<T>>(x));
    const T t = x - 1, t_lost = (x - t) - 1, v = x + 1, v_lost = 1 - (v - x);
    const T product = t * v, lost = fused(t, v, -product) + fused(t, v_lost, t_lost * v);
    const T root = std::sqrt(product);
    const T root_lost = root > 0 ? (fused(-root, root, product) + lost) / (2 * root) : 0;
    const T sum = root + t;
    return log1p_of(sum, ((root - sum) + t) + (root_lost + t_lost));
  }
};

struct Atanh {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const T log = Log::of((1 + magnitude) / (1 - magnitude));
    return magnitude <= kMost<T> ? quick(x) : with_sign_of(T{0.5} * log, x);
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= kMost<T>); }
  template <class T>
  static T quick(T x) {
    if constexpr (!kFuses) return static_cast<T>(std::atanh(static_cast<double>(x)));
    // (1 + x) / (1 - x) is nearly a power of two, whose exponent is about a difference of bits.
    constexpr BitsOf<T> kUnit = BitsOf<T>{1} << Format<T>::kMantissa;
    const T magnitude = std::fabs(x);
    const BitsOf<T> bits = bits_as<BitsOf<T>>(1 + magnitude) - bits_as<BitsOf<T>>(1 - magnitude) +
                           (Format<T>::kBias * kUnit + kUnit / 2);
    const T power = bits_as<T>(bits & ~(kUnit - 1)), more = power + 1, less = power - 1;
    const T s = fused(magnitude, more, -less) / fused(-magnitude, less, more);
    const T k = exponent_of(bits), z = s * s;
    const T small = fused(s * z, log_remainder(z), k * Ln2<T>::kLow);
    return with_sign_of(T{0.5} * fused(k, Ln2<T>::kHigh, fused(T{2}, s, small)), x);
  }

 private:
  template <class T>
  static constexpr T kMost = 1 - 8 * std::numeric_limits<T>::epsilon();  // powers less one are exact
};

constexpr Entry kEntries[] = {
    {"exp", 1, 4, same<find_quick<Exp>>},
    {"exp2", 1, 4, same<find_quick<Exp2>>},
    {"expm1", 1, 5, same<find_quick<Expm1>>},
    {"log", 1, 6, same<find_quick<Log>>},
    {"log1p", 1, 7, same<find_quick<Log1p>>},
    {"logistic", 1, 8, same<find_unary_of_floats<Logistic>>},
    {"sinh", 1, 7, same<find_quick<Sinh>>},
    {"cosh", 1, 6, same<find_quick<Cosh>>},
    {"asinh", 1, 12, same<find_quick<Asinh>>},
    {"acosh", 1, 12, same<find_quick<Acosh>>},
    {"atanh", 1, 8, same<find_quick<Atanh>>},
};

}  // namespace

constexpr Family kExponential = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
