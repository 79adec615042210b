// Factors of matrices and systems with triangular ones, in stacks: large ones by LAPACK, small ones
// by loops, which take a tenth of the time.
//
// Matrices are in row-major order, so all loops update rows by multiples of other rows.

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "kernels/linalg.h"
#include "kernels/stacks.h"

namespace evertrace {
namespace {

using lapack::Routine;

// What pivots are chosen by, as LAPACK does.
template <class T>
T magnitude(T x) { return std::abs(x); }
template <class T>
T magnitude(std::complex<T> x) { return std::abs(x.real()) + std::abs(x.imag()); }

// A product of complex numbers by the formula, as in LAPACK: C++ looks for infinities in NaNs.
template <class T>
T multiply(T x, T y) { return x * y; }
template <class T>
std::complex<T> multiply(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// row[j] -= factor * other[j]
template <class T>
void subtract(T* row, T factor, const T* other, int64_t count) {
  for (int64_t j = 0; j < count; ++j) row[j] -= multiply(factor, other[j]);
}

// The lower factor of an n by n matrix, of which the upper triangle is not read; all NaN if it is not
// positive definite. `column` has room for n.
template <class T>
void factor_positive(const T* a, T* out, int64_t n, T* column) {
  for (int64_t i = 0; i < n; ++i) {
    std::copy(a + i * n, a + i * n + i + 1, out + i * n);
    std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
  }
  for (int64_t k = 0; k < n; ++k) {
    const auto square = std::real(out[k * n + k]);
    if (square <= 0) {  // NaN goes on to the rows below, as in OpenBLAS
      for (int64_t i = 0; i < n; ++i) fill_nan(out + i * n, i + 1);
      return;
    }
    const auto root = std::sqrt(square);
    out[k * n + k] = root;
    for (int64_t i = k + 1; i < n; ++i) {
      out[i * n + k] /= root;
      column[i] = conjugate(out[i * n + k]);
    }
    for (int64_t i = k + 1; i < n; ++i) {
      subtract(out + i * n + k + 1, out[i * n + k], column + k + 1, i - k);
    }
  }
}

// Solves op(a) x = b for m columns; x has b's values at first.
template <class T>
void solve_triangular(const T* a, T* x, int64_t n, int64_t m, const TriangularOptions& options) {
  const auto element = [&](int64_t i, int64_t j) {
    const T value = options.transposed ? a[j * n + i] : a[i * n + j];
    return options.conjugated ? conjugate(value) : value;
  };
  const bool forward = options.lower != options.transposed;
  for (int64_t turn = 0; turn < n; ++turn) {
    const int64_t i = forward ? turn : n - 1 - turn;
    if (!options.unit_diagonal) {
      const T pivot = element(i, i);
      for (int64_t j = 0; j < m; ++j) x[i * m + j] /= pivot;
    }
    for (int64_t r = forward ? i + 1 : 0; r < (forward ? n : i); ++r) {
      subtract(x + r * m, element(r, i), x + i * m, m);
    }
  }
}

// Factors an m by n matrix in place, with partial pivoting.
template <class T>
void factor_general(T* a, int32_t* pivots, int64_t m, int64_t n) {
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i) {
      if (magnitude(a[i * n + k]) > magnitude(a[best * n + k])) best = i;
    }
    pivots[k] = static_cast<int32_t>(best);
    if (a[best * n + k] == T(0)) continue;
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    for (int64_t i = k + 1; i < m; ++i) {
      a[i * n + k] /= a[k * n + k];
      subtract(a + i * n + k + 1, a[i * n + k], a + k * n + k + 1, n - k - 1);
    }
  }
}

// The same by LAPACK.
template <class T>
void factor_large_positive(const T* a, T* out, int64_t size, T* columns) {
  int n = static_cast<int>(size), info = 0;
  char triangle = 'L';
  to_columns(a, n, n, columns);
  lapack::call<T>(Routine::kPotrf, &triangle, &n, columns, &n, &info);
  to_rows(columns, n, n, out);
  for (int64_t i = 0; i < n; ++i) {
    if (info != 0) fill_nan(out + i * n, i + 1);
    std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
  }
}

template <class T>
void factor_large_general(T* a, int32_t* pivots, int64_t rows, int64_t width, T* columns) {
  int m = static_cast<int>(rows), n = static_cast<int>(width), info = 0;
  to_columns(a, m, n, columns);
  lapack::call<T>(Routine::kGetrf, &m, &n, columns, &m, pivots, &info);
  to_rows(columns, m, n, a);
  for (int64_t i = 0; i < std::min(rows, width); ++i) --pivots[i];
}

// By columns, memory in row-major order holds the transposed matrices, whose system is x from the
// left of the matrix. LAPACK does not solve with a matrix that is just conjugated.
template <class T>
void solve_large_triangular(const T* a, T* x, int64_t size, int64_t width,
                            const TriangularOptions& options) {
  int n = static_cast<int>(size), m = static_cast<int>(width);
  const bool is_copied = kIsComplex<T> && options.conjugated && !options.transposed;
  Work<T> conjugated(is_copied ? size * size : 0);
  if (is_copied) std::transform(a, a + size * size, conjugated + 0, conjugate<T>);
  T* matrix = is_copied ? static_cast<T*>(conjugated) : const_cast<T*>(a);
  char side = 'R', triangle = options.lower ? 'U' : 'L', unit = options.unit_diagonal ? 'U' : 'N';
  char kind = !options.transposed ? 'N' : kIsComplex<T> && options.conjugated ? 'C' : 'T';
  T one(1);
  lapack::call<T>(Routine::kTrsm, &side, &triangle, &kind, &unit, &m, &n, &one, matrix, &n, x, &m);
}

// Solves one tridiagonal system, of diagonals in `work`, for x, in column-major order.
template <class T>
bool solve_tridiagonal(T* below, T* on, T* above, T* x, int n, int m) {
  if (n == 1) {
    std::for_each(x, x + m, [&](T& value) { value /= on[0]; });
    return true;
  }
  int info = 0;
  lapack::call<T>(Routine::kGtsv, &n, &m, below, on, above, x, &n, &info);
  return info == 0;
}

// Adds w w^T to the product of an upper factor with itself by one rotation per row.
template <class T>
void update_factor(T* r, T* w, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T* row = r + i * n;
    const T size = std::hypot(row[i], w[i]);
    const T c = size == 0 ? T(1) : row[i] / size, s = w[i] / (size == 0 ? T(1) : size);
    for (int64_t j = 0; j < n; ++j) {
      const T x = row[j], y = w[j];
      row[j] = c * x + s * y;
      w[j] = c * y - s * x;
    }
  }
}

