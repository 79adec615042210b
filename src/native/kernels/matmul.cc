// Matrix products.
//
// A product of floats is made of tiles (`tiles.h`). The right operand is read in place where its
// rows are dense and few enough, and copied into panels as wide as a tile otherwise (K. Goto and R.
// van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). A product with a vector
// is a row of inner products, or a tile of one row.

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/elements.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"
#include "kernels/structure.h"
#include "kernels/tiles.h"

namespace evertrace {
namespace {

constexpr int64_t kBlockK = 256;                  // products that are summed before memory is written
constexpr int64_t kPanelsBytes = 1 << 19;         // of panels, to stay in the second level cache
constexpr int64_t kDirectBytes = 1 << 15;         // a smaller operand is read in place
constexpr double kParallelProducts = 2e6;         // from here on threads share the work
constexpr double kParallelReads = 5e5;            // of a product with a vector

// One product: strides in elements.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* x;
  int64_t x_m, x_k;
  const T* y;
  int64_t y_k, y_n;
  T* out;
  int64_t out_m, out_n;

  Product transposed() const { return {n, m, k, y, y_n, y_k, x, x_k, x_m, out, out_n, out_m}; }

  Product rows(int64_t begin, int64_t end) const {
    Product part = *this;
    part.m = end - begin;
    part.x += begin * x_m;
    part.out += begin * out_m;
    return part;
  }

  Product columns(int64_t begin, int64_t end) const {
    return transposed().rows(begin, end).transposed();
  }
};

// Memory of T.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count) : scratch_(static_cast<size_t>(count) * sizeof(T)) {}
  T* data() const { return reinterpret_cast<T*>(scratch_.data()); }

 private:
  const Scratch scratch_;
};

// ---------------------------------------------------------------- products of tiles

// Copies columns of a matrix into rows of a panel, which zeros fill up.
template <class T>
void pack(const T* in, int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride,
          T* out, int64_t width) {
  const int64_t shape[] = {rows, columns}, item = sizeof(T);
  const int64_t from[] = {row_stride * item, column_stride * item}, to[] = {width * item, item};
  copy_strided(in, out, 2, shape, from, to, item);
  if (columns == width) return;
  for (int64_t r = 0; r < rows; ++r) std::fill(out + r * width + columns, out + (r + 1) * width, T{});
}

template <class T>
class TiledProduct {
 public:
  // It may be added to what the result holds.
  explicit TiledProduct(const Product<T>& product, int64_t direct_bytes = kDirectBytes,
                        bool adds = false)
      : p_(product), tiles_(tiles<T>()), width_(tiles_.width), adds_(adds) {
    const bool is_small = p_.k * p_.y_k * static_cast<int64_t>(sizeof(T)) <= direct_bytes;
    in_place_ = p_.y_n == 1 && (is_small || p_.m <= 2 * tiles_.rows);
  }

  void run() const {
    const int64_t block_n =
        std::max(kPanelsBytes / (kBlockK * static_cast<int64_t>(sizeof(T))) / width_, int64_t{1}) *
        width_;
    const int64_t deep = std::min(p_.k, kBlockK), wide = std::min(p_.n, block_n);
    const int64_t panels = in_place_ ? p_.n % width_ != 0 : (wide + width_ - 1) / width_;
    const Buffer<T> room(panels * deep * width_), strip(packs_rows() ? deep * tiles_.rows : 0);
    for (int64_t k = 0; k < p_.k; k += kBlockK) {
      for (int64_t n = 0; n < p_.n; n += block_n) {
        block({k, std::min(p_.k, k + kBlockK)}, {n, std::min(p_.n, n + block_n)}, room.data(),
              strip.data());
      }
    }
  }

 private:
  // Rows that lie side by side are worth copying for more columns.
  bool packs_rows() const {
    return p_.x_k != 1 && p_.k > 1 && p_.n > (p_.x_m == 1 ? 8 : 2) * width_;
  }

  // Where the columns from `n` on are, in rows of a tile's width, and the stride of the rows.
  std::pair<const T*, int64_t> panel(Piece k, Piece columns, int64_t n, const T* room) const {
    if (in_place_ && n + width_ <= columns.end) {
      return {p_.y + k.begin * p_.y_k + n, p_.y_k};
    }
    const int64_t index = in_place_ ? 0 : (n - columns.begin) / width_;
    return {room + index * (k.end - k.begin) * width_, width_};
  }

