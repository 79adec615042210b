// Sums, products, extremes and bits: what reductions join elements with.

#include "kernels/reduce.h"

#include <type_traits>

namespace evertrace {
namespace {

enum class Kind { kNumbers, kExtreme, kBits, kRare };

// Complex numbers are summed as twice as many columns of real ones.
template <class T>
struct Sum {
  static constexpr Kind kKind = Kind::kNumbers;
  static T identity() { return 0; }
  static EVERTRACE_INLINE T join(T a, T b) { return static_cast<T>(a + b); }
};

template <class T>
struct Product {
  static constexpr Kind kKind = Kind::kRare;
  // Through uint32_t at least: the product of two uint16_t could overflow int.
  using Wide = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, T>;
  static T identity() { return 1; }
  static EVERTRACE_INLINE T join(T a, T b) { return static_cast<T>(static_cast<Wide>(a) * b); }
};

template <class T>
struct Product<Complex<T>> {
  static Complex<T> identity() { return {1, 0}; }
  static EVERTRACE_INLINE Complex<T> join(Complex<T> a, Complex<T> b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
  }
};

// A NaN is taken, for nothing is larger, and stays. Processors have the choice of one of two numbers
// as one instruction.
template <class T>
struct Largest {
  static constexpr Kind kKind = Kind::kExtreme;
  static T identity() { return Lowest<T>::value; }
  static EVERTRACE_INLINE T join(T a, T b) {
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};

template <class T>
struct Smallest {
  static constexpr Kind kKind = Kind::kExtreme;
  static T identity() { return Highest<T>::value; }
  static EVERTRACE_INLINE T join(T a, T b) {
    const T smaller = a < b ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
      // What differs from it is a zero of the other sign, or a NaN: both stay by the bits together.
      return either_bits(smaller, b < a ? b : a);
    } else {
      return smaller;
    }
  }

 private:
  static EVERTRACE_INLINE T either_bits(T a, T b) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return bit_cast<T>(static_cast<Bits>(bit_cast<Bits>(a) | bit_cast<Bits>(b)));
  }
};

// Complex numbers are ordered by their real, then by their imaginary parts.
template <class T>
EVERTRACE_INLINE bool is_nan(Complex<T> a) {
  return a.real != a.real || a.imag != a.imag;
}

template <class T>
struct Largest<Complex<T>> {
  static Complex<T> identity() { return Lowest<Complex<T>>::value; }
  static EVERTRACE_INLINE Complex<T> join(Complex<T> a, Complex<T> b) {
    const bool stays = a.real > b.real || (a.real == b.real && a.imag >= b.imag);
    return is_nan(a) || (stays && !is_nan(b)) ? a : b;
  }
};

template <class T>
struct Smallest<Complex<T>> {
  static Complex<T> identity() { return Highest<Complex<T>>::value; }
  static EVERTRACE_INLINE Complex<T> join(Complex<T> a, Complex<T> b) {
    const bool stays = a.real < b.real || (a.real == b.real && a.imag <= b.imag);
    return is_nan(a) || (stays && !is_nan(b)) ? a : b;
  }
};

template <class T>
struct And {
  static constexpr Kind kKind = Kind::kBits;
  static T identity() { return static_cast<T>(~T{0}); }
  static EVERTRACE_INLINE T join(T a, T b) { return static_cast<T>(a & b); }
};

template <class T>
struct Or {
  static constexpr Kind kKind = Kind::kBits;
  static T identity() { return 0; }
  static EVERTRACE_INLINE T join(T a, T b) { return static_cast<T>(a | b); }
};

template <class T>
struct Xor {
  static constexpr Kind kKind = Kind::kBits;
  static T identity() { return 0; }
  static EVERTRACE_INLINE T join(T a, T b) { return static_cast<T>(a ^ b); }
};

// Integers whose values are those of the common type of this size that is in the same order.
template <class T>
struct Ranked {
  using Stored = T;
  using Bits = std::make_unsigned_t<T>;
  using Value = std::conditional_t<std::is_signed_v<T>, Bits, std::make_signed_t<T>>;
  static constexpr Bits kFlip = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static EVERTRACE_INLINE Value load(T x) { return static_cast<Value>(static_cast<Bits>(x) ^ kFlip); }
  static EVERTRACE_INLINE T store(Value x) { return static_cast<T>(static_cast<Bits>(x) ^ kFlip); }
};

// Sums and extremes of numbers of full size are the common ones, and extremes of booleans, whose
// loops serve for other bytes.
template <template <class> class Op, class T>
constexpr bool is_common = (Op<float>::kKind == Kind::kNumbers || Op<float>::kKind == Kind::kExtreme) &&
                           std::is_arithmetic_v<T> && sizeof(T) >= 4;
template <template <class> class Op>
constexpr bool is_common<Op, uint8_t> = Op<float>::kKind == Kind::kExtreme;

template <template <class> class Op, class T>
using JoinsOf = std::conditional_t<
    Op<float>::kKind == Kind::kBits, ByteJoins<Op<uint8_t>, T>,
    std::conditional_t<is_common<Op, T>, CommonJoins<Op<T>, T>, RareJoins<Op<T>, T>>>;

template <template <class> class Op, class Element>
constexpr Reduce reduction_of() {
  using T = typename Element::Value;
  constexpr bool kIsOne = std::is_same_v<Element, BoolElement> ||
                          (std::is_same_v<Element, Plain<T>> && !std::is_same_v<T, uint8_t>);
  if constexpr (is_common<Op, T> && kIsOne) {
    return CommonReduction<Op<T>, Element>::run;
  } else {
    return RareReduction<Op<T>, Element, JoinsOf<Op, T>>::run;
  }
}

// Gives zeros among the largest floats of such bits their sign: of two zeros the positive one is the
// greater. They are rare, so what is compared by value is looked through again where they are. No
// element is above a zero then: it is negative if all of them are.
template <class Bits>
class ZeroSigns {
 public:
  static void settle(const Bits* in, Bits* out, int64_t outer, int64_t reduced, int64_t inner) {
    for (int64_t i = 0; i < outer; ++i) {
      const Bits* rows = in + i * reduced * inner;
      for (int64_t j = 0; j < inner; j += kColumns) {
        const int64_t count = std::min(kColumns, inner - j);
        Bits* found = out + i * inner + j;
        if (!any_zero(found, count)) continue;
        if (inner == 1) {
          *found = is_negative_row(rows, reduced) ? kNegative : 0;
        } else {
          columns(rows + j, found, count, reduced, inner);
        }
      }
    }
  }

