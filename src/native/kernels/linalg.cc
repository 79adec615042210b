// Factors of small matrices and systems with triangular ones, in stacks. Large ones are LAPACK's.
//
// Matrices are in row-major order, so all of them update rows by multiples of other rows.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace evertrace {
namespace {

template <class T>
T conjugate(T x) { return x; }
template <class T>
std::complex<T> conjugate(std::complex<T> x) { return std::conj(x); }

template <class T>
T real_part(T x) { return x; }
template <class T>
T real_part(std::complex<T> x) { return x.real(); }

// What pivots are chosen by, as LAPACK does.
template <class T>
T magnitude(T x) { return std::abs(x); }
template <class T>
T magnitude(std::complex<T> x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <class T>
T not_a_number(T) { return std::numeric_limits<T>::quiet_NaN(); }
template <class T>
std::complex<T> not_a_number(std::complex<T>) { return {not_a_number(T()), not_a_number(T())}; }

// row[j] -= factor * other[j]
template <class T>
void subtract(T* row, T factor, const T* other, int64_t count) {
  for (int64_t j = 0; j < count; ++j) row[j] -= factor * other[j];
}

// The lower factor of an n by n matrix, of which the upper triangle is not read. NaN where it is not
// positive definite. `column` has room for n.
template <class T>
void factor_positive(const T* a, T* out, int64_t n, T* column) {
  for (int64_t i = 0; i < n; ++i) {
    std::copy(a + i * n, a + i * n + i + 1, out + i * n);
    std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
  }
  for (int64_t k = 0; k < n; ++k) {
    const auto square = real_part(out[k * n + k]);
    if (!(square > 0)) {
      for (int64_t i = 0; i < n; ++i) std::fill(out + i * n, out + i * n + i + 1, not_a_number(T()));
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

// Calls `body` with a zero of a floating dtype; false for the others.
template <class Body>
bool with_zero(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32: body(float()); return true;
    case DType::kFloat64: body(double()); return true;
    case DType::kComplex64: body(std::complex<float>()); return true;
    case DType::kComplex128: body(std::complex<double>()); return true;
    default: return false;
  }
}

}  // namespace

Failure cholesky(const Array& in, const Array& out) {
  if (in.shape.size() < 2 || in.shape != out.shape || in.dtype != out.dtype ||
      in.row_size() != in.shape[in.shape.size() - 2]) {
    return "cholesky: operands";
  }
  const int64_t n = in.row_size(), count = n == 0 ? 0 : in.size() / (n * n);
  const bool known = with_zero(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> column(static_cast<size_t>(n));
    for (int64_t b = 0; b < count; ++b) {
      factor_positive(in.as<T>() + b * n * n, out.as<T>() + b * n * n, n, column.data());
    }
  });
  return known ? nullptr : "cholesky: dtype";
}

Failure triangular_solve(const Array& a, const Array& b, const Array& out,
                         const TriangularOptions& options) {
  const size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank || b.shape != out.shape || a.dtype != b.dtype ||
      b.dtype != out.dtype || a.shape[rank - 1] != a.shape[rank - 2] ||
      !std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin())) {
    return "triangular_solve: operands";
  }
  const int64_t n = a.row_size(), m = b.row_size(), count = n == 0 ? 0 : a.size() / (n * n);
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::copy(b.as<T>(), b.as<T>() + b.size(), out.as<T>());
    for (int64_t i = 0; i < count; ++i) {
      solve_triangular(a.as<T>() + i * n * n, out.as<T>() + i * n * m, n, m, options);
    }
  });
  return known ? nullptr : "triangular_solve: dtype";
}

Failure lu(const Array& in, const Array& out, const Array& pivots) {
  const size_t rank = in.shape.size();
  if (rank < 2 || in.shape != out.shape || in.dtype != out.dtype ||
      pivots.dtype != DType::kInt32 || pivots.shape.size() != rank - 1 ||
      !std::equal(in.shape.begin(), in.shape.end() - 2, pivots.shape.begin()) ||
      pivots.row_size() != std::min(in.row_size(), in.shape[rank - 2])) {
    return "lu: operands";
  }
  const int64_t m = in.shape[rank - 2], n = in.row_size();
  const int64_t count = m * n == 0 ? 0 : in.size() / (m * n);
  const bool known = with_zero(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::copy(in.as<T>(), in.as<T>() + in.size(), out.as<T>());
    for (int64_t b = 0; b < count; ++b) {
      factor_general(out.as<T>() + b * m * n, pivots.as<int32_t>() + b * std::min(m, n), m, n);
    }
  });
  return known ? nullptr : "lu: dtype";
}

Failure permutation(const Array& pivots, const Array& out) {
  if (pivots.shape.empty() || pivots.shape.size() != out.shape.size() ||
      !std::equal(pivots.shape.begin(), pivots.shape.end() - 1, out.shape.begin()) ||
      pivots.dtype != DType::kInt32 || out.dtype != DType::kInt32 ||
      pivots.row_size() > out.row_size()) {
    return "permutation: operands";
  }
  const int64_t n = out.row_size(), k = pivots.row_size();
  for (int64_t b = 0; b < out.rows(); ++b) {
    int32_t* rows = out.as<int32_t>() + b * n;
    for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t other = pivots.as<int32_t>()[b * k + i];
      if (other < 0 || other >= n) return "permutation: a pivot is no row";
      std::swap(rows[i], rows[other]);
    }
  }
  return nullptr;
}

}  // namespace evertrace
