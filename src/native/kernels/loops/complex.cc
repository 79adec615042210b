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

template <class T>
Loop find_of_complex(Op op) {
  using C = Complex<T>;
  switch (op) {
    case Op::kAdd:
    case Op::kAddAny: return &binary<Add, C>;
    case Op::kSub: return &binary<Sub, C>;
    case Op::kMul: return &binary<Mul, C>;
    case Op::kDiv: return &binary<Div, C>;
    case Op::kNeg: return &unary<Neg, C>;
    case Op::kConj: return &unary<Conj, C>;
    case Op::kSquare: return &unary<Square, C>;
    default: return nullptr;
  }
}

template <class T>
Loop find_part(Op op) {
  using C = Complex<T>;
  switch (op) {
    case Op::kReal: return &unary<Real, C, T>;
    case Op::kImag: return &unary<Imag, C, T>;
    case Op::kAbs: return &unary<Abs, C, T>;
    default: return nullptr;
  }
}

template <class T>
Loop find_making(Op op) {
  if (op == Op::kComplex) return &binary<Make, T, Complex<T>>;
  if (op == Op::kConj) return &unary<ConjOfReal, T, Complex<T>>;
  return nullptr;
}

}  // namespace

Loop find_complex(const Query& query) {
  const DType in = query.in, out = query.out;
  if (in == DType::kComplex64) {
    if (out == in) return find_of_complex<float>(query.op);
    if (out == DType::kFloat32) return find_part<float>(query.op);
    if (query.op == Op::kConvert && out == DType::kComplex128) return kConvert<float, double>;
  } else if (in == DType::kComplex128) {
    if (out == in) return find_of_complex<double>(query.op);
    if (out == DType::kFloat64) return find_part<double>(query.op);
    if (query.op == Op::kConvert && out == DType::kComplex64) return kConvert<double, float>;
  } else if (in == DType::kFloat32 && out == DType::kComplex64) {
    return find_making<float>(query.op);
  } else if (in == DType::kFloat64 && out == DType::kComplex128) {
    return find_making<double>(query.op);
  }
  return nullptr;
}

}  // namespace evertrace::EVERTRACE_TARGET
