// scan: running sums, products, extremes and log-sum-exps.
//
// Each step needs the result of the one before, so a single scan is as slow as the latency of its
// operation. Therefore several run side by side: neighbouring columns, several rows, or pieces of
// one row, whose beginnings are found in a first pass. float32 is summed in float64.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/hints.h"
#include "kernels/kernels.h"
#include "kernels/parallel.h"

namespace evertrace {
namespace {

constexpr int kLanes = 8;                    // scans side by side
constexpr int64_t kPieceSize = 512;          // shorter rows are not cut into pieces
constexpr int64_t kColumns = 256;            // accumulators at once, where columns are scanned
constexpr int64_t kParallelSize = 1 << 16;   // elements from which on threads share the work

// An operation has accumulators that begin as `identity`, take in elements by `add`, and are put
// after others by `join`; `value` is what they stand for.

template <class T>
struct Sum {
  using Element = T;
  using State = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static State identity() { return 0; }
  static State add(State s, T x) { return static_cast<State>(s + static_cast<State>(x)); }
  static State join(State s, State t) { return static_cast<State>(s + t); }
  static T value(State s) { return static_cast<T>(s); }
};

template <class T>
struct Product {
  using Element = T;
  using State = T;
  static State identity() { return 1; }
  // Through uint32_t at least: the product of two uint16_t could overflow int.
  using Wide = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, T>;
  static State add(State s, T x) { return static_cast<T>(static_cast<Wide>(s) * x); }
  static State join(State s, State t) { return add(s, t); }
  static T value(State s) { return s; }
};

template <class T, bool kLargest>
struct Extreme {
  using Element = T;
  using State = T;
  static State identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return kLargest ? -Limits::infinity() : Limits::infinity();
    return kLargest ? Limits::lowest() : Limits::max();
  }
  static State add(State s, T x) {
    bool takes = kLargest ? x > s : x < s;
    // Of two zeros the positive one is the greater.
    if constexpr (std::is_floating_point_v<T>) takes |= x == s && std::signbit(kLargest ? s : x);
    return takes || x != x ? x : s;  // a NaN stays, for nothing is larger or smaller
  }
  static State join(State s, State t) { return add(s, t); }
  static T value(State s) { return s; }
};

template <class T>
struct Largest : Extreme<T, true> {};
template <class T>
struct Smallest : Extreme<T, false> {};

// A sum of exponentials relative to the largest exponent so far.
template <class T>
struct LogSumExp {
  using Element = T;
  struct State {
    double top, sum;
  };
  static State identity() { return {-std::numeric_limits<double>::infinity(), 0}; }
  static State add(State s, T x) { return join(s, {static_cast<double>(x), 1}); }
  static State join(State s, State t) {
    if (t.top > s.top) std::swap(s, t);
    // Equal infinities have no difference, and of a NaN nothing is left but itself.
    if (t.top == s.top) return {s.top, s.sum + t.sum};
    return {s.top, s.sum + t.sum * std::exp(t.top - s.top)};
  }
  static T value(State s) {
    return static_cast<T>(std::isinf(s.top) && s.sum == s.sum ? s.top : s.top + std::log(s.sum));
  }
};

// Scans of one length side by side, each from its own state on.
struct Lanes {
  const char* from[kLanes];
  char* to[kLanes];
  alignas(16) char states[kLanes * 16];
};

// The loops of an operation on elements of so many bytes.
struct ScanParts {
  int64_t size;
  void (*begin)(Lanes& lanes);
  void (*total)(Lanes& lanes, int64_t length, int64_t step);  // writes no results
  void (*scan)(Lanes& lanes, int64_t length, int64_t step);
  // Turns what lanes come to into what comes before them.
  void (*chain)(std::vector<Lanes>& groups);
  // Scans a row from the last lane's state on.
  void (*row)(const Lanes& lanes, const void* in, void* out, int64_t length, int64_t step);
  // Scans at most kColumns columns.
  void (*columns)(const void* in, void* out, int64_t length, int64_t step, int64_t count);
};

template <class Op>
class Loops {
 public:
  static constexpr ScanParts parts() {
    return {sizeof(T), begin, run_lanes<false>, run_lanes<true>, chain, row, columns};
  }

 private:
  using T = typename Op::Element;
  using State = typename Op::State;

  static void load(const Lanes& lanes, State* states) {
    std::memcpy(states, lanes.states, kLanes * sizeof(State));
  }
  static void store(const State* states, Lanes& lanes) {
    std::memcpy(lanes.states, states, kLanes * sizeof(State));
  }

  static void begin(Lanes& lanes) {
    State states[kLanes];
    std::fill(states, states + kLanes, Op::identity());
    store(states, lanes);
  }

