// Many keys are sorted digit by digit, the lowest first, which leaves equal digits in the order they
// were in: three passes over 32 bits. Comparing takes ten times as long for random keys, and several
// threads share a pass with nothing to merge: each moves a piece of the keys, to places that the
// digits of the pieces before it leave.

#include "kernels/key_sort.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

// Of a digit: its counters, and a line of each place that keys go to, are in the cache.
constexpr int kBits = 11;
constexpr int kDigits = 1 << kBits;
constexpr int64_t kPiece = 1 << 15;  // keys that a thread moves at least

// Until better ones are named.
template <class Key>
int plain_sort(void* keys, std::ptrdiff_t n, void*) {
  std::sort(static_cast<Key*>(keys), static_cast<Key*>(keys) + n);
  return 0;
}
KeySort narrow_sort = plain_sort<uint32_t>, wide_sort = plain_sort<uint64_t>;

void sort_few(uint32_t* keys, int64_t size) { narrow_sort(keys, size, nullptr); }
void sort_few(uint64_t* keys, int64_t size) { wide_sort(keys, size, nullptr); }

// Numbers of keys of a piece with each digit, then where the next of them goes.
using Places = std::array<uint32_t, kDigits>;

// Turns counts into places; whether all keys have the same digit.
bool place_digits(Places* places, int64_t pieces, int64_t size) {
  uint32_t place = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    const uint32_t first = place;
    for (int64_t i = 0; i < pieces; ++i) place += std::exchange(places[i][digit], place);
    if (place - first == size) return true;
  }
  return false;
}

template <class Key>
void sort_digits(const KeySorting<Key>& sorting) {
  const int64_t size = sorting.size;
  const int64_t pieces = std::clamp<int64_t>(size / kPiece, 1, 2 * thread_count());
  const Scratch scratch(pieces * sizeof(Places));
  auto* places = reinterpret_cast<Places*>(scratch.data());
  const auto over_pieces = [&](auto body) {
    const auto one = [&](int64_t i) {
      const auto [begin, end] = piece(size, pieces, i);
      body(begin, end, places[i]);
    };
    if (pieces == 1) one(0); else parallel_for(pieces, one);
  };
  over_pieces([&](int64_t begin, int64_t end, Places&) { sorting.make(begin, end); });
  Key *keys = sorting.keys, *spare = sorting.spare;
  for (int shift = sorting.first_bit; shift < static_cast<int>(8 * sizeof(Key)); shift += kBits) {
    const auto digit = [=](Key key) { return key >> shift & (kDigits - 1); };
    over_pieces([&](int64_t begin, int64_t end, Places& counts) {
      counts.fill(0);
      for (int64_t i = begin; i < end; ++i) ++counts[digit(keys[i])];
    });
    if (place_digits(places, pieces, size)) continue;
    over_pieces([&](int64_t begin, int64_t end, Places& next) {
      for (int64_t i = begin; i < end; ++i) spare[next[digit(keys[i])]++] = keys[i];
    });
    std::swap(keys, spare);
  }
  over_pieces([&](int64_t begin, int64_t end, Places&) { sorting.take(keys, begin, end); });
}

template <class Key>
void sort_made(const KeySorting<Key>& sorting) {
  if (sorting.spare != nullptr) return sort_digits(sorting);
  sorting.make(0, sorting.size);
  sort_few(sorting.keys, sorting.size);
  sorting.take(sorting.keys, 0, sorting.size);
}

}  // namespace

void set_key_sorts(KeySort narrow, KeySort wide) {
  if (narrow != nullptr) narrow_sort = narrow;
  if (wide != nullptr) wide_sort = wide;
}

void sort_keys(const KeySorting<uint32_t>& sorting) { sort_made(sorting); }
void sort_keys(const KeySorting<uint64_t>& sorting) { sort_made(sorting); }

}  // namespace evertrace
