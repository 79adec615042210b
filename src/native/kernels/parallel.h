// Loops shared among threads.

#pragma once

#include <cstdint>

#include "kernels/function_ref.h"

namespace evertrace {

// How many threads work on a loop: as many as the processors this process may use.
int thread_count();

// Calls `body(i)` for each i from 0 to count, on this thread and on idle ones; returns when all
// calls have returned. The body must not throw.
void parallel_for(int64_t count, FunctionRef<void(int64_t)> body);

// Cuts the range from 0 to `size` into `count` pieces of nearly equal length.
struct Piece {
  int64_t begin, end;
};
inline Piece piece(int64_t size, int64_t count, int64_t i) {
  return {size * i / count, size * (i + 1) / count};
}

}  // namespace evertrace
