// What functions of real numbers are made of, for code without branches.

#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {

template <class To, class From>
inline To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}

// The formats: bits of the exponent's least one, of one, and of the sign.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  using Int = int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127, kSign = 0x80000000u;
  static constexpr float kRound = 0x1.8p23f;  // added, it leaves no room for a fraction
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  using Int = int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023, kSign = 0x8000000000000000u;
  static constexpr double kRound = 0x1.8p52;
};

template <class T>
using BitsOf = typename Format<T>::Bits;

#if defined(__FMA__) || defined(__aarch64__)
constexpr bool kFuses = true;
#else
constexpr bool kFuses = false;
#endif

// x * y + z, rounded once where that costs nothing. No result may depend on which it is by more
// than what functions may err.
inline float fused(float x, float y, float z) {
  if constexpr (kFuses) return __builtin_fmaf(x, y, z);
  else return x * y + z;
}
inline double fused(double x, double y, double z) {
  if constexpr (kFuses) return __builtin_fma(x, y, z);
  else return x * y + z;
}

// The polynomial with these coefficients, lowest first, by Horner's rule.
template <class T, class... Cs>
inline T horner(T x, double c, Cs... rest) {
  if constexpr (sizeof...(rest) == 0) return static_cast<T>(c);
  else return fused(horner(x, rest...), x, static_cast<T>(c));
}

// Every second term of a polynomial in the square of x.
template <size_t kFrom, class T, size_t kCount>
inline T half_of_polynomial(T square, const double (&c)[kCount]) {
  if constexpr (kFrom + 2 >= kCount) {
    return static_cast<T>(c[kFrom]);
  } else {
    return fused(half_of_polynomial<kFrom + 2>(square, c), square, static_cast<T>(c[kFrom]));
  }
}

// The same in half as many steps that wait for each other, where there are many and sums are fused.
// Not for even and odd terms that cancel.
template <class T, class... Cs>
inline T polynomial(T x, Cs... coefficients) {
  if constexpr (!kFuses || sizeof...(coefficients) < 6) {
    return horner(x, coefficients...);
  } else {
    const double c[] = {coefficients...};
    const T even = half_of_polynomial<0>(x * x, c);
    return fused(half_of_polynomial<1>(x * x, c), x, even);
  }
}

// The nearest integer of a number that is small beside 2 ** kMantissa, as a number and in bits.
template <class T>
struct Rounded {
  T value;
  typename Format<T>::Bits bits;
};

template <class T>
inline Rounded<T> rounded(T x) {
  const T shifted = x + Format<T>::kRound;
  return {shifted - Format<T>::kRound,
          bits_as<BitsOf<T>>(shifted) - bits_as<BitsOf<T>>(Format<T>::kRound)};
}

// 2 ** k for a normal number.
template <class T>
inline T power_of_two(BitsOf<T> k) {
  return bits_as<T>((k + Format<T>::kBias) << Format<T>::kMantissa);
}

// x * 2 ** k, where k and the result may be beyond normal numbers: it is multiplied twice.
template <class T>
inline T scaled(T x, BitsOf<T> k) {
  constexpr BitsOf<T> kEven = 4096;  // makes it positive, as not every processor can shift signs
  const BitsOf<T> half = ((k + kEven) >> 1) - kEven / 2;
  return x * power_of_two<T>(half) * power_of_two<T>(k - half);
}

// The same where x is near 1 and the result a normal number.
template <class T>
inline T quickly_scaled(T x, BitsOf<T> k) {
  return bits_as<T>(bits_as<BitsOf<T>>(x) + (k << Format<T>::kMantissa));
}

template <class T>
inline T with_sign_of(T magnitude, T x) {
  return bits_as<T>((bits_as<BitsOf<T>>(magnitude) & ~Format<T>::kSign) |
                    (bits_as<BitsOf<T>>(x) & Format<T>::kSign));
}

template <class T>
inline bool is_negative(T x) {  // minus zero is
  return (bits_as<BitsOf<T>>(x) & Format<T>::kSign) != 0;
}

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

