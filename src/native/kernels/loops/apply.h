// Loops made of functions of one element, which the compiler turns into vector instructions.

#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/hints.h"
#include "kernels/loops/find.h"

namespace evertrace::EVERTRACE_TARGET {

constexpr int64_t kBlock = 256;  // elements: several buffers of so many stay in the fastest cache

// The dtypes of 16 bits are computed with in float, a block at a time.
struct Half { uint16_t bits; };
struct BFloat { uint16_t bits; };
void widen(const Half* in, float* out, int64_t n);
void widen(const BFloat* in, float* out, int64_t n);
void narrow(const float* in, Half* out, int64_t n);
void narrow(const float* in, BFloat* out, int64_t n);

template <class T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

// Booleans are the bytes 0 and 1, and calculated with as such.
template <class T>
constexpr DType kDType = DType::kUnknown;
template <> inline constexpr DType kDType<int8_t> = DType::kInt8;
template <> inline constexpr DType kDType<int16_t> = DType::kInt16;
template <> inline constexpr DType kDType<int32_t> = DType::kInt32;
template <> inline constexpr DType kDType<int64_t> = DType::kInt64;
template <> inline constexpr DType kDType<uint8_t> = DType::kUInt8;
template <> inline constexpr DType kDType<uint16_t> = DType::kUInt16;
template <> inline constexpr DType kDType<uint32_t> = DType::kUInt32;
template <> inline constexpr DType kDType<uint64_t> = DType::kUInt64;
template <> inline constexpr DType kDType<Half> = DType::kFloat16;
template <> inline constexpr DType kDType<BFloat> = DType::kBFloat16;
template <> inline constexpr DType kDType<float> = DType::kFloat32;
template <> inline constexpr DType kDType<double> = DType::kFloat64;

// Lists of element types.
template <class...>
struct Types {};
#ifdef EVERTRACE_IS_BASELINE
using Unsigneds = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Signeds = Types<int8_t, int16_t, int32_t, int64_t>;
using Integers = Types<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>;
#else  // narrow integers are too rare to be compiled again: the baseline's loops serve
using Unsigneds = Types<uint32_t, uint64_t>;
using Signeds = Types<int32_t, int64_t>;
using Integers = Types<uint32_t, uint64_t, int32_t, int64_t>;
#endif
using Floats = Types<float, double>;

template <class... Ts, class... Us>
Types<Ts..., Us...> joined(Types<Ts...>, Types<Us...>);
using Reals = decltype(joined(Integers{}, Floats{}));

// The dtype whose loop does the same where signs make no difference.
inline DType without_sign(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8: return DType::kUInt8;
    case DType::kInt16: return DType::kUInt16;
    case DType::kInt32: return DType::kUInt32;
    case DType::kInt64: return DType::kUInt64;
    default: return dtype;
  }
}

inline DType bool_as_byte(DType dtype) { return dtype == DType::kBool ? DType::kUInt8 : dtype; }

// Where integers are calculated in, so that they wrap: narrow ones would become (signed) ints.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;

// ---------------------------------------------------------------- loops

// These are flat: a call that is not inlined keeps a loop from becoming vector instructions.
template <class F, class T, class R = T>
[[gnu::flatten]] void unary(const Operand* operands, void* result, int64_t n, int64_t) {
  const T* x = static_cast<const T*>(operands[0].data);
  R* out = static_cast<R*>(result);
  if (operands[0].is_scalar) {
    const R value = F::of(*x);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  EVERTRACE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = F::of(x[i]);
}

template <class F, class T, class R = T>
[[gnu::flatten]] void binary(const Operand* operands, void* result, int64_t n, int64_t) {
  const T* x = static_cast<const T*>(operands[0].data);
  const T* y = static_cast<const T*>(operands[1].data);
  R* out = static_cast<R*>(result);
  if (operands[0].is_scalar) {
    const T a = *x;
    if (operands[1].is_scalar) {
      const R value = F::of(a, *y);
      for (int64_t i = 0; i < n; ++i) out[i] = value;
      return;
    }
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = F::of(a, y[i]);
  } else if (operands[1].is_scalar) {
    const T b = *y;
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = F::of(x[i], b);
  } else {
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = F::of(x[i], y[i]);
  }
}

template <Loop loop>
void swapped(const Operand* operands, void* result, int64_t n, int64_t param) {
  const Operand turned[] = {operands[1], operands[0]};
  loop(turned, result, n, param);
}

// The operand from its element i on.
inline Operand advanced(const Operand& x, int64_t i, size_t size) {
  if (x.is_scalar) return x;
  return {static_cast<const char*>(x.data) + i * static_cast<int64_t>(size), false};
}

// A loop of floats for numbers of 16 bits; R is H or, for predicates, bytes.
template <class H, Loop loop, int kArity, class R = H>
void in_float(const Operand* operands, void* result, int64_t n, int64_t param) {
  float buffers[kArity][kBlock];
  Operand wide[kArity];
  R* out = static_cast<R*>(result);
  for (int k = 0; k < kArity; ++k) {
    if (operands[k].is_scalar) widen(static_cast<const H*>(operands[k].data), buffers[k], 1);
    wide[k] = {buffers[k], operands[k].is_scalar};
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    for (int k = 0; k < kArity; ++k) {
      if (!wide[k].is_scalar) widen(static_cast<const H*>(operands[k].data) + i, buffers[k], count);
    }
    if constexpr (is_half<R>) {
      float values[kBlock];
      loop(wide, values, count, param);
      narrow(values, out + i, count);
    } else {
      loop(wide, out + i, count, param);
    }
  }
}

// ---------------------------------------------------------------- finding them

template <class F, class... Ts>
Loop find_unary(DType dtype, Types<Ts...>) {
  Loop found = nullptr;
  ((dtype == kDType<Ts> ? void(found = &unary<F, Ts>) : void()), ...);
  return found;
}

template <class F, class... Ts>
Loop find_binary(DType dtype, Types<Ts...>) {
  Loop found = nullptr;
  ((dtype == kDType<Ts> ? void(found = &binary<F, Ts>) : void()), ...);
  return found;
}

template <Loop loop, int kArity>
Loop find_half(DType dtype) {
  if (dtype == DType::kFloat16) return &in_float<Half, loop, kArity>;
  if (dtype == DType::kBFloat16) return &in_float<BFloat, loop, kArity>;
  return nullptr;
}

template <class F>
Loop find_unary_of_floats(DType dtype) {
  const Loop found = find_unary<F>(dtype, Floats{});
  return found != nullptr ? found : find_half<&unary<F, float>, 1>(dtype);
}

template <class F>
Loop find_binary_of_floats(DType dtype) {
  const Loop found = find_binary<F>(dtype, Floats{});
  return found != nullptr ? found : find_half<&binary<F, float>, 2>(dtype);
}

}  // namespace evertrace::EVERTRACE_TARGET
