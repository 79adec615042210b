// Logic, shifts and counts of bits. Shifts by the width or more give 0, or the sign.

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

template <class T>
constexpr unsigned kWidth = 8 * sizeof(T);

struct And {
  template <class T>
  static T of(T x, T y) { return x & y; }
};

struct Or {
  template <class T>
  static T of(T x, T y) { return x | y; }
};

struct Xor {
  template <class T>
  static T of(T x, T y) { return x ^ y; }
};

struct Not {
  template <class T>
  static T of(T x) { return static_cast<T>(~x); }
};

struct NotBool {
  template <class T>
  static T of(T x) { return x ^ 1; }
};

struct ShiftLeft {
  template <class T>
  static T of(T x, T y) {
    const T within = y & (kWidth<T> - 1);
    return y < kWidth<T> ? static_cast<T>(Wrapping<T>(x) << within) : T{0};
  }
};

struct ShiftRightLogical {
  template <class T>
  static T of(T x, T y) {
    const T within = y & (kWidth<T> - 1);
    return y < kWidth<T> ? static_cast<T>(x >> within) : T{0};
  }
};

struct ShiftRightArithmetic {
  template <class T>
  static T of(T x, T y) {
    const T by = y < kWidth<T> ? y : static_cast<T>(kWidth<T> - 1);
    return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> by);
  }
};

struct PopulationCount {
  template <class T>
  static T of(T x) {
    if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_popcountll(x));
    else return static_cast<T>(__builtin_popcount(x));
  }
};

struct LeadingZeros {
  template <class T>
  static T of(T x) {
    if (x == 0) return static_cast<T>(kWidth<T>);
    if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_clzll(x));
    else return static_cast<T>(__builtin_clz(x) - (32 - kWidth<T>));
  }
};

struct HighProduct {
  template <class T>
  static T of(T x, T y) {
    if constexpr (sizeof(T) < 8) {
      return static_cast<T>((static_cast<int64_t>(x) * static_cast<int64_t>(y)) >> kWidth<T>);
    } else {
      // No part of the standard, but GCC and Clang have it on all processors of 64 bits.
      __extension__ using Signed = __int128;
      __extension__ using Unsigned = unsigned __int128;
      using Wide = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
      return static_cast<T>((static_cast<Wide>(x) * static_cast<Wide>(y)) >> kWidth<T>);
    }
  }
};

template <>
uint32_t HighProduct::of(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>((static_cast<uint64_t>(x) * y) >> 32);
}

template <class F>
Loop find_bitwise(DType dtype) {
  return find_binary<F>(without_sign(dtype), Unsigneds{});
}

Loop find_not(DType dtype) {
  if (dtype == DType::kBool) return &unary<NotBool, uint8_t>;
  return find_unary<Not>(without_sign(dtype), Unsigneds{});
}

template <class F>
Loop find_shift(DType dtype) {
  return dtype == DType::kBool ? nullptr : find_bitwise<F>(dtype);
}

template <class F>
Loop find_count(DType dtype) {
  return dtype == DType::kBool ? nullptr : find_unary<F>(without_sign(dtype), Unsigneds{});
}

Loop find_mulhi(DType dtype) { return find_binary<HighProduct>(dtype, Integers{}); }

constexpr Entry kEntries[] = {
    {"and", 2, 1, same<find_bitwise<And>>},
    {"or", 2, 1, same<find_bitwise<Or>>},
    {"xor", 2, 1, same<find_bitwise<Xor>>},
    {"not", 1, 1, same<find_not>},
    {"shift_left", 2, 1, same<find_shift<ShiftLeft>>},
    {"shift_right_logical", 2, 1, same<find_shift<ShiftRightLogical>>},
    {"shift_right_arithmetic", 2, 1, same<find_shift<ShiftRightArithmetic>>},
    {"population_count", 1, 1, same<find_count<PopulationCount>>},
    {"clz", 1, 1, same<find_count<LeadingZeros>>},
    {"mulhi", 2, 2, same<find_mulhi>},
};

}  // namespace

constexpr Family kBits = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
