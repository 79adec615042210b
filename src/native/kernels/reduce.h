// What a reduction is made of, for the scheme that all of them follow (`reduce_scheme.cc`).

#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

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
  void (*store_identity)(void* element);
  // Reduces dense rows of at least one and at most `max_row` elements.
  int64_t max_row;
  void (*rows)(const void* in, void* out, int64_t outer, int64_t reduced);
};

void reduce_by(const ReduceParts& parts, const void* in, void* out, int64_t outer, int64_t reduced,
               int64_t inner);

constexpr int64_t kLaneBytes = 256;  // of values that are kept in registers
constexpr int64_t kLeaf = 16;        // rows of them that are added up one after the other

template <class T>
constexpr int64_t kLanesOf = kLaneBytes / sizeof(T);
template <class T>
constexpr int64_t kFewLanesOf = kLanesOf<T> / 4;  // for short rows
template <class T>
constexpr int64_t kMaxRow = kLanesOf<T> * kLeaf;  // of common elements

// Loops over values for an operation, which has an `identity` and joins two.
template <class Op, class T>
class JoinLoops {
 public:
  // The last lanes may overlap those before: they are computed twice.
  static EVERTRACE_INLINE void leaf(const void* in, int64_t rows, int64_t stride, int64_t width,
                                    void* values) {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(values);
    constexpr int64_t kLanes = kLanesOf<T>;
    if (width < kLanes) return leaf_lanes(from, rows, stride, width, to);
    for (int64_t j = 0; j < width; j += kLanes) {
      j = std::min(j, width - kLanes);
      leaf_lanes(from + j, rows, stride, kLanes, to + j);
    }
  }

  static EVERTRACE_INLINE void join(void* into, const void* values, int64_t count) {
    T* __restrict to = static_cast<T*>(into);
    const T* __restrict more = static_cast<const T*>(values);
    for (int64_t i = 0; i < count; ++i) to[i] = Op::join(to[i], more[i]);
  }

 private:
  static EVERTRACE_INLINE void leaf_lanes(const T* in, int64_t rows, int64_t stride, int64_t lanes,
                                          T* out) {
    T sums[kLanesOf<T>];
    for (int64_t l = 0; l < lanes; ++l) sums[l] = in[l];
    for (int64_t r = 1; r < rows; ++r) {
      const T* row = in + r * stride;
      for (int64_t l = 0; l < lanes; ++l) sums[l] = Op::join(sums[l], row[l]);
    }
    for (int64_t l = 0; l < lanes; ++l) out[l] = sums[l];
  }
};

// They are compiled once, for all that use them, or if common for several generations of processors.
template <class Op, class T>
struct RareJoins {
  EVERTRACE_NOINLINE static void leaf(const void* in, int64_t rows, int64_t stride, int64_t width,
                                      void* values) {
    JoinLoops<Op, T>::leaf(in, rows, stride, width, values);
  }
  EVERTRACE_NOINLINE static void join(void* into, const void* values, int64_t count) {
    JoinLoops<Op, T>::join(into, values, count);
  }
};

template <class Op, class T>
struct CommonJoins {
  EVERTRACE_CLONES static void leaf(const void* in, int64_t rows, int64_t stride, int64_t width,
                                    void* values) {
    JoinLoops<Op, T>::leaf(in, rows, stride, width, values);
  }
  EVERTRACE_CLONES static void join(void* into, const void* values, int64_t count) {
    JoinLoops<Op, T>::join(into, values, count);
  }
};

// Operations on bits are on bytes, however many an element has.
template <class Op, class T>
struct ByteJoins {
  static void leaf(const void* in, int64_t rows, int64_t stride, int64_t width, void* values) {
    constexpr int64_t kSize = sizeof(T);
    RareJoins<Op, uint8_t>::leaf(in, rows, stride * kSize, width * kSize, values);
  }
  static void join(void* into, const void* values, int64_t count) {
    RareJoins<Op, uint8_t>::join(into, values, count * static_cast<int64_t>(sizeof(T)));
  }
};

