// How numbers lie in memory, and in which type they are computed with. All is inlined, since files
// for several sets of instructions include it.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/clones.h"

namespace evertrace {

template <class To, class From>
EVERTRACE_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// An element has the type it is stored in, the type of its value, and conversions between them.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static EVERTRACE_INLINE T load(T x) { return x; }
  static EVERTRACE_INLINE T store(T x) { return x; }
};

struct BoolElement {
  using Stored = uint8_t;
  using Value = uint8_t;
  static EVERTRACE_INLINE Value load(Stored x) { return x; }
  static EVERTRACE_INLINE Stored store(Value x) { return x != 0; }
};

struct BFloat16Element {
  using Stored = uint16_t;
  using Value = float;

  static EVERTRACE_INLINE float load(uint16_t x) {
    return bit_cast<float>(static_cast<uint32_t>(x) << 16);
  }

  // To the nearest, ties to even.
  static EVERTRACE_INLINE uint16_t store(float x) {
    const uint32_t bits = bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = (bits >> 16 & 0x8000) | 0x7FC0;
    return static_cast<uint16_t>(x != x ? nan : rounded);
  }
};

struct Float16Element {
  using Stored = uint16_t;
  using Value = float;

  // After F. Giesen, "Half to float done quick" and "float->half variants" (public domain, 2012).
  // The exponent is corrected by a multiplication, which also normalises subnormal numbers.
  static EVERTRACE_INLINE float load(uint16_t x) {
    const uint32_t magnitude = static_cast<uint32_t>(x & 0x7FFF) << 13;
    const uint32_t finite = bit_cast<uint32_t>(bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t bits = (x & 0x7C00) == 0x7C00 ? magnitude | 0x7F800000u : finite;
    return bit_cast<float>(bits | static_cast<uint32_t>(x & 0x8000) << 16);
  }

  // To the nearest, ties to even; adding 0.5 shifts the digits of a subnormal result into place.
  static EVERTRACE_INLINE uint16_t store(float x) {
    const uint32_t bits = bit_cast<uint32_t>(x), magnitude = bits & 0x7FFFFFFFu;
    const uint32_t normal = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    const uint32_t subnormal =
        bit_cast<uint32_t>(bit_cast<float>(magnitude) + 0.5f) - bit_cast<uint32_t>(0.5f);
    const uint32_t huge = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
    const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
    const uint32_t result = magnitude >= 0x47800000u ? huge : finite;
    return static_cast<uint16_t>(result | (bits >> 16 & 0x8000));
  }
};

template <class T>
struct Complex {
  T real, imag;
};

template <class T>
struct Lowest {
  using Limits = std::numeric_limits<T>;
  static constexpr T value = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
};

template <class T>
struct Highest {
  using Limits = std::numeric_limits<T>;
  static constexpr T value = Limits::has_infinity ? Limits::infinity() : Limits::max();
};

template <class T>
struct Lowest<Complex<T>> {
  static constexpr Complex<T> value{Lowest<T>::value, Lowest<T>::value};
};

template <class T>
struct Highest<Complex<T>> {
  static constexpr Complex<T> value{Highest<T>::value, Highest<T>::value};
};

}  // namespace evertrace