  void block(Piece k, Piece columns, T* room, T* strip) const {
    const int64_t deep = k.end - k.begin;
    for (int64_t n = columns.begin; n < columns.end; n += width_) {
      const int64_t count = std::min(width_, columns.end - n);
      const auto [rows, stride] = panel(k, columns, n, room);
      if (in_place_ && count == width_) continue;
      pack(p_.y + k.begin * p_.y_k + n * p_.y_n, deep, p_.y_k, count, p_.y_n, const_cast<T*>(rows),
           stride);
    }
    for (int64_t m = 0; m < p_.m; m += tiles_.rows) {
      const int64_t count = std::min(tiles_.rows, p_.m - m);
      TileArgs<T> args{};
      args.k = deep;
      args.a = p_.x + m * p_.x_m + k.begin * p_.x_k;
      args.a_row = p_.x_m;
      args.a_k = p_.x_k;
      args.adds = adds_ || k.begin > 0;
      if (packs_rows()) {
        pack(args.a, deep, p_.x_k, count, p_.x_m, strip, count);
        args.a = strip;
        args.a_row = 1;
        args.a_k = count;
      }
      for (int64_t n = columns.begin; n < columns.end; n += width_) {
        std::tie(args.b, args.b_k) = panel(k, columns, n, room);
        tile(args, m, count, n, std::min(width_, columns.end - n));
      }
    }
  }

  void tile(TileArgs<T>& args, int64_t m, int64_t rows, int64_t n, int64_t columns) const {
    const bool is_half = columns <= width_ / 2;
    const int64_t width = is_half ? width_ / 2 : width_;
    const Tile<T> function = (is_half ? tiles_.half : tiles_.whole)[rows - 1];
    T* out = p_.out + m * p_.out_m + n * p_.out_n;
    if (columns == width && p_.out_n == 1) {
      args.c = out;
      args.c_row = p_.out_m;
      return function(args);
    }
    alignas(64) T local[kMaxTileRows * kMaxTileBytes / sizeof(T)];
    const bool adds = std::exchange(args.adds, false);
    args.c = local;
    args.c_row = width;
    function(args);
    args.adds = adds;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        T& element = out[r * p_.out_m + c * p_.out_n];
        element = adds ? element + local[r * width + c] : local[r * width + c];
      }
    }
  }

  const Product<T> p_;
  const Tiles<T>& tiles_;
  const int64_t width_;
  const bool adds_;
  bool in_place_;
};

// ---------------------------------------------------------------- products with a vector

constexpr int64_t kDotRows = 4;
constexpr int64_t kLast = 4;  // numbers of a row that are added beside those of other rows

// Adds the products of the next kBlock columns, then of half as many, until all are added: blocks of
// known lengths become vector instructions.
template <class T, int64_t kRows, int64_t kLanes, int64_t kBlock = kLanes / 2>
EVERTRACE_INLINE void add_last_products(const T* x, int64_t x_m, const T* y, int64_t count,
                                        T (&sums)[kRows][kLanes]) {
  if (count >= kBlock) {
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t l = 0; l < kBlock; ++l) sums[r][l] += x[r * x_m + l] * y[l];
    }
    x += kBlock;
    y += kBlock;
    count -= kBlock;
  }
  if constexpr (kBlock > 1) {
    add_last_products<T, kRows, kLanes, kBlock / 2>(x, x_m, y, count, sums);
  }
}

// Inner products of rows with a dense vector.
template <class T, int64_t kRows, int64_t kLanes>
EVERTRACE_INLINE void dot_some_rows(const T* x, int64_t x_m, const T* y, int64_t k, T* out,
                                    int64_t out_m) {
  T sums[kRows][kLanes] = {};
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t l = 0; l < kLanes; ++l) sums[r][l] += x[r * x_m + p + l] * y[p + l];
    }
  }
  add_last_products<T, kRows, kLanes>(x + p, x_m, y + p, k - p, sums);
  // Halves are added until four numbers are left, those of all rows side by side.
  T last[kLast][kRows];
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t half = kLanes / 2; half >= kLast; half /= 2) {
      for (int64_t l = 0; l < half; ++l) sums[r][l] += sums[r][l + half];
    }
  }
  for (int64_t l = 0; l < kLast; ++l) {
    for (int64_t r = 0; r < kRows; ++r) last[l][r] = sums[r][l];
  }
  for (int64_t r = 0; r < kRows; ++r) last[0][r] = (last[0][r] + last[2][r]) + (last[1][r] + last[3][r]);
  for (int64_t r = 0; r < kRows; ++r) out[r * out_m] = last[0][r];
}

