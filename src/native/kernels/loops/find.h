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

// The dtypes of a loop that is looked for: the first operand's, those of the others, which are
// alike (of the first, if it is alone), and the result's.
struct Query {
  DType first, in, out;
};

// What a family has for a primitive. Several entries of a name are for several dtypes.
struct Entry {
  const char* name;  // the primitive's
  int arity;
  double cost;  // of an element, in units of an addition
  Loop (*find)(const Query& query);  // returns null where there is none
};

struct Family {
  const Entry* entries;
  int count;
};

namespace baseline {
extern const Family* const families[];  // then null
Loop find_plain(DType in, DType out);
}

namespace EVERTRACE_TARGET {

extern const Family* const families[];

extern const Family kArithmetic, kBits, kCompare, kComplex, kConvert, kExponential,
    kFunctions, kGamma, kPowers, kSelect, kTanh, kTrigonometric;

template <int n>
constexpr Family family_of(const Entry (&entries)[n]) { return {entries, n}; }

// Finds where all dtypes are one.
template <Loop (*find)(DType)>
Loop same(const Query& query) {
  return query.first == query.in && query.out == query.in ? find(query.in) : nullptr;
}

// Finds where the operands have one dtype and the result is boolean.
template <Loop (*find)(DType)>
Loop test(const Query& query) {
  return query.first == query.in && query.out == DType::kBool ? find(query.in) : nullptr;
}

Loop find_copy(DType dtype);

// Of conversions between numbers that are neither complex nor of 16 bits.
Loop find_plain(DType in, DType out);

}  // namespace EVERTRACE_TARGET
}  // namespace evertrace
