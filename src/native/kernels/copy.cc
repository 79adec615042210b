// copy_strided and fill.
//
// A copy is brought into a normal form: no dimensions of size 1, those that run through memory as
// one are one, sorted so that the result is written in order. The two innermost dimensions then
// tell which of four kernels does the work: runs of bytes, fills, transpositions, or items one by
// one; the dimensions around them are counted through.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/parallel.h"
#include "kernels/structure.h"

namespace evertrace {
namespace {

constexpr int kMaxRank = 32;                    // copies of more dimensions are taken apart
constexpr int64_t kParallelBytes = 1 << 20;     // from here on threads share a copy
constexpr int64_t kLine = 64;                   // bytes of a cache line, the side of a tile
constexpr int64_t kSmallestTransposition = 4;   // below, its tiles are not worth it

// Items are moved as unsigned integers, or two of them; they may be aligned to nothing.
struct Wide {
  uint64_t parts[2];
};

template <class T>
T load(const char* from) {
  T item;
  std::memcpy(&item, from, sizeof(T));
  return item;
}

template <class T>
void store(char* to, T item) {
  std::memcpy(to, &item, sizeof(T));
}

// Calls `body` with an item of this size, a power of two up to 16.
template <class Body>
void with_item(int64_t size, const Body& body) {
  switch (size) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    case 8: return body(uint64_t{});
    default: return body(Wide{});
  }
}

struct Dim {
  int64_t size, in, out;  // strides in bytes
};

struct Copy {
  const char* in;
  char* out;
  int rank;
  int64_t item;
  Dim dims[kMaxRank + 1];

  int64_t bytes() const {
    int64_t product = item;
    for (int d = 0; d < rank; ++d) product *= dims[d].size;
    return product;
  }
};

// ---------------------------------------------------------------- normal form

// Takes the dimensions that matter, so that the result's strides are positive.
void take_dims(Copy& copy, int rank, const int64_t* shape, const int64_t* in, const int64_t* out) {
  for (int d = 0; d < rank; ++d) {
    if (shape[d] == 1) continue;
    Dim dim{shape[d], in[d], out[d]};
    if (dim.out < 0) {
      copy.in += (dim.size - 1) * dim.in;
      copy.out += (dim.size - 1) * dim.out;
      dim.in = -dim.in;
      dim.out = -dim.out;
    }
    int place = copy.rank++;
    for (; place > 0 && copy.dims[place - 1].out < dim.out; --place) {
      copy.dims[place] = copy.dims[place - 1];
    }
    copy.dims[place] = dim;
  }
}

// Joins dimensions that run through memory as one.
void collapse(Copy& copy) {
  int last = 0;
  for (int d = 1; d < copy.rank; ++d) {
    Dim& outer = copy.dims[last];
    const Dim& dim = copy.dims[d];
    if (outer.in == dim.in * dim.size && outer.out == dim.out * dim.size) {
      outer = {outer.size * dim.size, dim.in, dim.out};
    } else {
      copy.dims[++last] = dim;
    }
  }
  copy.rank = std::min(copy.rank, last + 1);
}

// Makes items that kernels know: a short run becomes a larger item, other items become runs.
void choose_item(Copy& copy) {
  if (copy.rank > 0) {
    const Dim& dim = copy.dims[copy.rank - 1];
    const int64_t run = dim.size * copy.item;
    if (dim.in == copy.item && dim.out == copy.item && run <= 16 && (run & (run - 1)) == 0) {
      copy.item = run;
      --copy.rank;
    }
  }
  if (copy.item <= 16 && (copy.item & (copy.item - 1)) == 0) return;
  const int64_t part = std::min<int64_t>(copy.item & -copy.item, 16);
  copy.dims[copy.rank++] = {copy.item / part, part, part};
  copy.item = part;
}

// ---------------------------------------------------------------- kernels of two dimensions

struct Plane {
  const char* in;
  char* out;
  Dim rows, row;
};

void copy_runs(const Plane& plane, int64_t item) {
  const auto [in, out, rows, row] = plane;
  const size_t bytes = row.size * item;
  for (int64_t i = 0; i < rows.size; ++i) {
    std::memcpy(out + i * rows.out, in + i * rows.in, bytes);
  }
}

template <class T>
void fill_rows(const Plane& plane) {
  const auto [in, out, rows, row] = plane;
  for (int64_t i = 0; i < rows.size; ++i) {
    const T item = load<T>(in + i * rows.in);
    char* to = out + i * rows.out;
    for (int64_t j = 0; j < row.size; ++j) store(to + j * sizeof(T), item);
  }
}

template <class T>
void copy_items(const Plane& plane) {
  const auto [in, out, rows, row] = plane;
  constexpr int64_t kItem = sizeof(T);
  for (int64_t i = 0; i < rows.size; ++i) {
    const char* from = in + i * rows.in;
    char* to = out + i * rows.out;
    if (row.in == -kItem && row.out == kItem) {
      for (int64_t j = 0; j < row.size; ++j) store(to + j * kItem, load<T>(from - j * kItem));
    } else {
      for (int64_t j = 0; j < row.size; ++j) store(to + j * row.out, load<T>(from + j * row.in));
    }
  }
}

// ---------------------------------------------------------------- transpositions

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)

