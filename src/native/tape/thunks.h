// The thunks of a draft.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/dtypes.h"
#include "tape/tape.h"

namespace evertrace::tape {

struct Draft;

// Makes the thunks. The bodies of control flow are added to `bodies`, whose frames are the children,
// the arrays of kernels to `arrays`.
std::vector<std::unique_ptr<Thunk>> make_thunks(const Draft& draft,
                                                std::vector<std::shared_ptr<const Tape>>& bodies,
                                                std::vector<KernelArrays>& arrays);

// An integer or boolean in memory; what is too large for 64 bits is the largest that is not.
int64_t read_integer(const char* data, DType dtype);

}  // namespace evertrace::tape
