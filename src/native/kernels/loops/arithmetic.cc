// Sums, products, quotients, extremes and rounding of real numbers.

#include <cmath>

#include "kernels/loops/real.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

template <class T>
constexpr bool is_float = std::is_floating_point_v<T>;

struct Add {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) return x + y;
    else return static_cast<T>(Wrapping<T>(x) + Wrapping<T>(y));
  }
};

struct Sub {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) return x - y;
    else return static_cast<T>(Wrapping<T>(x) - Wrapping<T>(y));
  }
};

struct Mul {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) return x * y;
    else return static_cast<T>(Wrapping<T>(x) * Wrapping<T>(y));
  }
};

struct Or {
  static uint8_t of(uint8_t x, uint8_t y) { return x | y; }
};

// Quotients of integers are truncated; x / 0 has all bits set, and the least number / -1 wraps.
template <class T>
T quotient(T x, T y) {
  if constexpr (sizeof(T) <= 4) {
    // Exact: a quotient that is no integer is further from one than the rounding goes. There are
    // no vector instructions to divide integers.
    using Real = std::conditional_t<sizeof(T) <= 2, float, double>;
    using Wide = std::conditional_t<sizeof(T) <= 2, int32_t, int64_t>;
    const T divisor = y == 0 ? T{1} : y;
    const Real exact = static_cast<Real>(x) / static_cast<Real>(divisor);
    const T value = static_cast<T>(static_cast<Wide>(exact));
    return y == 0 ? static_cast<T>(~T{0}) : value;
  } else if constexpr (std::is_signed_v<T>) {
    if (y == 0) return -1;
    if (y == -1) return static_cast<T>(-static_cast<uint64_t>(x));
    return x / y;
  } else {
    return y == 0 ? ~T{0} : x / y;
  }
}

struct Div {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) return x / y;
    else return quotient(x, y);
  }
};

// What is left of x by a quotient that was truncated.
template <class T>
T rest_of(T x, T y, T quotient) {
  const T rest = static_cast<T>(Wrapping<T>(x) - Wrapping<T>(quotient) * Wrapping<T>(y));
  return y == 0 ? x : rest;
}

struct Rem {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) {
      return is_rare(x, y) ? std::fmod(x, y) : quick(x, y);
    } else {
      return rest_of(x, y, quotient(x, y));
    }
  }

  // A whole quotient that is one number, or without fused multiplications one of 28 bits, whose
  // product with a float is one in double. Rounding up may have made it too large by one. What
  // remains is exact, for it is no longer than the operands.
  template <class T>
  static bool is_rare(T x, T y) {
    constexpr T kMost = sizeof(T) == 8 ? T{0x1p52} : kFuses ? T{0x1p23} : T{0x1p28};
    return !(std::fabs(x / y) <= (kFuses || sizeof(T) == 4 ? kMost : T{0}));
  }
  template <class T>
  static T quick(T x, T y) {
    if constexpr (!kFuses && sizeof(T) == 4) {
      return static_cast<T>(quick(static_cast<double>(x), static_cast<double>(y)));
    }
    const T a = std::fabs(x), b = std::fabs(y), whole = std::trunc(a / b);
    const T rest = fused(-whole, b, a);
    return with_sign_of(whole == 0 ? a : rest < 0 ? rest + b : rest, x);
  }
};

// Integers of 64 bits, of which those below 2 ** 52 are divided as doubles, which are exact as above.
struct LongDiv {
  template <class T>
  static T of(T x, T y) { return quotient(x, y); }
  template <class T>
  static bool is_rare(T x, T y) { return is_large(x) | is_large(y); }
  template <class T>
  static T quick(T x, T y) {
    const T divisor = y == 0 ? T{1} : y;
    const T value = static_cast<T>(static_cast<double>(x) / static_cast<double>(divisor));
    return y == 0 ? static_cast<T>(~T{0}) : value;
  }

 private:
  template <class T>
  static bool is_large(T x) {
    constexpr uint64_t kMost = uint64_t{1} << 52, kLess = std::is_signed_v<T> ? kMost : 0;
    return static_cast<uint64_t>(x) + kLess > kMost + kLess;
  }
};