// Transposes a square of registers of 16 bytes: as many times as the side has bits, the first half
// of them is interleaved with the second.
template <class T>
class Square {
 public:
  static constexpr int kSide = 16 / sizeof(T);

  static void transpose(const char* in, int64_t in_stride, char* out, int64_t out_stride) {
    Vector rows[kSide];
    for (int i = 0; i < kSide; ++i) rows[i] = load<Vector>(in + i * in_stride);
    for (int side = kSide; side > 1; side /= 2) interleave(rows, std::make_index_sequence<kSide>{});
    for (int i = 0; i < kSide; ++i) store(out + i * out_stride, rows[i]);
  }

 private:
  typedef T Vector __attribute__((vector_size(16)));

  // The lane of two registers in a row that comes to lane i of their interleaving.
  static constexpr int from(int i) { return i / 2 + i % 2 * kSide; }

  template <size_t... kLanes>
  static void interleave(Vector* rows, std::index_sequence<kLanes...>) {
    Vector mixed[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      const Vector a = rows[i], b = rows[i + kSide / 2];
      mixed[2 * i] = __builtin_shufflevector(a, b, from(kLanes)...);
      mixed[2 * i + 1] = __builtin_shufflevector(a, b, (from(kLanes) + kSide / 2)...);
    }
    std::copy(mixed, mixed + kSide, rows);
  }
};

template <>
class Square<Wide> {
 public:
  static constexpr int kSide = 1;
  static void transpose(const char* in, int64_t, char* out, int64_t) { store(out, load<Wide>(in)); }
};

#else

template <class T>
class Square {
 public:
  static constexpr int kSide = 1;
  static void transpose(const char* in, int64_t, char* out, int64_t) { store(out, load<T>(in)); }
};

#endif

// Transposes a tile of a cache line by a cache line in a buffer, so that lines are written whole.
template <class T>
void transpose_tile(const char* in, int64_t in_stride, char* out, int64_t out_stride) {
  constexpr int kSide = kLine / sizeof(T), kStep = Square<T>::kSide;
  alignas(kLine) char tile[kSide * kLine];
  for (int i = 0; i < kSide; i += kStep) {
    for (int j = 0; j < kSide; j += kStep) {
      Square<T>::transpose(in + i * in_stride + j * sizeof(T), in_stride,
                           tile + j * kLine + i * sizeof(T), kLine);
    }
  }
  for (int j = 0; j < kSide; ++j) std::memcpy(out + j * out_stride, tile + j * kLine, kLine);
}

// Rows are dense in the operand, the elements of a row in the result.
template <class T>
void transpose(const Plane& plane) {
  const auto [in, out, rows, row] = plane;
  constexpr int64_t kItem = sizeof(T), kSide = kLine / kItem;
  const int64_t whole_rows = rows.size / kSide * kSide, whole_row = row.size / kSide * kSide;
  for (int64_t i = 0; i < whole_rows; i += kSide) {
    for (int64_t j = 0; j < whole_row; j += kSide) {
      transpose_tile<T>(in + i * kItem + j * row.in, row.in, out + i * rows.out + j * kItem,
                        rows.out);
    }
  }
  const Dim rest{row.size - whole_row, row.in, row.out};
  copy_items<T>({in + whole_row * row.in, out + whole_row * kItem, rows, rest});
  const Dim below{rows.size - whole_rows, rows.in, rows.out}, whole{whole_row, row.in, row.out};
  copy_items<T>({in + whole_rows * kItem, out + whole_rows * rows.out, below, whole});
}

