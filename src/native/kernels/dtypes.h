// The dtypes that kernels know, and how a value of each becomes an unsigned integer of its order.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace evertrace {

enum class DType : uint8_t {
  kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64,
  kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128, kUnknown,
};

// Their names, as Python has them.
constexpr const char* kDTypeNames[] = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
};
static_assert(sizeof kDTypeNames / sizeof *kDTypeNames == static_cast<size_t>(DType::kUnknown));

constexpr size_t item_size(DType dtype) {
  constexpr size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0};
  return sizes[static_cast<size_t>(dtype)];
}

constexpr bool is_complex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

// How numbers are ordered. They differ for floats only.
enum class Order {
  kTotal,   // -0.0 before 0.0, all NaNs alike and last: the numbers can be had back from the keys
  kNumber,  // -0.0 and 0.0 alike, all NaNs alike and last
  kBits,    // by sign and bits alone: NaNs with their sign set come first
};

// A key is an unsigned integer of at least 32 bits: fewer kinds to instantiate the kernels for.
template <class Bits>
using KeyOf = std::conditional_t<sizeof(Bits) == 8, uint64_t, uint32_t>;

template <class B>
struct Unsigned {
  using Bits = B;
  using Key = KeyOf<B>;
  template <Order>
  static Key encode(Bits x) { return x; }
  static Bits decode(Key key) { return static_cast<Bits>(key); }
};

template <class B>
struct Signed {
  using Bits = B;
  using Key = KeyOf<B>;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(B) - 1));
  template <Order>
  static Key encode(Bits x) { return static_cast<Bits>(x ^ kSign); }
  static Bits decode(Key key) { return static_cast<Bits>(key) ^ kSign; }
};

// A binary format of IEEE 754 by the bits of its infinity and its NaN.
template <class B, B kInfinity, B kNaN>
struct Float {
  using Bits = B;
  using Key = KeyOf<B>;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(B) - 1));

  template <Order order>
  static Key encode(Bits x) {
    if constexpr (order != Order::kBits) {
      x = static_cast<Bits>(x & ~kSign) > kInfinity ? kNaN : x;
    }
    if constexpr (order == Order::kNumber) x = x == kSign ? Bits{0} : x;
    return static_cast<Bits>(x ^ ((x & kSign) != 0 ? static_cast<Bits>(~Bits{0}) : kSign));
  }

  static Bits decode(Key key) {
    const Bits x = static_cast<Bits>(key);
    return static_cast<Bits>(x ^ ((x & kSign) != 0 ? kSign : static_cast<Bits>(~Bits{0})));
  }
};

using Float16 = Float<uint16_t, 0x7C00, 0x7E00>;
using BFloat16 = Float<uint16_t, 0x7F80, 0x7FC0>;
using Float32 = Float<uint32_t, 0x7F800000u, 0x7FC00000u>;
using Float64 = Float<uint64_t, 0x7FF0000000000000u, 0x7FF8000000000000u>;

// Calls `body` with the coding of a dtype that is one number; false for the other dtypes.
template <class Body>
bool with_coding(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: body(Unsigned<uint8_t>{}); return true;
    case DType::kUInt16: body(Unsigned<uint16_t>{}); return true;
    case DType::kUInt32: body(Unsigned<uint32_t>{}); return true;
    case DType::kUInt64: body(Unsigned<uint64_t>{}); return true;
    case DType::kInt8: body(Signed<uint8_t>{}); return true;
    case DType::kInt16: body(Signed<uint16_t>{}); return true;
    case DType::kInt32: body(Signed<uint32_t>{}); return true;
    case DType::kInt64: body(Signed<uint64_t>{}); return true;
    case DType::kFloat16: body(Float16{}); return true;
    case DType::kBFloat16: body(BFloat16{}); return true;
    case DType::kFloat32: body(Float32{}); return true;
    case DType::kFloat64: body(Float64{}); return true;
    default: return false;
  }
}

}  // namespace evertrace