struct LongRem {
  template <class T>
  static T of(T x, T y) { return Rem::of(x, y); }
  template <class T>
  static bool is_rare(T x, T y) { return LongDiv::is_rare(x, y); }
  template <class T>
  static T quick(T x, T y) { return rest_of(x, y, LongDiv::quick(x, y)); }
};

// A NaN goes through; of two zeros the positive one is the greater.
struct Max {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) {
      const T greater = x > y ? x : y;
      const T tied = x == y ? x + y : greater;  // 0.0 + -0.0 is 0.0
      const T value = x == y && x != 0 ? x : tied;
      return x != x ? x : value;
    } else {
      return x > y ? x : y;
    }
  }
};

struct Min {
  template <class T>
  static T of(T x, T y) {
    if constexpr (is_float<T>) {
      return -Max::of(-x, -y);
    } else {
      return x < y ? x : y;
    }
  }
};

struct Nextafter {
  template <class T>
  static T of(T x, T y) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    Bits from, to;
    std::memcpy(&from, &x, sizeof x);
    std::memcpy(&to, &y, sizeof y);
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    const Bits least = (to & kSign) | 1;
    const Bits moved = (x < y) == (x > 0) ? from + 1 : from - 1;
    const Bits bits = x == 0 ? least : moved;
    T value;
    std::memcpy(&value, &bits, sizeof value);
    value = x == y ? y : value;
    return x != x || y != y ? x + y : value;
  }
};

struct Neg {
  template <class T>
  static T of(T x) {
    if constexpr (is_float<T>) return -x;
    else return static_cast<T>(-Wrapping<T>(x));
  }
};

struct Abs {
  template <class T>
  static T of(T x) {
    if constexpr (is_float<T>) return std::fabs(x);
    else return x < 0 ? Neg::of(x) : x;
  }
};

struct Sign {
  template <class T>
  static T of(T x) {
    if constexpr (is_float<T>) return x > 0 ? T{1} : x < 0 ? T{-1} : x;
    else return static_cast<T>((x > 0) - (x < 0));
  }
};

struct Floor {
  template <class T>
  static T of(T x) { return std::floor(x); }
};

struct Ceil {
  template <class T>
  static T of(T x) { return std::ceil(x); }
};

struct RoundToEven {
  template <class T>
  static T of(T x) { return std::rint(x); }
};

struct RoundAway {
  template <class T>
  static T of(T x) {
    const T whole = std::trunc(x);  // adding a half first would round 0.49999997 up
    return std::fabs(x - whole) >= T{0.5} ? whole + (x > 0 ? T{1} : T{-1}) : whole;
  }
};

template <class T>
void round_loop(const Operand* operands, void* result, int64_t n, int64_t to_even) {
  (to_even ? &unary<RoundToEven, T> : &unary<RoundAway, T>)(operands, result, n, 0);
}

// min(max(x, lower), upper), by blocks, since the result may lie on the upper bounds.
template <class T>
void clamp_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  T block[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    const Operand raised[] = {advanced(operands[1], i, sizeof(T)),
                              advanced(operands[0], i, sizeof(T))};
    binary<Max, T>(raised, block, count, 0);
    const Operand lowered[] = {{block, false}, advanced(operands[2], i, sizeof(T))};
    binary<Min, T>(lowered, static_cast<T*>(result) + i, count, 0);
  }
}

template <class... Ts>
Loop find_clamp(DType dtype, Types<Ts...>) {
  Loop found = nullptr;
  ((dtype == kDType<Ts> ? void(found = &clamp_loop<Ts>) : void()), ...);
  return found != nullptr ? found : find_half<&clamp_loop<float>, 3>(dtype);
}

template <class F, class Kinds>
Loop find_of_reals(DType dtype, Kinds integers) {
  const Loop found = find_binary<F>(dtype, integers);
  return found != nullptr ? found : find_binary_of_floats<F>(dtype);
}

// Where integers of 64 bits become doubles by vector instructions.
template <class F>
Loop find_of_long([[maybe_unused]] DType dtype) {
#ifdef __AVX512DQ__
  if (dtype == DType::kInt64) return &binary_quick<F, int64_t>;
  if (dtype == DType::kUInt64) return &binary_quick<F, uint64_t>;
#endif
  return nullptr;
}