// ---------------------------------------------------------------- all dimensions

enum class Kind { kRuns, kFills, kTransposition, kItems };

// Tells what to do, and puts the rows before the last dimension.
Kind choose_kind(Copy& copy) {
  const int last = copy.rank - 1;
  const Dim row = copy.dims[last];
  if (row.out == copy.item && row.in == copy.item) return Kind::kRuns;
  if (row.out == copy.item && row.in == 0) return Kind::kFills;
  if (row.out != copy.item || row.size < kSmallestTransposition) return Kind::kItems;
  for (int d = 0; d < last; ++d) {
    if (copy.dims[d].in != copy.item || copy.dims[d].size < kSmallestTransposition) continue;
    std::rotate(copy.dims + d, copy.dims + d + 1, copy.dims + last);
    return Kind::kTransposition;
  }
  return Kind::kItems;
}

void run_plane(Kind kind, const Plane& plane, int64_t item) {
  if (kind == Kind::kRuns) return copy_runs(plane, item);
  with_item(item, [&](auto value) {
    using T = decltype(value);
    switch (kind) {
      case Kind::kFills: return fill_rows<T>(plane);
      case Kind::kTransposition: return transpose<T>(plane);
      default: return copy_items<T>(plane);
    }
  });
}

void run_serial(Kind kind, const Copy& copy) {
  const Dim one{1, 0, 0};
  const int outer = std::max(copy.rank - 2, 0);
  Plane plane{copy.in, copy.out, copy.rank > 1 ? copy.dims[outer] : one,
              copy.rank > 0 ? copy.dims[copy.rank - 1] : one};
  int64_t counters[kMaxRank] = {};
  while (true) {
    run_plane(kind, plane, copy.item);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const Dim& dim = copy.dims[d];
      plane.in += dim.in;
      plane.out += dim.out;
      if (++counters[d] < dim.size) break;
      plane.in -= dim.in * dim.size;
      plane.out -= dim.out * dim.size;
      counters[d] = 0;
    }
    if (d < 0) return;
  }
}

// Threads share the outermost dimension that is long enough, or else the longest one.
void run_parallel(Kind kind, const Copy& copy) {
  const int64_t pieces = 4 * thread_count();
  int shared = 0;
  for (int d = 0; d < copy.rank && copy.dims[shared].size < pieces; ++d) {
    if (copy.dims[d].size > copy.dims[shared].size) shared = d;
  }
  const int64_t size = copy.dims[shared].size, count = std::min(size, pieces);
  parallel_for(count, [&](int64_t p) {
    const auto [begin, end] = piece(size, count, p);
    Copy part = copy;
    Dim& dim = part.dims[shared];
    part.in += begin * dim.in;
    part.out += begin * dim.out;
    dim.size = end - begin;
    run_serial(kind, part);
  });
}

}  // namespace

void copy_strided(const void* in, void* out, int rank, const int64_t* shape,
                  const int64_t* in_strides, const int64_t* out_strides, int64_t item_size) {
  if (item_size == 0 || std::find(shape, shape + rank, 0) != shape + rank) return;
  if (rank > kMaxRank) {
    for (int64_t i = 0; i < shape[0]; ++i) {
      copy_strided(static_cast<const char*>(in) + i * in_strides[0],
                   static_cast<char*>(out) + i * out_strides[0], rank - 1, shape + 1,
                   in_strides + 1, out_strides + 1, item_size);
    }
    return;
  }
  Copy copy;
  copy.in = static_cast<const char*>(in);
  copy.out = static_cast<char*>(out);
  copy.rank = 0;
  copy.item = item_size;
  take_dims(copy, rank, shape, in_strides, out_strides);
  collapse(copy);
  choose_item(copy);
  collapse(copy);
  if (copy.rank == 0) return copy_runs({copy.in, copy.out, {1, 0, 0}, {1, 0, 0}}, copy.item);
  const Kind kind = choose_kind(copy);
  if (copy.bytes() < kParallelBytes || thread_count() == 1) return run_serial(kind, copy);
  run_parallel(kind, copy);
}

void fill(void* out, const void* item, int64_t count, int64_t item_size) {
  const int64_t in_stride = 0;
  copy_strided(item, out, 1, &count, &in_stride, &item_size, item_size);
}

}  // namespace evertrace
