// To share the keys among threads, they are first moved into parts of which each is below the next:
// splitters, a sample's, tell them apart. That takes the place of the first levels of a quicksort, and
// there is nothing to merge. Parts are more than threads, so that one that is late has little to do.

#include "kernels/key_sort.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/clones.h"
#include "kernels/parallel.h"
#include "kernels/processor.h"

#if defined(EVERTRACE_HAS_GENERATIONS)
#include <immintrin.h>
#endif

namespace evertrace {
namespace {

constexpr int kMostParts = 16;
constexpr int kSamples = 64;         // for each part
constexpr int64_t kPiece = 1 << 15;  // keys that a thread moves at once
constexpr int64_t kBlock = 256;      // keys that are looked at several times

// Until better ones are named.
template <class Key>
int plain_sort(void* keys, std::ptrdiff_t n, void*) {
  std::sort(static_cast<Key*>(keys), static_cast<Key*>(keys) + n);
  return 0;
}
KeySort narrow_sort = plain_sort<uint32_t>, wide_sort = plain_sort<uint64_t>;

// Numbers of keys in each part, or places in it.
using Counts = std::array<int64_t, kMostParts>;

// Parts by the least key of each but the first.
template <class Key>
struct Splitters {
  int parts;
  std::array<Key, kMostParts> keys;

  // Counts the keys of each part.
  EVERTRACE_CLONES static void count(const Splitters& splitters, const Key* keys, int64_t size,
                                     Counts& counts) {
    const int last = splitters.parts - 1;
    Counts above{};  // keys that come after each part
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t end = std::min(size, begin + kBlock);
      for (int part = 0; part < last; ++part) {
        const Key splitter = splitters.keys[part];
        Key n = 0;
        for (int64_t i = begin; i < end; ++i) n += keys[i] >= splitter ? 1 : 0;
        above[part] += static_cast<int64_t>(n);
      }
    }
    for (int part = 0; part <= last; ++part) {
      counts[part] = (part == 0 ? size : above[part - 1]) - above[part];
    }
  }

  // Moves keys to where their parts' next ones go.
  EVERTRACE_CLONES static void move(const Splitters& splitters, const Key* keys, int64_t size,
                                    Key* to, Counts& places) {
    const int last = splitters.parts - 1;
    std::array<Key, kBlock> parts;
    for (; size > 0; keys += kBlock, size -= kBlock) {
      const int64_t n = std::min(size, kBlock);
      std::fill_n(parts.data(), n, Key{0});
      for (int part = 0; part < last; ++part) {
        const Key splitter = splitters.keys[part];
        for (int64_t i = 0; i < n; ++i) parts[i] += keys[i] >= splitter ? 1 : 0;
      }
      for (int64_t i = 0; i < n; ++i) to[places[parts[i]]++] = keys[i];
    }
  }
};

#if defined(EVERTRACE_HAS_GENERATIONS)
// The same by instructions that pack some lanes of a vector, five times as fast.
#define EVERTRACE_V4 __attribute__((target("arch=x86-64-v4")))

EVERTRACE_V4 inline uint32_t at_least(__m512i keys, uint32_t key) {
  return _mm512_cmpge_epu32_mask(keys, _mm512_set1_epi32(static_cast<int>(key)));
}
EVERTRACE_V4 inline uint32_t at_least(__m512i keys, uint64_t key) {
  return _mm512_cmpge_epu64_mask(keys, _mm512_set1_epi64(static_cast<int64_t>(key)));
}

// Stores the n lanes of a mask one after the other, and nothing behind them.
EVERTRACE_V4 inline void pack(uint32_t* to, __m512i keys, uint32_t mask, int n) {
  const auto lanes = static_cast<__mmask16>(_bzhi_u32(0xFFFF, n));
  _mm512_mask_storeu_epi32(to, lanes, _mm512_maskz_compress_epi32(mask, keys));
}
EVERTRACE_V4 inline void pack(uint64_t* to, __m512i keys, uint32_t mask, int n) {
  const auto lanes = static_cast<__mmask8>(_bzhi_u32(0xFF, n));
  _mm512_mask_storeu_epi64(to, lanes, _mm512_maskz_compress_epi64(mask, keys));
}

template <class Key>
EVERTRACE_V4 void move_v4(const Splitters<Key>& splitters, const Key* keys, int64_t size, Key* to,
                          Counts& places) {
  constexpr int kLanes = 64 / sizeof(Key);
  const int last = splitters.parts - 1;
  for (; size >= kLanes; keys += kLanes, size -= kLanes) {
    const __m512i vector = _mm512_loadu_si512(keys);
    uint32_t rest = (1 << kLanes) - 1;
    for (int part = 0; part <= last; ++part) {
      const uint32_t above = part < last ? at_least(vector, splitters.keys[part]) : 0;
      const int n = __builtin_popcount(rest ^ above);
      pack(to + places[part], vector, rest ^ above, n);
      places[part] += n;
      rest = above;
    }
  }
  Splitters<Key>::move(splitters, keys, size, to, places);
}
#endif

template <class Key>
auto best_move() -> decltype(&Splitters<Key>::move) {
#if defined(EVERTRACE_HAS_GENERATIONS)
  if (processor_generation() == Generation::kV4) return move_v4<Key>;
#endif
  return Splitters<Key>::move;
}

template <class Key>
Splitters<Key> choose_splitters(const KeySorting<Key>& sorting) {
  Splitters<Key> splitters{std::min(2 * thread_count(), kMostParts), {}};
  std::array<Key, kMostParts * kSamples> sample;
  const int64_t count = splitters.parts * kSamples;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = sorting.size * i / count;
    sorting.make(place, place + 1);
    sample[i] = sorting.keys[place];
  }
  sort_keys(sample.data(), count);
  for (int part = 1; part < splitters.parts; ++part) {
    splitters.keys[part - 1] = sample[part * kSamples];
  }
  return splitters;
}

