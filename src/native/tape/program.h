// What a tape is made from: a straight-line program over dense values, as Python emits it.
//
// A value is a dense array that only its dtype and its number of elements are known of; shapes are
// in the numbers of the instructions that look at them. Each value is written by one instruction.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/dtypes.h"
#include "tape/slots.h"

namespace evertrace::tape {

class Tape;

struct Value {
  DType dtype;
  int64_t size;  // elements
  int64_t item() const { return static_cast<int64_t>(item_size(dtype)); }
  int64_t bytes() const { return size * item(); }
};

// The numbers are counted in elements.
enum class Op : uint8_t {
  kLoop,    // name, {param}: an elementwise primitive; operands have its size, or size 1
  kSpread,  // {Pattern}: a broadcast that loops read in place
  kAlias,   // {offset}: a part of a value, which is dense in it
  kCopy,    // per operand {rank, in offset, out offset, shape, in strides, out strides}; with one
            // operand more than numbers say, the last is first written everywhere
  kReduce,  // name, {outer, reduced, inner}
  kMatmul,  // the fields of MatmulShape
  kSlice,   // x, starts...: {rank, shape of x, sizes}: a slice that begins where starts say
  kUpdate,  // x, update, starts...: {rank, shape of x, sizes}: x with a slice replaced
  kKernel,  // name, {numbers before the shapes, numbers, per array its rank and shape}
  kCond,    // index, operands...: one body per branch
  kWhile,   // {consts of the condition, of the body}: condition and body
  kScan,    // {consts, carries, length, reverse}: body
  kGather,  // x, indices[, filler]: see `WindowNumbers`
  kScatter,  // name of a loop or none, x, indices, updates: likewise
  kWindowMatmul,  // {rows, columns, n, size and stride of each}: see `WindowProduct`
  kFunction,  // {address, units, nanoseconds}: machine code, see `Function`
  kCall,  // see `Call`
  kCount,
};
constexpr const char* kOpNames[] = {
    "loop", "spread", "alias", "copy", "reduce", "matmul", "slice", "update", "kernel", "cond",
    "while", "scan", "gather", "scatter", "window_matmul", "function", "call",
};
static_assert(sizeof kOpNames / sizeof *kOpNames == static_cast<size_t>(Op::kCount));

enum Pattern : int64_t {
  kScalar,  // the one element
  kRow,     // all of the operand, again and again
  kColumn,  // each element so many times
};
constexpr const char* kPatternNames[] = {"scalar", "row", "column"};

// Machine code of others: reads and writes what the pointers are to, operands first, then results.
// It does its units of work from begin to end; different ones may run at the same time.
using Function = void (*)(char* const* pointers, int64_t begin, int64_t end);

// What a run calls in its place among the instructions, once whenever it comes there: reads and
// writes what the pointers are to, operands first, then results, each of so many bytes. What it throws
// ends the run.
using Call = std::function<void(char* const* pointers, const int64_t* bytes)>;

struct Instruction {
  Op op;
  Slots out, in;
  std::string name;
  std::vector<int64_t> numbers;
  std::vector<std::shared_ptr<const Tape>> bodies;
  std::shared_ptr<void> owner;  // of machine code
  Call call;

  bool calls_back() const;  // whether it, or an instruction of its bodies, is a call
};

struct Constant {
  int value;
  std::vector<char> data;
};

struct Program {
  std::vector<Value> values;
  std::vector<int> inputs, outputs;
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  // Inputs whose memory an output may be written to, (input, output): the carries of loops; -1 for
  // any output: donated arguments. What becomes of it the tape tells.
  std::vector<std::pair<int, int>> carried;
};

// A program that cannot be what it says: sizes that do not fit, values without a definition.
void validate(const Program& program);  // throws std::invalid_argument

}  // namespace evertrace::tape