template <class T, int64_t kLanes>
EVERTRACE_CLONES void dot_rows(const T* x, int64_t x_m, const T* y, int64_t m, int64_t k, T* out,
                               int64_t out_m) {
  for (; m >= kDotRows; m -= kDotRows, x += kDotRows * x_m, out += kDotRows * out_m) {
    dot_some_rows<T, kDotRows, kLanes>(x, x_m, y, k, out, out_m);
  }
  for (; m > 0; --m, x += x_m, out += out_m) dot_some_rows<T, 1, kLanes>(x, x_m, y, k, out, out_m);
}

// Sums of dense rows, each times a number, for less columns than a tile has: in blocks of kBytes,
// then of half as many.
template <class T, int64_t kBytes = kMaxTileBytes / 2>
EVERTRACE_INLINE void add_narrow_rows(TileArgs<T> args, int64_t columns) {
  constexpr int64_t kCount = kBytes / sizeof(T);
  for (; columns >= kCount; columns -= kCount, args.b += kCount, args.c += kCount) {
    run_tile<T, kBytes, 1, 1>(args);
  }
  if constexpr (kCount > 1) add_narrow_rows<T, kBytes / 2>(args, columns);
}

template <class T>
EVERTRACE_CLONES void add_rows(const TileArgs<T>& args, int64_t columns) {
  add_narrow_rows<T>(args, columns);
}

// A vector times a matrix with dense rows: tiles read it in place, and what is left of the columns
// is not worth copying.
template <class T>
void multiply_dense_rows(const Product<T>& p) {
  const int64_t whole = p.n / tiles<T>().width * tiles<T>().width;
  if (whole > 0) TiledProduct<T>(p.columns(0, whole)).run();
  const Product<T> rest = p.columns(whole, p.n);
  TileArgs<T> args{};
  args.k = rest.k;
  args.a = rest.x;
  args.a_k = rest.x_k;
  args.b = rest.y;
  args.b_k = rest.y_k;
  args.c = rest.out;
  add_rows(args, rest.n);
}

template <class T>
void multiply_vector(const Product<T>& p) {
  if (p.x_k != 1 && p.k > 1) {
    const Product<T> row = p.transposed();
    if (row.y_n == 1 && row.out_n == 1) return multiply_dense_rows(row);
    return TiledProduct<T>(row).run();
  }
  const bool is_dense = p.y_k == 1 || p.k == 1;
  const Buffer<T> room(is_dense ? 0 : p.k);
  if (!is_dense) pack(p.y, p.k, p.y_k, 1, 1, room.data(), 1);
  constexpr int64_t kFew = 32 / sizeof(T), kSome = 2 * kFew, kMany = 4 * kFew;
  const auto dot = p.k < 4 * kFew    ? dot_rows<T, kFew>
                   : p.k < 20 * kFew ? dot_rows<T, kSome>
                                     : dot_rows<T, kMany>;
  dot(p.x, p.x_m, is_dense ? p.y : room.data(), p.m, p.k, p.out, p.out_m);
}

// ---------------------------------------------------------------- floats

constexpr int64_t kFewProducts = 128;  // packing so few takes longer than to multiply them

template <class T>
void multiply_few(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const T* x = p.x + i * p.x_m;
      const T* y = p.y + j * p.y_n;
      T sum = x[0] * y[0];
      for (int64_t q = 1; q < p.k; ++q) sum += x[q * p.x_k] * y[q * p.y_k];
      p.out[i * p.out_m + j * p.out_n] = sum;
    }
  }
}

template <class T>
void multiply(const Product<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.m <= kFewProducts && p.n <= kFewProducts && p.m * p.n * p.k <= kFewProducts) {
    return multiply_few(p);
  }
  if (p.n == 1) return multiply_vector(p);
  if (p.m == 1) return multiply_vector(p.transposed());
  const bool is_narrow = p.n < tiles<T>().width / 2 && p.m > p.n;
  TiledProduct<T>(is_narrow ? p.transposed() : p).run();
}

// Threads share the batch if it is long enough, or else the longer side of each product.
template <class T>
void multiply_parallel(const Product<T>& product) {
  const Product<T> p = product.m >= product.n ? product : product.transposed();
  constexpr int64_t kStep = 8;  // half the width of a tile, and few rows of one are left over
  const int64_t steps = (p.m + kStep - 1) / kStep, count = std::min<int64_t>(steps, thread_count());
  parallel_for(count, [&](int64_t i) {
    const auto [begin, end] = piece(steps, count, i);
    const Product<T> part = p.rows(begin * kStep, std::min(p.m, end * kStep));
    multiply(product.m >= product.n ? part : part.transposed());
  });
}