// Copies rows as columns, several rows side by side.
template <class Bits>
EVERTRACE_CLONES void turn_rows(const Bits* in, int64_t rows, int64_t width, Bits* out) {
  constexpr int64_t kCount = 16;
  const Bits* row = in;
  int64_t r = 0;
  for (; r + kCount <= rows; r += kCount, row += kCount * width) {
    for (int64_t l = 0; l < width; ++l) {
      Bits column[kCount];  // first loaded, so that it is stored by vector instructions
      for (int64_t k = 0; k < kCount; ++k) column[k] = row[k * width + l];
      for (int64_t k = 0; k < kCount; ++k) out[l * rows + r + k] = column[k];
    }
  }
  for (; r < rows; ++r, row += width) {
    for (int64_t l = 0; l < width; ++l) out[l * rows + r] = row[l];
  }
}

// Conversions of many elements, whatever they are joined by.
template <class Element>
struct Conversion {
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;

  // Loads a matrix whose rows are `stride` elements apart.
  EVERTRACE_CLONES static void load(const Stored* in, int64_t rows, int64_t stride, int64_t width,
                                    Value* values) {
    for (int64_t r = 0; r < rows; ++r, in += stride, values += width) {
      for (int64_t l = 0; l < width; ++l) values[l] = Element::load(in[l]);
    }
  }

  // Loads rows as columns.
  static void load_turned(const Stored* in, int64_t rows, int64_t width, Value* values) {
    constexpr bool kIsPlain = std::is_same_v<Stored, Value> && std::is_arithmetic_v<Value>;
    if constexpr (kIsPlain && sizeof(Value) != 2) {
      using Bits = std::conditional_t<sizeof(Value) == 1, uint8_t,
                                      std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>>;
      turn_rows(reinterpret_cast<const Bits*>(in), rows, width, reinterpret_cast<Bits*>(values));
    } else {
      for (int64_t l = 0; l < width; ++l) {
        for (int64_t r = 0; r < rows; ++r) values[l * rows + r] = Element::load(in[r * width + l]);
      }
    }
  }

  static void store(const void* values, int64_t count, void* out) {
    const Value* __restrict from = static_cast<const Value*>(values);
    Stored* __restrict to = static_cast<Stored*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = Element::store(from[i]);
  }
};

// Short rows, which become columns.
template <class Element, class Joins>
void reduce_short_rows(const void* in, void* out, int64_t outer, int64_t reduced) {
  using Convert = Conversion<Element>;
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;
  constexpr int64_t kLanes = kLanesOf<Value>;
  Value block[kFewLanesOf<Value> * kLanes], values[kLanes];
  const Stored* from = static_cast<const Stored*>(in);
  Stored* to = static_cast<Stored*>(out);
  for (int64_t i = 0; i < outer; i += kLanes) {
    const int64_t count = std::min(kLanes, outer - i);
    Convert::load_turned(from + i * reduced, count, reduced, block);
    Joins::leaf(block, reduced, count, count, values);
    Convert::store(values, count, to + i);
  }
}

// The parts of an operation for common elements, which lie in memory as values. They know what to do
// with rows that are not long.
template <class Op, class Element>
class CommonReduction {
 public:
  using T = typename Element::Value;
  static_assert(std::is_same_v<typename Element::Stored, T>);

  static void run(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
    using Joins = CommonJoins<Op, T>;
    static constexpr ReduceParts kParts{
        sizeof(T), sizeof(T), Joins::leaf, Joins::join, Joins::join, Conversion<Element>::store,
        [](void* element) { *static_cast<T*>(element) = Element::store(Op::identity()); },
        kMaxRow<T>, rows};
    reduce_by(kParts, in, out, outer, reduced, inner);
  }

  static constexpr int64_t kLanes = kLanesOf<T>, kFewLanes = kFewLanesOf<T>;

