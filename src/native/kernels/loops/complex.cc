// Arithmetic of complex numbers.

#include <cmath>

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

template <class T>
struct Complex {
  using Part = T;
  T real, imag;
};

struct Add {
  template <class C>
  static C of(C x, C y) { return {x.real + y.real, x.imag + y.imag}; }
};

struct Sub {
  template <class C>
  static C of(C x, C y) { return {x.real - y.real, x.imag - y.imag}; }
};

struct Mul {
  template <class C>
  static C of(C x, C y) {
    return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
  }
};

// R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962).
struct Div {
  template <class C>
  static C of(C x, C y) {
    using T = typename C::Part;
    const T real = std::fabs(y.real), imag = std::fabs(y.imag);
    if (real >= imag) {
      if (real == 0) return {x.real / real, x.imag / real};
      const T ratio = y.imag / y.real, scale = T{1} / (y.real + y.imag * ratio);
      return {(x.real + x.imag * ratio) * scale, (x.imag - x.real * ratio) * scale};
    }
    const T ratio = y.real / y.imag, scale = T{1} / (y.imag + y.real * ratio);
    return {(x.real * ratio + x.imag) * scale, (x.imag * ratio - x.real) * scale};
  }
};

struct Neg {
  template <class C>
  static C of(C x) { return {-x.real, -x.imag}; }
};

struct Conj {
  template <class C>
  static C of(C x) { return {x.real, -x.imag}; }
};

struct ConjOfReal {
  static Complex<float> of(float x) { return {x, 0}; }
  static Complex<double> of(double x) { return {x, 0}; }
};

struct Square {
  template <class C>
  static C of(C x) { return Mul::of(x, x); }
};

struct Real {
  template <class C>
  static typename C::Part of(C x) { return x.real; }
};

struct Imag {
  template <class C>
  static typename C::Part of(C x) { return x.imag; }
};

struct Abs {
  template <class C>
  static typename C::Part of(C x) { return std::hypot(x.real, x.imag); }
};

struct Make {
  template <class T>
  static Complex<T> of(T x, T y) { return {x, y}; }
};

template <class C>
struct Convert {
  template <class D>
  static C of(D x) {
    using T = typename C::Part;
    return {static_cast<T>(x.real), static_cast<T>(x.imag)};
  }
};

template <class T, class R>
constexpr Loop kConvert = &unary<Convert<Complex<R>>, Complex<T>, Complex<R>>;

template <class F>
Loop find_unary_of_complex(DType dtype) {
  if (dtype == DType::kComplex64) return &unary<F, Complex<float>>;
  return dtype == DType::kComplex128 ? &unary<F, Complex<double>> : nullptr;
}

template <class F>
Loop find_binary_of_complex(DType dtype) {
  if (dtype == DType::kComplex64) return &binary<F, Complex<float>>;
  return dtype == DType::kComplex128 ? &binary<F, Complex<double>> : nullptr;
}

// The size of a complex number and that of its parts, or of parts and of what they make.
enum class Parts : uint8_t { kNone, kFloats, kDoubles };

constexpr Parts parts_of(DType whole, DType part) {
  if (whole == DType::kComplex64 && part == DType::kFloat32) return Parts::kFloats;
  return whole == DType::kComplex128 && part == DType::kFloat64 ? Parts::kDoubles : Parts::kNone;
}

template <class F>
Loop find_part(const Query& query) {
  switch (parts_of(query.in, query.out)) {
    case Parts::kFloats: return &unary<F, Complex<float>, float>;
    case Parts::kDoubles: return &unary<F, Complex<double>, double>;
    default: return nullptr;
  }
}

Loop find_making(const Query& query) {
  if (query.first != query.in) return nullptr;
  switch (parts_of(query.out, query.in)) {
    case Parts::kFloats: return &binary<Make, float, Complex<float>>;
    case Parts::kDoubles: return &binary<Make, double, Complex<double>>;
    default: return nullptr;
  }
}

Loop find_conj_of_real(const Query& query) {
  switch (parts_of(query.out, query.in)) {
    case Parts::kFloats: return &unary<ConjOfReal, float, Complex<float>>;
    case Parts::kDoubles: return &unary<ConjOfReal, double, Complex<double>>;
    default: return nullptr;
  }
}

Loop find_conversion(const Query& query) {
  const DType in = query.in, out = query.out;
  if (in == DType::kComplex64 && out == DType::kComplex128) return kConvert<float, double>;
  if (in == DType::kComplex128 && out == DType::kComplex64) return kConvert<double, float>;
  return nullptr;
}

constexpr Entry kEntries[] = {
    {"add", 2, 1, same<find_binary_of_complex<Add>>},
    {"add_any", 2, 1, same<find_binary_of_complex<Add>>},
    {"sub", 2, 1, same<find_binary_of_complex<Sub>>},
    {"mul", 2, 1, same<find_binary_of_complex<Mul>>},
    {"div", 2, 3, same<find_binary_of_complex<Div>>},
    {"neg", 1, 1, same<find_unary_of_complex<Neg>>},
    {"conj", 1, 1, same<find_unary_of_complex<Conj>>},
    {"conj", 1, 1, find_conj_of_real},
    {"square", 1, 1, same<find_unary_of_complex<Square>>},
    {"real", 1, 1, find_part<Real>},
    {"imag", 1, 1, find_part<Imag>},
    {"abs", 1, 1, find_part<Abs>},
    {"complex", 2, 1, find_making},
    {"convert_element_type", 1, 1, find_conversion},
};

}  // namespace

constexpr Family kComplex = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