template <class T>
void matmul_floats(const void* x, const void* y, void* out, const MatmulShape& s) {
  const auto product = [&](int64_t b) {
    return Product<T>{s.m, s.n, s.k,
                      static_cast<const T*>(x) + b * s.x_batch, s.x_m, s.x_k,
                      static_cast<const T*>(y) + b * s.y_batch, s.y_k, s.y_n,
                      static_cast<T*>(out) + b * s.m * s.n, s.n, 1};
  };
  if (s.k == 0) std::fill_n(static_cast<T*>(out), s.batch * s.m * s.n, T{});
  if (s.k == 0) return;
  const double products = static_cast<double>(s.m) * s.n * s.k;
  const double parallel_from = s.m == 1 || s.n == 1 ? kParallelReads : kParallelProducts;
  if (products * s.batch < parallel_from || thread_count() == 1) {
    for (int64_t b = 0; b < s.batch; ++b) multiply(product(b));
  } else if (s.batch >= thread_count()) {
    const int64_t count = std::min<int64_t>(s.batch, 4 * thread_count());
    parallel_for(count, [&](int64_t i) {
      const auto [begin, end] = piece(s.batch, count, i);
      for (int64_t b = begin; b < end; ++b) multiply(product(b));
    });
  } else {
    for (int64_t b = 0; b < s.batch; ++b) multiply_parallel(product(b));
  }
}

// ---------------------------------------------------------------- products of windows

constexpr int64_t kWindowItems = 1 << 16;      // that are laid out at a time
constexpr int64_t kFewColumns = 1 << 10;       // so many are laid out as a whole
constexpr int64_t kManyRows = 1 << 9;          // of windows with more columns: so many at a time
constexpr int64_t kLongRun = 64;               // neighbours, which are read where they are
constexpr int64_t kLongLine = 8;               // by as many windows at least
constexpr int64_t kWindowDirectBytes = 1 << 18;  // of the other matrix, which is read in place

int64_t size_of(const std::vector<ViewDim>& dims) {
  int64_t size = 1;
  for (const ViewDim& dim : dims) size *= dim.size;
  return size;
}

// The indices of several dimensions in blocks of as many as are allowed: all of the last dimensions,
// and pieces of the one before them.
class IndexBlocks {
 public:
  IndexBlocks(const std::vector<ViewDim>& dims, int64_t most) : dims_(dims), split_(dims.size()) {
    while (split_ > 0 && inner_ * dims[split_ - 1].size <= most) inner_ *= dims[--split_].size;
    if (split_ == 0) return;
    const ViewDim& dim = dims[--split_];
    piece_ = std::min(dim.size, std::max<int64_t>(1, most / inner_));
    pieces_ = (dim.size + piece_ - 1) / piece_;
    count_ = pieces_;
    for (size_t d = 0; d < split_; ++d) count_ *= dims[d].size;
    is_split_ = true;
  }

  int64_t count() const { return count_; }
  int64_t most() const { return is_split_ ? piece_ * inner_ : inner_; }

  struct Block {
    int64_t first, size, offset;  // offset of the first element in the view
    std::vector<ViewDim> dims;
  };
  Block operator[](int64_t i) const {
    if (!is_split_) return {0, inner_, 0, dims_};
    const int64_t begin = i % pieces_ * piece_;
    Block block{0, 0, begin * dims_[split_].stride, {dims_.begin() + split_, dims_.end()}};
    block.dims[0].size = std::min(piece_, dims_[split_].size - begin);
    block.size = block.dims[0].size * inner_;
    int64_t rest = i / pieces_;
    block.first = (rest * dims_[split_].size + begin) * inner_;
    for (size_t d = split_; d-- > 0; rest /= dims_[d].size) {
      block.offset += rest % dims_[d].size * dims_[d].stride;
    }
    return block;
  }

 private:
  const std::vector<ViewDim>& dims_;
  size_t split_;
  int64_t inner_ = 1, piece_ = 1, pieces_ = 1, count_ = 1;
  bool is_split_ = false;
};