Loop find_round(DType dtype) {
  if (dtype == DType::kFloat32) return &round_loop<float>;
  if (dtype == DType::kFloat64) return &round_loop<double>;
  return find_half<&round_loop<float>, 1>(dtype);
}

// Numbers next to those of 16 bits are found among these, by the steps of their own bits.
template <class H, uint16_t kInfinity>
struct NextafterOfHalf {
  static H of(H x, H y) {
    const uint16_t a = x.bits & 0x7FFF, b = y.bits & 0x7FFF;
    if (a > kInfinity) return x;
    if (b > kInfinity) return y;
    if (x.bits == y.bits || (a | b) == 0) return y;
    if (a == 0) return {static_cast<uint16_t>((y.bits & 0x8000) | 1)};
    const bool grows = (x.bits & 0x8000) == (y.bits & 0x8000) && a < b;
    return {static_cast<uint16_t>(grows ? x.bits + 1 : x.bits - 1)};
  }
};

Loop find_nextafter(DType dtype) {
  if (dtype == DType::kFloat16) return &binary<NextafterOfHalf<Half, 0x7C00>, Half>;
  if (dtype == DType::kBFloat16) return &binary<NextafterOfHalf<BFloat, 0x7F80>, BFloat>;
  return find_binary<Nextafter>(dtype, Floats{});
}

template <class F>
Loop find_signed(DType dtype) {
  const Loop found = find_unary<F>(dtype, Signeds{});
  return found != nullptr ? found : find_unary_of_floats<F>(dtype);
}

// Of numbers that wrap around, where signs make no difference.
template <class F>
Loop find_wrapping(DType dtype) {
  if (dtype == DType::kBool) return nullptr;
  return find_of_reals<F>(without_sign(dtype), Unsigneds{});
}

Loop find_sum(DType dtype) {
  return dtype == DType::kBool ? &binary<Or, uint8_t> : find_wrapping<Add>(dtype);
}

Loop find_div(DType dtype) {
  const Loop found = find_of_long<LongDiv>(dtype);
  return found != nullptr ? found : find_of_reals<Div>(dtype, Integers{});
}

Loop find_rem(DType dtype) {
  Loop found = find_of_long<LongRem>(dtype);
  if (found == nullptr) found = find_binary<Rem>(dtype, Integers{});
  return found != nullptr ? found : find_binary_quick<Rem>(dtype);
}

Loop find_max(DType dtype) {
  return dtype == DType::kBool ? &binary<Or, uint8_t> : find_of_reals<Max>(dtype, Integers{});
}

Loop find_min(DType dtype) {
  return dtype == DType::kBool ? &binary<Min, uint8_t> : find_of_reals<Min>(dtype, Integers{});
}

Loop find_clamped(DType dtype) {
  return dtype == DType::kBool ? &clamp_loop<uint8_t> : find_clamp(dtype, Reals{});
}

Loop find_sign(DType dtype) {
  const Loop found = find_unary<Sign>(dtype, Unsigneds{});
  return found != nullptr ? found : find_signed<Sign>(dtype);
}

Loop find_neg(DType dtype) {
  if (dtype == DType::kBool) return nullptr;
  const Loop found = find_unary<Neg>(without_sign(dtype), Unsigneds{});
  return found != nullptr ? found : find_unary_of_floats<Neg>(dtype);
}

constexpr Entry kEntries[] = {
    {"add", 2, 1, same<find_wrapping<Add>>},
    {"add_any", 2, 1, same<find_sum>},
    {"sub", 2, 1, same<find_wrapping<Sub>>},
    {"mul", 2, 1, same<find_wrapping<Mul>>},
    {"div", 2, 3, same<find_div>},
    {"rem", 2, 8, same<find_rem>},
    {"max", 2, 1, same<find_max>},
    {"min", 2, 1, same<find_min>},
    {"clamp", 3, 2, same<find_clamped>},
    {"nextafter", 2, 2, same<find_nextafter>},
    {"abs", 1, 1, same<find_signed<Abs>>},
    {"sign", 1, 1, same<find_sign>},
    {"neg", 1, 1, same<find_neg>},
    {"floor", 1, 1, same<find_unary_of_floats<Floor>>},
    {"ceil", 1, 1, same<find_unary_of_floats<Ceil>>},
    {"round", 1, 1, same<find_round>},
};

}  // namespace

constexpr Family kArithmetic = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
