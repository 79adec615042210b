// argmax and argmin: where the largest or smallest element is first, or the first NaN.

#include "kernels/parallel.h"
#include "kernels/reduce.h"

namespace evertrace {
namespace {

constexpr int64_t kChunk = 4096;             // elements whose extremum is found at once
constexpr int64_t kLanes = 32;               // results at once; shorter rows are walked through
constexpr int64_t kParallelBytes = 1 << 19;  // from here on threads share the work

template <class Element, bool kLargest>
struct Search {
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;

  // Whether an element replaces what was found before it.
  static EVERTRACE_INLINE bool takes(Value x, Value best) {
    return (kLargest ? x > best : x < best) || (x != x && best == best);
  }

  static EVERTRACE_INLINE bool same(Value x, Value y) {
    return (x == y) | ((x != x) & (y != y));
  }

  // Finds the chunk that has the extremum first, then looks for it there.
  static int64_t in_row(const Stored* row, int64_t size, Reduce extremum) {
    Value best = Element::load(row[0]);
    int64_t place = 0;
    for (int64_t begin = 0; begin < size; begin += kChunk) {
      Stored found;
      extremum(row + begin, &found, 1, std::min(kChunk, size - begin), 1);
      if (!takes(Element::load(found), best)) continue;
      best = Element::load(found);
      place = begin;
    }
    return place + first_same(row + place, size - place, best);
  }

  // Where an element is that is there.
  EVERTRACE_CLONES static int64_t first_same(const Stored* row, int64_t size, Value x) {
    int64_t place = 0;
    for (; place + kLanes <= size; place += kLanes) {
      int found = 0;
      for (int64_t l = 0; l < kLanes; ++l) found |= same(Element::load(row[place + l]), x);
      if (found != 0) break;
    }
    while (!same(Element::load(row[place]), x)) ++place;
    return place;
  }

  static int64_t in_short_row(const Stored* row, int64_t size) {
    int64_t place = 0;
    for (int64_t i = 1; i < size; ++i) {
      if (takes(Element::load(row[i]), Element::load(row[place]))) place = i;
    }
    return place;
  }

  EVERTRACE_CLONES static void in_columns(const Stored* in, int64_t rows, int64_t stride,
                                          int64_t count, int64_t* places) {
    Value best[kLanes];
    for (int64_t l = 0; l < count; ++l) {
      places[l] = 0;
      best[l] = Element::load(in[l]);
    }
    for (int64_t r = 1; r < rows; ++r) {
      const Stored* row = in + r * stride;
      for (int64_t l = 0; l < count; ++l) {
        const Value x = Element::load(row[l]);
        const bool taken = takes(x, best[l]);
        best[l] = taken ? x : best[l];
        places[l] = taken ? r : places[l];
      }
    }
  }

  // Finds the places of neighbouring columns, or of rows if `inner` is 1.
  static void find(const void* in, int64_t count, int64_t reduced, int64_t inner, Reduce extremum,
                   int64_t* places) {
    const Stored* elements = static_cast<const Stored*>(in);
    if (inner > 1) return in_columns(elements, reduced, inner, count, places);
    for (int64_t i = 0; i < count; ++i, elements += reduced) {
      places[i] = reduced < kLanes ? in_short_row(elements, reduced)
                                   : in_row(elements, reduced, extremum);
    }
  }
};

struct Kind {
  decltype(&Search<Plain<float>, true>::find) find;
  Reduce extremum;
  int64_t item;
};

template <class Out>
void run(const Kind& kind, const void* in, Out* out, int64_t outer, int64_t reduced,
         int64_t inner) {
  if (outer * inner == 0 || reduced == 0) return;
  // Blocks of neighbouring columns of one matrix, or of several rows.
  const int64_t row = inner > 1 ? inner : outer, matrix = inner > 1 ? reduced * inner : 0;
  const int64_t blocks = (row + kLanes - 1) / kLanes, count = outer * inner / row * blocks;
  const auto block = [&](int64_t i) {
    const int64_t first = i % blocks * kLanes, size = std::min(kLanes, row - first);
    const int64_t at = i / blocks * matrix + (inner > 1 ? first : first * reduced);
    int64_t places[kLanes];
    kind.find(static_cast<const char*>(in) + at * kind.item, size, reduced, inner, kind.extremum,
              places);
    Out* to = out + i / blocks * row + first;
    for (int64_t l = 0; l < size; ++l) to[l] = static_cast<Out>(places[l]);
  };
  if (outer * reduced * inner * kind.item >= kParallelBytes) return parallel_for(count, block);
  for (int64_t i = 0; i < count; ++i) block(i);
}

template <class Element, DType kDType, bool kLargest, class Out>
void arg_reduce(const void* in, void* out, int64_t outer, int64_t reduced, int64_t inner) {
  static const Kind kind{Search<Element, kLargest>::find,
                         find_reduce(kLargest ? "reduce_max" : "reduce_min", kDType, kDType),
                         sizeof(typename Element::Stored)};
  run(kind, in, static_cast<Out*>(out), outer, reduced, inner);
}

template <class Element, DType kDType, bool kLargest>
Reduce with_output(DType out) {
  switch (item_size(out)) {
    case 1: return arg_reduce<Element, kDType, kLargest, uint8_t>;
    case 2: return arg_reduce<Element, kDType, kLargest, uint16_t>;
    case 4: return arg_reduce<Element, kDType, kLargest, uint32_t>;
    default: return arg_reduce<Element, kDType, kLargest, uint64_t>;
  }
}

template <bool kLargest>
Reduce find(DType in, DType out) {
  switch (in) {
    case DType::kBool: return with_output<BoolElement, DType::kBool, kLargest>(out);
    case DType::kInt8: return with_output<Plain<int8_t>, DType::kInt8, kLargest>(out);
    case DType::kInt16: return with_output<Plain<int16_t>, DType::kInt16, kLargest>(out);
    case DType::kInt32: return with_output<Plain<int32_t>, DType::kInt32, kLargest>(out);
    case DType::kInt64: return with_output<Plain<int64_t>, DType::kInt64, kLargest>(out);
    case DType::kUInt8: return with_output<Plain<uint8_t>, DType::kUInt8, kLargest>(out);
    case DType::kUInt16: return with_output<Plain<uint16_t>, DType::kUInt16, kLargest>(out);
    case DType::kUInt32: return with_output<Plain<uint32_t>, DType::kUInt32, kLargest>(out);
    case DType::kUInt64: return with_output<Plain<uint64_t>, DType::kUInt64, kLargest>(out);
    case DType::kFloat16: return with_output<Float16Element, DType::kFloat16, kLargest>(out);
    case DType::kBFloat16: return with_output<BFloat16Element, DType::kBFloat16, kLargest>(out);
    case DType::kFloat32: return with_output<Plain<float>, DType::kFloat32, kLargest>(out);
    case DType::kFloat64: return with_output<Plain<double>, DType::kFloat64, kLargest>(out);
    default: return nullptr;
  }
}

}  // namespace

Reduce find_arg_reduce(bool largest, DType in, DType out) {
  if (out < DType::kInt8 || out > DType::kUInt64) return nullptr;
  return largest ? find<true>(in, out) : find<false>(in, out);
}

}  // namespace evertrace