bool is_small(const Stack& s) { return std::max(s.m, s.n) <= kSmallMatrix; }

// Checks a stack for LAPACK if it is one for it.
Failure check_size(const Stack& s) {
  return is_small(s) ? nullptr : check_lapack(s);
}

// What one of the factorisations takes, roughly.
double cost(const Stack& s) { return 20 + 0.5 * static_cast<double>(s.area() * s.least()); }

}  // namespace

Failure cholesky(const Arrays& in, const Arrays& out, const Options&) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  if (s.m != s.n || !fits(out[0], a, a.dtype, {s.n, s.n})) return "cholesky: operands";
  if (const Failure failure = check_size(s)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    over_stack(s, cost(s) / 3, [&](int64_t begin, int64_t end) {
      Work<T> work(is_small(s) ? s.n : s.area());
      const auto factor = is_small(s) ? factor_positive<T> : factor_large_positive<T>;
      for (int64_t b = begin; b < end; ++b) {
        factor(a.as<T>() + b * s.area(), out[0].as<T>() + b * s.area(), s.n, work);
      }
    });
  });
  return known ? nullptr : "cholesky: dtype";
}

Failure triangular_solve(const Arrays& in, const Arrays& out, const Options& options) {
  const Array &a = in[0], &b = in[1];
  const Stack s = stack_of(a), sides = stack_of(b);
  if (s.m != s.n || !fits(b, a, a.dtype, {s.n, sides.n}) ||
      !fits(out[0], a, a.dtype, {s.n, sides.n})) {
    return "triangular_solve: operands";
  }
  const TriangularOptions kind{options[0] != 0, options[1] != 0, options[2] != 0, options[3] != 0};
  const Stack whole{s.count, s.n, std::max(s.n, sides.n)};
  if (sides.area() == 0) return nullptr;
  if (const Failure failure = check_size(whole)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto solve = is_small(whole) ? solve_triangular<T> : solve_large_triangular<T>;
    over_stack(whole, cost(whole), [&](int64_t begin, int64_t end) {
      const T* side = b.as<T>();
      T* x = out[0].as<T>();
      std::copy(side + begin * sides.area(), side + end * sides.area(), x + begin * sides.area());
      for (int64_t i = begin; i < end; ++i) {
        solve(a.as<T>() + i * s.area(), x + i * sides.area(), s.n, sides.n, kind);
      }
    });
  });
  return known ? nullptr : "triangular_solve: dtype";
}

