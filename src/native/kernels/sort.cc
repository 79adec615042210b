// sort: rows of one array as keys that are turned back into numbers, rows of several by moving
// them to the sorted order of their keys' positions.

#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/radix.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int64_t kFillPiece = 1 << 15;  // elements that a thread takes at once

// Calls body(begin, end) for pieces of a range, shared among threads if `parallel`.
template <class Body>
void over_pieces(int64_t size, bool parallel, const Body& body) {
  if (!parallel) return body(0, size);
  const int64_t count = (size + kFillPiece - 1) / kFillPiece;
  parallel_for(count, [&](int64_t i) {
    const auto [begin, end] = piece(size, count, i);
    body(begin, end);
  });
}

// Calls body(row, space, parallel) for each row, with working memory of so many bytes: many small
// rows are shared among threads, and a large row is shared by them itself.
template <class Body>
void over_rows(int64_t rows, int64_t size, size_t bytes, const Body& body) {
  if (rows == 1 || size >= kParallelSize || rows * size < kParallelSize) {
    const Scratch scratch(bytes);
    for (int64_t r = 0; r < rows; ++r) body(r, scratch.data(), size >= kParallelSize);
    return;
  }
  const int64_t pieces = std::min<int64_t>(rows, thread_count());
  const Scratch scratch(bytes * pieces);
  parallel_for(pieces, [&](int64_t i) {
    const auto [begin, end] = piece(rows, pieces, i);
    for (int64_t r = begin; r < end; ++r) body(r, scratch.data() + i * bytes, false);
  });
}

// Rounded up so that the next piece of memory is aligned.
constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

template <class Coding>
void sort_values(const Array& in, const Array& out) {
  using Bits = typename Coding::Bits;
  using Key = typename Coding::Key;
  const int64_t size = in.row_size();
  const size_t bytes = aligned(size * sizeof(Key));
  over_rows(in.rows(), size, 2 * bytes, [&](int64_t row, char* space, bool parallel) {
    const Bits* from = in.as<const Bits>() + row * size;
    Bits* to = out.as<Bits>() + row * size;
    Key* keys = reinterpret_cast<Key*>(space);
    over_pieces(size, parallel, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        keys[i] = Coding::template encode<Order::kTotal>(from[i]);
      }
    });
    const Key* sorted = radix_sort(keys, reinterpret_cast<Key*>(space + bytes), size, parallel);
    over_pieces(size, parallel, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = Coding::decode(sorted[i]);
    });
  });
}

// One number of each element to sort by: an array, or one part of a complex one.
struct SortKey {
  DType dtype;
  const char* data;
  int64_t stride;  // in numbers
};

std::vector<SortKey> sort_keys(const Arrays& in, int64_t num_keys) {
  std::vector<SortKey> keys;
  for (int64_t i = 0; i < num_keys; ++i) {
    const char* data = in[i].as<const char>();
    if (!is_complex(in[i].dtype)) {
      keys.push_back({in[i].dtype, data, 1});
      continue;
    }
    const DType part = in[i].dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
    keys.push_back({part, data, 2});
    keys.push_back({part, data + item_size(part), 2});
  }
  return keys;
}

// Room for sorting one row: the order so far, and the records of one key, twice.
struct Room {
  uint32_t* order;
  char* items;
  char* other;
};

size_t record_size(const std::vector<SortKey>& keys) {
  size_t size = sizeof(Record<uint32_t>);
  for (const SortKey& key : keys) {
    if (item_size(key.dtype) == 8) size = sizeof(Record<uint64_t>);
  }
  return size;
}

// Sorts the order of a row by one more key; the first one begins with the order as it is.
template <class Coding>
void sort_order(const SortKey& key, int64_t row, int64_t size, const Room& room, bool first,
                bool parallel) {
  using Bits = typename Coding::Bits;
  using Item = Record<typename Coding::Key>;
  const Bits* from = reinterpret_cast<const Bits*>(key.data) + row * size * key.stride;
  uint32_t* order = room.order;
  Item* items = reinterpret_cast<Item*>(room.items);
  over_pieces(size, parallel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t position = first ? static_cast<uint32_t>(i) : order[i];
      items[i] = {Coding::template encode<Order::kNumber>(from[position * key.stride]), position};
    }
  });
  const Item* sorted = radix_sort(items, reinterpret_cast<Item*>(room.other), size, parallel);
  over_pieces(size, parallel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = sorted[i].position;
  });
}

struct Wide {
  uint64_t parts[2];
};

template <class T>
void gather(const Array& in, const Array& out, int64_t row, const uint32_t* order, bool parallel) {
  const int64_t size = in.row_size();
  const T* from = in.as<const T>() + row * size;
  T* to = out.as<T>() + row * size;
  over_pieces(size, parallel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[order[i]];
  });
}

void gather_items(const Array& in, const Array& out, int64_t row, const uint32_t* order,
                  bool parallel) {
  switch (item_size(in.dtype)) {
    case 1: return gather<uint8_t>(in, out, row, order, parallel);
    case 2: return gather<uint16_t>(in, out, row, order, parallel);
    case 4: return gather<uint32_t>(in, out, row, order, parallel);
    case 8: return gather<uint64_t>(in, out, row, order, parallel);
    default: return gather<Wide>(in, out, row, order, parallel);
  }
}

void sort_records(const Arrays& in, const Arrays& out, int64_t num_keys) {
  const int64_t size = in[0].row_size();
  const std::vector<SortKey> keys = sort_keys(in, num_keys);
  const size_t records = aligned(size * record_size(keys));
  const size_t bytes = 2 * records + aligned(size * sizeof(uint32_t));
  over_rows(in[0].rows(), size, bytes, [&](int64_t row, char* space, bool parallel) {
    uint32_t* order = reinterpret_cast<uint32_t*>(space + 2 * records);
    const Room room{order, space, space + records};
    for (size_t k = keys.size(); k-- > 0;) {
      with_coding(keys[k].dtype, [&](auto coding) {
        const bool first = k + 1 == keys.size();
        sort_order<decltype(coding)>(keys[k], row, size, room, first, parallel);
      });
    }
    for (size_t i = 0; i < in.size(); ++i) gather_items(in[i], out[i], row, order, parallel);
  });
}

}  // namespace

Failure sort(const Arrays& in, const Arrays& out, int64_t num_keys) {
  if (in.empty() || in.size() != out.size()) return "sort: as many results as operands";
  if (num_keys < 1 || num_keys > static_cast<int64_t>(in.size())) return "sort: num_keys";
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].shape != in[0].shape || out[i].shape != in[0].shape) return "sort: one shape";
    if (in[i].dtype != out[i].dtype || in[i].dtype == DType::kUnknown) return "sort: dtype";
  }
  if (in[0].row_size() > std::numeric_limits<uint32_t>::max()) return "sort: row too long";
  if (in[0].size() == 0) return nullptr;
  if (in.size() == 1 && !is_complex(in[0].dtype)) {
    with_coding(in[0].dtype, [&](auto coding) { sort_values<decltype(coding)>(in[0], out[0]); });
  } else {
    sort_records(in, out, num_keys);
  }
  return nullptr;
}

}  // namespace evertrace
