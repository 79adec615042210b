// search: binary search of many values side by side, so that their memory accesses overlap.

#include <algorithm>

#include "kernels/kernels.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int kLanes = 16;            // searches side by side
constexpr int64_t kPieceSize = 4096;  // values that a thread takes at once
constexpr int64_t kParallelSize = 1 << 15;

// Finds the places of kLanes keys. What is left to search is equally long for all,
// whatever they compare to, so there is one addition per step and nothing to predict.
template <class Key, bool kRight>
void find(const Key* row, int64_t size, const Key* keys, int64_t* low) {
  const auto is_below = [](Key element, Key key) { return kRight ? element <= key : element < key; };
  std::fill(low, low + kLanes, int64_t{0});
  if (size == 0) return;
  for (int64_t left = size; left > 1; left -= left / 2) {
    const int64_t half = left / 2;
    for (int i = 0; i < kLanes; ++i) {
      low[i] += is_below(row[low[i] + half - 1], keys[i]) ? half : 0;
    }
  }
  for (int i = 0; i < kLanes; ++i) low[i] += is_below(row[low[i]], keys[i]) ? 1 : 0;
}

template <class Coding, class Index, bool kRight>
void search_rows(const Array& sorted, const Array& values, const Array& out) {
  using Bits = typename Coding::Bits;
  using Key = typename Coding::Key;
  const auto encode = [](Bits x) { return Coding::template encode<Order::kNumber>(x); };
  const int64_t size = sorted.row_size(), tables = sorted.size() / std::max<int64_t>(size, 1);
  const int64_t rows = size == 0 ? 1 : tables, per_row = values.size() / std::max<int64_t>(rows, 1);
  const Scratch scratch(size * sizeof(Key));
  Key* keys = reinterpret_cast<Key*>(scratch.data());
  for (int64_t r = 0; r < rows; ++r) {
    const Bits* table = sorted.as<const Bits>() + r * size;
    for (int64_t i = 0; i < size; ++i) keys[i] = encode(table[i]);
    const Bits* from = values.as<const Bits>() + r * per_row;
    Index* to = out.as<Index>() + r * per_row;
    const int64_t pieces = per_row < kParallelSize ? 1 : per_row / kPieceSize;
    parallel_for(pieces, [&](int64_t p) {
      const auto [begin, end] = piece(per_row, pieces, p);
      for (int64_t i = begin; i < end; i += kLanes) {
        Key wanted[kLanes];
        int64_t places[kLanes];
        for (int j = 0; j < kLanes; ++j) wanted[j] = encode(from[std::min(i + j, end - 1)]);
        find<Key, kRight>(keys, size, wanted, places);
        const int count = static_cast<int>(std::min<int64_t>(kLanes, end - i));
        for (int j = 0; j < count; ++j) to[i + j] = static_cast<Index>(places[j]);
      }
    });
  }
}

}  // namespace

Failure search(const Array& sorted, const Array& values, const Array& out, bool right) {
  const bool wide = out.dtype == DType::kInt64;
  if (sorted.shape.empty() || sorted.dtype != values.dtype || values.shape != out.shape ||
      (!wide && out.dtype != DType::kInt32)) {
    return "search: operands";
  }
  if (values.size() == 0) return nullptr;
  if (sorted.row_size() > 0 && values.size() % (sorted.size() / sorted.row_size()) != 0) {
    return "search: rows";
  }
  const bool known = with_coding(sorted.dtype, [&](auto coding) {
    using Coding = decltype(coding);
    if (wide && right) search_rows<Coding, int64_t, true>(sorted, values, out);
    if (wide && !right) search_rows<Coding, int64_t, false>(sorted, values, out);
    if (!wide && right) search_rows<Coding, int32_t, true>(sorted, values, out);
    if (!wide && !right) search_rows<Coding, int32_t, false>(sorted, values, out);
  });
  return known ? nullptr : "search: dtype";
}

}  // namespace evertrace
