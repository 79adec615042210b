// Thunks that move elements: copies of views, slices and updates at places known when they run.

#pragma once

#include <memory>

#include "tape/tape.h"

namespace evertrace::tape {

struct Draft;

std::unique_ptr<Thunk> make_move(const Draft& draft, const Instruction& instr);

}  // namespace evertrace::tape
