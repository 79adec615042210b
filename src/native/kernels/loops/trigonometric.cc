// Circular functions and their inverses.
//
// Arguments are reduced by multiples of pi / 2 in several parts, as in W. J. Cody and W. Waite,
// Software Manual for the Elementary Functions (1980). Floats too large for that are multiplied by
// the bits of 2 / pi that count, as in M. Payne and R. Hanek, Radian reduction for trigonometric
// functions (1983); doubles are left to the C library. The polynomials are minimax approximations by
// Remez' algorithm.

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

// 2 ** s (2 / pi) modulo 4 in 82 bits, for the exponents s of floats of `kLargeFrom` or more that are
// read as integers of 24 bits. The product of such an integer and the upper part is exact.
constexpr float kLargeFrom = 8192;
constexpr int kLeastShift = -10, kShifts = 116;  // up to that of infinities and NaNs
struct TurnTable {
  double high[kShifts], low[kShifts];
};

constexpr TurnTable make_turn_table() {
  constexpr uint64_t kTwoOverPi[] = {0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
                                     0xFE5163ABDEBBC561};
  constexpr int kHighBits = 29, kLowBits = 53;
  const auto bits = [&](int first, int count) {  // the bit 0 is the first behind the point
    double value = 0;
    for (int i = first; i < first + count; ++i) {
      const bool is_set = i >= 0 && (kTwoOverPi[i / 64] >> (63 - i % 64) & 1) != 0;
      value = 2 * value + (is_set ? 1 : 0);
    }
    return value;
  };
  TurnTable table{};
  for (int i = 0; i < kShifts - 1; ++i) {
    const int first = kLeastShift + i - 2;
    table.high[i] = bits(first, kHighBits) * 0x1p-27;
    table.low[i] = bits(first + kHighBits, kLowBits) * 0x1p-80;
  }
  table.high[kShifts - 1] = std::numeric_limits<double>::quiet_NaN();
  return table;
}
constexpr TurnTable kTurns = make_turn_table();

inline Angle<double> reduced_large(float x) {
  const uint32_t bits = bits_as<uint32_t>(x) & ~Format<float>::kSign;
  const int32_t shift = static_cast<int32_t>(bits >> 23) - (150 + kLeastShift);
  const int64_t row = shift < 0 ? 0 : shift;  // as wide as what is looked up, for vectors
  const double digits = static_cast<int32_t>((bits & 0x7FFFFF) | 0x800000);
  const double most = digits * kTurns.high[row], rest = digits * kTurns.low[row];
  const Rounded<double> n = rounded(most + rest);
  const double value = ((most - n.value) + rest) * (kPi / 2);
  return {x < 0 ? -value : value, 0, x < 0 ? -n.bits : n.bits};
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
  return !(std::fabs(x) <= (sizeof(T) == 4 ? T{kLargeFrom} : T{1e6}));
}

template <class T>
inline T with_sign_of_turns(T value, BitsOf<T> n) {
  return bits_as<T>(bits_as<BitsOf<T>>(value) ^ ((n & 2) << (8 * sizeof(T) - 2)));
}

// sin(x + turns pi / 2).
template <class T>
inline T sine_of(T x, BitsOf<T> turns) {
  const Angle<T> angle = reduced(x);
  const BitsOf<T> n = angle.n + turns;
  const T value = (n & 1) != 0 ? cosine(angle.value, angle.rest) : sine(angle.value, angle.rest);
  return with_sign_of_turns(value, n);
}

inline float sine_of_large(float x, uint64_t turns) {
  const Angle<double> angle = reduced_large(x);
  const uint64_t n = angle.n + turns;
  const double value = (n & 1) != 0 ? float_cosine(angle.value) : float_sine(angle.value);
  return static_cast<float>(with_sign_of_turns(value, n));
}

struct Sin {
  template <class T>
  static T of(T x) { return x == 0 ? x : sine_of<T>(x, 0); }
  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  static float rare(float x) { return sine_of_large(x, 0); }
  static double rare(double x) { return std::sin(x); }
};

struct Cos {
  template <class T>
  static T of(T x) { return sine_of<T>(x, 1); }
  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  static float rare(float x) { return sine_of_large(x, 1); }
  static double rare(double x) { return std::cos(x); }
};

// (tan(x) - x) / x ** 3 of the square of x, for |x| <= pi / 4.
template <class T>
inline T float_tan_remainder(T z) {
  return polynomial(z, 0.3333335172, 0.1333260018, 0.0540666691, 0.02124902644, 0.01091807888,
                    -1.078941203e-5, 0.004424086762);
}
inline float tan_remainder(float z) { return float_tan_remainder(z); }
inline double tan_remainder(double z) {
  return polynomial(z, 0.33333333333332771, 0.13333333333415578, 0.053968253926209836,
                    0.021869489620024787, 0.0088632190082670963, 0.0035922904931097274,
                    0.0014547493282619714, 0.00059510129809933566, 0.00022227143013221564,
                    0.00013674994251989111, -2.6703978228342081e-5, 8.9745739047005667e-5,
                    -4.5035631643997279e-5, 2.0901674318993567e-5);
}

