// Circular functions and their inverses.
//
// Arguments are reduced by multiples of pi / 2 in several parts, as in W. J. Cody and W. Waite,
// Software Manual for the Elementary Functions (1980); those too large for that are left to the C
// library. The polynomials are minimax approximations by Remez' algorithm.

#include "kernels/loops/real.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

constexpr double kPi = 3.14159265358979323846;

// x = n pi / 2 + value + rest.
template <class T>
struct Angle {
  T value, rest;
  BitsOf<T> n;
};

inline Angle<double> reduced(double x) {
  // The parts have 33 bits, so that their products are exact.
  constexpr double kPart1 = 0x1.921fb544p+0, kPart2 = 0x1.0b4611a6p-34, kPart3 = 0x1.3198a2ep-69,
                   kPart4 = 0x1.b839a252049c1p-104;
  const Rounded<double> n = rounded(x * (2 / kPi));
  const double first = x - n.value * kPart1;
  const double product = n.value * kPart2, second = first - product;
  const double lost = (first - second) - product;
  const double third = n.value * kPart3, sum = second - third;
  const double gone = (second - sum) - third;
  const double rest = (lost + gone) - n.value * kPart4;
  const double value = sum + rest;
  return {value, (sum - value) + rest, n.bits};
}

inline Angle<float> reduced(float x) {
  if constexpr (kFuses) {
    const Rounded<float> n = rounded(x * static_cast<float>(2 / kPi));
    float r = fused(-n.value, 0x1.921fb6p+0f, x);
    r = fused(-n.value, -0x1.777a5cp-25f, r);
    return {fused(-n.value, -0x1.ee59dap-50f, r), 0, n.bits};
  } else {
    const double wide = x;
    const Rounded<double> n = rounded(wide * (2 / kPi));
    const double r = (wide - n.value * 0x1.921fb544p+0) - n.value * 0x1.0b4611a6p-34;
    return {static_cast<float>(r), 0, static_cast<uint32_t>(n.bits)};
  }
}

// Sine and cosine for |x| <= pi / 4, as exactly as float needs them.
template <class T>
inline T float_sine(T x) {
  const T z = x * x;
  return fused(z * x, polynomial(z, -0.166666552, 0.00833218731, -0.000195179135), x);
}
template <class T>
inline T float_cosine(T x) {
  const T z = x * x, q = polynomial(z, 0.041666653, -0.0013887618, 2.44631792e-5);
  return fused(z * z, q, fused(z, T{-0.5}, T{1}));
}
inline float sine(float x, float) { return float_sine(x); }
inline float cosine(float x, float) { return float_cosine(x); }
inline double sine(double x, double rest) {
  const double z = x * x;
  const double q = polynomial(z, -0.16666666666666641, 0.0083333333333239917,
                              -0.00019841269830815213, 2.7557313985696177e-6,
                              -2.5050798102617359e-8, 1.5898857887570006e-10);
  return x + fused(z * x, q, fused(-0.5 * z, rest, rest));
}
inline double cosine(double x, double rest) {
  const double z = x * x;
  const double q = polynomial(z, 0.04166666666666665, -0.001388888888888171, 2.4801587293671714e-5,
                              -2.7557315444263589e-7, 2.0875859138688478e-9,
                              -1.1366158371835512e-11);
  const double half = 0.5 * z, most = 1 - half;
  return most + (((1 - most) - half) + fused(z * z, q, -x * rest));
}

template <class T>
inline bool is_large(T x) {
  return !(std::fabs(x) <= (sizeof(T) == 4 ? T{12000} : T{1e6}));
}

// sin(x + turns pi / 2).
template <class T>
inline T sine_of(T x, BitsOf<T> turns) {
  const Angle<T> angle = reduced(x);
  const BitsOf<T> n = angle.n + turns;
  const T value = (n & 1) != 0 ? cosine(angle.value, angle.rest) : sine(angle.value, angle.rest);
  return bits_as<T>(bits_as<BitsOf<T>>(value) ^ ((n & 2) << (8 * sizeof(T) - 2)));
}

struct Sin {
  template <class T>
  static T of(T x) { return x == 0 ? x : sine_of<T>(x, 0); }
  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  template <class T>
  static T rare(T x) { return static_cast<T>(std::sin(static_cast<double>(x))); }
};

struct Cos {
  template <class T>
  static T of(T x) { return sine_of<T>(x, 1); }
  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  template <class T>
  static T rare(T x) { return static_cast<T>(std::cos(static_cast<double>(x))); }
};

struct Tan {
  static double of(double x) {
    const Angle<double> angle = reduced(x);
    return quotient(x, angle.n, sine(angle.value, angle.rest), cosine(angle.value, angle.rest));
  }

  // In double, with the polynomials of float.
  static float of(float x) {
    const double wide = x;
    const Rounded<double> n = rounded(wide * (2 / kPi));
    const double r = fused(-n.value, 0x1.0b4611a626331p-34, fused(-n.value, 0x1.921fb544p+0, wide));
    return static_cast<float>(quotient(wide, n.bits, float_sine(r), float_cosine(r)));
  }

  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  template <class T>
  static T rare(T x) { return static_cast<T>(std::tan(static_cast<double>(x))); }

 private:
  static double quotient(double x, uint64_t n, double s, double c) {
    const bool is_odd = (n & 1) != 0;
    return x == 0 ? x : (is_odd ? -c : s) / (is_odd ? s : c);
  }
};

// ---------------------------------------------------------------- inverse functions