  template <bool kWrites>
  static void run_lanes(Lanes& lanes, int64_t length, int64_t step) {
    State states[kLanes];
    const T* from[kLanes];
    T* to[kLanes];
    load(lanes, states);
    for (int lane = 0; lane < kLanes; ++lane) {
      from[lane] = reinterpret_cast<const T*>(lanes.from[lane]);
      to[lane] = reinterpret_cast<T*>(lanes.to[lane]);
    }
    for (int64_t i = 0; i < length; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        states[lane] = Op::add(states[lane], from[lane][i * step]);
        if constexpr (kWrites) to[lane][i * step] = Op::value(states[lane]);
      }
    }
    store(states, lanes);
  }

  static void chain(std::vector<Lanes>& groups) {
    State states[kLanes], before = Op::identity();
    for (Lanes& group : groups) {
      load(group, states);
      for (State& state : states) {
        const State total = state;
        state = before;
        before = Op::join(before, total);
      }
      store(states, group);
    }
  }

  static void row(const Lanes& lanes, const void* in, void* out, int64_t length, int64_t step) {
    State states[kLanes];
    load(lanes, states);
    State state = states[kLanes - 1];
    for (int64_t i = 0; i < length; ++i) {
      state = Op::add(state, static_cast<const T*>(in)[i * step]);
      static_cast<T*>(out)[i * step] = Op::value(state);
    }
  }

  static void columns(const void* in, void* out, int64_t length, int64_t step, int64_t count) {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    State state[kColumns];
    std::fill(state, state + count, Op::identity());
    for (int64_t k = 0; k < length; ++k, from += step, to += step) {
      EVERTRACE_INDEPENDENT
      for (int64_t c = 0; c < count; ++c) {
        state[c] = Op::add(state[c], from[c]);
        to[c] = Op::value(state[c]);
      }
    }
  }
};

// An array as [outer, size, inner], of which the middle one is scanned.
struct Layout {
  int64_t outer, size, inner;
  bool reverse;
};

class Scan {
 public:
  Scan(const ScanParts& parts, const char* in, char* out, const Layout& layout)
      : parts_(parts), in_(in), out_(out), layout_(layout) {}

  void run() const {
    const auto [outer, size, inner, reverse] = layout_;
    const bool parallel = outer * size * inner >= kParallelSize && thread_count() > 1;
    const int64_t pieces = parallel ? 4 * thread_count() : 1;
    if (inner > 1) {
      const int64_t blocks = (inner + kColumns - 1) / kColumns;
      share(outer * blocks, pieces, [&](int64_t i) { columns(i / blocks, i % blocks); });
    } else if (outer < kLanes && size >= kPieceSize) {
      for (int64_t row = 0; row < outer; ++row) in_pieces(row, parallel ? thread_count() : 1);
    } else {
      share((outer + kLanes - 1) / kLanes, pieces, [&](int64_t i) { several_rows(i * kLanes); });
    }
  }

