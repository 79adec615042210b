// The logarithm of the gamma function, and its derivative.

#include <cmath>

#include "kernels/loops/real.h"

namespace evertrace::EVERTRACE_TARGET {

#ifdef EVERTRACE_IS_BASELINE
namespace {

struct Lgamma {
  static double of(double x) {
#if defined(__unix__) || defined(__APPLE__)
    int sign;  // `std::lgamma` writes it to memory that threads share
    return lgamma_r(x, &sign);
#else
    return std::lgamma(x);
#endif
  }
  static float of(float x) { return static_cast<float>(of(static_cast<double>(x))); }
};

// By the asymptotic series from 10 on (M. Abramowitz and I. Stegun, Handbook of Mathematical
// Functions, 1964, 6.3.18), before that by recurrence, by reflection where x is negative.
struct Digamma {
  static double of(double x) {
    constexpr double kPi = 3.14159265358979323846;
    const double whole = std::nearbyint(x);
    if (x <= 0 && x == whole) return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    if (x < 0) {
      value = -kPi / std::tan(kPi * (x - whole));
      x = 1 - x;
    }
    while (x < 10) {
      value -= 1 / x;
      x += 1;
    }
    const double z = 1 / (x * x);
    return value + std::log(x) - 0.5 / x -
           z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                          -691.0 / 32760, 1.0 / 12);
  }
  static float of(float x) { return static_cast<float>(of(static_cast<double>(x))); }
};

constexpr Entry kEntries[] = {
    {"lgamma", 1, 500, same<find_unary_of_floats<Lgamma>>},
    {"digamma", 1, 500, same<find_unary_of_floats<Digamma>>},
};

}  // namespace

constexpr Family kGamma = family_of(kEntries);
#endif

}  // namespace evertrace::EVERTRACE_TARGET
