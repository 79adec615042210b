#include "kernels/gather.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/parallel.h"

namespace evertrace {
namespace {

constexpr int64_t kParallelBytes = 1 << 19;  // from here on threads share the windows

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t size = 1;
  for (int64_t n : sizes) size *= n;
  return size;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, int64_t item) {
  std::vector<int64_t> strides(shape.size());
  for (size_t d = shape.size(); d-- > 0; item *= shape[d]) strides[d] = item;
  return strides;
}

bool contains(const std::vector<int64_t>& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

bool are_below(const std::vector<int64_t>& dims, size_t rank) {
  return std::all_of(dims.begin(), dims.end(), [rank](int64_t d) {
    return d >= 0 && d < static_cast<int64_t>(rank);
  });
}

// An index as a place; those that are too large for one stay too large.
template <class Index>
int64_t to_place(Index index) {
  if constexpr (sizeof(Index) == 8 && !std::numeric_limits<Index>::is_signed) {
    return static_cast<int64_t>(
        std::min(index, static_cast<Index>(std::numeric_limits<int64_t>::max())));
  }
  return static_cast<int64_t>(index);
}

// Copies of the usual lengths are single instructions.
void copy_run(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
    case 1: *to = *from; return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    default: std::memcpy(to, from, bytes);
  }
}

// Whether the shapes and dimensions fit together; `kept` becomes the dimensions of the operand that
// the windows have.
bool are_fitting(const std::vector<int64_t>& shape, const std::vector<int64_t>& indices_shape,
                 const std::vector<int64_t>& sizes, const DimensionNumbers& dims,
                 std::vector<int64_t>& kept) {
  const size_t rank = shape.size();
  if (indices_shape.empty() || sizes.size() != rank) return false;
  const size_t counts = indices_shape.size() - 1;
  if (indices_shape.back() != static_cast<int64_t>(dims.index_map.size()) ||
      dims.operand_batch.size() != dims.indices_batch.size()) {
    return false;
  }
  if (!are_below(dims.dropped, rank) || !are_below(dims.index_map, rank) ||
      !are_below(dims.operand_batch, rank) || !are_below(dims.indices_batch, counts)) {
    return false;
  }
  for (size_t d = 0; d < rank; ++d) {
    const bool is_named = contains(dims.dropped, d) || contains(dims.operand_batch, d);
    if (sizes[d] < 0 || sizes[d] > shape[d] || (is_named && sizes[d] > 1)) return false;
    if (!is_named) kept.push_back(d);
  }
  for (size_t i = 0; i < dims.indices_batch.size(); ++i) {
    // A dimension that is both batched and indexed would be walked beyond its end.
    if (shape[dims.operand_batch[i]] != indices_shape[dims.indices_batch[i]]) return false;
    if (contains(dims.index_map, dims.operand_batch[i])) return false;
  }
  std::vector<int64_t> indexed = dims.index_map, batched = dims.operand_batch;
  for (std::vector<int64_t>* named : {&indexed, &batched}) {
    std::sort(named->begin(), named->end());
    if (std::adjacent_find(named->begin(), named->end()) != named->end()) return false;
  }
  const std::vector<int64_t>& window = dims.window_dims;
  return window.size() == kept.size() && are_below(window, counts + kept.size()) &&
         std::adjacent_find(window.begin(), window.end(), std::greater_equal<>()) == window.end();
}

}  // namespace

bool Windows::set(const std::vector<int64_t>& shape, const std::vector<int64_t>& indices_shape,
                  const std::vector<int64_t>& sizes, const DimensionNumbers& dims,
                  DType index_dtype, int64_t item) {
  std::vector<int64_t> kept;
  if (index_dtype < DType::kInt8 || index_dtype > DType::kUInt64) return false;
  if (!are_fitting(shape, indices_shape, sizes, dims, kept)) return false;
  const std::vector<int64_t> counts(indices_shape.begin(), indices_shape.end() - 1);

  // Which dimension of the operand or of the indices each one of the windows is, and its size.
  std::vector<int64_t> origin(counts.size() + kept.size()), out_shape(origin.size());
  size_t window = 0, batch = 0;
  for (size_t d = 0; d < origin.size(); ++d) {
    const bool is_window = contains(dims.window_dims, d);
    origin[d] = is_window ? kept[window++] : static_cast<int64_t>(batch++);
    out_shape[d] = is_window ? sizes[origin[d]] : counts[origin[d]];
  }
  const int64_t index_item = item_size(index_dtype);
  const std::vector<int64_t> out_strides = dense_strides(out_shape, item);
  const std::vector<int64_t> strides = dense_strides(shape, item);
  const std::vector<int64_t> index_strides = dense_strides(indices_shape, index_item);

  batch_.clear();
  components_.clear();
  window_.clear();
  for (size_t d = 0; d < origin.size(); ++d) {
    const int64_t from = origin[d];
    if (contains(dims.window_dims, d)) {
      window_.push_back({sizes[from], strides[from], out_strides[d]});
      continue;
    }
    int64_t along = 0;
    for (size_t i = 0; i < dims.indices_batch.size(); ++i) {
      if (dims.indices_batch[i] == from) along += strides[dims.operand_batch[i]];
    }
    batch_.push_back({counts[from], index_strides[from], along, out_strides[d]});
  }
  for (size_t k = 0; k < dims.index_map.size(); ++k) {
    const int64_t d = dims.index_map[k];
    components_.push_back({static_cast<int64_t>(k) * index_item, strides[d], shape[d] - sizes[d]});
  }
  index_dtype_ = index_dtype;
  item_ = item;
  count_ = product(counts);
  window_size_ = product(sizes);
  set_runs();
  return true;
}

