// Exponentials and logarithms of float and double, without branches.
//
// Arguments are reduced as in W. J. Cody and W. Waite, Software Manual for the Elementary Functions
// (1980). The polynomials are minimax approximations by Remez' algorithm, weighted for relative
// errors of the results.

#pragma once

#include "kernels/loops/real.h"

namespace evertrace::EVERTRACE_TARGET {

template <class T>
struct Ln2;  // high + low, the product of `high` and an exponent being exact
template <>
struct Ln2<float> {
  static constexpr float kHigh = 0.693359375f, kLow = -2.12194440e-4f, kInverse = 1.44269504f;
};
template <>
struct Ln2<double> {
  static constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  static constexpr double kInverse = 0x1.71547652b82fep+0;
};

// (exp(x) - 1 - x) / x ** 2 for |x| <= ln(2) / 2.
inline float exp_remainder(float x) {
  return polynomial(x, 0.49999994, 0.166665226, 0.0416682921, 0.00836853683, 0.00138181914);
}
inline double exp_remainder(double x) {
  return polynomial(x, 0.5, 0.16666666666666688, 0.041666666666666824, 0.0083333333333138939,
                    0.0013888888888778182, 0.00019841269903363905, 2.4801587557928105e-5,
                    2.7557228690990465e-6, 2.7557069703578075e-7, 2.5113928806615903e-8,
                    2.0976844283702522e-9);
}

// exp(x) = 2 ** k (1 + p).
template <class T>
struct ExpParts {
  T p;
  BitsOf<T> k;
};

// For arguments whose exponent is no larger than a few thousand.
template <class T>
inline ExpParts<T> exp_parts(T x) {
  const Rounded<T> n = rounded(x * Ln2<T>::kInverse);
  const T r = fused(-n.value, Ln2<T>::kLow, fused(-n.value, Ln2<T>::kHigh, x));
  return {fused(r * r, exp_remainder(r), r), n.bits};
}

// From where on, up and down, results are infinite or zero.
template <class T>
constexpr T kExpMost = sizeof(T) == 4 ? 89 : 710;
template <class T>
constexpr T kExpLeast = sizeof(T) == 4 ? -104 : -746;

// NaNs pass.
template <class T>
inline T clamped(T x, T least, T most) {
  x = x < least ? least : x;
  return x > most ? most : x;
}

struct Exp {
  template <class T>
  static T of(T x) {
    const ExpParts<T> e = exp_parts(clamped(x, kExpLeast<T>, kExpMost<T>));
    return scaled(T{1} + e.p, e.k);
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= T{sizeof(T) == 4 ? 87 : 708}); }
  template <class T>
  static T quick(T x) {
    const ExpParts<T> e = exp_parts(x);
    return quickly_scaled(T{1} + e.p, e.k);
  }
};

struct Exp2 {
  template <class T>
  static T of(T x) {
    x = clamped(x, T{sizeof(T) == 4 ? -151 : -1076}, T{sizeof(T) == 4 ? 129 : 1025});
    const Rounded<T> n = rounded(x);
    const T r = (x - n.value) * T{0.69314718055994530942};
    return scaled(T{1} + fused(r * r, exp_remainder(r), r), n.bits);
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= T{sizeof(T) == 4 ? 125 : 1021}); }
  template <class T>
  static T quick(T x) {
    const Rounded<T> n = rounded(x);
    const T r = (x - n.value) * T{0.69314718055994530942};
    return quickly_scaled(T{1} + fused(r * r, exp_remainder(r), r), n.bits);
  }
};

struct Expm1 {
  template <class T>
  static T of(T x) {
    const ExpParts<T> e = exp_parts(clamped(x, T{-40}, kExpMost<T>));
    const T half = power_of_two<T>(e.k - 1);
    const T value = 2 * fused(half, e.p, half - T{0.5});
    return std::fabs(x) < T{1e-20} ? x : value;
  }
};

// exp(x) / 2, which does not overflow before that does.
template <class T>
inline T half_exp(T x) {
  const ExpParts<T> e = exp_parts(clamped(x, kExpLeast<T>, kExpMost<T> + 1));
  return scaled(T{1} + e.p, e.k - 1);
}

// x = 2 ** k (1 + f) with 1 / sqrt(2) <= 1 + f < sqrt(2), for positive normal x.
template <class T>
struct LogParts {
  T k, f;
};

