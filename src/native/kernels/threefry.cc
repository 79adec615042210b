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

constexpr int kLanes = 16;  // blocks that are encrypted together: a round waits for the one before

// Encrypts blocks, the words of a and b, under a key. Compilers make vectors of the inner loops.
template <int N>
EVERTRACE_INLINE void encrypt_blocks(uint32_t key0, uint32_t key1, uint32_t* a, uint32_t* b) {
  const uint32_t schedule[3] = {key0, key1, key0 ^ key1 ^ kParity};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  for (int i = 0; i < N; ++i) a[i] += key0, b[i] += key1;
#pragma GCC unroll 5
  for (int group = 0; group < 5; ++group) {
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      const int by = rotations[group % 2][round];
      for (int i = 0; i < N; ++i) a[i] += b[i];
      for (int i = 0; i < N; ++i) b[i] = rotate(b[i], by) ^ a[i];
    }
    const uint32_t more = schedule[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
    for (int i = 0; i < N; ++i) a[i] += schedule[(group + 1) % 3];
    for (int i = 0; i < N; ++i) b[i] += more;
  }
}

// Encrypts `count` blocks under one key.
EVERTRACE_CLONES
void encrypt(uint32_t key0, uint32_t key1, const uint32_t* x0, const uint32_t* x1, uint32_t* y0,
             uint32_t* y1, int64_t count) {
  const auto some = [&]<int N>(int64_t at) {
    uint32_t a[N], b[N];
    for (int i = 0; i < N; ++i) a[i] = x0[at + i], b[i] = x1[at + i];
    encrypt_blocks<N>(key0, key1, a, b);
    for (int i = 0; i < N; ++i) y0[at + i] = a[i], y1[at + i] = b[i];
  };
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) some.template operator()<kLanes>(at);
  for (; at < count; ++at) some.template operator()<1>(at);
}

// What two words become, by the type of what is written.
template <class T>
EVERTRACE_INLINE T joined(uint32_t a, uint32_t b) {
  if constexpr (sizeof(T) == 8) return static_cast<T>(a) << 32 | b;
  else return static_cast<T>(a ^ b);
}

struct alignas(4) Key {
  uint32_t words[2];
};
template <>
EVERTRACE_INLINE Key joined<Key>(uint32_t a, uint32_t b) { return {{a, b}}; }

// Counters from `start` on, of which the high word is the same.
template <class T>
EVERTRACE_INLINE void write_blocks(const uint32_t* key, int64_t start, int64_t count, T* out) {
  const uint32_t key0 = key[0], key1 = key[1];
  const auto high = static_cast<uint32_t>(start >> 32), low = static_cast<uint32_t>(start);
  const auto some = [&]<int N>(int64_t at) {
    uint32_t a[N], b[N];
    for (int i = 0; i < N; ++i) a[i] = high, b[i] = low + static_cast<uint32_t>(at + i);
    encrypt_blocks<N>(key0, key1, a, b);
    for (int i = 0; i < N; ++i) out[at + i] = joined<T>(a[i], b[i]);
  };
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) some.template operator()<kLanes>(at);
  for (; at < count; ++at) some.template operator()<1>(at);
}

EVERTRACE_CLONES
void write8(const uint32_t* key, int64_t start, int64_t count, void* out) {
  write_blocks(key, start, count, static_cast<uint8_t*>(out));
}
EVERTRACE_CLONES
void write16(const uint32_t* key, int64_t start, int64_t count, void* out) {
  write_blocks(key, start, count, static_cast<uint16_t*>(out));
}
EVERTRACE_CLONES
void write32(const uint32_t* key, int64_t start, int64_t count, void* out) {
  write_blocks(key, start, count, static_cast<uint32_t*>(out));
}
EVERTRACE_CLONES
void write64(const uint32_t* key, int64_t start, int64_t count, void* out) {
  write_blocks(key, start, count, static_cast<uint64_t*>(out));
}
EVERTRACE_CLONES
void write_keys(const uint32_t* key, int64_t start, int64_t count, void* out) {
  write_blocks(key, start, count, static_cast<Key*>(out));
}

// In the order of `Draw`.
constexpr struct {
  void (*write)(const uint32_t* key, int64_t start, int64_t count, void* out);
  int64_t size;
} kDraws[] = {{write8, 1}, {write16, 2}, {write32, 4}, {write64, 8}, {write_keys, 8}};

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

bool find_draw(DType dtype, Draw& what) {
  switch (dtype) {
    case DType::kUInt8: what = Draw::kBits8; return true;
    case DType::kUInt16: what = Draw::kBits16; return true;
    case DType::kUInt32: what = Draw::kBits32; return true;
    case DType::kUInt64: what = Draw::kBits64; return true;
    default: return false;
  }
}

void draw(Draw what, const uint32_t* keys, int64_t n, int64_t m, void* out) {
  const auto [write, item] = kDraws[static_cast<int>(what)];
  const int64_t size = item;
  const auto write_part = [&, part = write](int64_t row, int64_t start, int64_t count) {
    part(keys + 2 * row, start, count, static_cast<char*>(out) + (row * m + start) * size);
  };
  if (n * m <= kPieceSize) {
    for (int64_t row = 0; row < n; ++row) write_part(row, 0, m);
    return;
  }
  // Pieces of a row do not cross multiples of their size, so that high words are the same.
  const int64_t per_row = (m + kPieceSize - 1) / kPieceSize;
  const int64_t rows = std::max<int64_t>(1, kPieceSize / m);  // short ones, that are taken at once
  parallel_for((n + rows - 1) / rows * per_row, [&](int64_t i) {
    const int64_t start = i % per_row * kPieceSize, first = i / per_row * rows;
    for (int64_t row = first; row < std::min(first + rows, n); ++row) {
      write_part(row, start, std::min(kPieceSize, m - start));
    }
  });
}

Failure random_words(const Array& keys, const Array& out) {
  if (!is_matrix(keys) || keys.shape[1] != 2 || out.shape.size() < 2 ||
      out.shape[0] != keys.shape[0]) {
    return "random_words: takes keys [n, 2] and makes rows of numbers or of keys";
  }
  const bool makes_keys = out.shape.size() == 3 && out.shape[2] == 2 && out.dtype == DType::kUInt32;
  Draw what = Draw::kKey;
  if (!makes_keys && (out.shape.size() != 2 || !find_draw(out.dtype, what))) {
    return "random_words: makes keys or unsigned integers";
  }
  if (out.size() != 0) draw(what, keys.as<uint32_t>(), keys.shape[0], out.shape[1], out.data);
  return nullptr;
}

}  // namespace evertrace