 private:
  static void share(int64_t count, int64_t pieces, FunctionRef<void(int64_t)> body) {
    pieces = std::min(count, pieces);
    parallel_for(pieces, [&](int64_t p) {
      const auto [begin, end] = piece(count, pieces, p);
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

  int64_t step() const { return layout_.reverse ? -1 : 1; }

  // Of the elements of a row that are scanned from the n-th on, the first one's offset in bytes.
  int64_t offset(int64_t row, int64_t n) const {
    const int64_t size = layout_.size;
    return (row * size + (layout_.reverse ? size - 1 - n : n)) * parts_.size;
  }

  void put(Lanes& lanes, int lane, int64_t offset) const {
    lanes.from[lane] = in_ + offset;
    lanes.to[lane] = out_ + offset;
  }

  void several_rows(int64_t first) const {
    const int64_t size = layout_.size, count = std::min<int64_t>(kLanes, layout_.outer - first);
    Lanes lanes;
    parts_.begin(lanes);
    if (count < kLanes) {
      for (int64_t r = first; r < first + count; ++r) {
        const int64_t at = offset(r, 0);
        parts_.row(lanes, in_ + at, out_ + at, size, step());
      }
      return;
    }
    for (int lane = 0; lane < kLanes; ++lane) put(lanes, lane, offset(first + lane, 0));
    parts_.scan(lanes, size, step());
  }

  // Cuts a row into pieces: first what each adds up to, then the scans from there on.
  void in_pieces(int64_t row, int64_t groups) const {
    const int64_t size = layout_.size, count = groups * kLanes;
    const int64_t length = size / count;  // the rest is scanned at the end
    std::vector<Lanes> lanes(groups);
    for (int64_t g = 0; g < groups; ++g) {
      parts_.begin(lanes[g]);
      for (int lane = 0; lane < kLanes; ++lane) {
        put(lanes[g], lane, offset(row, (g * kLanes + lane) * length));
      }
    }
    parallel_for(groups, [&](int64_t g) { parts_.total(lanes[g], length, step()); });
    parts_.chain(lanes);
    parallel_for(groups, [&](int64_t g) { parts_.scan(lanes[g], length, step()); });
    const int64_t at = offset(row, count * length);
    parts_.row(lanes.back(), in_ + at, out_ + at, size - count * length, step());
  }

  void columns(int64_t row, int64_t block) const {
    const auto [outer, size, inner, reverse] = layout_;
    const int64_t begin = block * kColumns, count = std::min(kColumns, inner - begin);
    const int64_t at = offset(row, 0) * inner + begin * parts_.size;
    parts_.columns(in_ + at, out_ + at, size, step() * inner, count);
  }

  const ScanParts& parts_;
  const char* in_;
  char* out_;
  Layout layout_;
};

template <class Op>
bool run(const Array& in, const Array& out, const Layout& layout) {
  static constexpr ScanParts kParts = Loops<Op>::parts();
  Scan(kParts, in.as<const char>(), out.as<char>(), layout).run();
  return true;
}

template <template <class> class Op>
bool over_floats(const Array& in, const Array& out, const Layout& layout) {
  switch (in.dtype) {
    case DType::kFloat32: return run<Op<float>>(in, out, layout);
    case DType::kFloat64: return run<Op<double>>(in, out, layout);
    default: return false;
  }
}

// Sums and products of signed integers are those of unsigned ones, where overflow is defined.
template <template <class> class Op>
bool over_rings(const Array& in, const Array& out, const Layout& layout) {
  switch (in.dtype) {
    case DType::kInt8:
    case DType::kUInt8: return run<Op<uint8_t>>(in, out, layout);
    case DType::kInt16:
    case DType::kUInt16: return run<Op<uint16_t>>(in, out, layout);
    case DType::kInt32:
    case DType::kUInt32: return run<Op<uint32_t>>(in, out, layout);
    case DType::kInt64:
    case DType::kUInt64: return run<Op<uint64_t>>(in, out, layout);
    default: return over_floats<Op>(in, out, layout);
  }
}

template <template <class> class Op>
bool over_reals(const Array& in, const Array& out, const Layout& layout) {
  switch (in.dtype) {
    case DType::kInt8: return run<Op<int8_t>>(in, out, layout);
    case DType::kInt16: return run<Op<int16_t>>(in, out, layout);
    case DType::kInt32: return run<Op<int32_t>>(in, out, layout);
    case DType::kInt64: return run<Op<int64_t>>(in, out, layout);
    case DType::kUInt8: return run<Op<uint8_t>>(in, out, layout);
    case DType::kUInt16: return run<Op<uint16_t>>(in, out, layout);
    case DType::kUInt32: return run<Op<uint32_t>>(in, out, layout);
    case DType::kUInt64: return run<Op<uint64_t>>(in, out, layout);
    default: return over_floats<Op>(in, out, layout);
  }
}

}  // namespace

Failure scan(const Array& in, const Array& out, int64_t axis, bool reverse,
             std::string_view operation) {
  if (in.shape != out.shape || in.dtype != out.dtype) return "scan: operands";
  if (axis < 0 || axis >= static_cast<int64_t>(in.shape.size())) return "scan: axis";
  if (in.size() == 0) return nullptr;
  Layout layout{1, in.shape[axis], 1, reverse};
  for (int64_t i = 0; i < axis; ++i) layout.outer *= in.shape[i];
  for (size_t i = axis + 1; i < in.shape.size(); ++i) layout.inner *= in.shape[i];
  bool known = false;
  if (operation == "sum" && is_complex(in.dtype)) {  // real and imaginary parts are columns
    Array parts = in;
    parts.dtype = in.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
    layout.inner *= 2;
    known = over_floats<Sum>(parts, out, layout);
  } else if (operation == "sum") {
    known = over_rings<Sum>(in, out, layout);
  } else if (operation == "prod") {
    known = over_rings<Product>(in, out, layout);
  } else if (operation == "max") {
    known = over_reals<Largest>(in, out, layout);
  } else if (operation == "min") {
    known = over_reals<Smallest>(in, out, layout);
  } else if (operation == "logsumexp") {
    known = over_floats<LogSumExp>(in, out, layout);
  }
  return known ? nullptr : "scan: operation or dtype";
}

}  // namespace evertrace
