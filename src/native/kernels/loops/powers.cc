// Squares, integer powers and roots.

#include <cmath>

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

template <class T>
T product(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return x * y;
  else return static_cast<T>(Wrapping<T>(x) * Wrapping<T>(y));
}

struct Square {
  template <class T>
  static T of(T x) { return product(x, x); }
};

struct Reciprocal {
  template <class T>
  static T of(T x) { return T{1} / x; }
};

struct Sqrt {
  template <class T>
  static T of(T x) { return std::sqrt(x); }
};

struct Rsqrt {
  template <class T>
  static T of(T x) { return T{1} / std::sqrt(x); }
};

// x to the power y, which is not 0, by squaring. The factors are multiplied in the order of the host rule.
// NOLINTBEGIN(clang-analyzer-core.*): it does not see that all elements of `power` are set
template <class T>
void power_of_block(T* x, T* power, int64_t n, int64_t y) {
  const auto square = [&] { for (int64_t i = 0; i < n; ++i) x[i] = product(x[i], x[i]); };
  uint64_t left = y < 0 ? -static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
  for (; (left & 1) == 0; left >>= 1) square();
  for (int64_t i = 0; i < n; ++i) power[i] = x[i];
  while ((left >>= 1) != 0) {
    square();
    if ((left & 1) == 0) continue;
    for (int64_t i = 0; i < n; ++i) power[i] = product(power[i], x[i]);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (y < 0) {
      for (int64_t i = 0; i < n; ++i) power[i] = T{1} / power[i];
    }
  }
}
// NOLINTEND(clang-analyzer-core.*)

template <class T>
void integer_pow_loop(const Operand* operands, void* result, int64_t n, int64_t y) {
  T* out = static_cast<T*>(result);
  if (y == 2) return unary<Square, T>(operands, result, n, 0);
  if constexpr (std::is_floating_point_v<T>) {
    if (y == -1) return unary<Reciprocal, T>(operands, result, n, 0);
  }
  if (y == 0) {
    for (int64_t i = 0; i < n; ++i) out[i] = T{1};
    return;
  }
  const T* in = static_cast<const T*>(operands[0].data);
  T x[kBlock], power[kBlock];
  if (operands[0].is_scalar) {
    x[0] = *in;
    power_of_block(x, power, 1, y);
    for (int64_t i = 0; i < n; ++i) out[i] = power[0];
    return;
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    std::memcpy(x, in + i, static_cast<size_t>(count) * sizeof(T));
    power_of_block(x, power, count, y);
    std::memcpy(out + i, power, static_cast<size_t>(count) * sizeof(T));
  }
}

Loop find_integer_pow(DType dtype) {
  if (dtype == DType::kBool) return nullptr;
  switch (without_sign(dtype)) {
    case DType::kUInt8: return &integer_pow_loop<uint8_t>;
    case DType::kUInt16: return &integer_pow_loop<uint16_t>;
    case DType::kUInt32: return &integer_pow_loop<uint32_t>;
    case DType::kUInt64: return &integer_pow_loop<uint64_t>;
    case DType::kFloat32: return &integer_pow_loop<float>;
    case DType::kFloat64: return &integer_pow_loop<double>;
    default: return find_half<&integer_pow_loop<float>, 1>(dtype);
  }
}

Loop find_square(DType dtype) {
  if (dtype == DType::kBool) return nullptr;
  const Loop found = find_unary<Square>(without_sign(dtype), Unsigneds{});
  return found != nullptr ? found : find_unary_of_floats<Square>(dtype);
}

constexpr Entry kEntries[] = {
    {"integer_pow", 1, 3, same<find_integer_pow>},
    {"sqrt", 1, 4, same<find_unary_of_floats<Sqrt>>},
    {"rsqrt", 1, 7, same<find_unary_of_floats<Rsqrt>>},
    {"square", 1, 1, same<find_square>},
};

}  // namespace

constexpr Family kPowers = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