// (atan(t) - t) / t ** 3 of the square of t, for |t| <= 1 / 2.
inline float atan_remainder(float z) {
  return polynomial(z, -0.333333284, 0.199995562, -0.142731503, 0.109488361, -0.0801081136,
                    0.039067328);
}
inline double atan_remainder(double z) {
  return polynomial(z, -0.33333333333333326, 0.19999999999995968, -0.14285714285168366,
                    0.11111111076437623, -0.090909078408092203, 0.076922793586749513,
                    -0.066662380131642857, 0.058778673979356544, -0.052300652207837625,
                    0.045887000045419242, -0.03708025439414353, 0.023575157015252996,
                    -0.0083016252475085102);
}

constexpr double kPiRest = 1.2246467991473532e-16;  // pi - kPi

// part * pi + arc + rest, part being a power of two and no less than |arc|, rest small.
template <class T>
inline T turned(double part, T arc, T rest) {
  const T angle = static_cast<T>(part * kPi), sum = angle + arc;
  const T lost = static_cast<T>(part * kPi - angle + part * kPiRest);
  return sum + (((angle - sum) + arc) + (lost + rest));
}

// The arc of the tangent y / x, for 0 <= y <= x.
template <class T>
inline T atan_of_ratio(T y, T x) {
  const bool turns = y > T{0.5} * x;
  const T t = (turns ? y - x : y) / (turns ? y + x : x), z = t * t;
  const T rest = z * t * atan_remainder(z);
  return turns ? turned(0.25, t, rest) : t + rest;
}

struct Atan {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const bool is_steep = magnitude > 1;
    const T arc = atan_of_ratio(is_steep ? T{1} : magnitude, is_steep ? magnitude : T{1});
    const T value = is_steep ? turned(0.5, -arc, T{0}) : arc;
    return with_sign_of(magnitude == kInfinity<T> ? static_cast<T>(kPi / 2) : value, x);
  }
};

struct Atan2 {
  template <class T>
  static T of(T y, T x) {
    // A quarter, so that sums are finite; numbers that are lost by that do not count.
    const T rise = std::fabs(y), run = std::fabs(x);
    const bool is_steep = rise > run;
    T least = is_steep ? run : rise, most = is_steep ? rise : run;
    const T scale = most > T{1e30} ? T{0.25} : T{1};
    least = least == kInfinity<T> ? 1 : least * scale;  // then both are infinite
    most = most == kInfinity<T> && rise == run ? 1 : most * scale;
    most = most == 0 ? 1 : most;
    const T ratio_arc = atan_of_ratio(least, most);
    const T small_arc = most == kInfinity<T> ? T{0} : ratio_arc;
    const T steep_arc = is_steep ? turned(0.5, -small_arc, T{0}) : small_arc;
    const T arc = is_negative(x) ? turned(1, -steep_arc, T{0}) : steep_arc;
    return x != x || y != y ? kNaN<T> : with_sign_of(arc, y);
  }
};

// (asin(x) - x) / x ** 3 of the square of x, for |x| <= 0.54.
inline float asin_remainder(float z) {
  return polynomial(z, 0.166666538, 0.0750102624, 0.0444034934, 0.032805372, 0.0106002968,
                    0.0428941511);
}
inline double asin_remainder(double z) {
  return polynomial(z, 0.16666666666666635, 0.075000000000139108, 0.044642857124352869,
                    0.030381945595163801, 0.022372118569796366, 0.017353659932149962,
                    0.013951650081909059, 0.011686077700206189, 0.008800358532038647,
                    0.013245830057900492, -0.0097660372052939988, 0.046775116515639738,
                    -0.053199918920566878, 0.048488270332284727);
}

// The arc of the sine |x|, or half its complement where the arc is steep. The bound is where that
// half is below 1 / 2, and its error therefore small.
template <class T>
inline T asin_of_less(T magnitude, bool is_steep) {
  const T z = is_steep ? (1 - magnitude) / 2 : magnitude * magnitude;
  const T x = is_steep ? std::sqrt(z) : magnitude;
  return fused(z * x, asin_remainder(z), x);
}
constexpr double kSteep = 0.5404;

struct Asin {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const bool is_steep = magnitude > static_cast<T>(kSteep);
    const T arc = asin_of_less(magnitude, is_steep);
    return with_sign_of(is_steep ? turned(0.5, -2 * arc, T{0}) : arc, x);
  }
};

struct Acos {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const bool is_steep = magnitude > static_cast<T>(kSteep);
    const T arc = asin_of_less(magnitude, is_steep);
    const T steep = x < 0 ? turned(1, -2 * arc, T{0}) : 2 * arc;
    return is_steep ? steep : turned(0.5, x < 0 ? arc : -arc, T{0});
  }
};

}  // namespace

Loop find_trigonometric(const Query& query) {
  if (query.out != query.in) return nullptr;
  switch (query.op) {
    case Op::kSin: return find_with_rare<Sin>(query.in);
    case Op::kCos: return find_with_rare<Cos>(query.in);
    case Op::kTan: return find_with_rare<Tan>(query.in);
    case Op::kAsin: return find_unary_of_floats<Asin>(query.in);
    case Op::kAcos: return find_unary_of_floats<Acos>(query.in);
    case Op::kAtan: return find_unary_of_floats<Atan>(query.in);
    case Op::kAtan2: return find_binary_of_floats<Atan2>(query.in);
    default: return nullptr;
  }
}

}  // namespace evertrace::EVERTRACE_TARGET
