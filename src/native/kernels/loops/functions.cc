// Error functions, roots and powers.

#include "kernels/loops/exponential.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

// (factor + lost) exp(high + low), where |low| is a few units in the last place of `high`, if that is
// not too large.
inline double exp_of_pair(double high, double low, double factor, double lost) {
  const bool is_near = std::fabs(high) < 1000;
  const double x = clamped(high, kExpLeast<double>, kExpMost<double>);
  const Rounded<double> n = rounded(x * Ln2<double>::kInverse);
  const double r = fused(-n.value, Ln2<double>::kLow, fused(-n.value, Ln2<double>::kHigh, x));
  const double more = is_near ? low : 0, square_part = r * r * exp_remainder(r);
  const double less_one = r + fused(1 + r + square_part, more, square_part);
  return scaled(factor + fused(factor, less_one, lost), n.bits);
}

// erf(x) = x + x * erf_near(x * x) for |x| <= 0.8. Of all floats the worst is off by 1.6 units in the last
// place in erf, by 3.5 in erfc, whichever the instructions.
inline float erf_near(float square) {
  return polynomial(square, 0.128379166f, -0.376126051f, 0.112831116f, -0.0268196035f,
                    0.00508151157f, -0.000650518108f);
}

constexpr float kNearMost = 0.8f;

// erfc(x) for 0.8 <= x <= 4; 1 - erfc(x) is 1 from there on.
inline float erfc_between(float x) {
  const ExpParts<float> e =
      exp_parts(-polynomial(x, 5.77515457e-05f, 1.12826574f, 0.636155128f, 0.104861565f,
                            -0.0226884857f, 0.00316220615f, -0.000208378740f));
  return quickly_scaled(1 + e.p, e.k);
}

// erfc(x) = exp(-x * x) G(u) / (x + 2), u = (x - 2) / (x + 2), for 0.8 <= x <= 10.1; it is zero beyond.
// The square is taken in two parts, and what is lost in x + 2 is put right.
inline float erfc_tail(float x) {
  x = x > 10.5f ? 10.5f : x;
  const float head = bits_as<float>(bits_as<uint32_t>(x) & 0xFFFFF000u), high = -head * head;
  const Rounded<float> n = rounded(high * Ln2<float>::kInverse);
  const float rest = fused(-n.value, Ln2<float>::kHigh, high);
  const float r = fused(-n.value, Ln2<float>::kLow, rest) - (x - head) * (x + head);
  const float p = fused(r * r, exp_remainder(r), r);
  const float total = x + 2, lost = x > 2 ? 2 - (total - x) : x - (total - 2);
  const float g = horner((x - 2) / total, 1.02158272, -0.687160671, 0.279470444, -0.0364420861,
                         -0.0214848872, 0.00646762270, 0.00296491315, -0.000768253463,
                         -0.000467016827);
  const float quotient = g / total;  // which is near 1 / total, too
  return scaled(fused(quotient, fused(-lost, quotient, p), quotient), n.bits);
}

// The same of doubles: erfc(x) = exp(-x * x) G(u) / (x + 3.5) for 0.46 <= x <= 27.4, where G is one
// polynomial up to 3.4, u being (x - 1.5) / (x + 3.5), and another from there on, with x - 8. What
// is lost in the square and the sum goes into the exponential.
constexpr double kErfcTail[][2] = {
    {1.6079270822715874, 0.8048294113101306}, {-2.4826458610424145, -0.3347037560073642},
    {2.9456611775782435, 0.1274013292303963}, {-2.688967614092891, -0.04388342808001234},
    {1.8358424300545477, 0.01345095241668683}, {-0.85893023284169, -0.003571327557889734},
    {0.1949972258446656, 0.0007815186345350357}, {0.04976766625698313, -0.00012517927008548068},
    {-0.04840240945101942, 8.372809100481465e-06}, {0.002899431654659902, 2.526459102262467e-06},
    {0.008719340468993171, -9.507316047167552e-07},
    {-0.0015546507696600326, 9.708678134087929e-08},
    {-0.0017511430123848505, 2.6827571878553928e-08},
    {0.0003377751547052475, -1.0244654206213899e-08},
    {0.0003775957626756633, 1.3791074737361506e-10}, {0, 5.437147132447344e-10},
};

