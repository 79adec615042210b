// Arithmetic of a few numbers, such as the state of a small system in a loop of many turns: there a
// loop made for long arrays takes longer to begin than to run.

#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/dtypes.h"

namespace evertrace::tape {

constexpr int64_t kFew = 8;  // elements

// out[i] = x[i * x_step] op y[i * y_step], for n elements; the steps are 0 or 1.
using SmallLoop = void (*)(const char* x, const char* y, char* out, int64_t n, int64_t x_step,
                           int64_t y_step);

// The small loop of a primitive on two operands of a dtype; null where there is none.
SmallLoop find_small(std::string_view primitive, DType dtype);

}  // namespace evertrace::tape
