// What the files of loops have in common: the operations, and how one asks for a loop.
//
// The files of this folder are compiled once for each set of instructions (see CMakeLists.txt), in
// a namespace named for it. Therefore they hold no function that the linker could share with
// others: all is in that namespace, and of the standard library only what is inlined is called.

#pragma once

#include <cstdint>

#include "kernels/dtypes.h"
#include "kernels/loops.h"

#ifndef EVERTRACE_TARGET  // for files that are compiled once
#define EVERTRACE_TARGET baseline
#define EVERTRACE_IS_BASELINE
#endif

namespace evertrace {

enum class Op : uint8_t {
  kAdd, kAddAny, kSub, kMul, kDiv, kRem, kMax, kMin, kClamp, kNextafter, kNeg, kAbs, kSign, kFloor,
  kCeil, kRound, kSquare, kIntegerPow, kSqrt, kRsqrt, kCopy, kConvert, kSelect, kReal, kImag,
  kComplex, kConj, kEq, kNe, kLt, kLe, kGt, kGe, kIsFinite, kAnd, kOr, kXor, kNot, kShiftLeft,
  kShiftRightArithmetic, kShiftRightLogical, kPopulationCount, kClz, kMulhi, kExp,
  kExp2, kExpm1, kLog, kLog1p, kLogistic, kTanh, kSin, kCos, kTan, kAsin, kAcos, kAtan, kAtan2,
  kSinh, kCosh, kAsinh, kAcosh, kAtanh, kErf, kErfc, kErfInv, kPow, kCbrt, kLgamma, kDigamma,
};

// A loop that is looked for. The operands have one dtype, except that a choice's predicate is bool.
struct Query {
  Op op;
  DType in;
  DType out;
};

namespace baseline {
Loop find(const Query& query);
}

namespace EVERTRACE_TARGET {

Loop find(const Query& query);  // of all families; null where there is none

Loop find_arithmetic(const Query& query);
Loop find_bits(const Query& query);
Loop find_compare(const Query& query);
Loop find_complex(const Query& query);
Loop find_convert(const Query& query);
Loop find_exponential(const Query& query);
Loop find_functions(const Query& query);
Loop find_gamma(const Query& query);
Loop find_powers(const Query& query);
Loop find_select(const Query& query);
Loop find_tanh(const Query& query);
Loop find_trigonometric(const Query& query);

}  // namespace EVERTRACE_TARGET
}  // namespace evertrace
