// Loops by the names of primitives, for the instructions that this processor has.

#include "kernels/loops.h"

#include <atomic>

#include "kernels/loops/find.h"
#include "kernels/processor.h"

namespace evertrace {

#ifdef EVERTRACE_MANY_TARGETS
// see kernels/loops
namespace avx2 {
Loop find(const Query& query);
}
namespace avx512 {
Loop find(const Query& query);
}
#endif

namespace {

// How the dtypes of an operation hang together.
enum class Kind : uint8_t {
  kSame,     // one dtype
  kTest,     // operands of one dtype, a boolean result
  kAny,      // any result
  kChoice,   // a boolean, then operands of the result's dtype
};

struct Primitive {
  std::string_view name;
  Op op;
  int arity;
  Kind kind;
  double cost;
};

constexpr Primitive kPrimitives[] = {
    {"add", Op::kAdd, 2, Kind::kSame, 1},
    {"add_any", Op::kAddAny, 2, Kind::kSame, 1},
    {"sub", Op::kSub, 2, Kind::kSame, 1},
    {"mul", Op::kMul, 2, Kind::kSame, 1},
    {"div", Op::kDiv, 2, Kind::kSame, 3},
    {"rem", Op::kRem, 2, Kind::kSame, 8},
    {"max", Op::kMax, 2, Kind::kSame, 1},
    {"min", Op::kMin, 2, Kind::kSame, 1},
    {"clamp", Op::kClamp, 3, Kind::kSame, 2},
    {"nextafter", Op::kNextafter, 2, Kind::kSame, 2},
    {"neg", Op::kNeg, 1, Kind::kSame, 1},
    {"abs", Op::kAbs, 1, Kind::kAny, 1},
    {"sign", Op::kSign, 1, Kind::kSame, 1},
    {"floor", Op::kFloor, 1, Kind::kSame, 1},
    {"ceil", Op::kCeil, 1, Kind::kSame, 1},
    {"round", Op::kRound, 1, Kind::kSame, 1},
    {"square", Op::kSquare, 1, Kind::kSame, 1},
    {"integer_pow", Op::kIntegerPow, 1, Kind::kSame, 3},
    {"sqrt", Op::kSqrt, 1, Kind::kSame, 4},
    {"rsqrt", Op::kRsqrt, 1, Kind::kSame, 7},
    {"copy", Op::kCopy, 1, Kind::kSame, 1},
    {"convert_element_type", Op::kConvert, 1, Kind::kAny, 1},
    {"select_n", Op::kSelect, 3, Kind::kChoice, 1},
    {"real", Op::kReal, 1, Kind::kAny, 1},
    {"imag", Op::kImag, 1, Kind::kAny, 1},
    {"complex", Op::kComplex, 2, Kind::kAny, 1},
    {"conj", Op::kConj, 1, Kind::kAny, 1},
    {"eq", Op::kEq, 2, Kind::kTest, 1},
    {"ne", Op::kNe, 2, Kind::kTest, 1},
    {"lt", Op::kLt, 2, Kind::kTest, 1},
    {"le", Op::kLe, 2, Kind::kTest, 1},
    {"gt", Op::kGt, 2, Kind::kTest, 1},
    {"ge", Op::kGe, 2, Kind::kTest, 1},
    {"is_finite", Op::kIsFinite, 1, Kind::kTest, 1},
    {"and", Op::kAnd, 2, Kind::kSame, 1},
    {"or", Op::kOr, 2, Kind::kSame, 1},
    {"xor", Op::kXor, 2, Kind::kSame, 1},
    {"not", Op::kNot, 1, Kind::kSame, 1},
    {"shift_left", Op::kShiftLeft, 2, Kind::kSame, 1},
    {"shift_right_arithmetic", Op::kShiftRightArithmetic, 2, Kind::kSame, 1},
    {"shift_right_logical", Op::kShiftRightLogical, 2, Kind::kSame, 1},
    {"population_count", Op::kPopulationCount, 1, Kind::kSame, 1},
    {"clz", Op::kClz, 1, Kind::kSame, 1},
    {"mulhi", Op::kMulhi, 2, Kind::kSame, 2},
    {"exp", Op::kExp, 1, Kind::kSame, 4},
    {"exp2", Op::kExp2, 1, Kind::kSame, 4},
    {"expm1", Op::kExpm1, 1, Kind::kSame, 5},
    {"log", Op::kLog, 1, Kind::kSame, 6},
    {"log1p", Op::kLog1p, 1, Kind::kSame, 7},
    {"logistic", Op::kLogistic, 1, Kind::kSame, 8},
    {"tanh", Op::kTanh, 1, Kind::kSame, 6},
    {"sin", Op::kSin, 1, Kind::kSame, 8},
    {"cos", Op::kCos, 1, Kind::kSame, 8},
    {"tan", Op::kTan, 1, Kind::kSame, 8},
    {"asin", Op::kAsin, 1, Kind::kSame, 7},
    {"acos", Op::kAcos, 1, Kind::kSame, 7},
    {"atan", Op::kAtan, 1, Kind::kSame, 7},
    {"atan2", Op::kAtan2, 2, Kind::kSame, 10},
    {"sinh", Op::kSinh, 1, Kind::kSame, 7},
    {"cosh", Op::kCosh, 1, Kind::kSame, 6},
    {"asinh", Op::kAsinh, 1, Kind::kSame, 12},
    {"acosh", Op::kAcosh, 1, Kind::kSame, 12},
    {"atanh", Op::kAtanh, 1, Kind::kSame, 8},
    {"erf", Op::kErf, 1, Kind::kSame, 25},
    {"erfc", Op::kErfc, 1, Kind::kSame, 25},
    {"erf_inv", Op::kErfInv, 1, Kind::kSame, 50},
    {"pow", Op::kPow, 2, Kind::kSame, 15},
    {"cbrt", Op::kCbrt, 1, Kind::kSame, 6},
    {"lgamma", Op::kLgamma, 1, Kind::kSame, 500},
    {"digamma", Op::kDigamma, 1, Kind::kSame, 500},
};

const Primitive* primitive_named(std::string_view name) {
  for (const Primitive& primitive : kPrimitives) {
    if (primitive.name == name) return &primitive;
  }
  return nullptr;
}

bool fits(Kind kind, const DType* operands, int count, DType result) {
  const DType last = operands[count - 1];
  for (int i = kind == Kind::kChoice ? 1 : 0; i < count; ++i) {
    if (operands[i] != last) return false;
  }
  switch (kind) {
    case Kind::kSame: return result == last;
    case Kind::kTest: return result == DType::kBool;
    case Kind::kChoice: return operands[0] == DType::kBool && result == last;
    case Kind::kAny: return true;
  }
  return false;
}

using Find = Loop (*)(const Query&);

struct Target {
  std::string_view name;
  Find find;
  Generation least;

