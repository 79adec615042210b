// The kernels: functions of dense arrays that know neither Python nor XLA.
//
// Each returns null, or what is wrong with its arguments. They never call Python, and share their
// work with the threads of `parallel.h` where there is enough of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/dtypes.h"

namespace evertrace {

// A dense array in row-major order.
struct Array {
  DType dtype;
  std::vector<int64_t> shape;
  void* data;

  int64_t size() const {
    int64_t product = 1;
    for (int64_t n : shape) product *= n;
    return product;
  }
  int64_t row_size() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rows() const { return row_size() == 0 ? 0 : size() / row_size(); }

  template <class T>
  T* as() const { return static_cast<T*>(data); }
};

using Arrays = std::vector<Array>;
using Failure = const char*;

// Numbers that say what a kernel does, see `named.cc`.
using Options = std::vector<int64_t>;

// Sorts each row (the last dimension) of all arrays by the first `num_keys`, keeping the order of
// equal elements. A single array is put in the order `kTotal`, keys in `kNumber`.
Failure sort(const Arrays& in, const Arrays& out, int64_t num_keys);

// The k largest elements of each row and their positions (int32), largest first, of equal ones the
// first first; k is the row size of the results. The order is `kBits`.
Failure top_k(const Array& in, const Array& values, const Array& positions);

// Running "sum", "prod", "max", "min" or "logsumexp" along one axis.
Failure scan(const Array& in, const Array& out, int64_t axis, bool reverse,
             std::string_view operation);

// For each value, how many elements of the sorted row of the same number are below it (or not
// above it, for the right side); `sorted` has as many rows as `values`, or one for all.
Failure search(const Array& sorted, const Array& values, const Array& out, bool right);

// Encrypts counters, words `x0` and `x1` of each, under each of several keys (Threefry-2x32).
// Keys are [n, 2], counters [n, m] or [1, m] for all keys, results [n, m], all of uint32.
Failure threefry(const Array& keys, const Array& x0, const Array& x1, const Array& y0,
                 const Array& y1);

// What is made of the words of the block of each counter 0, 1, ..., m - 1 under each of n keys
// (Threefry-2x32): numbers of so many bits, or new keys, which are both words.
enum class Draw : uint8_t { kBits8, kBits16, kBits32, kBits64, kKey };

bool find_draw(DType dtype, Draw& what);  // of bits; whether there is one

void draw(Draw what, const uint32_t* keys, int64_t n, int64_t m, void* out);

// The same as `draw` with arrays: keys [n, 2] to bits [n, m] of the dtype of `out`, or to keys [n, m, 2].
Failure random_words(const Array& keys, const Array& out);

}  // namespace evertrace