// Copies a block of windows into a dense matrix, along the dimensions `outer` and `inner` of it.
void lay_out(const void* from, void* to, const std::vector<ViewDim>& outer,
             const std::vector<ViewDim>& inner, int64_t item) {
  std::vector<int64_t> shape, in, out;
  for (const auto* dims : {&outer, &inner}) {
    for (const ViewDim& dim : *dims) {
      shape.push_back(dim.size);
      in.push_back(dim.stride * item);
    }
  }
  out.resize(shape.size());
  int64_t stride = item;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) out[d] = stride;
  copy_strided(from, to, static_cast<int>(shape.size()), shape.data(), in.data(), out.data(), item);
}

// The product of a block of rows with runs of elements that are neighbours in the view.
template <class T>
void multiply_runs(const T* x, const T* y, T* out, const IndexBlocks::Block& row,
                   const IndexBlocks& runs, int64_t n) {
  const IndexBlocks lines(row.dims, row.dims.back().size);
  for (int64_t i = 0; i < lines.count(); ++i) {
    const auto line = lines[i];
    for (int64_t j = 0; j < runs.count(); ++j) {
      const auto run = runs[j];
      const Product<T> part{line.size, n, run.size,
                            x + row.offset + line.offset + run.offset, line.dims.back().stride, 1,
                            y + run.first * n, n, 1,
                            out + (row.first + line.first) * n, n, 1};
      TiledProduct<T>(part, kWindowDirectBytes, j > 0).run();
    }
  }
}

// The product of a block of rows, laid out with so many columns at a time.
template <class T>
void multiply_laid_out(const T* x, const T* y, T* out, const IndexBlocks::Block& row,
                       const IndexBlocks& columns, int64_t n, bool by_rows) {
  const Buffer<T> room(row.size * columns.most());
  for (int64_t j = 0; j < columns.count(); ++j) {
    const auto column = columns[j];
    lay_out(x + row.offset + column.offset, room.data(), by_rows ? row.dims : column.dims,
            by_rows ? column.dims : row.dims, sizeof(T));
    const Product<T> part{row.size, n, column.size,
                          room.data(), by_rows ? column.size : 1, by_rows ? 1 : row.size,
                          y + column.first * n, n, 1,
                          out + row.first * n, n, 1};
    TiledProduct<T>(part, kWindowDirectBytes, j > 0).run();
  }
}

// How sums are divided depends on the sizes alone, never on the threads.
template <class T>
void matmul_windows(const void* x, const void* y, void* out, const WindowProduct& s) {
  const int64_t m = size_of(s.rows), k = size_of(s.columns);
  const T* const xs = static_cast<const T*>(x);
  const T* const ys = static_cast<const T*>(y);
  T* const outs = static_cast<T*>(out);
  if (m == 0 || s.n == 0) return;
  if (k == 0) {
    std::fill_n(outs, m * s.n, T{});
    return;
  }
  const bool by_rows = s.columns.empty() || s.columns.back().stride == 1;
  const int64_t run = s.columns.empty() ? 1 : s.columns.back().size;
  const bool in_place = by_rows && run >= kLongRun && !s.rows.empty() &&
                        s.rows.back().size >= kLongLine;
  const IndexBlocks columns(s.columns, in_place          ? run
                                       : k <= kFewColumns ? k
                                                          : kWindowItems / std::min(m, kManyRows));
  const bool is_parallel = static_cast<double>(m) * s.n * k >= kParallelProducts;
  const int64_t threads = is_parallel ? thread_count() : 1;
  const IndexBlocks rows(s.rows, std::min(std::max<int64_t>(1, kWindowItems / columns.most()),
                                          (m + threads - 1) / threads));
  const auto multiply_rows = [&](int64_t i) {
    if (in_place) multiply_runs(xs, ys, outs, rows[i], columns, s.n);
    else multiply_laid_out(xs, ys, outs, rows[i], columns, s.n, by_rows);
  };
  if (is_parallel) return parallel_for(rows.count(), multiply_rows);
  for (int64_t i = 0; i < rows.count(); ++i) multiply_rows(i);
}

// ---------------------------------------------------------------- other dtypes, by products of floats

// (a + bi)(c + di) as four products of floats.
template <class T>
void matmul_complex(const void* x, const void* y, void* out, const MatmulShape& s) {
  const int64_t size = s.batch * s.m * s.n;
  const Buffer<T> room(2 * size);
  T* first = room.data();
  T* second = room.data() + size;
  const MatmulShape parts{s.batch,     s.m,         s.n,         s.k,         2 * s.x_batch,
                          2 * s.x_m,   2 * s.x_k,   2 * s.y_batch, 2 * s.y_k, 2 * s.y_n};
  const T* xs = static_cast<const T*>(x);
  const T* ys = static_cast<const T*>(y);
  T* outs = static_cast<T*>(out);
  matmul_floats<T>(xs, ys, first, parts);
  matmul_floats<T>(xs + 1, ys + 1, second, parts);
  for (int64_t i = 0; i < size; ++i) outs[2 * i] = first[i] - second[i];
  matmul_floats<T>(xs, ys + 1, first, parts);
  matmul_floats<T>(xs + 1, ys, second, parts);
  for (int64_t i = 0; i < size; ++i) outs[2 * i + 1] = first[i] + second[i];
}

