// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011. `evertrace/_src/ops/threefry.py` is its specification, and says what for.

#include <algorithm>

#include "kernels/clones.h"
#include "kernels/kernels.h"
#include "kernels/parallel.h"

namespace evertrace {
namespace {

constexpr uint32_t kParity = 0x1BD11BDA;
constexpr int64_t kPieceSize = 1 << 15;  // blocks that a thread encrypts at once

inline uint32_t rotate(uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

// Encrypts `count` blocks under one key; the loop has no branches, so compilers make it vectors.
EVERTRACE_CLONES
void encrypt(uint32_t key0, uint32_t key1, const uint32_t* x0, const uint32_t* x1, uint32_t* y0,
             uint32_t* y1, int64_t count) {
  const uint32_t schedule[3] = {key0, key1, key0 ^ key1 ^ kParity};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  for (int64_t i = 0; i < count; ++i) {
    uint32_t a = x0[i] + key0;
    uint32_t b = x1[i] + key1;
#pragma GCC unroll 5
    for (int group = 0; group < 5; ++group) {
#pragma GCC unroll 4
      for (int round = 0; round < 4; ++round) {
        a += b;
        b = rotate(b, rotations[group % 2][round]) ^ a;
      }
      a += schedule[(group + 1) % 3];
      b += schedule[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
    }
    y0[i] = a;
    y1[i] = b;
  }
}

bool is_matrix(const Array& x) { return x.dtype == DType::kUInt32 && x.shape.size() == 2; }

}  // namespace

Failure threefry(const Array& keys, const Array& x0, const Array& x1, const Array& y0,
                 const Array& y1) {
  if (!is_matrix(keys) || keys.shape[1] != 2 || !is_matrix(x0) || !is_matrix(x1) ||
      !is_matrix(y0) || x0.shape != x1.shape || !is_matrix(y1) || y0.shape != y1.shape) {
    return "threefry: takes keys [n, 2] and counters [1 or n, m] of uint32";
  }
  const int64_t n = y0.shape[0], m = y0.shape[1], counters = x0.shape[0];
  if (keys.shape[0] != n || x0.shape[1] != m || (counters != 1 && counters != n)) {
    return "threefry: results have a row for each key, and a column for each counter";
  }
  const uint32_t* const key = keys.as<uint32_t>();
  const int64_t pieces = (n * m + kPieceSize - 1) / kPieceSize;
  parallel_for(pieces, [&](int64_t i) {
    auto [begin, end] = piece(n * m, pieces, i);
    while (begin < end) {
      const int64_t row = begin / m, column = begin % m;
      const int64_t count = std::min(end - begin, m - column);
      const int64_t from = (counters == 1 ? 0 : row * m) + column;
      encrypt(key[2 * row], key[2 * row + 1], x0.as<uint32_t>() + from, x1.as<uint32_t>() + from,
              y0.as<uint32_t>() + begin, y1.as<uint32_t>() + begin, count);
      begin += count;
    }
  });
  return nullptr;
}

}  // namespace evertrace
