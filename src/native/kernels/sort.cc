// sort: rows of one array as keys that are turned back into numbers, rows of several by moving them
// to the sorted order of their keys' positions.
//
// Keys are unsigned integers, so that what sorts them need not know floats; and with positions as
// the low half of a wider key their sort is stable. Only the values of narrow numbers are counted.

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/key_sort.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int64_t kFillPiece = 1 << 15;     // elements that a thread takes at once
constexpr int64_t kSharedSize = 1 << 15;    // from here on threads share one row
constexpr int64_t kBlock = 256;             // numbers that become keys at once
constexpr int64_t kInsertionSize = 32;      // up to here wide keys are told apart by insertion

// Whether threads share a row.
bool shares(int64_t size) { return size >= kSharedSize && thread_count() > 1; }

// Calls body(begin, end) for pieces of a row.
template <class Body>
void over_pieces(int64_t size, const Body& body) {
  if (!shares(size)) return body(0, size);
  const int64_t count = (size + kFillPiece - 1) / kFillPiece;
  parallel_for(count, [&](int64_t i) {
    const auto [begin, end] = piece(size, count, i);
    body(begin, end);
  });
}

// Calls body(row, space) for each row, with working memory of so many bytes: many small rows are
// shared among threads, and a large row is shared by them itself.
template <class Body>
void over_rows(int64_t rows, int64_t size, size_t bytes, const Body& body) {
  if (rows == 1 || shares(size) || rows * size < kSharedSize) {
    const Scratch scratch(bytes);
    for (int64_t r = 0; r < rows; ++r) body(r, scratch.data());
    return;
  }
  const int64_t pieces = std::min<int64_t>(rows, thread_count());
  const Scratch scratch(bytes * pieces);
  parallel_for(pieces, [&](int64_t i) {
    const auto [begin, end] = piece(rows, pieces, i);
    for (int64_t r = begin; r < end; ++r) body(r, scratch.data() + i * bytes);
  });
}

// Rounded up so that the next piece of memory is aligned.
constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Sorts numbers of few bits by how often each value occurs.
void sort_by_counting(const CodeLoops& codes, const char* from, char* to, int64_t size, int64_t item,
                      uint32_t* counts) {
  const uint32_t values = 1u << 8 * item;
  uint32_t keys[kBlock];
  std::fill_n(counts, values, 0);
  for (int64_t i = 0; i < size; i += kBlock) {
    const int64_t count = std::min(kBlock, size - i);
    codes.encode(from + i * item, count, keys);
    for (int64_t k = 0; k < count; ++k) ++counts[keys[k]];
  }
  int64_t filled = 0;
  for (uint32_t value = 0; value < values; ++value) {
    for (int64_t left = counts[value]; left > 0;) {
      const int64_t count = std::min(left, kBlock - filled);
      std::fill_n(keys + filled, count, value);
      filled += count;
      left -= count;
      if (filled < kBlock) continue;
      codes.decode(keys, filled, to);
      to += filled * item;
      filled = 0;
    }
  }
  codes.decode(keys, filled, to);
}

template <class Key>
void sort_by_keys(const CodeLoops& codes, const char* from, char* to, int64_t size, int64_t item,
                  Key* keys, Key* spare) {
  sort_keys(KeySorting<Key>{
      keys, spare, size, 0,
      [=](int64_t begin, int64_t end) { codes.encode(from + begin * item, end - begin, keys + begin); },
      [=](const Key* sorted, int64_t begin, int64_t end) {
        codes.decode(sorted + begin, end - begin, to + begin * item);
      }});
}