// Converts [batch, rows, columns] of narrow floats.
template <class Element>
void widen(const void* in, const int64_t (&shape)[3], const int64_t (&strides)[3], float* out) {
  const uint16_t* from = static_cast<const uint16_t*>(in);
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t i = 0; i < shape[1]; ++i) {
      const uint16_t* row = from + b * strides[0] + i * strides[1];
      for (int64_t j = 0; j < shape[2]; ++j) *out++ = Element::load(row[j * strides[2]]);
    }
  }
}

// Narrow floats are multiplied and summed in float32.
template <class Element>
void matmul_narrow(const void* x, const void* y, void* out, const MatmulShape& s) {
  const int64_t x_size = s.batch * s.m * s.k, y_size = s.batch * s.k * s.n;
  const int64_t size = s.batch * s.m * s.n;
  const Buffer<float> room(x_size + y_size + size);
  float* xs = room.data();
  float* ys = xs + x_size;
  float* outs = ys + y_size;
  widen<Element>(x, {s.batch, s.m, s.k}, {s.x_batch, s.x_m, s.x_k}, xs);
  widen<Element>(y, {s.batch, s.k, s.n}, {s.y_batch, s.y_k, s.y_n}, ys);
  matmul_floats<float>(xs, ys, outs, {s.batch, s.m, s.n, s.k, s.m * s.k, s.k, 1, s.k * s.n, s.n, 1});
  for (int64_t i = 0; i < size; ++i) static_cast<uint16_t*>(out)[i] = Element::store(outs[i]);
}

// ---------------------------------------------------------------- integers, which wrap around

template <class T>
EVERTRACE_CLONES void add_row(T x, const T* y, int64_t y_n, T* out, int64_t n) {
  using Wide = std::conditional_t<sizeof(T) < 4, uint32_t, T>;
  if (y_n == 1) {
    for (int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(out[j] + static_cast<Wide>(x) * y[j]);
  } else {
    for (int64_t j = 0; j < n; ++j) {
      out[j] = static_cast<T>(out[j] + static_cast<Wide>(x) * y[j * y_n]);
    }
  }
}

template <class T>
void matmul_integers(const void* x, const void* y, void* out, const MatmulShape& s) {
  const auto row = [&](int64_t index) {
    const int64_t b = index / s.m, i = index % s.m;
    const T* xs = static_cast<const T*>(x) + b * s.x_batch + i * s.x_m;
    const T* ys = static_cast<const T*>(y) + b * s.y_batch;
    T* to = static_cast<T*>(out) + index * s.n;
    std::fill_n(to, s.n, T{});
    for (int64_t p = 0; p < s.k; ++p) add_row(xs[p * s.x_k], ys + p * s.y_k, s.y_n, to, s.n);
  };
  const int64_t count = s.batch * s.m;
  if (static_cast<double>(count) * s.n * s.k >= kParallelProducts) return parallel_for(count, row);
  for (int64_t i = 0; i < count; ++i) row(i);
}

}  // namespace

Matmul find_matmul(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8: return matmul_integers<uint8_t>;
    case DType::kInt16:
    case DType::kUInt16: return matmul_integers<uint16_t>;
    case DType::kInt32:
    case DType::kUInt32: return matmul_integers<uint32_t>;
    case DType::kInt64:
    case DType::kUInt64: return matmul_integers<uint64_t>;
    case DType::kFloat16: return matmul_narrow<Float16Element>;
    case DType::kBFloat16: return matmul_narrow<BFloat16Element>;
    case DType::kFloat32: return matmul_floats<float>;
    case DType::kFloat64: return matmul_floats<double>;
    case DType::kComplex64: return matmul_complex<float>;
    case DType::kComplex128: return matmul_complex<double>;
    default: return nullptr;
  }
}

MatmulWindows find_matmul_windows(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return matmul_windows<float>;
    case DType::kFloat64: return matmul_windows<double>;
    default: return nullptr;
  }
}

}  // namespace evertrace
