// A draft of a tape: which instructions run together, which views need no memory, where the rest lies.

#pragma once

#include <cstdint>
#include <vector>

#include "tape/fuse.h"
#include "tape/program.h"
#include "tape/tape.h"

namespace evertrace::tape {

// Where a value is.
struct Place {
  enum Kind : uint8_t {
    kNone,      // nowhere: a view, a value of blocks only, or one of no elements
    kBound,     // an input or output
    kArena,     // at an offset of the arena
    kConstant,  // at an offset of the constant `base`
    kDerived,   // at an offset of the input or output `base`
  };
  Kind kind = kNone;
  int base = -1;
  int64_t offset = 0;
};

// What a value is read from: a root that an instruction, the caller or a constant provides.
struct Source {
  int root;
  int64_t offset;  // elements
  int view;        // the value whose spread it is, or -1
};

// Instructions that run as one: a fused group of large loops, or a single instruction.
struct Step {
  std::vector<int> instructions;
  bool is_group = false;
  int64_t inner = 0;     // of the row and column operands of a group, or 0
  int64_t scratch = 0;   // its working memory: bytes, and the offset in the arena
  int64_t scratch_offset = 0;
  Fused fused;           // of a group
};

struct Draft {
  Program program;
  std::vector<Source> sources;  // by value
  std::vector<int> makers;      // by value: the instruction that writes it, or -1
  std::vector<Step> steps;
  std::vector<Place> places;    // by value
  std::vector<int> outputs;     // slots
  std::vector<int> donors;      // by output: the input whose memory it may have, or -1
  int64_t arena_bytes = 0;
  Counts counts = {};

  // The pattern of a view, and the value that it is a view of.
  int64_t view_pattern(int view) const { return program.instructions[makers[view]].numbers[0]; }
  int view_source(int view) const { return program.instructions[makers[view]].in[0]; }
  bool is_lazy(int value) const { return sources[value].view >= 0; }
};

Draft make_draft(Program program);

// Loops of at most so many bytes run one after the other, larger ones block by block.
constexpr int64_t kSmallBytes = 4096;

inline int64_t aligned(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

}  // namespace evertrace::tape