template <class Key>
void sort_values(const Array& in, const Array& out) {
  const CodeLoops codes = find_codes(in.dtype, Order::kTotal);
  const int64_t size = in.row_size(), item = static_cast<int64_t>(item_size(in.dtype));
  const bool is_narrow = item < static_cast<int64_t>(sizeof(Key));
  const size_t counters = is_narrow ? size_t{1} << 8 * item : 0;
  const bool counts = is_narrow && size >= static_cast<int64_t>(counters) / 4;
  const bool has_spare = size >= kManyKeys;
  const size_t buffers = (is_narrow ? 1 : 0) + (has_spare ? 1 : 0);  // keys not narrow are in the result
  const size_t bytes = counts ? counters * sizeof(uint32_t) : buffers * size * sizeof(Key);
  over_rows(in.rows(), size, aligned(bytes), [&](int64_t row, char* space) {
    const char* from = in.as<const char>() + row * size * item;
    char* to = out.as<char>() + row * size * item;
    Key* keys = reinterpret_cast<Key*>(space);
    Key* spare = has_spare ? keys + (is_narrow ? size : 0) : nullptr;
    if (counts) {
      sort_by_counting(codes, from, to, size, item, reinterpret_cast<uint32_t*>(space));
    } else if (is_narrow) {
      sort_by_keys<Key>(codes, from, to, size, item, keys, spare);
    } else {
      sort_by_keys<Key>(codes, from, to, size, item, reinterpret_cast<Key*>(to), spare);
    }
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

// Room for sorting one row.
struct Room {
  explicit Room(int64_t size) : step_(aligned(size * sizeof(uint64_t))) {}

  size_t bytes() const { return 4 * step_; }
  void use(char* space, bool many) {
    items = reinterpret_cast<uint64_t*>(space);
    spare = many ? reinterpret_cast<uint64_t*>(space + step_) : nullptr;
    keys = reinterpret_cast<uint64_t*>(space + 2 * step_);
    order = reinterpret_cast<uint32_t*>(space + 3 * step_);
    new_order = reinterpret_cast<uint32_t*>(space + 3 * step_ + step_ / 2);
  }

  uint64_t* items = nullptr;      // what is sorted: places, under keys
  uint64_t* spare = nullptr;      // for sorting many of them
  uint64_t* keys = nullptr;       // of wide numbers
  uint32_t* order = nullptr;      // of the elements, so far
  uint32_t* new_order = nullptr;  // by the current key too

 private:
  size_t step_;
};

// Sorts places, the low halves of items, by the keys there, and by the places where these are equal:
// what keys differ in goes above the places, first the upper half of it, then the rest.
void sort_places(const uint64_t* keys, uint64_t* items, uint64_t* spare, int64_t size) {
  const auto key_at = [keys](uint64_t item) { return keys[static_cast<uint32_t>(item)]; };
  uint64_t least = ~uint64_t{0}, most = 0;
  for (int64_t i = 0; i < size; ++i) {
    least = std::min(least, key_at(items[i]));
    most = std::max(most, key_at(items[i]));
  }
  int shift = 0;
  while ((most - least) >> shift > 0xFFFFFFFFu) ++shift;
  sort_keys(KeySorting<uint64_t>{
      items, spare, size, 32,
      [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          items[i] = (key_at(items[i]) - least) >> shift << 32 | static_cast<uint32_t>(items[i]);
        }
      },
      [=](const uint64_t* sorted, int64_t begin, int64_t end) {
        if (sorted != items) std::copy(sorted + begin, sorted + end, items + begin);
      }});
  for (int64_t begin = 0, end; shift > 0 && begin < size; begin = end) {
    for (end = begin + 1; end < size && items[end] >> 32 == items[begin] >> 32;) ++end;
    if (end - begin > kInsertionSize) {
      sort_places(keys, items + begin, nullptr, end - begin);
      continue;
    }
    for (int64_t i = begin + 1; i < end; ++i) {
      const uint64_t item = items[i];
      int64_t j = i;
      for (; j > begin && key_at(items[j - 1]) > key_at(item); --j) items[j] = items[j - 1];
      items[j] = item;
    }
  }
}

template <class Bits>
void gather_numbers(const char* from, int64_t stride, const uint32_t* order, int64_t count, char* to) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * sizeof(Bits), from + order[i] * stride * sizeof(Bits), sizeof(Bits));
  }
}

// The numbers of a row to sort by.
class Numbers {
 public:
  Numbers(const SortKey& key, int64_t row, int64_t size)
      : codes_(find_codes(key.dtype, Order::kNumber)), item_(static_cast<int64_t>(item_size(key.dtype))),
        stride_(key.stride), from_(key.data + row * size * stride_ * item_),
        is_float_(key.dtype >= DType::kFloat16) {}

  bool are_wide() const { return item_ == sizeof(uint64_t); }

  // Makes keys of the elements of an order, or of those from a place on; at most kBlock.
  void keys_of(const uint32_t* order, int64_t begin, int64_t count, void* keys) const {
    if (order == nullptr && stride_ == 1) return codes_.encode(from_ + begin * item_, count, keys);
    uint32_t places[kBlock];
    if (order == nullptr) std::iota(places, places + count, static_cast<uint32_t>(begin));
    const uint32_t* wanted = order == nullptr ? places : order + begin;
    char numbers[kBlock * sizeof(uint64_t)];
    switch (item_) {
      case 1: gather_numbers<uint8_t>(from_, stride_, wanted, count, numbers); break;
      case 2: gather_numbers<uint16_t>(from_, stride_, wanted, count, numbers); break;
      case 4: gather_numbers<uint32_t>(from_, stride_, wanted, count, numbers); break;
      default: gather_numbers<uint64_t>(from_, stride_, wanted, count, numbers); break;
    }
    codes_.encode(numbers, count, keys);
  }

