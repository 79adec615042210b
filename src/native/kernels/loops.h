// Loops: one elementwise operation on n elements, for operations and dtypes that programs are made
// of. The eager operators, the tapes and the host engine all call these.

#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/dtypes.h"

namespace evertrace {

// An operand: n elements in a row, or one element that stands for all.
struct Operand {
  const void* data;
  bool is_scalar;
};

// Reads the operands, writes n elements. The result may lie exactly on an operand of the same item
// size, but not overlap one otherwise. Memory is aligned to the elements at least. `param` is what the operation has
// besides operands: the exponent of integer_pow, the rounding method of round, else 0.
using Loop = void (*)(const Operand* operands, void* result, int64_t n, int64_t param);

// The loop of a primitive, by its name ("add", "exp", "select_n", "convert_element_type", "lt"), for
// operands of these dtypes; null where there is none.
Loop find_loop(std::string_view primitive, const DType* operands, int count, DType result);

// What an element costs, in units of an addition: for the cost model and the use of threads.
double loop_cost(std::string_view primitive);

// The name of the n-th primitive that has loops, some coming twice; null after the last.
const char* loop_name(int n);

// For tests: from now on finds loops for these instructions ("avx512", "avx2", "baseline") instead
// of the best that the processor has; false where it does not have them.
bool use_loops_for(std::string_view instructions);

}  // namespace evertrace
