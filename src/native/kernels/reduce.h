// What a reduction is made of, for the scheme that all of them follow (`reduce_scheme.cc`).

#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/dtypes.h"
#include "kernels/elements.h"
#include "kernels/structure.h"

namespace evertrace {

// The reductions that return indices: "argmax" and "argmin".
Reduce find_arg_reduce(bool largest, DType in, DType out);

// Functions of arrays of elements and of values, the latter being what elements are added up in.
struct ReduceParts {
  int64_t element_size, value_size;  // in bytes
  // Reduces the rows, at least one, of a matrix whose rows are `stride` elements apart.
  void (*leaf)(const void* in, int64_t rows, int64_t stride, int64_t width, void* values);
  void (*join)(void* into, const void* values, int64_t count);
  void (*join_elements)(void* into, const void* in, int64_t count);
  void (*store)(const void* values, int64_t count, void* out);
  void (*store_identity)(int64_t count, void* out);
  // Reduces dense rows of at least one and at most `max_row` elements.
  int64_t max_row;
  void (*rows)(const void* in, void* out, int64_t outer, int64_t reduced);
};

void reduce_by(const ReduceParts& parts, const void* in, void* out, int64_t outer, int64_t reduced,
               int64_t inner);

constexpr int64_t kLaneBytes = 256;  // of values that are kept in registers
constexpr int64_t kLeaf = 16;        // rows of them that are added up one after the other

// The parts for an operation, which has an `identity` and joins two values. Common ones are compiled
// for several generations of processors, and know what to do with rows that are not long.
template <class Op, class Element, bool kIsCommon>
class ReduceKernels {
 public:
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;

  static void run(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
    static constexpr ReduceParts kParts{
        sizeof(Stored),
        sizeof(Value),
        kIsCommon ? leaf_clones : leaf,
        kIsCommon ? join_clones : join,
        join_elements,
        store,
        store_identity,
        kIsCommon ? kLanes * kLeaf : kFewLanes,
        kIsCommon ? rows_clones : some_rows};
    reduce_by(kParts, in, out, outer, reduced, inner);
  }

 private:
  static constexpr int64_t kLanes = kLaneBytes / sizeof(Value);
  static constexpr int64_t kFewLanes = kLanes / 4;  // for short rows
  static constexpr int64_t kRows = 16;              // shorter ones are reduced side by side

  // The last lanes may overlap those before: they are computed twice.
  static EVERTRACE_INLINE void leaf(const void* in, int64_t rows, int64_t stride, int64_t width,
                                    void* values) {
    const Stored* from = static_cast<const Stored*>(in);
    Value* to = static_cast<Value*>(values);
    if (width < kLanes) return leaf_lanes(from, rows, stride, width, to);
    for (int64_t j = 0; j < width; j += kLanes) {
      j = std::min(j, width - kLanes);
      leaf_lanes(from + j, rows, stride, kLanes, to + j);
    }
  }

  EVERTRACE_CLONES static void leaf_clones(const void* in, int64_t rows, int64_t stride,
                                           int64_t width, void* values) {
    leaf(in, rows, stride, width, values);
  }

  static EVERTRACE_INLINE void leaf_lanes(const Stored* in, int64_t rows, int64_t stride,
                                          int64_t lanes, Value* out) {
    Value sums[kLanes];
    for (int64_t l = 0; l < lanes; ++l) sums[l] = Element::load(in[l]);
    for (int64_t r = 1; r < rows; ++r) {
      const Stored* row = in + r * stride;
      for (int64_t l = 0; l < lanes; ++l) sums[l] = Op::join(sums[l], Element::load(row[l]));
    }
    for (int64_t l = 0; l < lanes; ++l) out[l] = sums[l];
  }

  static EVERTRACE_INLINE void join(void* into, const void* values, int64_t count) {
    Value* __restrict to = static_cast<Value*>(into);
    const Value* __restrict more = static_cast<const Value*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = Op::join(to[i], more[i]);
  }

  EVERTRACE_CLONES static void join_clones(void* into, const void* values, int64_t count) {
    join(into, values, count);
  }

  static void join_elements(void* into, const void* in, int64_t count) {
    Value* __restrict to = static_cast<Value*>(into);
    const Stored* __restrict more = static_cast<const Stored*>(in);
    for (int64_t i = 0; i < count; ++i) to[i] = Op::join(to[i], Element::load(more[i]));
  }

  static void store(const void* values, int64_t count, void* out) {
    const Value* __restrict from = static_cast<const Value*>(values);
    Stored* __restrict to = static_cast<Stored*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = Element::store(from[i]);
  }

  static void store_identity(int64_t count, void* out) {
    std::fill_n(static_cast<Stored*>(out), count, Element::store(Op::identity()));
  }

  EVERTRACE_CLONES static void rows_clones(const void* in, void* out, int64_t outer,
                                           int64_t reduced) {
    if (reduced < kFewLanes) return some_rows(in, out, outer, reduced);
    const Stored* from = static_cast<const Stored*>(in);
    Stored* to = static_cast<Stored*>(out);
    for (; outer > 0; --outer, from += reduced, ++to) {
      const bool few = reduced < 4 * kLanes;
      *to = Element::store(few ? row<kFewLanes>(from, reduced) : row<kLanes>(from, reduced));
    }
  }

  static EVERTRACE_INLINE void some_rows(const void* in, void* out, int64_t outer, int64_t reduced) {
    const Stored* from = static_cast<const Stored*>(in);
    Stored* to = static_cast<Stored*>(out);
    for (; outer >= kRows; outer -= kRows, from += kRows * reduced, to += kRows) {
      side_by_side<kRows>(from, reduced, to);
    }
    for (; outer > 0; --outer, from += reduced, ++to) side_by_side<1>(from, reduced, to);
  }

  template <int64_t kCount>
  static EVERTRACE_INLINE void side_by_side(const Stored* in, int64_t reduced, Stored* out) {
    Value sums[kCount];
    for (int64_t l = 0; l < kCount; ++l) sums[l] = Element::load(in[l * reduced]);
    for (int64_t r = 1; r < reduced; ++r) {
      Value column[kCount];  // first loaded, so that it is joined by vector instructions
      for (int64_t l = 0; l < kCount; ++l) column[l] = Element::load(in[l * reduced + r]);
      for (int64_t l = 0; l < kCount; ++l) sums[l] = Op::join(sums[l], column[l]);
    }
    for (int64_t l = 0; l < kCount; ++l) out[l] = Element::store(sums[l]);
  }

  template <int64_t kCount>
  static EVERTRACE_INLINE Value row(const Stored* in, int64_t size) {
    Value sums[kCount];
    for (int64_t l = 0; l < kCount; ++l) sums[l] = Element::load(in[l]);
    int64_t i = kCount;
    for (; i + kCount <= size; i += kCount) {
      for (int64_t l = 0; l < kCount; ++l) sums[l] = Op::join(sums[l], Element::load(in[i + l]));
    }
    for (int64_t l = 0; l < size - i; ++l) sums[l] = Op::join(sums[l], Element::load(in[i + l]));
    halve<kCount / 2>(sums);
    return sums[0];
  }

  // Joins the lanes, half of them with the other half.
  template <int64_t kHalf>
  static EVERTRACE_INLINE void halve(Value* sums) {
    for (int64_t l = 0; l < kHalf; ++l) sums[l] = Op::join(sums[l], sums[l + kHalf]);
    if constexpr (kHalf > 1) halve<kHalf / 2>(sums);
  }
};

}  // namespace evertrace
