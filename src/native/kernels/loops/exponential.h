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
    const T within = clamped(x, T{-40}, kExpMost<T>);
    const ExpParts<T> e = exp_parts(within);
    const T half = power_of_two<T>(e.k - 1);
    return x == 0 ? x : 2 * fused(half, e.p, half - T{0.5});
  }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= T{sizeof(T) == 4 ? 87 : 708}); }
  template <class T>
  static T quick(T x) {
    const ExpParts<T> e = exp_parts(x);
    const T power = power_of_two<T>(e.k);
    return x == 0 ? x : fused(power, e.p, power - 1);
  }
};

// exp(x) / 2, which does not overflow before that does.
template <class T>
inline T half_exp(T x) {
  const ExpParts<T> e = exp_parts(clamped(x, kExpLeast<T>, kExpMost<T> + 1));
  return scaled(T{1} + e.p, e.k - 1);
}

// The exponent of a positive number with these bits.
inline float exponent_of(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 23) - 127);
}
inline double exponent_of(uint64_t bits) {
  // By the fraction of a large number: not every processor converts integers of 64 bits.
  constexpr uint64_t kLarge = 0x4330000000000000u;  // 2 ** 52
  return bits_as<double>((bits >> 52) | kLarge) - (0x1p52 + 1023);
}

// x = power (1 + f) with 1 / sqrt(2) <= 1 + f < sqrt(2) and power = 2 ** k, for positive normal x.
template <class T>
struct LogParts {
  T k, f, power;
};

template <class T>
inline LogParts<T> log_parts(T x) {
  constexpr int kShift = Format<T>::kMantissa;
  constexpr BitsOf<T> kMask = (BitsOf<T>{1} << kShift) - 1, kOne = Format<T>::kBias << kShift;
  constexpr BitsOf<T> kRoot = sizeof(T) == 4 ? static_cast<BitsOf<T>>(0x3F3504F3)
                                             : static_cast<BitsOf<T>>(0x3FE6A09E667F3BCD);
  const BitsOf<T> bits = bits_as<BitsOf<T>>(x) + (kOne - kRoot);
  return {exponent_of(bits), bits_as<T>((bits & kMask) + kRoot) - 1, bits_as<T>(bits & ~kMask)};
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

// log((1 + s) / (1 - s)) / s - 2 over s ** 2, of that square, for |s| <= 0.2.
inline float log_remainder(float z) {
  return polynomial(z, 0.666669583, 0.399567302, 0.303840037);
}
inline double log_remainder(double z) {
  return polynomial(z, 0.66666666666673273, 0.39999999995856693, 0.28571429449720442,
                    0.22222134079241199, 0.18186536247374331, 0.15246602085337183,
                    0.153959424011777);
}

// log(1 + x + more) for -1 < x <= kLog1pMost, for |more| below a unit in the last place of x. By the
// form f - s (f - ...) of log(1 + f), whose first term is exact for small x.
template <class T>
inline T log1p_of(T x, T more) {
  constexpr BitsOf<T> kTwice = 2 * (Format<T>::kBias << Format<T>::kMantissa);
  const LogParts<T> parts = log_parts(1 + x);
  const T inverse = bits_as<T>(kTwice - bits_as<BitsOf<T>>(parts.power));
  const T less = x + (1 - parts.power), s = less / (x + (1 + parts.power)), z = s * s;
  const T f = less * inverse, rest = fused(parts.k, Ln2<T>::kLow, more * inverse);
  return fused(parts.k, Ln2<T>::kHigh, f - fused(s, fused(-z, log_remainder(z), f), -rest));
}

template <class T>
constexpr T kLog1pMost = static_cast<T>(sizeof(T) == 4 ? 1e30 : 1e300);

struct Log1p {
  template <class T>
  static T of(T x) {
    T value = x <= kLog1pMost<T> ? quick(x) : Log::of(x);
    value = x == -1 ? -kInfinity<T> : value;
    return x < -1 ? kNaN<T> : value;
  }
  template <class T>
  static bool is_rare(T x) { return !(x > -1) | !(x <= kLog1pMost<T>); }
  template <class T>
  static T quick(T x) { return x == 0 ? x : log1p_of(x, T{0}); }
};

// A line near the reciprocal of a number from `least` to twice that: enough for corrections.
template <class T>
inline T rough_reciprocal(T x, T least) {
  return (T{1.457} - T{0.5} / least * x) / least;
}

}  // namespace evertrace::EVERTRACE_TARGET