template <class T>
inline LogParts<T> log_parts(T x) {
  using Int = typename Format<T>::Int;
  constexpr BitsOf<T> kRoot = sizeof(T) == 4 ? static_cast<BitsOf<T>>(0x3F3504F3)
                                             : static_cast<BitsOf<T>>(0x3FE6A09E667F3BCD);
  constexpr int kShift = Format<T>::kMantissa;
  constexpr BitsOf<T> kMask = (BitsOf<T>{1} << kShift) - 1;
  const BitsOf<T> bits = bits_as<BitsOf<T>>(x) - kRoot;
  const T f = bits_as<T>((bits & kMask) + kRoot) - 1;
  if constexpr (sizeof(T) == 4) {
    return {static_cast<T>(static_cast<Int>(bits) >> kShift), f};
  } else {
    // The exponent, made positive, goes into the fraction of a large number: not every processor
    // converts integers of 64 bits.
    constexpr BitsOf<T> kLarge = 0x4330000000000000u;  // 2 ** 52
    const BitsOf<T> exponent = (bits + (BitsOf<T>{2048} << kShift)) >> kShift;
    return {bits_as<T>(exponent | kLarge) - (0x1p52 + 2048), f};
  }
}

// log((1 + f) 2 ** k).
inline float log_of_parts(float k, float f) {
  const float q = polynomial(f, 0.333333313, -0.250008225, 0.200012594, -0.166233212, 0.142009467,
                             -0.131597072, 0.127674013, -0.0764332786);
  const float square = f * f;
  const float small = fused(square * f, q, fused(k, Ln2<float>::kLow, -0.5f * square));
  return fused(k, Ln2<float>::kHigh, f + small);
}

// By s = f / (2 + f), whose series has odd terms only; as in Cody and Waite.
inline double log_of_parts(double k, double f) {
  const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  const double q = polynomial(z, 0.66666666666667096, 0.39999999999542096, 0.28571428718652198,
                              0.22222200704903394, 0.18183464651298445, 0.1531638822572588,
                              0.14774218836547118);
  const double small = s * (half + z * q) + k * Ln2<double>::kLow;
  return k * Ln2<double>::kHigh - ((half - small) - f);
}

struct Log {
  template <class T>
  static T of(T x) {
    constexpr T kGrow = sizeof(T) == 4 ? T{0x1p23} : T{0x1p52};
    const bool is_small = x < std::numeric_limits<T>::min();
    const LogParts<T> parts = log_parts(is_small ? x * kGrow : x);
    const T k = is_small ? parts.k - Format<T>::kMantissa : parts.k;
    T value = log_of_parts(k, parts.f);
    value = x == kInfinity<T> ? x : value;
    value = x == 0 ? -kInfinity<T> : value;
    return x >= 0 ? value : kNaN<T>;
  }
  template <class T>
  static bool is_rare(T x) {
    return !(x >= std::numeric_limits<T>::min()) | !(x < kInfinity<T>);
  }
  template <class T>
  static T quick(T x) {
    const LogParts<T> parts = log_parts(x);
    return log_of_parts(parts.k, parts.f);
  }
};

struct Log1p {
  template <class T>
  static T of(T x) {
    // 1 + x exactly: sum + rest.
    const T sum = 1 + x, grown = sum - 1, rest = (1 - (sum - grown)) + (x - grown);
    const LogParts<T> parts = log_parts(sum);
    const T k = clamped(parts.k, T{-126}, T{126});  // a sum that is larger has no rest that counts
    const T scale = bits_as<T>(
        (Format<T>::kBias << Format<T>::kMantissa) -
        (rounded(k).bits << Format<T>::kMantissa));
    T value = log_of_parts(parts.k, fused(rest, scale, parts.f));
    value = sum == kInfinity<T> ? sum : value;
    value = sum == 0 ? -kInfinity<T> : value;
    value = x == 0 ? x : value;
    return sum >= 0 ? value : kNaN<T>;
  }
};

// numerator / (least + more), for least >= more >= 0, without most of the error of the sum where it
// corrects that: a line is near enough to the reciprocal of a number from `least` to twice that.
template <class T>
inline T quotient_by_sum(T numerator, T least, T more, bool corrects) {
  const T sum = least + more, lost = corrects ? more - (sum - least) : 0;
  const T quotient = numerator / sum;
  const T reciprocal = (T{1.457} - T{0.5} / least * sum) / least;
  return fused(-quotient, lost * reciprocal, quotient);
}

}  // namespace evertrace::EVERTRACE_TARGET