inline double exact_erfc_tail(double x) {
  x = x > 27.4 ? 27.4 : x;
  const bool is_far = x > 3.4;
  const double sum = x + 3.5, lost = x > 3.5 ? 3.5 - (sum - x) : x - (sum - 3.5), r = 1 / sum;
  const double head = bits_as<double>(bits_as<uint64_t>(x) >> 27 << 27);  // its square is exact
  const double square = head * head, more = (x - head) * (x + head), high = square + more;
  const double u = (x - (is_far ? 8 : 1.5)) * r;
  double g = 0;
#pragma GCC unroll 15
  for (int i = 15; i > 0; --i) g = fused(g, u, is_far ? kErfcTail[i][1] : kErfcTail[i][0]);
  const double first = is_far ? kErfcTail[0][1] : kErfcTail[0][0], rest = g * u;
  g = first + rest;
  const double factor = g * r, low = fused(g, r, -factor) + (rest - (g - first)) * r;
  const double r_low = (kFuses ? fused(-sum, r, 1) : 0) - lost * r;
  return exp_of_pair(-high, (high - square) - more + r_low, factor, low);
}

// erf(x) - from for |x| <= 0.875, the difference being exact where it is small.
inline double exact_erf_near(double x, double from) {
  const double z = x * x;
  const double rest = z * polynomial(z, -0.37612638903183738, 0.11283791670954229,
                                     -0.0268661706449165, 0.0052239776227785373,
                                     -0.00085483268280600489, 0.00012055323872375292,
                                     -1.4925369905873401e-5, 1.645632904185889e-6,
                                     -1.6286459096282824e-7, 1.4107071235843581e-8,
                                     -8.6280340364101114e-10);
  return fused(x, rest, fused(x, 1.1283791670955126, -from));
}

struct Erf {
  static float of(float x) {
    const float magnitude = std::fabs(x), far = 1 - erfc_between(magnitude > 4 ? 4 : magnitude);
    // A NaN takes the first way: to scale `far` would make a number of its bits.
    return !(magnitude >= kNearMost) ? fused(x, erf_near(x * x), x) : with_sign_of(far, x);
  }
  static double of(double x) {
    const double magnitude = std::fabs(x), tail = exact_erfc_tail(magnitude);
    return with_sign_of(magnitude < 0.875 ? exact_erf_near(magnitude, 0) : 1 - tail, x);
  }
};

struct Erfc {
  static float of(float x) {
    const float magnitude = std::fabs(x), tail = erfc_tail(magnitude);
    const float far = x < 0 ? 2 - tail : tail;
    return magnitude < kNearMost ? fused(-x, erf_near(x * x), 1 - x) : far;
  }
  static double of(double x) {
    if constexpr (!kFuses) return static_cast<double>(std::erfc(static_cast<long double>(x)));
    const double magnitude = std::fabs(x), tail = exact_erfc_tail(magnitude);
    return magnitude < 0.47 ? 1 - exact_erf_near(x, 0) : x < 0 ? 2 - tail : tail;
  }
};

// An estimate of x ** (-1 / 3) from a third of the exponent: (1 - r) ** (1 / 3) of it, |r| < 0.1025.
inline float rough_inverse_root(float x) {
  const float bits = static_cast<float>(bits_as<int32_t>(x));
  return bits_as<float>(static_cast<int32_t>(fused(bits, -1 / 3.0f, 1419900676.0f)));
}
inline double rough_inverse_root(double x) {
  // The upper half of the bits, as the fraction of a large number.
  const double bits = bits_as<double>((bits_as<uint64_t>(x) >> 32) | 0x4330000000000000u) - 0x1p52;
  const double third = fused(bits, -1 / 3.0, 0x1.8p52 + 1430186252.0);
  return bits_as<double>(bits_as<uint64_t>(third) << 32);
}

