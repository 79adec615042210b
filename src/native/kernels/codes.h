// Loops that make keys of numbers, unsigned integers of their order, and numbers of keys.

#pragma once

#include <cstdint>

#include "kernels/dtypes.h"

namespace evertrace {

// Keys are of 64 bits for numbers of so many, else of 32.
struct CodeLoops {
  void (*encode)(const void* numbers, int64_t count, void* keys);
  void (*decode)(const void* keys, int64_t count, void* numbers);  // not of kNumber's keys
};

// The loops of a dtype that is one number; those of another are null.
CodeLoops find_codes(DType dtype, Order order);

}  // namespace evertrace