// In which the C library's functions are exact enough where ours are not.
template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// A loop of F::of, for arguments of which F::is_rare says that they are for F::rare instead. Of
// floats that is computed for all, by vector instructions.
template <class F, class T>
[[gnu::flatten]] void unary_with_rare(const Operand* operands, void* result, int64_t n, int64_t) {
  const T* x = static_cast<const T*>(operands[0].data);
  T* out = static_cast<T*>(result);
  if (operands[0].is_scalar) {
    const T value = F::is_rare(*x) ? F::rare(*x) : F::of(*x);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  for (int64_t begin = 0; begin < n; begin += kBlock, x += kBlock, out += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    BitsOf<T> any = 0;
    for (int64_t i = 0; i < count; ++i) any |= F::is_rare(x[i]) ? 1 : 0;
    if (any == 0) {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = F::of(x[i]);
      continue;
    }
    if constexpr (sizeof(T) == 4) {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) {
        const T usual = F::of(x[i]), rare = F::rare(x[i]);
        out[i] = F::is_rare(x[i]) ? rare : usual;
      }
      continue;
    }
    T kept[kBlock];
    std::memcpy(kept, x, static_cast<size_t>(count) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) out[i] = F::of(kept[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (F::is_rare(kept[i])) out[i] = F::rare(kept[i]);
    }
  }
}

// A loop of F::quick, and of F::of for blocks with arguments of which F::is_rare says that they are
// beyond that.
template <class F, class T>
[[gnu::flatten]] void unary_quick(const Operand* operands, void* result, int64_t n, int64_t) {
  const T* x = static_cast<const T*>(operands[0].data);
  T* out = static_cast<T*>(result);
  if (operands[0].is_scalar) {
    const T value = F::of(*x);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  for (int64_t begin = 0; begin < n; begin += kBlock, x += kBlock, out += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    BitsOf<T> any = 0;
    for (int64_t i = 0; i < count; ++i) any |= F::is_rare(x[i]) ? 1 : 0;
    if (any == 0) {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = F::quick(x[i]);
    } else {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = F::of(x[i]);
    }
  }
}

// Two operands by blocks: one number that stands for all becomes a block of it, so that loops need
// not be written for each case.
template <class T>
class TwoOperands {
 public:
  explicit TwoOperands(const Operand* operands) {
    for (int k = 0; k < 2; ++k) {
      const T* data = static_cast<const T*>(operands[k].data);
      is_scalar_[k] = operands[k].is_scalar;
      starts_[k] = is_scalar_[k] ? blocks_[k] : data;
      if (!is_scalar_[k]) continue;
      const T value = *data;
      for (int64_t i = 0; i < kBlock; ++i) blocks_[k][i] = value;
    }
  }
  TwoOperands(const TwoOperands&) = delete;
  TwoOperands& operator=(const TwoOperands&) = delete;

  // Operand k from a block's begin on.
  const T* at(int k, int64_t begin) const { return starts_[k] + (is_scalar_[k] ? 0 : begin); }

 private:
  T blocks_[2][kBlock];
  const T* starts_[2];
  bool is_scalar_[2];
};

// The same of two operands.
template <class F, class T>
[[gnu::flatten]] void binary_quick(const Operand* operands, void* result, int64_t n, int64_t) {
  const TwoOperands<T> both(operands);
  T* out = static_cast<T*>(result);
  for (int64_t begin = 0; begin < n; begin += kBlock, out += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    const T *x = both.at(0, begin), *y = both.at(1, begin);
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> any = 0;
    for (int64_t i = 0; i < count; ++i) any |= F::is_rare(x[i], y[i]) ? 1 : 0;
    if (any == 0) {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = F::quick(x[i], y[i]);
    } else {
      EVERTRACE_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) out[i] = F::of(x[i], y[i]);
    }
  }
}

template <class F>
Loop find_binary_quick(DType dtype) {
  if (dtype == DType::kFloat32) return &binary_quick<F, float>;
  if (dtype == DType::kFloat64) return &binary_quick<F, double>;
  return find_half<&binary_quick<F, float>, 2>(dtype);
}

template <class F>
Loop find_quick(DType dtype) {
  if (dtype == DType::kFloat32) return &unary_quick<F, float>;
  if (dtype == DType::kFloat64) return &unary_quick<F, double>;
  return find_half<&unary_quick<F, float>, 1>(dtype);
}

template <class F>
Loop find_with_rare(DType dtype) {
  if (dtype == DType::kFloat32) return &unary_with_rare<F, float>;
  if (dtype == DType::kFloat64) return &unary_with_rare<F, double>;
  return find_half<&unary_with_rare<F, float>, 1>(dtype);
}

}  // namespace evertrace::EVERTRACE_TARGET
