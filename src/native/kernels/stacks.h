// What kernels on stacks of matrices have in common.

#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/lapack.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"
#include "kernels/structure.h"

namespace evertrace {

template <class T>
struct RealPart {
  using type = T;
  static constexpr bool kIsComplex = false;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
  static constexpr bool kIsComplex = true;
};
template <class T>
using Real = typename RealPart<T>::type;
template <class T>
constexpr bool kIsComplex = RealPart<T>::kIsComplex;

inline DType real_dtype(DType dtype) {
  return dtype == DType::kComplex64    ? DType::kFloat32
         : dtype == DType::kComplex128 ? DType::kFloat64
                                       : dtype;
}

inline DType complex_dtype(DType dtype) {
  return dtype == DType::kFloat32 ? DType::kComplex64
         : dtype == DType::kFloat64 ? DType::kComplex128
                                    : dtype;
}

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) return std::conj(x);
  else return x;
}

template <class T>
void fill_nan(T* out, int64_t count) {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (kIsComplex<T>) std::fill(out, out + count, T(nan, nan));
  else std::fill(out, out + count, nan);
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

// Matrices one after the other, in row-major order.
struct Stack {
  int64_t count, m, n;
  int64_t area() const { return m * n; }
  int64_t least() const { return std::min(m, n); }
};

inline Stack stack_of(const Array& x) {
  const size_t rank = x.shape.size();
  if (rank < 2) return {0, 0, 0};
  Stack stack{1, x.shape[rank - 2], x.shape[rank - 1]};
  for (size_t d = 0; d + 2 < rank; ++d) stack.count *= x.shape[d];
  return stack;
}

// Whether an array has these sizes after the leading dimensions of `like`.
inline bool fits(const Array& x, const Array& like, DType dtype,
                 std::initializer_list<int64_t> sizes) {
  const size_t leading = like.shape.size() < 2 ? 0 : like.shape.size() - 2;
  return x.dtype == dtype && x.shape.size() == leading + sizes.size() &&
         std::equal(like.shape.begin(), like.shape.begin() + static_cast<std::ptrdiff_t>(leading),
                    x.shape.begin()) &&
         std::equal(sizes.begin(), sizes.end(),
                    x.shape.begin() + static_cast<std::ptrdiff_t>(leading));
}

// Working memory for numbers.
template <class T>
class Work {
 public:
  explicit Work(int64_t count)
      : block_(static_cast<size_t>(std::max<int64_t>(1, count)) * sizeof(T)) {}
  operator T*() const { return reinterpret_cast<T*>(block_.data()); }

 private:
  Scratch block_;
};

// Copies a matrix in row-major order to one in column-major order.
template <class T>
void to_columns(const T* rows, int64_t m, int64_t n, T* columns) {
  constexpr int64_t kFew = 256, item = sizeof(T);
  if (m * n <= kFew) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) *columns++ = rows[i * n + j];
    }
    return;
  }
  const int64_t shape[] = {m, n}, from[] = {n * item, item}, to[] = {item, m * item};
  copy_strided(rows, columns, 2, shape, from, to, item);
}

template <class T>
void to_rows(const T* columns, int64_t m, int64_t n, T* rows) {
  to_columns(columns, n, m, rows);
}

// Calls body(begin, end) for ranges of a stack, on several threads where there are many small
// matrices, each of which takes so many nanoseconds. LAPACK shares the work on large ones itself.
template <class Body>
void over_stack(const Stack& stack, double nanoseconds, const Body& body) {
  constexpr int64_t kSmall = 64;
  constexpr double kParallelFrom = 100e3;
  const bool is_shared = std::max(stack.m, stack.n) <= kSmall &&
                         nanoseconds * static_cast<double>(stack.count) > kParallelFrom;
  const int64_t pieces = is_shared ? std::min<int64_t>(stack.count, 4 * thread_count()) : 1;
  if (pieces <= 1) return body(int64_t{0}, stack.count);
  parallel_for(pieces, [&](int64_t p) {
    const auto [begin, end] = piece(stack.count, pieces, p);
    body(begin, end);
  });
}

// Whether LAPACK may be called on matrices of a stack: sizes of its working memory have 32 bits.
inline Failure check_lapack(const Stack& stack) {
  constexpr int64_t kLargest = 1 << 14;
  if (!lapack::is_loaded()) return "LAPACK: it was not loaded";
  if (stack.m < 1 || stack.n < 1 || std::max(stack.m, stack.n) >= kLargest) return "LAPACK: sizes";
  return nullptr;
}

}  // namespace evertrace
