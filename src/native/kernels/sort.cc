// sort: rows of one array as keys that are turned back into numbers, rows of several by moving them
// to the sorted order of their keys' positions.
//
// Keys are unsigned integers, so that what sorts them need not know floats; and with positions as
// the low half of a wider key it need not be stable. So NumPy's vectorised sort serves for all but
// narrow numbers, whose values are counted.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/clones.h"
#include "kernels/kernels.h"
#include "kernels/key_sort.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int64_t kFillPiece = 1 << 15;     // elements that a thread takes at once
constexpr int64_t kSharedSize = 1 << 15;    // from here on threads share one row
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
template <class Coding>
void sort_by_counting(const typename Coding::Bits* from, typename Coding::Bits* to, int64_t size,
                      uint32_t* counts) {
  using Bits = typename Coding::Bits;
  constexpr int kValues = 1 << 8 * sizeof(Bits);
  std::fill_n(counts, kValues, 0);
  for (int64_t i = 0; i < size; ++i) ++counts[Coding::template encode<Order::kTotal>(from[i])];
  for (int value = 0; value < kValues; ++value) {
    const auto key = static_cast<typename Coding::Key>(value);
    to = std::fill_n(to, counts[value], Coding::decode(key));
  }
}

template <class Coding>
struct Codes {
  using Bits = typename Coding::Bits;
  using Key = typename Coding::Key;

  EVERTRACE_CLONES static void encode(const Bits* from, Key* to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = Coding::template encode<Order::kTotal>(from[i]);
  }

  EVERTRACE_CLONES static void decode(const Key* from, Bits* to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = Coding::decode(from[i]);
  }

  // Writes keys above the places of their elements.
  EVERTRACE_CLONES static void encode_items(const Bits* from, int64_t stride, int64_t begin,
                                            int64_t end, uint64_t* items) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t key = Coding::template encode<Order::kNumber>(from[i * stride]);
      items[i] = key << 32 | static_cast<uint64_t>(i);
    }
  }

  // Writes the numbers of items; those whose keys may stand for several are looked up.
  static void decode_items(const uint64_t* items, int64_t begin, int64_t end, const Bits* from,
                           Bits* to) {
    const Key zero = Coding::template encode<Order::kNumber>(Bits{0});
    const Key nan = Coding::template encode<Order::kNumber>(static_cast<Bits>(~Bits{0}));
    for (int64_t i = begin; i < end; ++i) {
      const Key key = static_cast<Key>(items[i] >> 32);
      const bool is_many = key == zero || key == nan;
      to[i] = is_many ? from[static_cast<uint32_t>(items[i])] : Coding::decode(key);
    }
  }
};

template <class Coding>
void sort_by_keys(const typename Coding::Bits* from, typename Coding::Bits* to, int64_t size,
                  typename Coding::Key* keys, typename Coding::Key* spare) {
  using Key = typename Coding::Key;
  sort_keys(KeySorting<Key>{
      keys, spare, size,
      [=](int64_t begin, int64_t end) {
        Codes<Coding>::encode(from + begin, keys + begin, end - begin);
      },
      [=](const Key* sorted, int64_t begin, int64_t end) {
        Codes<Coding>::decode(sorted + begin, to + begin, end - begin);
      }});
}

template <class Coding>
void sort_values(const Array& in, const Array& out) {
  using Bits = typename Coding::Bits;
  using Key = typename Coding::Key;
  constexpr bool kIsNarrow = sizeof(Bits) < sizeof(Key);
  constexpr size_t kCounters = kIsNarrow ? size_t{1} << 8 * sizeof(Bits) : 0;
  const int64_t size = in.row_size();
  const bool counts = kIsNarrow && size >= static_cast<int64_t>(kCounters) / 4;
  const bool needs_keys = kIsNarrow || shares(size);
  const size_t bytes = counts ? kCounters * sizeof(uint32_t) : needs_keys ? size * sizeof(Key) : 0;
  over_rows(in.rows(), size, aligned(bytes), [&](int64_t row, char* space) {
    const Bits* from = in.as<const Bits>() + row * size;
    Bits* to = out.as<Bits>() + row * size;
    Key* keys = reinterpret_cast<Key*>(space);
    if constexpr (!kIsNarrow) {
      sort_by_keys<Coding>(from, to, size, to, shares(size) ? keys : nullptr);
    } else if (counts) {
      sort_by_counting<Coding>(from, to, size, reinterpret_cast<uint32_t*>(space));
    } else {
      sort_by_keys<Coding>(from, to, size, keys, nullptr);
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
  void use(char* space, bool shared) {
    items = reinterpret_cast<uint64_t*>(space);
    spare = shared ? reinterpret_cast<uint64_t*>(space + step_) : nullptr;
    keys = reinterpret_cast<uint64_t*>(space + 2 * step_);
    order = reinterpret_cast<uint32_t*>(space + 3 * step_);
    new_order = reinterpret_cast<uint32_t*>(space + 3 * step_ + step_ / 2);
  }

  uint64_t* items = nullptr;      // what is sorted: places, under keys
  uint64_t* spare = nullptr;      // for sorting them on several threads
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
      items, spare, size,
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

// Sorts the order of a row by one more key; the first one begins with the elements as they are. If
// it is the only one, narrow, and dense, it can be had sorted in `values`.
template <class Coding>
void sort_order(const SortKey& key, int64_t row, int64_t size, Room& room, bool first,
                typename Coding::Bits* values) {
  using Bits = typename Coding::Bits;
  const Bits* from = reinterpret_cast<const Bits*>(key.data) + row * size * key.stride;
  const auto number_at = [&](int64_t i) -> uint64_t {
    return Coding::template encode<Order::kNumber>(from[(first ? i : room.order[i]) * key.stride]);
  };
  const auto take = [&](const uint64_t* sorted, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<uint32_t>(sorted[i]);
      room.new_order[i] = first ? place : room.order[place];
    }
  };
  if constexpr (sizeof(Bits) == 8) {
    over_pieces(size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        room.keys[i] = number_at(i);
        room.items[i] = static_cast<uint64_t>(i);
      }
    });
    sort_places(room.keys, room.items, room.spare, size);
    over_pieces(size, [&](int64_t begin, int64_t end) { take(room.items, begin, end); });
  } else {
    const auto make = [&](int64_t begin, int64_t end) {
      if (first) return Codes<Coding>::encode_items(from, key.stride, begin, end, room.items);
      for (int64_t i = begin; i < end; ++i) room.items[i] = number_at(i) << 32 | i;
    };
    const auto take_both = [&](const uint64_t* sorted, int64_t begin, int64_t end) {
      take(sorted, begin, end);
      if (values != nullptr) Codes<Coding>::decode_items(sorted, begin, end, from, values);
    };
    sort_keys(KeySorting<uint64_t>{room.items, room.spare, size, make, take_both});
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
    room.use(space, shares(size));
    for (size_t k = keys.size(); k-- > 0;) {
      with_coding(keys[k].dtype, [&](auto coding) {
        using Bits = typename decltype(coding)::Bits;
        Bits* values = has_values ? out[0].template as<Bits>() + row * size : nullptr;
        sort_order<decltype(coding)>(keys[k], row, size, room, k + 1 == keys.size(), values);
      });
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
    with_coding(in[0].dtype, [&](auto coding) { sort_values<decltype(coding)>(in[0], out[0]); });
  } else {
    sort_records(in, out, num_keys);
  }
  return nullptr;
}

}  // namespace evertrace