// (1 - r) ** (-1 / 3) for |r| <= 0.1025.
inline float inverse_root_polynomial(float r) {
  return polynomial(r, 0.9999979923, 0.3333263484, 0.2237470668, 0.1748270006);
}
inline double inverse_root_polynomial(double r) {
  return polynomial(r, 0.99999999998208039, 0.33333334628930083, 0.22222226480244586,
                    0.17282965984289182, 0.14401610163064576, 0.12669572170646966,
                    0.11316506196284056);
}

struct Cbrt {
  template <class T>
  static T of(T x) {
    constexpr T kGrow = sizeof(T) == 4 ? T{0x1p24} : T{0x1p54};
    constexpr T kBack = sizeof(T) == 4 ? T{0x1p-8} : T{0x1p-18};
    const T magnitude = std::fabs(x);
    const bool is_small = magnitude < std::numeric_limits<T>::min();
    const T a = is_small ? magnitude * kGrow : magnitude;
    const T rough = rough_inverse_root(a);
    const T inverse = rough * inverse_root_polynomial(fused(-(a * rough * rough), rough, T{1}));
    // A step of Newton's method towards the root itself.
    const T square = inverse * inverse, near = a * square;
    const T root = fused(fused(-(near * near), near, a), square * T{1 / 3.0}, near);
    const T value = is_small ? root * kBack : root;
    return magnitude < kInfinity<T> ? with_sign_of(value, x) : x;
  }
};

// What powers are where the logarithm of the base does not say it.
template <class T>
inline T with_special_powers(T x, T y, T value) {
  const T base = std::fabs(x);
  const bool is_one = (base == 1) & (std::fabs(y) == kInfinity<T>);
  value = is_one ? 1 : value;
  const bool is_whole = std::floor(y) == y;
  const T half = y / 2;
  const bool is_odd = is_whole & (std::floor(half) != half);
  const bool has_none = (x < 0) & (base < kInfinity<T>) & !is_whole;
  value = has_none ? kNaN<T> : value;
  const BitsOf<T> sign = is_odd ? bits_as<BitsOf<T>>(x) & Format<T>::kSign : 0;
  value = bits_as<T>(bits_as<BitsOf<T>>(value) ^ sign);
  const bool is_trivial = (y == 0) | (x == 1);
  return is_trivial ? 1 : value;
}

// A number as the sum of two, the second below a unit in the last place of the first.
struct Pair {
  double high, low;
};

inline Pair product(double x, double y) {
  const double high = x * y;
  return {high, fused(x, y, -high)};
}

// log((1 + f) 2 ** k) to about 2 ** -66 of it: by s = f / (2 + f), of whose series 2 s and the first
// coefficient of the rest are taken exactly. Needs fused multiplications.
inline Pair log_pair(double k, double f) {
  constexpr double kThird2 = 0.66666666666666663, kThird2Low = 3.7007434154171883e-17;
  const double t = 2 + f, t_low = f - (t - 2), inverse = 1 / t;
  const double s = f * inverse, s_low = (fused(-s, t, f) - s * t_low) * inverse;
  const Pair square = product(s, s);
  const double z = square.high, z_low = fused(2 * s, s_low, square.low);
  const double q = z * polynomial(z, 0.40000000000002255, 0.28571428570100106, 0.22222222519819295,
                                  0.1818178437695935, 0.15386756844837018, 0.13256829783132849,
                                  0.13196210986101226);
  const double c = kThird2 + q, c_low = ((kThird2 - c) + q) + kThird2Low;
  const Pair zc = product(z, c);
  const double w_low = zc.low + fused(z, c_low, z_low * c);
  const Pair sw = product(s, zc.high);
  const double rest = sw.low + fused(s, w_low, s_low * zc.high);
  // In the order of their sizes.
  const double first = k * Ln2<double>::kHigh, sum = first + 2 * s, lost = (first - sum) + 2 * s;
  const double high = sum + sw.high, gone = (sum - high) + sw.high;
  const double low = (lost + gone) + (fused(k, Ln2<double>::kLow, rest) + 2 * s_low);
  const double value = high + low;
  return {value, (high - value) + low};
}