 private:
  static constexpr int64_t kColumns = 64, kChunk = 256;
  static constexpr Bits kNone = static_cast<Bits>(~Bits{0});
  static constexpr Bits kNegative = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

  static EVERTRACE_INLINE Bits join(Bits signs, Bits x) { return static_cast<Bits>(signs & x); }
  static EVERTRACE_INLINE bool is_zero(Bits x) { return static_cast<Bits>(x << 1) == 0; }
  static EVERTRACE_INLINE bool is_negative(Bits signs) { return (signs & kNegative) != 0; }

  static bool any_zero(const Bits* found, int64_t count) {
    bool any = false;
    for (int64_t c = 0; c < count; ++c) any |= is_zero(found[c]);
    return any;
  }

  EVERTRACE_CLONES static bool is_negative_row(const Bits* row, int64_t size) {
    Bits signs = kNone;
    for (int64_t begin = 0; begin < size; begin += kChunk) {
      const int64_t end = std::min(size, begin + kChunk);
      for (int64_t r = begin; r < end; ++r) signs = join(signs, row[r]);
      if (!is_negative(signs)) return false;
    }
    return true;
  }

  EVERTRACE_CLONES static void columns(const Bits* in, Bits* found, int64_t count, int64_t rows,
                                       int64_t stride) {
    Bits signs[kColumns];
    for (int64_t c = 0; c < count; ++c) signs[c] = kNone;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < count; ++c) signs[c] = join(signs[c], in[r * stride + c]);
    }
    for (int64_t c = 0; c < count; ++c) {
      if (is_zero(found[c])) found[c] = signs[c] & kNegative;
    }
  }
};

template <class Element, class Bits>
void largest(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
  reduction_of<Largest, Element>()(in, out, outer, reduced, inner);
  if (reduced == 0) return;
  ZeroSigns<Bits>::settle(static_cast<const Bits*>(in), static_cast<Bits*>(out), outer, reduced,
                          inner);
}

Reduce find_largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return largest<Float16Element, uint16_t>;
    case DType::kBFloat16: return largest<BFloat16Element, uint16_t>;
    case DType::kFloat32: return largest<Plain<float>, uint32_t>;
    case DType::kFloat64: return largest<Plain<double>, uint64_t>;
    default: return nullptr;
  }
}

