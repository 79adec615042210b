// Tiles of a matrix product: a few rows by a few vector registers of the result, summed over k.

#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/clones.h"
#include "kernels/processor.h"

namespace evertrace {

// Operands of a tile. A row of `b` is dense and as wide as the tile, so is one of `c`.
template <class T>
struct TileArgs {
  int64_t k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_k;
  T* c;
  int64_t c_row;
  bool adds;  // to what `c` holds
};

template <class T>
using Tile = void (*)(const TileArgs<T>& args);

// The tiles of a machine: `rows` by up to `width` elements, in functions by the number of rows less
// one. Those of half the width are for the last columns.
template <class T>
struct Tiles {
  int64_t rows, width;
  const Tile<T>* whole;
  const Tile<T>* half;
};

constexpr int64_t kMaxTileRows = 8;
constexpr int64_t kMaxTileBytes = 128;  // of a row

template <class T, int kBytes, int kRows, int kVectors>
EVERTRACE_INLINE void run_tile(const TileArgs<T>& args) {
#if defined(__GNUC__)
  typedef T Vector __attribute__((vector_size(kBytes)));
#else
  struct Vector {
    T items[kBytes / sizeof(T)];
    friend Vector operator*(T x, Vector y) {
      for (T& item : y.items) item *= x;
      return y;
    }
    Vector& operator+=(const Vector& y) {
      for (size_t i = 0; i < kBytes / sizeof(T); ++i) items[i] += y.items[i];
      return *this;
    }
  };
#endif
  constexpr int kLanes = kBytes / sizeof(T);
  Vector sums[kRows][kVectors] = {};
  const T* a = args.a;
  const T* b = args.b;
  for (int64_t p = 0; p < args.k; ++p, a += args.a_k, b += args.b_k) {
    Vector row[kVectors];
    for (int v = 0; v < kVectors; ++v) std::memcpy(&row[v], b + v * kLanes, kBytes);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] += a[r * args.a_row] * row[v];
    }
  }
  T* const c = args.c;
  const int64_t c_row = args.c_row;
  if (args.adds) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        Vector before;
        std::memcpy(&before, c + r * c_row + v * kLanes, kBytes);
        sums[r][v] += before;
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector sum = sums[r][v];
      std::memcpy(c + r * c_row + v * kLanes, &sum, kBytes);
    }
  }
}

#if defined(EVERTRACE_HAS_GENERATIONS)
template <class T, int kRows, int kVectors>
__attribute__((target("arch=x86-64-v4"))) void tile_v4(const TileArgs<T>& args) {
  run_tile<T, 64, kRows, kVectors>(args);
}

template <class T, int kRows, int kVectors>
__attribute__((target("arch=x86-64-v3"))) void tile_v3(const TileArgs<T>& args) {
  run_tile<T, 32, kRows, kVectors>(args);
}

template <class T, int v>
constexpr Tile<T> kTilesV4[] = {tile_v4<T, 1, v>, tile_v4<T, 2, v>, tile_v4<T, 3, v>,
                                tile_v4<T, 4, v>, tile_v4<T, 5, v>, tile_v4<T, 6, v>,
                                tile_v4<T, 7, v>, tile_v4<T, 8, v>};

template <class T, int v>
constexpr Tile<T> kTilesV3[] = {tile_v3<T, 1, v>, tile_v3<T, 2, v>, tile_v3<T, 3, v>,
                                tile_v3<T, 4, v>, tile_v3<T, 5, v>, tile_v3<T, 6, v>};
#endif

template <class T, int kRows, int kVectors>
void tile_default(const TileArgs<T>& args) {
  run_tile<T, 16, kRows, kVectors>(args);
}

template <class T, int v>
constexpr Tile<T> kTilesDefault[] = {tile_default<T, 1, v>, tile_default<T, 2, v>,
                                     tile_default<T, 3, v>, tile_default<T, 4, v>};

// The tiles that are best on this machine.
template <class T>
const Tiles<T>& tiles() {
  static const Tiles<T> chosen = [] {
#if defined(EVERTRACE_HAS_GENERATIONS)
    if (processor_generation() == Generation::kV4) {
      return Tiles<T>{8, 128 / sizeof(T), kTilesV4<T, 2>, kTilesV4<T, 1>};
    }
    if (processor_generation() == Generation::kV3) {
      return Tiles<T>{6, 64 / sizeof(T), kTilesV3<T, 2>, kTilesV3<T, 1>};
    }
#endif
    return Tiles<T>{4, 32 / sizeof(T), kTilesDefault<T, 2>, kTilesDefault<T, 1>};
  }();
  return chosen;
}

}  // namespace evertrace
