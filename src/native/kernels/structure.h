// Kernels that move, reduce and multiply arrays.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/dtypes.h"

namespace evertrace {

// Copies a strided view of items to another: transposes, broadcasts (stride 0), slices, reversals
// (negative strides), paddings and concatenations. Strides are in bytes.
void copy_strided(const void* in, void* out, int rank, const int64_t* shape,
                  const int64_t* in_strides, const int64_t* out_strides, int64_t item_size);

// Writes `count` copies of an item.
void fill(void* out, const void* item, int64_t count, int64_t item_size);

// Reduces the middle of a dense array of shape [outer, reduced, inner]; the result is
// [outer, inner]. Sums of floats are pairwise, or in more precision; NaNs go through max and min.
using Reduce = void (*)(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner);

// The reduction of a primitive, by its name ("reduce_sum", "reduce_max", "argmax", ...); null where
// there is none.
Reduce find_reduce(std::string_view primitive, DType in, DType out);
const char* reduce_name(size_t n);  // of the n-th primitive that it knows; null after the last

// A batch of matrix products, out[b, m, n] = sum over k of x[b, m, k] y[b, k, n]; `out` is dense,
// strides are in elements, and 0 where a batch shares a matrix.
struct MatmulShape {
  int64_t batch, m, n, k;
  int64_t x_batch, x_m, x_k;
  int64_t y_batch, y_k, y_n;
};
using Matmul = void (*)(const void* x, const void* y, void* out, const MatmulShape& shape);
Matmul find_matmul(DType dtype);  // null where there is none

// A dimension of a strided view, in elements.
struct ViewDim {
  int64_t size, stride;
};

// A product of matrices of which the first one is a view of several dimensions, such as the windows
// of a convolution: its rows and columns are numbered by `rows` and `columns`, the last ones first.
// The second matrix and the result are dense. Windows are laid out block by block, in the cache.
struct WindowProduct {
  std::vector<ViewDim> rows, columns;
  int64_t n;
};
using MatmulWindows = void (*)(const void* x, const void* y, void* out, const WindowProduct& shape);
MatmulWindows find_matmul_windows(DType dtype);  // null where there is none

}  // namespace evertrace
