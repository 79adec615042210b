// Gather and scatter as instructions.

#pragma once

#include <memory>
#include <vector>

#include "kernels/gather.h"
#include "tape/tape.h"

namespace evertrace::tape {

struct Draft;

// What the numbers of a gather or scatter say: {shape, indices' shape, sizes of a window, the five
// lists of `DimensionNumbers`}, each with its length in front, and whether a scatter drops windows.
struct WindowNumbers {
  std::vector<int64_t> shape, indices_shape, sizes;
  DimensionNumbers dims;
  bool drops = false;

  // False if there are other numbers than these.
  bool read(const std::vector<int64_t>& numbers);
};

std::unique_ptr<Thunk> make_windows(const Draft& draft, const Instruction& instr);

}  // namespace evertrace::tape