// The same as `reduced`, with a rest.
inline Angle<double> reduced_exactly(double x) { return reduced(x); }
inline Angle<float> reduced_exactly(float x) {
  // The second part has 11 bits, so that its products are exact.
  constexpr float kPart1 = 0x1.921fb6p+0f, kPart2 = -0x1.778p-25f, kPart3 = 0x1.68c234p-39f;
  const Rounded<float> n = rounded(x * static_cast<float>(2 / kPi));
  const float first = fused(-n.value, kPart1, x), product = n.value * kPart2;
  const float value = first - product;
  return {value, fused(-n.value, kPart3, (first - value) - product), n.bits};
}

struct Tan {
  template <class T>
  static T of(T x) {
    if constexpr (!kFuses && sizeof(T) == 4) return static_cast<T>(of(static_cast<double>(x)));
    const Angle<T> angle = reduced_exactly(x);
    const T r = angle.value, z = r * r;
    const T more = fused(z * r, tan_remainder(z), fused(z, angle.rest, angle.rest)), value = r + more;
    return x == 0 ? x : (angle.n & 1) != 0 ? -1 / value : value;
  }
  template <class T>
  static bool is_rare(T x) { return is_large(x); }
  static float rare(float x) {
    const Angle<double> angle = reduced_large(x);
    const double z = angle.value * angle.value;
    const double value = fused(z * angle.value, float_tan_remainder(z), angle.value);
    return static_cast<float>((angle.n & 1) != 0 ? -1 / value : value);
  }
  static double rare(double x) { return std::tan(x); }
};

// ---------------------------------------------------------------- inverse functions

// (atan(t) - t) / t ** 3 of the square of t, for |t| <= 1.
inline float atan_remainder(float z) {
  return polynomial(z, -0.333332991, 0.199985484, -0.142642431, 0.109521924, -0.0840346746,
                    0.0579578554, -0.0311780812, 0.0109147209, -0.00179364539);
}
inline double atan_remainder(double z) {
  return horner(z, -0.33333333333331858, 0.19999999999754983, -0.14285714271333931,
                0.11111110678742894, -0.090909012354868576, 0.076922129329872189,
                -0.066658603894230367, 0.058773079465459519, -0.052392338098239243,
                0.046739523109949817, -0.040926449441458019, 0.034067936940898369,
                -0.025826975606572798, 0.016978226886652802, -0.0091847103443715782,
                0.0038560607553067079, -0.0011641048567302344, 0.00022303015359171054,
                -2.0259386132883553e-5);
}
template <class T>
inline T atan_of_ratio(T t) {
  const T z = t * t;
  return fused(z * t, atan_remainder(z), t);
}

// part * pi + arc, part being 0 or a power of two, and no less than |arc| but for 0.
template <class T>
inline T turned(T part, T arc) {
  constexpr T kHigh = static_cast<T>(kPi);
  constexpr T kLow = static_cast<T>(kPi - kHigh + 1.2246467991473532e-16);
  return fused(part, kHigh, fused(part, kLow, arc));
}

struct Atan {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const bool is_steep = magnitude > 1;
    const T arc = atan_of_ratio((is_steep ? -1 : magnitude) / (is_steep ? magnitude : 1));
    return with_sign_of(turned(is_steep ? T{0.5} : T{0}, arc), x);
  }
};

struct Atan2 {
  template <class T>
  static T of(T y, T x) {
    const T rise = std::fabs(y), run = std::fabs(x);
    const bool is_steep = rise > run, is_back = is_negative(x);
    const T least = is_steep ? run : rise, most = is_steep ? rise : run;
    const T equal = most == 0 ? T{0} : T{1};  // also where both are infinite
    const T arc = atan_of_ratio(least == most ? equal : least / most);
    const T part = is_steep ? T{0.5} : is_back ? T{1} : T{0};
    return with_sign_of(turned(part, is_steep != is_back ? -arc : arc), y);
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
    return with_sign_of(is_steep ? turned(T{0.5}, -2 * arc) : arc, x);
  }
};

struct Acos {
  template <class T>
  static T of(T x) {
    const T magnitude = std::fabs(x);
    const bool is_steep = magnitude > static_cast<T>(kSteep);
    const T arc = asin_of_less(magnitude, is_steep);
    const T steep = x < 0 ? turned(T{1}, -2 * arc) : 2 * arc;
    return is_steep ? steep : turned(T{0.5}, x < 0 ? arc : -arc);
  }
};

constexpr Entry kEntries[] = {
    {"sin", 1, 8, same<find_with_rare<Sin>>},
    {"cos", 1, 8, same<find_with_rare<Cos>>},
    {"tan", 1, 8, same<find_with_rare<Tan>>},
    {"asin", 1, 7, same<find_unary_of_floats<Asin>>},
    {"acos", 1, 7, same<find_unary_of_floats<Acos>>},
    {"atan", 1, 7, same<find_unary_of_floats<Atan>>},
    {"atan2", 2, 10, same<find_binary_of_floats<Atan2>>},
};

}  // namespace

constexpr Family kTrigonometric = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