  EVERTRACE_CLONES static void rows(const void* in, void* out, int64_t outer, int64_t reduced) {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    if (reduced < kFewLanes) {
      return reduce_short_rows<Element, CommonJoins<Op, T>>(in, out, outer, reduced);
    }
    for (; outer > 0; --outer, from += reduced, ++to) {
      const bool few = reduced < 4 * kLanes;
      *to = Element::store(few ? row<kFewLanes>(from, reduced) : row<kLanes>(from, reduced));
    }
  }

 private:
  template <int64_t kCount>
  static EVERTRACE_INLINE T row(const T* in, int64_t size) {
    T sums[kCount];
    for (int64_t l = 0; l < kCount; ++l) sums[l] = in[l];
    int64_t i = kCount;
    for (; i + kCount <= size; i += kCount) {
      for (int64_t l = 0; l < kCount; ++l) sums[l] = Op::join(sums[l], in[i + l]);
    }
    for (int64_t l = 0; l < size - i; ++l) sums[l] = Op::join(sums[l], in[i + l]);
    halve<kCount / 2>(sums);
    return sums[0];
  }

  // Joins the lanes, half of them with the other half.
  template <int64_t kHalf>
  static EVERTRACE_INLINE void halve(T* sums) {
    for (int64_t l = 0; l < kHalf; ++l) sums[l] = Op::join(sums[l], sums[l + kHalf]);
    if constexpr (kHalf > 1) halve<kHalf / 2>(sums);
  }
};

// The parts for rare elements, of which a block at a time becomes values.
template <class Op, class Element, class Joins>
class RareReduction {
 public:
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;

  static void run(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
    static constexpr ReduceParts kParts{
        sizeof(Stored), sizeof(Value),
        kIsPlain ? Joins::leaf : leaf, Joins::join, kIsPlain ? Joins::join : join_elements,
        Convert::store,
        [](void* element) { *static_cast<Stored*>(element) = Element::store(Op::identity()); },
        kHasRows ? kMaxRow<Value> : kFewLanesOf<Value>, rows};
    reduce_by(kParts, in, out, outer, reduced, inner);
  }

 private:
  using Convert = Conversion<Element>;
  static constexpr bool kIsPlain = std::is_same_v<Element, Plain<Value>>;
  // Whether there are loops for rows of the values, which may add them up in another order.
  static constexpr bool kHasRows = !kIsPlain && std::is_integral_v<Value> && sizeof(Value) >= 4;
  static constexpr int64_t kLanes = kLanesOf<Value>;

  static void leaf(const void* in, int64_t rows, int64_t stride, int64_t width, void* values) {
    Value block[kLeaf * kLanes];
    for (int64_t j = 0; j < width; j += kLanes) {
      const int64_t count = std::min(kLanes, width - j);
      Convert::load(static_cast<const Stored*>(in) + j, rows, stride, count, block);
      Joins::leaf(block, rows, count, count, static_cast<Value*>(values) + j);
    }
  }

  static void join_elements(void* into, const void* in, int64_t count) {
    Value block[kLanes];
    for (int64_t i = 0; i < count; i += kLanes) {
      const int64_t size = std::min(kLanes, count - i);
      Convert::load(static_cast<const Stored*>(in) + i, 1, 0, size, block);
      Joins::join(static_cast<Value*>(into) + i, block, size);
    }
  }

  static void rows(const void* in, void* out, int64_t outer, int64_t reduced) {
    if constexpr (kHasRows) {
      Value block[kMaxRow<Value>], values[kMaxRow<Value>];
      const Stored* from = static_cast<const Stored*>(in);
      const int64_t step = kMaxRow<Value> / reduced;
      for (int64_t i = 0; i < outer; i += step) {
        const int64_t count = std::min(step, outer - i);
        Convert::load(from + i * reduced, 1, 0, count * reduced, block);
        CommonReduction<Op, Plain<Value>>::rows(block, values, count, reduced);
        Convert::store(values, count, static_cast<Stored*>(out) + i);
      }
    } else {
      reduce_short_rows<Element, Joins>(in, out, outer, reduced);
    }
  }
};

}  // namespace evertrace