  bool is_supported() const { return processor_generation() >= least; }
};

// The best first.
const Target* targets(size_t* count) {
#ifdef EVERTRACE_MANY_TARGETS
  static constexpr Target all[] = {{"avx512", avx512::find, Generation::kV4},
                                   {"avx2", avx2::find, Generation::kV3},
                                   {"baseline", baseline::find, Generation::kBaseline}};
#else
  static constexpr Target all[] = {{"baseline", baseline::find, Generation::kBaseline}};
#endif
  *count = sizeof all / sizeof *all;
  return all;
}

Find best() {
  size_t count;
  const Target* target = targets(&count);
  for (; count > 1 && !target->is_supported(); --count) ++target;
  return target->find;
}

std::atomic<Find> chosen{nullptr};

}  // namespace

Loop find_loop(std::string_view name, const DType* operands, int count, DType result) {
  const Primitive* primitive = primitive_named(name);
  if (primitive == nullptr || primitive->arity != count) return nullptr;
  if (!fits(primitive->kind, operands, count, result)) return nullptr;
  Find find = chosen.load(std::memory_order_relaxed);
  if (find == nullptr) chosen.store(find = best(), std::memory_order_relaxed);
  return find({primitive->op, operands[count - 1], result});
}

double loop_cost(std::string_view name) {
  const Primitive* primitive = primitive_named(name);
  return primitive == nullptr ? 1 : primitive->cost;
}

bool use_loops_for(std::string_view instructions) {
  size_t count;
  const Target* all = targets(&count);
  for (size_t i = 0; i < count; ++i) {
    if (all[i].name != instructions || !all[i].is_supported()) continue;
    chosen.store(all[i].find, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace evertrace
