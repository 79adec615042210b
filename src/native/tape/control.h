// Control flow: thunks that run other tapes.

#pragma once

#include <cstdint>
#include <memory>

#include "tape/tape.h"

namespace evertrace::tape {

struct Draft;
struct Step;

// The working memory of an instruction that is a loop: second buffers of its carries.
int64_t scratch_bytes(const Draft& draft, const Instruction& instr);

// The thunk of a cond, while or scan, whose bodies' frames are the children from `child` on.
std::unique_ptr<Thunk> make_control(const Draft& draft, const Step& step, int child);

}  // namespace evertrace::tape
