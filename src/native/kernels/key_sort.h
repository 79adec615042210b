// Sorting unsigned integers, which need not be stable: by NumPy's vectorised sort, on all threads.

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

// Keys and what is to be done with them, a range at a time, perhaps on several threads.
template <class Key>
struct KeySorting {
  Key* keys;
  Key* spare;  // memory for as many keys, or null: then this thread sorts them
  int64_t size;
  // Writes keys[begin..end); some keys are asked for twice.
  FunctionRef<void(int64_t begin, int64_t end)> make;
  // Takes what is in order then: sorted[begin..end), either keys or spare.
  FunctionRef<void(const Key* sorted, int64_t begin, int64_t end)> take;
};

void sort_keys(const KeySorting<uint32_t>& sorting);
void sort_keys(const KeySorting<uint64_t>& sorting);

// Sorts keys in place, on this thread.
void sort_keys(uint32_t* keys, int64_t size);
void sort_keys(uint64_t* keys, int64_t size);

}  // namespace evertrace