Failure lu(const Arrays& in, const Arrays& out, const Options&) {
  const Array &a = in[0], &pivots = out[1];
  const Stack s = stack_of(a);
  if (!fits(out[0], a, a.dtype, {s.m, s.n}) || !fits(pivots, a, DType::kInt32, {s.least()})) {
    return "lu: operands";
  }
  if (s.area() == 0) return nullptr;
  if (const Failure failure = check_size(s)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    over_stack(s, cost(s), [&](int64_t begin, int64_t end) {
      Work<T> columns(is_small(s) ? 0 : s.area());
      std::copy(a.as<T>() + begin * s.area(), a.as<T>() + end * s.area(),
                out[0].as<T>() + begin * s.area());
      for (int64_t b = begin; b < end; ++b) {
        T* factors = out[0].as<T>() + b * s.area();
        int32_t* swaps = pivots.as<int32_t>() + b * s.least();
        if (is_small(s)) factor_general(factors, swaps, s.m, s.n);
        else factor_large_general<T>(factors, swaps, s.m, s.n, columns);
      }
    });
  });
  return known ? nullptr : "lu: dtype";
}

Failure permutation(const Arrays& in, const Arrays& out, const Options&) {
  const Array &pivots = in[0], &result = out[0];
  if (pivots.shape.empty() || pivots.shape.size() != result.shape.size() ||
      !std::equal(pivots.shape.begin(), pivots.shape.end() - 1, result.shape.begin()) ||
      pivots.dtype != DType::kInt32 || result.dtype != DType::kInt32 ||
      pivots.row_size() > result.row_size()) {
    return "permutation: operands";
  }
  const int64_t n = result.row_size(), k = pivots.row_size();
  for (int64_t b = 0; b < result.rows(); ++b) {
    int32_t* rows = result.as<int32_t>() + b * n;
    for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t pivot = pivots.as<int32_t>()[b * k + i];
      std::swap(rows[i], rows[std::clamp<int64_t>(pivot < 0 ? pivot + n : pivot, 0, n - 1)]);
    }
  }
  return nullptr;
}

Failure tridiagonal_solve(const Arrays& in, const Arrays& out, const Options&) {
  const Array& b = in[3];
  const Stack s = stack_of(b);
  for (size_t k = 0; k < 3; ++k) {
    if (!fits(in[k], b, b.dtype, {s.m})) return "tridiagonal_solve: operands";
  }
  if (!fits(out[0], b, b.dtype, {s.m, s.n})) return "tridiagonal_solve: operands";
  if (const Failure failure = check_lapack(s)) return failure;
  const bool known = with_zero(b.dtype, [&](auto zero) {
    using T = decltype(zero);
    over_stack(s, 100 + 10 * static_cast<double>(s.area()), [&](int64_t begin, int64_t end) {
      Work<T> diagonals(3 * s.m), columns(s.area());
      for (int64_t i = begin; i < end; ++i) {
        for (size_t k = 0; k < 3; ++k) {
          const T* diagonal = in[k].as<T>() + i * s.m;
          std::copy(diagonal, diagonal + s.m, diagonals + static_cast<int64_t>(k) * s.m);
        }
        T *x = columns, *rows = out[0].as<T>() + i * s.area();
        to_columns(b.as<T>() + i * s.area(), s.m, s.n, x);
        // The first element below the diagonal is in its second row.
        if (solve_tridiagonal<T>(diagonals + 1, diagonals + s.m, diagonals + 2 * s.m, x,
                                 static_cast<int>(s.m), static_cast<int>(s.n))) {
          to_rows(x, s.m, s.n, rows);
        } else {
          fill_nan(rows, s.area());
        }
      }
    });
  });
  return known ? nullptr : "tridiagonal_solve: dtype";
}

Failure cholesky_update(const Arrays& in, const Arrays& out, const Options&) {
  const Array &r = in[0], &w = in[1];
  const Stack s = stack_of(r);
  if (s.m != s.n || !fits(w, r, r.dtype, {s.n}) || !fits(out[0], r, r.dtype, {s.n, s.n})) {
    return "cholesky_update: operands";
  }
  bool known = false;
  with_zero(r.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsComplex<T>) {
      known = true;
      Work<T> vector(s.n);
      for (int64_t b = 0; b < s.count; ++b) {
        const T* from = r.as<T>() + b * s.area();
        T* to = out[0].as<T>() + b * s.area();
        for (int64_t i = 0; i < s.n; ++i) {
          std::fill(to + i * s.n, to + i * s.n + i, T(0));
          std::copy(from + i * s.n + i, from + (i + 1) * s.n, to + i * s.n + i);
        }
        std::copy(w.as<T>() + b * s.n, w.as<T>() + (b + 1) * s.n, vector + 0);
        update_factor<T>(to, vector, s.n);
      }
    }
  });
  return known ? nullptr : "cholesky_update: dtype";
}

}  // namespace evertrace
