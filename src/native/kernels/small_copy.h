// Copies of a few items, for which finding the best order costs more than any order.

#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/structure.h"

namespace evertrace {

namespace small_copy {

constexpr int64_t kFew = 64;

template <int64_t size>
void copy(const char* in, char* out, int rank, const int64_t* shape, const int64_t* in_strides,
          const int64_t* out_strides) {
  if (rank == 0) {
    std::memcpy(out, in, size);
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (rank == 1) {
      std::memcpy(out, in, size);
    } else {
      copy<size>(in, out, rank - 1, shape + 1, in_strides + 1, out_strides + 1);
    }
    in += in_strides[0];
    out += out_strides[0];
  }
}

}  // namespace small_copy

// As `copy_strided`, which it calls for all but small arrays.
inline void copy_items(const void* in, void* out, int rank, const int64_t* shape,
                       const int64_t* in_strides, const int64_t* out_strides, int64_t item_size) {
  int64_t count = 1;
  for (int i = 0; i < rank && count <= small_copy::kFew; ++i) count *= shape[i];
  if (count <= small_copy::kFew) {
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    switch (item_size) {
      case 1: return small_copy::copy<1>(from, to, rank, shape, in_strides, out_strides);
      case 2: return small_copy::copy<2>(from, to, rank, shape, in_strides, out_strides);
      case 4: return small_copy::copy<4>(from, to, rank, shape, in_strides, out_strides);
      case 8: return small_copy::copy<8>(from, to, rank, shape, in_strides, out_strides);
      default: break;
    }
  }
  copy_strided(in, out, rank, shape, in_strides, out_strides, item_size);
}

}  // namespace evertrace
