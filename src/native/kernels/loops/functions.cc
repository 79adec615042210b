// Error functions, roots and powers.

#include "kernels/loops/exponential.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

// erfc(x) = exp(-x * x) G(u) / (x + 2), u = (x - 2) / (x + 2), for 0.8 <= x <= 10.3, as exactly as
// float needs it; it is zero beyond.
inline double erfc_tail(double x) {
  x = x > 10.5 ? 10.5 : x;
  const double r = 1 / (x + 2), u = (x - 2) * r;
  const double g = polynomial(u, 1.0215827047004364, -0.6871606767235342, 0.27947218055072243,
                              -0.036442746624385437, -0.021512726159450019, 0.0064890638801246162,
                              0.0031033960014897393, -0.00091023893827808029,
                              -0.00065961765216814103, 0.00022216514583250189);
  return Exp::of(-x * x) * g * r;
}

// erf(x) for |x| <= 0.9.
inline double erf_near(double x) {
  return x * polynomial(x * x, 1.1283791668022898, -0.37612635310070441, 0.11283719720372487,
                        -0.026860752746140904, 0.0052044359835668273, -0.00081819275003637603,
                        8.5388414464765164e-5);
}

struct Erf {
  static double of(double x) {
    const double magnitude = std::fabs(x);
    return magnitude < 0.875 ? erf_near(x) : with_sign_of(1 - erfc_tail(magnitude), x);
  }
};

struct Erfc {
  static double of(double x) {
    const double magnitude = std::fabs(x), tail = erfc_tail(magnitude);
    return magnitude < 0.875 ? 1 - erf_near(x) : x < 0 ? 2 - tail : tail;
  }
};

// The C library's own function of doubles is off by more than two units in its tail.
inline double precise_erfc(double x) {
  return static_cast<double>(std::erfc(static_cast<long double>(x)));
}

// Halley's method, twice, from a third of the exponent; then Newton's for double.
inline double cube_root(double x, bool is_last) {
  const uint32_t high = static_cast<uint32_t>(bits_as<uint64_t>(x) >> 32);
  double t = bits_as<double>(static_cast<uint64_t>(high / 3 + 0x2A9F7893) << 32);
  for (int step = 0; step < 2; ++step) {
    const double cube = t * t * t;
    t *= (cube + 2 * x) / (2 * cube + x);
  }
  return is_last ? t : t - (t * t * t - x) / (3 * t * t);
}

struct Cbrt {
  static double of(double x) {
    const double magnitude = std::fabs(x);
    const bool is_small = magnitude < 1e-280, is_large = magnitude > 1e280;
    const double up = is_small ? 0x1p108 : 1, down = is_large ? 0x1p-108 : up;
    const double back = is_small ? 0x1p-36 : is_large ? 0x1p36 : 1;
    const double root = cube_root(magnitude * down, false) * back;
    return magnitude == 0 || !(magnitude < kInfinity<double>) ? x : with_sign_of(root, x);
  }
  static float of(float x) {
    const double magnitude = std::fabs(x);
    const float root = static_cast<float>(cube_root(magnitude, true));
    return magnitude == 0 || !(magnitude < kInfinity<double>) ? x : with_sign_of(root, x);
  }
};

// Of floats given as doubles.
struct Pow {
  static double of(double x, double y) {
    const double base = std::fabs(x);
    const LogParts<double> parts = log_parts(base);
    double log = log_of_parts(parts.k, parts.f);
    log = base == 0 ? -kInfinity<double> : log;
    log = base < kInfinity<double> ? log : base;
    double value = Exp::of(y * log);
    const bool is_one = (base == 1) & (std::fabs(y) == kInfinity<double>);
    value = is_one ? 1 : value;
    const bool is_whole = std::floor(y) == y;
    const double half = y / 2;
    const bool is_odd = is_whole & (std::floor(half) != half);
    const bool has_none = (x < 0) & (base < kInfinity<double>) & !is_whole;
    value = has_none ? kNaN<double> : value;
    const uint64_t sign = is_odd ? bits_as<uint64_t>(x) & Format<double>::kSign : 0;
    value = bits_as<double>(bits_as<uint64_t>(value) ^ sign);
    const bool is_trivial = (y == 0) | (x == 1);
    return is_trivial ? 1 : value;
  }
};

// After M. Giles, Approximating the erfinv function, GPU Computing Gems Jade Edition (2011): two
// polynomials in w = -log(1 - x * x) and its root, here exact to 2 ** -24.
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
  static float of(float x) { return static_cast<float>(erf_inv_of(static_cast<double>(x))); }

  // A step of Halley's method more.
  static double of(double x) {
    const double magnitude = std::fabs(x);
    if (magnitude < 1e-8) return x * 0.88622692545275801365;  // sqrt(pi) / 2
    const double y = erf_inv_of(magnitude);
    if (!(y < kInfinity<double>)) return with_sign_of(y, x);
    const double off = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    const double newton = off / (1.12837916709551257390 * std::exp(-y * y));
    return with_sign_of(y - newton / (1 + y * newton), x);
  }
};

}  // namespace

Loop find_functions(const Query& query) {
  const DType dtype = query.in;
  if (query.out != dtype) return nullptr;
  switch (query.op) {
    case Op::kErf: return find_unary_of_floats<InDouble<Erf, std::erf>>(dtype);
    case Op::kErfc: return find_unary_of_floats<InDouble<Erfc, precise_erfc>>(dtype);
    case Op::kErfInv: return find_unary_of_floats<ErfInv>(dtype);
    case Op::kPow: return find_binary_of_floats<InDouble2<Pow, std::pow>>(dtype);
    case Op::kCbrt: return find_unary_of_floats<Cbrt>(dtype);
    default: return nullptr;
  }
}

}  // namespace evertrace::EVERTRACE_TARGET
