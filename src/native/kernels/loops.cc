// Loops by the names of primitives, for the instructions that this processor has.

#include "kernels/loops.h"

#include <atomic>

#include "kernels/loops/find.h"
#include "kernels/processor.h"

namespace evertrace {

#ifdef EVERTRACE_MANY_TARGETS
// see kernels/loops
namespace avx2 {
extern const Family* const families[];
}
namespace avx512 {
extern const Family* const families[];
}
#endif

namespace {

using Families = const Family* const*;

struct Target {
  std::string_view name;
  Families families;
  Generation least;

  bool is_supported() const { return processor_generation() >= least; }
};

// The best first.
const Target* targets(size_t* count) {
#ifdef EVERTRACE_MANY_TARGETS
  static constexpr Target all[] = {{"avx512", avx512::families, Generation::kV4},
                                   {"avx2", avx2::families, Generation::kV3},
                                   {"baseline", baseline::families, Generation::kBaseline}};
#else
  static constexpr Target all[] = {{"baseline", baseline::families, Generation::kBaseline}};
#endif
  *count = sizeof all / sizeof *all;
  return all;
}

Families best() {
  size_t count;
  const Target* target = targets(&count);
  for (; count > 1 && !target->is_supported(); --count) ++target;
  return target->families;
}

std::atomic<Families> chosen{nullptr};

template <class Visit>  // which returns whether that was all
void visit(Families families, Visit visits) {
  for (; *families != nullptr; ++families) {
    for (int i = 0; i < (*families)->count; ++i) {
      if (visits((*families)->entries[i])) return;
    }
  }
}

Loop find_among(Families families, std::string_view name, int arity, const Query& query) {
  Loop found = nullptr;
  visit(families, [&](const Entry& entry) {
    if (entry.arity == arity && name == entry.name) found = entry.find(query);
    return found != nullptr;
  });
  return found;
}

}  // namespace

Loop find_loop(std::string_view name, const DType* operands, int count, DType result) {
  if (count == 0) return nullptr;
  const DType last = operands[count - 1];
  if (count == 3 && operands[1] != last) return nullptr;
  Families families = chosen.load(std::memory_order_relaxed);
  if (families == nullptr) chosen.store(families = best(), std::memory_order_relaxed);
  const Query query{operands[0], last, result};
  const Loop found = find_among(families, name, count, query);
  if (found != nullptr || families == baseline::families) return found;
  return find_among(baseline::families, name, count, query);
}

double loop_cost(std::string_view name) {
  double cost = 1;
  visit(baseline::families, [&](const Entry& entry) {
    const bool is_it = name == entry.name;
    if (is_it) cost = entry.cost;
    return is_it;
  });
  return cost;
}

const char* loop_name(int n) {
  const char* name = nullptr;
  visit(baseline::families, [&](const Entry& entry) {
    const bool is_it = n-- == 0;
    if (is_it) name = entry.name;
    return is_it;
  });
  return name;
}

bool use_loops_for(std::string_view instructions) {
  size_t count;
  const Target* all = targets(&count);
  for (size_t i = 0; i < count; ++i) {
    if (all[i].name != instructions || !all[i].is_supported()) continue;
    chosen.store(all[i].families, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace evertrace
