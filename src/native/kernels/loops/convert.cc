// Conversions between all dtypes.
//
// Integers wrap around; floats become integers by truncation, what is out of range the nearest
// integer, NaN 0; complex numbers lose their imaginary part; all but zero is true.

#include <iterator>
#include <utility>

#include "kernels/elements.h"
#include "kernels/loops/real.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

// Rounds so that rounding once more, to fewer bits, is as rounding the double once: the last bit is
// set where bits are lost. S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums:
// proved algorithms using rounding to odd, IEEE Transactions on Computers 57 (2008).
struct RoundToOdd {
  static float of(double x) {
    const float nearest = static_cast<float>(x);
    const double back = nearest;
    const uint32_t bits = bits_as<uint32_t>(nearest);
    const uint32_t odd = (std::fabs(back) > std::fabs(x) ? bits - 1 : bits) | 1;
    return back == x || x != x ? nearest : bits_as<float>(odd);
  }
};

struct IsNonzero {
  template <class T>
  static uint8_t of(T x) { return x != 0; }
};

template <class R>
struct To {
  template <class T>
  static R of(T x) {
    if constexpr (std::is_integral_v<R> && std::is_floating_point_v<T>) {
      // The ends of the range are powers of two, and exact; so is the number before the upper one.
      constexpr int kBits = 8 * sizeof(R) - std::is_signed_v<R>;
      constexpr T kHalf = static_cast<T>(uint64_t{1} << (kBits - 1)), kBeyond = 2 * kHalf;
      constexpr T kLeast = std::is_signed_v<R> ? -kBeyond : T{0};
      constexpr T kGreatest = kBits > std::numeric_limits<T>::digits
                                  ? kBeyond - kBeyond * std::numeric_limits<T>::epsilon() / 2
                                  : kBeyond - 1;
      T within = x > kLeast ? x : kLeast;
      within = within < kGreatest ? within : kGreatest;
      using Wide = std::conditional_t<sizeof(R) < 4, int32_t, R>;
      R value = static_cast<R>(static_cast<Wide>(within));
      value = x >= kBeyond ? std::numeric_limits<R>::max() : value;
      return x != x ? R{0} : value;
    } else {
      return static_cast<R>(x);
    }
  }
};

#ifdef EVERTRACE_IS_BASELINE
using Sources = Reals;
#else
using Sources = decltype(joined(Types<uint8_t>{}, Reals{}));  // bytes are booleans, and common
#endif

template <class F, class R, class... Ts>
Loop find_from(DType in, Types<Ts...>) {
  Loop found = nullptr;
  ((in == kDType<Ts> ? void(found = &unary<F, Ts, R>) : void()), ...);
  return found;
}

template <class R>
Loop find_integer(DType in) {
  if constexpr (std::is_signed_v<R>) {
    // From integers it is the same as to the unsigned one.
    if (in != DType::kFloat32 && in != DType::kFloat64) {
      using U = std::make_unsigned_t<R>;
      return find_from<To<U>, U>(in, Sources{});
    }
    return find_from<To<R>, R>(in, Floats{});
  } else {
    return find_from<To<R>, R>(in, Sources{});
  }
}

}  // namespace

Loop find_plain(DType in, DType out) {
  in = bool_as_byte(in);
  switch (out) {
    case DType::kBool: {
      const Loop found = find_from<IsNonzero, uint8_t>(without_sign(in), Unsigneds{});
      return found != nullptr ? found : find_from<IsNonzero, uint8_t>(in, Floats{});
    }
#ifdef EVERTRACE_IS_BASELINE
    case DType::kUInt8: return find_integer<uint8_t>(in);
    case DType::kUInt16: return find_integer<uint16_t>(in);
    case DType::kInt8: return find_integer<int8_t>(in);
    case DType::kInt16: return find_integer<int16_t>(in);
#endif
    case DType::kUInt32: return find_integer<uint32_t>(in);
    case DType::kUInt64: return find_integer<uint64_t>(in);
    case DType::kInt32: return find_integer<int32_t>(in);
    case DType::kInt64: return find_integer<int64_t>(in);
    case DType::kFloat32: return find_from<To<float>, float>(in, Sources{});
    case DType::kFloat64: return find_from<To<double>, double>(in, Sources{});
    default: return nullptr;
  }
}