template <class Key>
void sort_shared(const KeySorting<Key>& sorting) {
  const int64_t size = sorting.size;
  const Splitters<Key> splitters = choose_splitters(sorting);
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::vector<Counts> places(pieces);
  parallel_for(pieces, [&](int64_t i) {
    const auto [begin, end] = piece(size, pieces, i);
    sorting.make(begin, end);
    Splitters<Key>::count(splitters, sorting.keys + begin, end - begin, places[i]);
  });
  std::array<int64_t, kMostParts + 1> begins{};
  int64_t place = 0;
  for (int part = 0; part < splitters.parts; ++part) {
    for (Counts& counts : places) place += std::exchange(counts[part], place);
    begins[part + 1] = place;
  }
  static const auto move = best_move<Key>();
  parallel_for(pieces, [&](int64_t i) {
    const auto [begin, end] = piece(size, pieces, i);
    move(splitters, sorting.keys + begin, end - begin, sorting.spare, places[i]);
  });
  parallel_for(splitters.parts, [&](int64_t part) {
    const int64_t begin = begins[part], end = begins[part + 1];
    sort_keys(sorting.spare + begin, end - begin);
    sorting.take(sorting.spare, begin, end);
  });
}

template <class Key>
void sort_made(const KeySorting<Key>& sorting) {
  if (sorting.spare != nullptr) return sort_shared(sorting);
  sorting.make(0, sorting.size);
  sort_keys(sorting.keys, sorting.size);
  sorting.take(sorting.keys, 0, sorting.size);
}

}  // namespace

void set_key_sorts(KeySort narrow, KeySort wide) {
  if (narrow != nullptr) narrow_sort = narrow;
  if (wide != nullptr) wide_sort = wide;
}

void sort_keys(const KeySorting<uint32_t>& sorting) { sort_made(sorting); }
void sort_keys(const KeySorting<uint64_t>& sorting) { sort_made(sorting); }

void sort_keys(uint32_t* keys, int64_t size) { narrow_sort(keys, size, nullptr); }
void sort_keys(uint64_t* keys, int64_t size) { wide_sort(keys, size, nullptr); }

}  // namespace evertrace
