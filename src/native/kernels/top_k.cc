// top_k: one pass that keeps what may be among the largest, and a sort of what is left.
//
// Candidates are collected in a buffer. When it is full, all but the k largest are dropped, and from
// then on an element has to exceed the least of these: in an array in no particular order that is
// rare, and in any order the work is linear. A few are kept in order instead, so that the least of
// them is known at once.

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/parallel.h"

namespace evertrace {
namespace {

constexpr int64_t kBlock = 64;               // elements compared with the bound at once
constexpr int64_t kSlice = 16;               // the same of those that few are kept of
constexpr int64_t kFew = 16;                 // candidates up to which they are kept in order
constexpr int64_t kParallelSize = 1 << 17;   // elements from which on threads share the work

// A key with its position. Of equal keys the first one is the larger candidate.
template <class Key>
struct Candidate {
  Key key;
  int32_t position;
  bool operator>(const Candidate& other) const {
    return key != other.key ? key > other.key : position < other.position;
  }
};

template <class Key>
class Best {
 public:
  Best(DType dtype, int64_t k)
      : item_(static_cast<int64_t>(item_size(dtype))), encode_(find_codes(dtype, Order::kBits).encode),
        k_(k), capacity_(std::max<int64_t>(2 * k, 1024) + kBlock) {
    items_.reserve(capacity_);
  }

  // Looks at the elements from `begin` to `end`, in this order, of one row.
  void add(const char* row, int64_t begin, int64_t end) {
    Key keys[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t count = std::min(kBlock, end - i);
      encode_(row + i * item_, count, keys);
      if (k_ <= kFew) {
        add_in_order(keys, i, count);
        continue;
      }
      if (has_bound_ && !any_above(keys, count)) continue;
      for (int64_t k = 0; k < count; ++k) {
        if (!has_bound_ || keys[k] > bound_) items_.push_back({keys[k], static_cast<int32_t>(i + k)});
      }
      if (static_cast<int64_t>(items_.size()) + kBlock > capacity_) shrink();
    }
  }

  void add(const Best& other) {
    items_.insert(items_.end(), other.items_.begin(), other.items_.end());
  }

  // The k largest, in order.
  const std::vector<Candidate<Key>>& finish() {
    if (static_cast<int64_t>(items_.size()) > k_) shrink();
    std::sort(items_.begin(), items_.end(), std::greater<>());
    return items_;
  }

  void clear() {
    items_.clear();
    has_bound_ = false;
  }

 private:
  bool any_above(const Key* keys, int64_t count) const {
    // Compared as signed integers and gathered in a word, which compilers make vector code of.
    using Word = std::make_signed_t<Key>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    const Word bound = static_cast<Word>(bound_ ^ kSign);
    Word any = 0;
    for (int64_t i = 0; i < count; ++i) any |= static_cast<Word>(keys[i] ^ kSign) > bound ? -1 : 0;
    return any != 0;
  }

  void add_in_order(const Key* keys, int64_t position, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += kSlice) {
      const int64_t end = std::min(begin + kSlice, count);
      if (has_bound_ && !any_above(keys + begin, end - begin)) continue;
      for (int64_t i = begin; i < end; ++i) {
        if (!has_bound_ || keys[i] > bound_) insert({keys[i], static_cast<int32_t>(position + i)});
      }
    }
  }

  void insert(Candidate<Key> candidate) {
    if (!has_bound_) items_.push_back(candidate);
    size_t i = items_.size() - 1;
    for (; i > 0 && items_[i - 1].key < candidate.key; --i) items_[i] = items_[i - 1];
    items_[i] = candidate;
    has_bound_ = static_cast<int64_t>(items_.size()) == k_;
    bound_ = items_.back().key;
  }

  void shrink() {
    std::nth_element(items_.begin(), items_.begin() + (k_ - 1), items_.end(), std::greater<>());
    items_.resize(k_);
    bound_ = items_.back().key;
    has_bound_ = true;
  }

  int64_t item_;
  decltype(CodeLoops::encode) encode_;
  int64_t k_, capacity_;
  std::vector<Candidate<Key>> items_;
  Key bound_ = 0;
  bool has_bound_ = false;
};

template <class Key>
class TopK {
 public:
  TopK(const Array& in, const Array& values, const Array& positions)
      : dtype_(in.dtype), size_(in.row_size()), k_(values.row_size()), in_(in.as<const char>()),
        values_(values.as<char>()), positions_(positions.as<int32_t>()) {}

  void rows(int64_t rows) {
    const int64_t pieces = rows * size_ < kParallelSize ? 1 : thread_count();
    std::vector<Best<Key>> best(pieces, Best<Key>(dtype_, k_));
    if (pieces > 1 && rows < pieces) {
      for (int64_t r = 0; r < rows; ++r) shared_row(r, best);
      return;
    }
    parallel_for(pieces, [&](int64_t i) {
      const auto [begin, end] = piece(rows, pieces, i);
      for (int64_t r = begin; r < end; ++r) {
        best[i].clear();
        best[i].add(in_ + r * size_ * item_, 0, size_);
        write(r, best[i]);
      }
    });
  }

 private:
  void shared_row(int64_t row, std::vector<Best<Key>>& best) {
    const int64_t pieces = static_cast<int64_t>(best.size());
    parallel_for(pieces, [&](int64_t i) {
      const auto [begin, end] = piece(size_, pieces, i);
      best[i].clear();
      best[i].add(in_ + row * size_ * item_, begin, end);
    });
    for (int64_t i = 1; i < pieces; ++i) best[0].add(best[i]);
    write(row, best[0]);
  }

  void write(int64_t row, Best<Key>& best) {
    const auto& items = best.finish();
    Key keys[kBlock];
    for (int64_t i = 0; i < k_; i += kBlock) {
      const int64_t count = std::min(kBlock, k_ - i);
      for (int64_t k = 0; k < count; ++k) {
        keys[k] = items[i + k].key;
        positions_[row * k_ + i + k] = items[i + k].position;
      }
      decode_(keys, count, values_ + (row * k_ + i) * item_);
    }
  }

  DType dtype_;
  int64_t item_ = static_cast<int64_t>(item_size(dtype_));
  decltype(CodeLoops::decode) decode_ = find_codes(dtype_, Order::kBits).decode;
  int64_t size_, k_;
  const char* in_;
  char* values_;
  int32_t* positions_;
};

}  // namespace

Failure top_k(const Array& in, const Array& values, const Array& positions) {
  if (in.shape.empty() || values.shape != positions.shape || in.dtype != values.dtype ||
      positions.dtype != DType::kInt32 || values.row_size() > in.row_size()) {
    return "top_k: operands";
  }
  if (in.row_size() > std::numeric_limits<int32_t>::max()) return "top_k: row too long";
  if (values.size() == 0) return nullptr;
  if (find_codes(in.dtype, Order::kBits).encode == nullptr) return "top_k: dtype";
  if (item_size(in.dtype) == sizeof(uint64_t)) {
    TopK<uint64_t>(in, values, positions).rows(in.rows());
  } else {
    TopK<uint32_t>(in, values, positions).rows(in.rows());
  }
  return nullptr;
}

}  // namespace evertrace