// base ** y for a normal base of exponent `more` too little, in two parts: the exponent of the power,
// to the base 2 as exactly as float needs it, or to the base e as a pair.
inline Pair exponent_of_power(float base, float more, float y) {
  const LogParts<float> parts = log_parts(base);
  const double f = parts.f;
  const double log = fused(f, polynomial(f, 1.4426950409393811, -0.72134752521256979,
                                         0.48089832072057555, -0.36067280057944061,
                                         0.28854064422045015, -0.24050417383344293,
                                         0.20609623910896579, -0.17904693967779967,
                                         0.15900167404167165, -0.15698250125740599,
                                         0.15485691310569812, -0.086344934940863366),
                           static_cast<double>(parts.k + more));
  return {y * log, 0};
}
inline Pair exponent_of_power(double base, double more, double y) {
  const LogParts<double> parts = log_parts(base);
  const Pair log = log_pair(parts.k + more, parts.f), exponent = product(y, log.high);
  return {exponent.high, fused(y, log.low, exponent.low)};
}

// And the power of that.
inline void take_power(Pair exponent, float& value) {
  const double within = clamped(exponent.high, -160.0, 160.0);
  const Rounded<double> n = rounded(within);
  const float r = static_cast<float>((within - n.value) * 0.69314718055994530942);
  value = scaled(1 + fused(r * r, exp_remainder(r), r), static_cast<uint32_t>(n.bits));
}
inline void take_power(Pair exponent, double& value) {
  value = exp_of_pair(exponent.high, exponent.low, 1, 0);
}

struct Pow {
  template <class T>
  static T of(T x, T y) {
    if constexpr (!kFuses && sizeof(T) == 8) return std::pow(x, y);
    constexpr int kDigits = Format<T>::kMantissa + 1;
    constexpr T kGrow = static_cast<T>(uint64_t{1} << kDigits);
    const T base = std::fabs(x);
    const bool is_small = base < std::numeric_limits<T>::min(), is_nan = (x != x) | (y != y);
    const bool is_edge = !(base > 0) | !(base < kInfinity<T>);
    const T edge = (base == 0) == (y < 0) ? kInfinity<T> : 0, more = is_small ? -kDigits : 0;
    T value;
    take_power(exponent_of_power(is_small ? base * kGrow : base, more, y), value);
    return with_special_powers(x, y, is_nan ? kNaN<T> : is_edge ? edge : value);
  }

  // All but powers of normal numbers above 0.
  template <class T>
  static bool is_rare(T x, T y) {
    if constexpr (!kFuses && sizeof(T) == 8) return true;
    const T size = std::fabs(y);
    return !(x >= std::numeric_limits<T>::min()) | !(x < kInfinity<T>) | !(size < kInfinity<T>);
  }
};

// Two loops: each number takes so many steps, one after the other, that a processor does not look
// far enough ahead to begin with the next one.
template <class T>
[[gnu::flatten]] void pow_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  const TwoOperands<T> both(operands);
  T* out = static_cast<T*>(result);
  for (int64_t begin = 0; begin < n; begin += kBlock, out += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    const T *x = both.at(0, begin), *y = both.at(1, begin);
    BitsOf<T> any = 0;
    for (int64_t i = 0; i < count; ++i) any |= Pow::is_rare(x[i], y[i]) ? 1 : 0;
    if (any != 0) {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = Pow::of(x[i], y[i]);
      continue;
    }
    double high[kBlock], low[kBlock];
    for (int64_t i = 0; i < count; ++i) {
      const Pair exponent = exponent_of_power(x[i], T{0}, y[i]);
      high[i] = exponent.high;
      low[i] = exponent.low;
    }
    for (int64_t i = 0; i < count; ++i) take_power({high[i], low[i]}, out[i]);
  }
}