namespace {

bool is_plain(DType dtype) {
  return !is_complex(dtype) && dtype != DType::kFloat16 && dtype != DType::kBFloat16;
}

DType real_of(DType dtype) {
  return dtype == DType::kComplex64    ? DType::kFloat32
         : dtype == DType::kComplex128 ? DType::kFloat64
                                       : dtype;
}

template <class T>
void take_real(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = static_cast<const T*>(in)[2 * i];
}

// Brings a block into a form that plain loops read; the form's dtype.
DType unpack(DType in, const char* data, int64_t i, int64_t n, void* out) {
  switch (in) {
    case DType::kFloat16:
      widen(reinterpret_cast<const Half*>(data) + i, static_cast<float*>(out), n);
      return DType::kFloat32;
    case DType::kBFloat16:
      widen(reinterpret_cast<const BFloat*>(data) + i, static_cast<float*>(out), n);
      return DType::kFloat32;
    case DType::kComplex64: take_real<float>(data + 8 * i, out, n); return DType::kFloat32;
    case DType::kComplex128: take_real<double>(data + 16 * i, out, n); return DType::kFloat64;
    default: break;
  }
  const auto size = static_cast<int64_t>(item_size(in));
  std::memcpy(out, data + i * size, static_cast<size_t>(n * size));
  return in;
}

template <class T>
void make_complex(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[2 * i] = static_cast<const T*>(in)[i];
    static_cast<T*>(out)[2 * i + 1] = 0;
  }
}

// Writes a block of floats or doubles in its last form.
void pack(DType out, const void* in, char* data, int64_t i, int64_t n) {
  switch (out) {
    case DType::kFloat16:
      return narrow(static_cast<const float*>(in), reinterpret_cast<Half*>(data) + i, n);
    case DType::kBFloat16:
      return narrow(static_cast<const float*>(in), reinterpret_cast<BFloat*>(data) + i, n);
    case DType::kComplex64: return make_complex<float>(in, data + 8 * i, n);
    case DType::kComplex128: return make_complex<double>(in, data + 16 * i, n);
    default: break;
  }
  const auto size = static_cast<int64_t>(item_size(out));
  std::memcpy(data + i * size, in, static_cast<size_t>(n * size));
}

Loop plain_step(DType in, DType out) {
  const bool narrows = out == DType::kFloat16 || out == DType::kBFloat16;
  if (narrows && in == DType::kFloat64) return &unary<RoundToOdd, double, float>;
  const DType target = narrows ? DType::kFloat32 : real_of(out);
  if (in == target) return nullptr;
  const Loop found = find_plain(in, target);
  return found != nullptr ? found : baseline::find_plain(in, target);
}

// Conversions from or to dtypes without plain loops: by way of one, a block at a time.
void by_blocks(DType in, DType out, const Operand* operands, void* result, int64_t n) {
  alignas(16) char unpacked[kBlock * 16], converted[kBlock * 16];
  const char* data = static_cast<const char*>(operands[0].data);
  char* target = static_cast<char*>(result);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    const bool is_scalar = operands[0].is_scalar;
    const DType form = unpack(in, data, is_scalar ? 0 : i, is_scalar ? 1 : count, unpacked);
    const Loop step = plain_step(form, out);
    const Operand block{unpacked, is_scalar};
    if (step != nullptr) step(&block, converted, count, 0);
    else if (is_scalar) find_copy(form)(&block, converted, count, 0);
    pack(out, step != nullptr || is_scalar ? converted : unpacked, target, i, count);
  }
}

template <DType in, DType out>
void by_blocks_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  by_blocks(in, out, operands, result, n);
}

constexpr DType kAll[] = {
    DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt8,
    DType::kUInt16, DType::kUInt32, DType::kUInt64, DType::kFloat16, DType::kBFloat16,
    DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128,
};

template <DType in, size_t... k>
Loop find_blocks_to(DType out, std::index_sequence<k...>) {
  Loop found = nullptr;
  ((out == kAll[k] ? void(found = &by_blocks_loop<in, kAll[k]>) : void()), ...);
  return found;
}

template <size_t... k>
Loop find_blocks(DType in, DType out, std::index_sequence<k...> all) {
  Loop found = nullptr;
  ((in == kAll[k] ? void(found = find_blocks_to<kAll[k]>(out, all)) : void()), ...);
  return found;
}

}  // namespace

void widen(const Half* in, float* out, int64_t n) {
  EVERTRACE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Float16Element::load(in[i].bits);
}

void widen(const BFloat* in, float* out, int64_t n) {
  EVERTRACE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = BFloat16Element::load(in[i].bits);
}

void narrow(const float* in, Half* out, int64_t n) {
  EVERTRACE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i].bits = Float16Element::store(in[i]);
}

void narrow(const float* in, BFloat* out, int64_t n) {
  EVERTRACE_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i].bits = BFloat16Element::store(in[i]);
}

namespace {

Loop find_convert(const Query& query) {
  if (query.in == query.out) return find_copy(query.in);
  const Loop found = find_plain(query.in, query.out);
  if (found != nullptr) return found;
  if (is_plain(query.in) && is_plain(query.out)) return nullptr;
  return find_blocks(query.in, query.out, std::make_index_sequence<std::size(kAll)>{});
}

constexpr Entry kEntries[] = {
    {"convert_element_type", 1, 1, find_convert},
};

}  // namespace

constexpr Family kConvert = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
