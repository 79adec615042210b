// Sorting of items by an unsigned integer key, from the least significant digit on.
//
// Source: D. Knuth, "The Art of Computer Programming" 3, section 5.2.5. Digits that are the same in
// all keys cost nothing, and all digits are counted in one pass where one thread sorts.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/parallel.h"

namespace evertrace {

// A key with the position it comes from.
template <class K>
struct Record {
  using Key = K;
  K key;
  uint32_t position;
};

template <class K>
constexpr K key_of(const Record<K>& record) { return record.key; }
constexpr uint32_t key_of(uint32_t key) { return key; }
constexpr uint64_t key_of(uint64_t key) { return key; }

constexpr int64_t kInsertionSize = 32;      // rows up to this size are sorted by insertion
constexpr int64_t kSmallDigitSize = 6000;   // below, counting 2048 digits takes too long
constexpr int64_t kParallelSize = 1 << 16;  // from here on threads share one row

template <class Item>
void insertion_sort(Item* items, int64_t size) {
  for (int64_t i = 1; i < size; ++i) {
    const Item item = items[i];
    int64_t j = i;
    for (; j > 0 && key_of(items[j - 1]) > key_of(item); --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

// Turns counts into the place where each digit's first item goes; false if all have one digit.
inline bool to_places(uint32_t* counts, int num_digits, int64_t size) {
  uint32_t place = 0;
  for (int d = 0; d < num_digits; ++d) {
    if (counts[d] == size) return false;
    const uint32_t count = counts[d];
    counts[d] = place;
    place += count;
  }
  return true;
}

template <int kBits, class Item>
Item* radix_sort_serial(Item* items, Item* other, int64_t size) {
  using Key = decltype(key_of(*items));
  constexpr int kDigits = 1 << kBits;
  constexpr int kPasses = (std::numeric_limits<Key>::digits + kBits - 1) / kBits;
  uint32_t counts[kPasses][kDigits] = {};
  for (int64_t i = 0; i < size; ++i) {
    const Key key = key_of(items[i]);
    for (int p = 0; p < kPasses; ++p) ++counts[p][(key >> (p * kBits)) & (kDigits - 1)];
  }
  for (int p = 0; p < kPasses; ++p) {
    uint32_t* places = counts[p];
    if (!to_places(places, kDigits, size)) continue;
    for (int64_t i = 0; i < size; ++i) {
      other[places[(key_of(items[i]) >> (p * kBits)) & (kDigits - 1)]++] = items[i];
    }
    std::swap(items, other);
  }
  return items;
}

// Threads count and move pieces of their own; the places of a digit go to the pieces in turn.
template <class Item>
Item* radix_sort_parallel(Item* items, Item* other, int64_t size) {
  using Key = decltype(key_of(*items));
  constexpr int kBits = 11, kDigits = 1 << kBits;
  constexpr int kPasses = (std::numeric_limits<Key>::digits + kBits - 1) / kBits;
  const int pieces = thread_count();
  std::vector<uint32_t> counts(static_cast<size_t>(pieces) * kDigits);
  for (int shift = 0; shift < kPasses * kBits; shift += kBits) {
    const auto digit = [shift](const Item& item) {
      return static_cast<size_t>(key_of(item) >> shift) & (kDigits - 1);
    };
    std::fill(counts.begin(), counts.end(), 0);
    parallel_for(pieces, [&](int64_t t) {
      uint32_t local[kDigits] = {};
      const auto [begin, end] = piece(size, pieces, t);
      for (int64_t i = begin; i < end; ++i) ++local[digit(items[i])];
      std::copy(local, local + kDigits, &counts[t * kDigits]);
    });
    uint32_t place = 0, most = 0;
    for (int d = 0; d < kDigits; ++d) {
      const uint32_t before = place;
      for (int t = 0; t < pieces; ++t) {
        const uint32_t count = counts[t * kDigits + d];
        counts[t * kDigits + d] = place;
        place += count;
      }
      most = std::max(most, place - before);
    }
    if (most == size) continue;
    parallel_for(pieces, [&](int64_t t) {
      uint32_t local[kDigits];
      std::copy(&counts[t * kDigits], &counts[t * kDigits] + kDigits, local);
      const auto [begin, end] = piece(size, pieces, t);
      for (int64_t i = begin; i < end; ++i) other[local[digit(items[i])]++] = items[i];
    });
    std::swap(items, other);
  }
  return items;
}

// Sorts items by their keys and keeps the order of equal ones; `other` is room for as many. Returns
// where the sorted items are: one of the two.
template <class Item>
Item* radix_sort(Item* items, Item* other, int64_t size, bool parallel) {
  if (size <= kInsertionSize) {
    insertion_sort(items, size);
    return items;
  }
  if (size < kSmallDigitSize) return radix_sort_serial<8>(items, other, size);
  if (parallel && thread_count() > 1) return radix_sort_parallel(items, other, size);
  return radix_sort_serial<11>(items, other, size);
}

}  // namespace evertrace
