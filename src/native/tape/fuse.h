// Loops of one size that run together, block by block, so that what they hand on stays in cache.

#pragma once

#include <cstdint>
#include <vector>

#include "kernels/loops.h"

namespace evertrace::tape {

struct Draft;
struct Step;

constexpr int kMaxOperands = 4;

// Where a block of an operand or result is.
struct Ref {
  enum Kind : uint8_t {
    kDense,   // in a value of all elements: moves on with the blocks
    kScalar,  // the one element of a value
    kBlock,   // in working memory, the same for every block
    kRow,     // a row that is repeated, read in place; blocks lie within rows
    kColumn,  // one element per row, a scalar for blocks within rows
  };
  Kind kind;
  int slot = -1;         // of the value
  int64_t offset = 0;    // of working memory, bytes
  int64_t item = 0;      // bytes of an element
};

struct FusedLoop {
  Loop loop;
  int64_t param;
  int count;
  Ref in[kMaxOperands];
  Ref out;
};

// A row or column that is copied into working memory, since blocks hold several rows.
struct Expanded {
  Ref::Kind kind;  // kRow or kColumn
  int slot;
  int64_t offset, item;
};

struct Fused {
  std::vector<FusedLoop> loops;
  std::vector<Expanded> expanded;
  int64_t size = 0, inner = 0;  // elements, and those of a row; 0 where rows do not matter
  int64_t block = 0;            // elements
  bool whole_rows = false;      // whether blocks hold several rows, else parts of one
  int64_t scratch = 0;          // bytes of working memory, per thread
  double nanoseconds = 0;       // an estimate

  // Runs the elements from begin to end, which are multiples of the row size where there is one.
  void run(char* const* slots, char* scratch, int64_t begin, int64_t end) const;
};

// Makes the loops of a group; `in_block[value]` says which results stay in working memory.
Fused fuse(const Draft& draft, const Step& step, const std::vector<bool>& in_block);

// The loop of an instruction; throws std::invalid_argument where there is none.
Loop loop_of(const Draft& draft, int instruction);

}  // namespace evertrace::tape
