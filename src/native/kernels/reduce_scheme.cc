// How arrays of shape [outer, reduced, inner] are reduced, whatever the operation.
//
// All are reductions over the rows of a matrix [rows, width]. Rows are added up in leaves of 16,
// element by element, and the leaves pairwise as they come, like the digits of a binary counter (N.
// J. Higham, "The accuracy of floating point summation", 1993). A matrix of few columns is folded
// first: read as one of fewer, longer rows, so that columns fill vector registers; a single column
// is no exception.

#include <numeric>

#include "kernels/parallel.h"
#include "kernels/reduce.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int64_t kPanelBytes = 4096;        // of values at a time
constexpr int64_t kParallelBytes = 1 << 19;  // from here on threads share a reduction
constexpr int64_t kPieces = 16;              // of a matrix; on any machine, for equal sums

class Reduction {
 public:
  explicit Reduction(const ReduceParts& parts)
      : parts_(parts),
        element_(parts.element_size),
        value_(parts.value_size),
        lanes_(kLaneBytes / value_),
        panel_(kPanelBytes / value_) {}

  void run(const char* in, char* out, int64_t outer, int64_t reduced, int64_t inner) const {
    if (outer * inner == 0) return;
    if (reduced == 0) {
      alignas(16) char identity[16];
      parts_.store_identity(identity);
      return fill(out, identity, outer * inner, element_);
    }
    const int64_t in_step = reduced * inner * element_, out_step = inner * element_;
    if (outer * in_step < kParallelBytes) return serial(in, out, outer, reduced, inner);
    if (in_step >= kParallelBytes && reduced >= kPieces * kLeaf) {
      for (int64_t o = 0; o < outer; ++o) {
        in_pieces(in + o * in_step, out + o * out_step, reduced, inner);
      }
      return;
    }
    const int64_t count = std::min<int64_t>(outer, 4 * thread_count());
    parallel_for(count, [&](int64_t p) {
      const auto [begin, end] = piece(outer, count, p);
      serial(in + begin * in_step, out + begin * out_step, end - begin, reduced, inner);
    });
  }

 private:
  void serial(const char* in, char* out, int64_t outer, int64_t reduced, int64_t inner) const {
    if (inner == 1 && reduced <= parts_.max_row) return parts_.rows(in, out, outer, reduced);
    const Scratch room(inner * value_);
    for (int64_t o = 0; o < outer; ++o) {
      matrix(in + o * reduced * inner * element_, reduced, inner, room.data());
      parts_.store(room.data(), inner, out + o * inner * element_);
    }
  }

  // Cuts a long matrix into pieces of rows, whose results are a matrix to be reduced.
  void in_pieces(const char* in, char* out, int64_t rows, int64_t width) const {
    const Scratch room(kPieces * width * value_);
    parallel_for(kPieces, [&](int64_t p) {
      const auto [begin, end] = piece(rows, kPieces, p);
      matrix(in + begin * width * element_, end - begin, width,
             room.data() + p * width * value_);
    });
    halve(room.data(), kPieces, width);
    parts_.store(room.data(), width, out);
  }

  void matrix(const char* in, int64_t rows, int64_t width, char* values) const {
    if (width <= panel_) return narrow_matrix(in, rows, width, values);
    const Scratch room(levels(rows) * panel_ * value_);
    for (int64_t j = 0; j < width; j += panel_) {
      j = std::min(j, width - panel_);
      panel(in + j * element_, rows, width, panel_, room.data());
      std::copy_n(room.data(), panel_ * value_, values + j * value_);
    }
  }

  void narrow_matrix(const char* in, int64_t rows, int64_t width, char* values) const {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it is 1 or more
    const int64_t fold = rows_to_fold(rows, width), count = fold * width, whole = rows / fold;
    const Scratch room(levels(whole) * count * value_);
    panel(in, whole, count, count, room.data());
    parts_.join_elements(room.data(), in + whole * count * element_, (rows - whole * fold) * width);
    halve(room.data(), fold, width);
    std::copy_n(room.data(), width * value_, values);
  }

  // Rows that are read as one, a power of two of them.
  int64_t rows_to_fold(int64_t rows, int64_t width) const {
    if (width >= lanes_) return 1;
    const int64_t count = lanes_ / std::gcd(width, lanes_);
    return rows >= count && count * width <= panel_ ? count : 1;
  }

  // Reduces the rows of a matrix of values, a power of two of them, into the first one.
  void halve(char* values, int64_t rows, int64_t width) const {
    for (int64_t half = rows / 2; half > 0; half /= 2) {
      parts_.join(values, values + half * width * value_, half * width);
    }
  }

  // How many partial results there are at once.
  static int64_t levels(int64_t rows) {
    int64_t count = 2;
    for (int64_t leaves = rows / kLeaf; leaves > 0; leaves /= 2) ++count;
    return count;
  }

  // Reduces a panel of a matrix; the result is in the first of the levels.
  void panel(const char* in, int64_t rows, int64_t stride, int64_t width, char* levels) const {
    const int64_t step = width * value_;
    char* top = levels;
    for (int64_t r = 0, leaves = 1; r < rows; r += kLeaf, ++leaves) {
      parts_.leaf(in + r * stride * element_, std::min(kLeaf, rows - r), stride, width, top);
      for (int64_t bits = leaves; bits % 2 == 0; bits /= 2) {
        top -= step;
        parts_.join(top, top + step, width);
      }
      top += step;
    }
    for (top -= step; top != levels; top -= step) parts_.join(top - step, top, width);
  }

  const ReduceParts& parts_;
  const int64_t element_, value_;  // bytes
  const int64_t lanes_, panel_;    // values
};

}  // namespace

void reduce_by(const ReduceParts& parts, const void* in, void* out, int64_t outer, int64_t reduced,
               int64_t inner) {
  Reduction(parts).run(static_cast<const char*>(in), static_cast<char*>(out), outer, reduced,
                       inner);
}

}  // namespace evertrace