// Joins the last dimensions of a window as long as both arrays have their items in a row.
void Windows::set_runs() {
  run_ = 1;
  while (!window_.empty()) {
    const Dim& last = window_.back();
    if (last.size != 1 && (last.array != run_ * item_ || last.windows != run_ * item_)) return;
    run_ *= last.size;
    window_.pop_back();
  }
}

// Calls body(place) for the windows from `begin` to `end`.
template <class Index, class Body>
void Windows::each_typed(const char* indices, int64_t begin, int64_t end, const Body& body) const {
  const int rank = static_cast<int>(batch_.size());
  std::vector<int64_t> counters(rank);
  int64_t array = 0, windows = 0, rest = begin;
  for (int d = rank - 1; d >= 0; --d) {
    const Batch& dim = batch_[d];
    counters[d] = rest % dim.size;
    rest /= dim.size;
    indices += counters[d] * dim.indices;
    array += counters[d] * dim.array;
    windows += counters[d] * dim.windows;
  }
  for (int64_t i = begin; i < end; ++i) {
    Place place{array, windows, true};
    for (const Component& component : components_) {
      Index index;
      std::memcpy(&index, indices + component.indices, sizeof(Index));
      const int64_t start = to_place(index);
      const int64_t moved = std::min(std::max<int64_t>(start, 0), component.limit);
      place.inside &= moved == start;
      place.array += moved * component.array;
    }
    body(place);
    for (int d = rank - 1; d >= 0; --d) {
      const Batch& dim = batch_[d];
      const bool wraps = ++counters[d] == dim.size;
      const int64_t steps = wraps ? 1 - dim.size : 1;
      indices += steps * dim.indices;
      array += steps * dim.array;
      windows += steps * dim.windows;
      if (!wraps) break;
      counters[d] = 0;
    }
  }
}

template <class Body>
void Windows::each(const void* data, int64_t begin, int64_t end, const Body& body) const {
  const char* indices = static_cast<const char*>(data);
  switch (index_dtype_) {
    case DType::kInt8: return each_typed<int8_t>(indices, begin, end, body);
    case DType::kInt16: return each_typed<int16_t>(indices, begin, end, body);
    case DType::kInt32: return each_typed<int32_t>(indices, begin, end, body);
    case DType::kInt64: return each_typed<int64_t>(indices, begin, end, body);
    case DType::kUInt8: return each_typed<uint8_t>(indices, begin, end, body);
    case DType::kUInt16: return each_typed<uint16_t>(indices, begin, end, body);
    case DType::kUInt32: return each_typed<uint32_t>(indices, begin, end, body);
    default: return each_typed<uint64_t>(indices, begin, end, body);
  }
}

// Calls body(offset in the array, offset in the windows) for each run of a window.
template <class Body>
void Windows::each_run(const Body& body) const {
  if (window_.empty()) return body(int64_t{0}, int64_t{0});
  const int rank = static_cast<int>(window_.size());
  std::vector<int64_t> counters(rank);
  int64_t array = 0, windows = 0;
  while (true) {
    body(array, windows);
    int d = rank - 1;
    for (; d >= 0; --d) {
      const Dim& dim = window_[d];
      const bool wraps = ++counters[d] == dim.size;
      const int64_t steps = wraps ? 1 - dim.size : 1;
      array += steps * dim.array;
      windows += steps * dim.windows;
      if (!wraps) break;
      counters[d] = 0;
    }
    if (d < 0) return;
  }
}

void Windows::gather(const void* array, const void* indices, const void* filler,
                     void* windows) const {
  if (size() == 0) return;
  const char* from = static_cast<const char*>(array);
  char* to = static_cast<char*>(windows);
  const int64_t bytes = run_ * item_;
  const auto take = [&](const Place& place) {
    each_run([&](int64_t in_array, int64_t in_windows) {
      char* run = to + place.windows + in_windows;
      if (place.inside || filler == nullptr) {
        return copy_run(run, from + place.array + in_array, bytes);
      }
      for (int64_t i = 0; i < run_; ++i) std::memcpy(run + i * item_, filler, item_);
    });
  };
  if (size() * item_ < kParallelBytes) return each(indices, 0, count_, take);
  const int64_t pieces = std::min<int64_t>(count_, 4 * thread_count());
  parallel_for(pieces, [&](int64_t p) {
    const auto [begin, end] = piece(count_, pieces, p);
    each(indices, begin, end, take);
  });
}

void Windows::scatter(void* array, const void* indices, const void* windows, Loop join,
                      bool drops) const {
  if (size() == 0) return;
  char* to = static_cast<char*>(array);
  const char* from = static_cast<const char*>(windows);
  each(indices, 0, count_, [&](const Place& place) {
    if (drops && !place.inside) return;
    each_run([&](int64_t in_array, int64_t in_windows) {
      char* run = to + place.array + in_array;
      const char* more = from + place.windows + in_windows;
      if (join == nullptr) return copy_run(run, more, run_ * item_);
      const Operand operands[] = {{run, false}, {more, false}};
      join(operands, run, run_, 0);
    });
  });
}

}  // namespace evertrace
