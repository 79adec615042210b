// Memory of arrays: blocks aligned to cache lines, kept by size for the next array when they are
// given back, since fresh pages cost more than most operations.

#pragma once

#include <cstddef>

namespace evertrace {

constexpr size_t kBlockAlignment = 64;

// Callers hold the GIL, which guards what is kept.

// Returns memory for that many bytes, at least one; null where there is none.
void* take_block(size_t bytes);

// Gives memory of `take_block` back, null too.
void give_block(void* data);

// Returns what is kept to the system.
void release_blocks();

// How many bytes are kept.
size_t kept_block_bytes();

}  // namespace evertrace