Loop find_pow(DType dtype) {
  if (dtype == DType::kFloat32) return &pow_loop<float>;
  if (dtype == DType::kFloat64) return &pow_loop<double>;
  return find_half<&pow_loop<float>, 2>(dtype);
}

// After M. Giles, Approximating the erfinv function, GPU Computing Gems Jade Edition (2011): two
// polynomials, in w = -log(1 - x * x) and in its root. They are off by 2.5 units in the last place at
// most, whichever the instructions (every seventh float looked at).
constexpr float kInverseNear[] = {1.12737441, 0.247832894, 0.00425064284, -0.00237644278,
                                  0.000100281322, 3.82289982e-05, -4.40158192e-06,
                                  -5.24693803e-07, 1.41911357e-07, -8.79101769e-09};
constexpr float kInverseFar[] = {2.83297682, 1.00167513, 0.00944570079, -0.00763955479,
                                 0.00568299741, -0.0035862471, 0.001496393, -7.80490518e-05,
                                 -0.00031920601, 0.000129911132};

inline float erf_inv_of(float x) {
  const float magnitude = std::fabs(x);
  const float w = -Log::quick((1 - magnitude) * (1 + magnitude));
  const bool is_far = w >= 5;
  const float t = is_far ? std::sqrt(w) - 3 : w - 1;
  float p = is_far ? kInverseFar[9] : kInverseNear[9];
#pragma GCC unroll 9
  for (int i = 8; i >= 0; --i) p = fused(p, t, is_far ? kInverseFar[i] : kInverseNear[i]);
  return magnitude < 1 ? x * p : magnitude == 1 ? x * kInfinity<float> : kNaN<float>;
}

// The same, for a start: exact to 2 ** -24.
inline double erf_inv_of(double x) {
  const double magnitude = std::fabs(x), w = -Log::of((1 - magnitude) * (1 + magnitude));
  const double near = polynomial(
      w - 2.5, 1.5014093517088369, 0.24664027683426656, -0.0041773247660920167,
      -0.0012527082509759565, 0.00021826372268561898, -4.9957248074410807e-6,
      -3.4260858159825155e-6, 4.7858570371988534e-7, 1.647064824172784e-8, -1.0844709061238734e-8,
      4.3617493670943772e-10, 1.2245455264188943e-10);
  const double far = polynomial(
      std::sqrt(w) - 4.1, 3.9407449153025422, 1.0097197068859445, 0.001016531881064698,
      -0.00074586370422773183, 0.00027214219455826415, -0.00010343843400694798,
      3.4198863426640108e-5, -6.9737673058504468e-6, 1.3070228777519971e-5,
      -1.3010773794400201e-5, 2.8035956638467591e-6, 1.0909916757874075e-6,
      -3.7725733063271586e-7);
  const double value = x * (w < 5 ? near : far);
  return magnitude == 1 ? x * kInfinity<double> : value;
}

struct ErfInv {
  static float of(float x) { return erf_inv_of(x); }

  // A step of Halley's method more.
  static double of(double x) {
    const double magnitude = std::fabs(x), y = erf_inv_of(magnitude);
    const double tail = exact_erfc_tail(y);
    const double off = y < 0.5 ? exact_erf_near(y, magnitude) : (1 - magnitude) - tail;
    const double newton = off * 0.88622692545275801365 / Exp::of(-y * y);  // sqrt(pi) / 2
    double value = y - newton / (1 + y * newton);
    value = magnitude < 1e-8 ? magnitude * 0.88622692545275801365 : value;
    return with_sign_of(y < kInfinity<double> ? value : y, x);
  }
};

constexpr Entry kEntries[] = {
    {"erf", 1, 6, same<find_unary_of_floats<Erf>>},
    {"erfc", 1, 10, same<find_unary_of_floats<Erfc>>},
    {"erf_inv", 1, 12, same<find_unary_of_floats<ErfInv>>},
    {"pow", 2, 15, same<find_pow>},
    {"cbrt", 1, 6, same<find_unary_of_floats<Cbrt>>},
};

}  // namespace

constexpr Family kFunctions = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
