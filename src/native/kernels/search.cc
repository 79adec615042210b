// search: binary search of many values side by side, so that their memory accesses overlap.

#include <algorithm>

#include "kernels/codes.h"
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

template <class Key, bool kRight>
void search_rows(const Array& sorted, const Array& values, const Array& out) {
  const auto encode = find_codes(sorted.dtype, Order::kNumber).encode;
  const int64_t item = static_cast<int64_t>(item_size(sorted.dtype));
  const int64_t size = sorted.row_size(), tables = sorted.size() / std::max<int64_t>(size, 1);
  const int64_t rows = size == 0 ? 1 : tables, per_row = values.size() / std::max<int64_t>(rows, 1);
  const Scratch scratch(size * sizeof(Key));
  Key* keys = reinterpret_cast<Key*>(scratch.data());
  const auto put = [&](int64_t at, int64_t place) {
    if (out.dtype == DType::kInt64) out.as<int64_t>()[at] = place;
    else out.as<int32_t>()[at] = static_cast<int32_t>(place);
  };
  for (int64_t r = 0; r < rows; ++r) {
    encode(sorted.as<const char>() + r * size * item, size, keys);
    const char* from = values.as<const char>() + r * per_row * item;
    const int64_t pieces = per_row < kParallelSize ? 1 : per_row / kPieceSize;
    parallel_for(pieces, [&](int64_t p) {
      const auto [begin, end] = piece(per_row, pieces, p);
      for (int64_t i = begin; i < end; i += kLanes) {
        const int64_t count = std::min<int64_t>(kLanes, end - i);
        Key wanted[kLanes] = {};
        int64_t places[kLanes];
        encode(from + i * item, count, wanted);
        find<Key, kRight>(keys, size, wanted, places);
        for (int64_t k = 0; k < count; ++k) put(r * per_row + i + k, places[k]);
      }
    });
  }
}

}  // namespace

Failure search(const Array& sorted, const Array& values, const Array& out, bool right) {
  if (sorted.shape.empty() || sorted.dtype != values.dtype || values.shape != out.shape ||
      (out.dtype != DType::kInt64 && out.dtype != DType::kInt32)) {
    return "search: operands";
  }
  if (values.size() == 0) return nullptr;
  if (sorted.row_size() > 0 && values.size() % (sorted.size() / sorted.row_size()) != 0) {
    return "search: rows";
  }
  if (find_codes(sorted.dtype, Order::kNumber).encode == nullptr) return "search: dtype";
  const bool is_long = item_size(sorted.dtype) == sizeof(uint64_t);
  const auto run = is_long ? right ? search_rows<uint64_t, true> : search_rows<uint64_t, false>
                           : right ? search_rows<uint32_t, true> : search_rows<uint32_t, false>;
  run(sorted, values, out);
  return nullptr;
}

}  // namespace evertrace
