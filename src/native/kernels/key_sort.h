// Sorting unsigned integers: few of them by NumPy's vectorised sort, many by digits on all threads.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/function_ref.h"

namespace evertrace {

// Sorts n unsigned integers in place, as in NumPy's C-API; the last argument is not used, and the
// result 0.
using KeySort = int (*)(void* keys, std::ptrdiff_t n, void*);

// Names functions that sort uint32 and uint64 quickly; null where there is none.
void set_key_sorts(KeySort narrow, KeySort wide);

// From so many keys on, sorting is quicker with spare memory.
constexpr int64_t kManyKeys = 1 << 11;

// Keys and what is to be done with them, a range at a time, perhaps on several threads.
template <class Key>
struct KeySorting {
  Key* keys;
  Key* spare;  // memory for as many keys, or null
  int64_t size;
  int first_bit;  // in those below it, keys are in ascending order at first
  // Writes keys[begin..end).
  FunctionRef<void(int64_t begin, int64_t end)> make;
  // Takes what is in order then: sorted[begin..end), either keys or spare.
  FunctionRef<void(const Key* sorted, int64_t begin, int64_t end)> take;
};

void sort_keys(const KeySorting<uint32_t>& sorting);
void sort_keys(const KeySorting<uint64_t>& sorting);

}  // namespace evertrace