  // Writes the numbers of items; those whose keys may stand for several are looked up.
  void numbers_of(const uint64_t* items, int64_t count, char* to) const {
    uint32_t keys[kBlock], zero = 0, nan = 0;
    const uint32_t zero_bits = 0, nan_bits = ~0u;
    codes_.encode(&zero_bits, 1, &zero);
    codes_.encode(&nan_bits, 1, &nan);
    for (; count > 0; count -= kBlock, items += kBlock, to += kBlock * item_) {
      const int64_t some = std::min(kBlock, count);
      for (int64_t i = 0; i < some; ++i) keys[i] = static_cast<uint32_t>(items[i] >> 32);
      codes_.decode(keys, some, to);
      for (int64_t i = 0; is_float_ && i < some; ++i) {
        if (keys[i] != zero && keys[i] != nan) continue;
        std::memcpy(to + i * item_, from_ + static_cast<uint32_t>(items[i]) * item_, item_);
      }
    }
  }

 private:
  CodeLoops codes_;
  int64_t item_, stride_;
  const char* from_;
  bool is_float_;
};

// Calls body(begin, count) for blocks of a range.
template <class Body>
void over_blocks(int64_t begin, int64_t end, const Body& body) {
  for (; begin < end; begin += kBlock) body(begin, std::min(kBlock, end - begin));
}

// Sorts the order of a row by one more key; the first one begins with the elements as they are. If
// it is the only one, narrow, and dense, it can be had sorted in `values`.
void sort_order(const Numbers& numbers, int64_t size, Room& room, bool first, char* values,
                int64_t item) {
  const uint32_t* order = first ? nullptr : room.order;
  const auto take = [&](const uint64_t* sorted, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<uint32_t>(sorted[i]);
      room.new_order[i] = first ? place : room.order[place];
    }
  };
  if (numbers.are_wide()) {
    over_pieces(size, [&](int64_t begin, int64_t end) {
      over_blocks(begin, end, [&](int64_t i, int64_t count) {
        numbers.keys_of(order, i, count, room.keys + i);
      });
      std::iota(room.items + begin, room.items + end, static_cast<uint64_t>(begin));
    });
    sort_places(room.keys, room.items, room.spare, size);
    over_pieces(size, [&](int64_t begin, int64_t end) { take(room.items, begin, end); });
  } else {
    const auto make = [&](int64_t begin, int64_t end) {
      over_blocks(begin, end, [&](int64_t i, int64_t count) {
        uint32_t keys[kBlock];
        numbers.keys_of(order, i, count, keys);
        uint64_t* items = room.items + i;
        for (int64_t k = 0; k < count; ++k) items[k] = uint64_t{keys[k]} << 32 | (i + k);
      });
    };
    const auto take_both = [&](const uint64_t* sorted, int64_t begin, int64_t end) {
      take(sorted, begin, end);
      if (values != nullptr) numbers.numbers_of(sorted + begin, end - begin, values + begin * item);
    };
    sort_keys(KeySorting<uint64_t>{room.items, room.spare, size, 32, make, take_both});
  }
  std::swap(room.order, room.new_order);
}

struct Wide {
  uint64_t parts[2];
};

template <class T>
void gather(const Array& in, const Array& out, int64_t row, const uint32_t* order) {
  const int64_t size = in.row_size();
  const T* from = in.as<const T>() + row * size;
  T* to = out.as<T>() + row * size;
  over_pieces(size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[order[i]];
  });
}

void gather_items(const Array& in, const Array& out, int64_t row, const uint32_t* order) {
  switch (item_size(in.dtype)) {
    case 1: return gather<uint8_t>(in, out, row, order);
    case 2: return gather<uint16_t>(in, out, row, order);
    case 4: return gather<uint32_t>(in, out, row, order);
    case 8: return gather<uint64_t>(in, out, row, order);
    default: return gather<Wide>(in, out, row, order);
  }
}

void sort_records(const Arrays& in, const Arrays& out, int64_t num_keys) {
  const int64_t size = in[0].row_size();
  const std::vector<SortKey> keys = sort_keys(in, num_keys);
  const size_t bytes = Room(size).bytes();
  // Numbers are made of keys where they can be: looking them up is a walk through all memory.
  const bool has_values = keys.size() == 1 && item_size(keys[0].dtype) < sizeof(uint64_t);
  over_rows(in[0].rows(), size, bytes, [&](int64_t row, char* space) {
    Room room(size);
    room.use(space, size >= kManyKeys);
    for (size_t k = keys.size(); k-- > 0;) {
      const int64_t item = static_cast<int64_t>(item_size(keys[k].dtype));
      char* values = has_values ? out[0].as<char>() + row * size * item : nullptr;
      sort_order(Numbers(keys[k], row, size), size, room, k + 1 == keys.size(), values, item);
    }
    for (size_t i = has_values ? 1 : 0; i < in.size(); ++i) {
      gather_items(in[i], out[i], row, room.order);
    }
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
    if (item_size(in[0].dtype) == sizeof(uint64_t)) sort_values<uint64_t>(in[0], out[0]);
    else sort_values<uint32_t>(in[0], out[0]);
  } else {
    sort_records(in, out, num_keys);
  }
  return nullptr;
}

}  // namespace evertrace