template <template <class> class Op>
Reduce find_float(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return reduction_of<Op, Float16Element>();
    case DType::kBFloat16: return reduction_of<Op, BFloat16Element>();
    case DType::kFloat32: return reduction_of<Op, Plain<float>>();
    case DType::kFloat64: return reduction_of<Op, Plain<double>>();
    default: return nullptr;
  }
}

template <template <class> class Op>
Reduce find_complex(DType dtype) {
  switch (dtype) {
    case DType::kComplex64: return reduction_of<Op, Plain<Complex<float>>>();
    case DType::kComplex128: return reduction_of<Op, Plain<Complex<double>>>();
    default: return nullptr;
  }
}

// Of integers whose sign does not matter.
template <template <class> class Op>
Reduce find_bits(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8: return reduction_of<Op, Plain<uint8_t>>();
    case DType::kInt16:
    case DType::kUInt16: return reduction_of<Op, Plain<uint16_t>>();
    case DType::kInt32:
    case DType::kUInt32: return reduction_of<Op, Plain<uint32_t>>();
    case DType::kInt64:
    case DType::kUInt64: return reduction_of<Op, Plain<uint64_t>>();
    default: return nullptr;
  }
}

template <template <class> class Op>
Reduce find_ordered(DType dtype) {
  switch (dtype) {
    case DType::kBool: return reduction_of<Op, BoolElement>();
    case DType::kInt8: return reduction_of<Op, Ranked<int8_t>>();
    case DType::kInt16: return reduction_of<Op, Plain<int16_t>>();
    case DType::kInt32: return reduction_of<Op, Plain<int32_t>>();
    case DType::kInt64: return reduction_of<Op, Plain<int64_t>>();
    case DType::kUInt8: return reduction_of<Op, Plain<uint8_t>>();
    case DType::kUInt16: return reduction_of<Op, Plain<uint16_t>>();
    case DType::kUInt32: return reduction_of<Op, Ranked<uint32_t>>();
    case DType::kUInt64: return reduction_of<Op, Ranked<uint64_t>>();
    default: break;
  }
  if (is_complex(dtype)) return find_complex<Op>(dtype);
  return std::is_same_v<Op<float>, Largest<float>> ? find_largest(dtype) : find_float<Op>(dtype);
}

template <class T>
void sum_complex(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
  reduction_of<Sum, Plain<T>>()(in, out, outer, reduced, 2 * inner);
}

Reduce find_sum(DType dtype) {
  if (dtype == DType::kComplex64) return sum_complex<float>;
  if (dtype == DType::kComplex128) return sum_complex<double>;
  const Reduce found = find_bits<Sum>(dtype);
  return found != nullptr ? found : find_float<Sum>(dtype);
}

Reduce find_product(DType dtype) {
  if (is_complex(dtype)) return find_complex<Product>(dtype);
  const Reduce found = find_bits<Product>(dtype);
  return found != nullptr ? found : find_float<Product>(dtype);
}

Reduce find_and(DType dtype) {
  return dtype == DType::kBool ? find_ordered<Smallest>(dtype) : find_bits<And>(dtype);
}

Reduce find_or(DType dtype) {
  return dtype == DType::kBool ? find_ordered<Largest>(dtype) : find_bits<Or>(dtype);
}

Reduce find_xor(DType dtype) { return find_bits<Xor>(dtype == DType::kBool ? DType::kUInt8 : dtype); }

struct Row {
  std::string_view primitive;
  Reduce (*find)(DType);
};

constexpr Row kRows[] = {
    {"reduce_sum", find_sum},
    {"reduce_prod", find_product},
    {"reduce_max", find_ordered<Largest>},
    {"reduce_min", find_ordered<Smallest>},
    {"reduce_and", find_and},
    {"reduce_or", find_or},
    {"reduce_xor", find_xor},
};

constexpr const char kArgMax[] = "argmax", kArgMin[] = "argmin";

}  // namespace

Reduce find_reduce(std::string_view primitive, DType in, DType out) {
  if (primitive == kArgMax) return find_arg_reduce(true, in, out);
  if (primitive == kArgMin) return find_arg_reduce(false, in, out);
  if (in != out) return nullptr;
  for (const Row& row : kRows) {
    if (row.primitive == primitive) return row.find(in);
  }
  return nullptr;
}

const char* reduce_name(size_t n) {
  constexpr size_t rows = sizeof kRows / sizeof *kRows;
  if (n < rows) return kRows[n].primitive.data();
  return n == rows ? kArgMax : n == rows + 1 ? kArgMin : nullptr;
}

}  // namespace evertrace
