#include "tape/schedule.h"

#include <algorithm>
#include <utility>

#include "tape/draft.h"

namespace evertrace::tape {
namespace {

constexpr size_t kLongest = 48;  // loops in a group: more would make blocks too short

// Collects loops into a group that is open while others pass it by, if they do not need it.
class Scheduler {
 public:
  explicit Scheduler(Draft& draft) : draft_(draft), in_group_(draft.program.values.size()) {}

  void run() {
    const auto& instructions = draft_.program.instructions;
    draft_.steps.reserve(instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instr = instructions[i];
      if (instr.op == Op::kAlias || instr.op == Op::kSpread || is_empty(instr)) continue;
      if (is_large_loop(instr)) add_to_group(static_cast<int>(i));
      else add_alone(static_cast<int>(i));
    }
    close();
  }

 private:
  const Value& value(int v) const { return draft_.program.values[v]; }

  bool is_empty(const Instruction& instr) const {
    return !instr.calls_back() && std::all_of(instr.out.begin(), instr.out.end(),
                                              [&](int v) { return value(v).size == 0; });
  }

  bool is_large_loop(const Instruction& instr) const {
    if (instr.op != Op::kLoop) return false;
    int64_t bytes = value(instr.out[0]).bytes();
    for (int v : instr.in) {
      if (!draft_.is_lazy(v)) bytes = std::max(bytes, value(v).bytes());
      // Rows and columns can be read by groups only.
      else if (draft_.view_pattern(draft_.sources[v].view) != kScalar) return true;
    }
    return bytes > kSmallBytes;
  }

  // The row size that the views of a loop need, 0 for none; they all need the same.
  int64_t inner_of(const Instruction& instr) const {
    int64_t inner = 0;
    for (int v : instr.in) {
      if (!draft_.is_lazy(v)) continue;
      const int view = draft_.sources[v].view;
      const int64_t size = value(draft_.view_source(view)).size;
      if (draft_.view_pattern(view) == kScalar) continue;
      inner = draft_.view_pattern(view) == kRow ? size : value(v).size / size;
    }
    return inner;
  }

  bool fits(const Instruction& instr, int64_t inner) const {
    if (group_.instructions.empty()) return true;
    const int first = draft_.program.instructions[group_.instructions[0]].out[0];
    if (value(first).size != value(instr.out[0]).size) return false;
    if (group_.instructions.size() == kLongest) return false;
    if (inner != 0 && group_.inner != 0 && inner != group_.inner) return false;
    for (int v : instr.in) {
      if (!in_group_[draft_.sources[v].root]) continue;
      if (draft_.is_lazy(v) || value(v).size != value(instr.out[0]).size) return false;
    }
    return true;
  }

  void add_to_group(int i) {
    const Instruction& instr = draft_.program.instructions[i];
    const int64_t inner = inner_of(instr);
    if (!fits(instr, inner)) close();
    group_.instructions.push_back(i);
    group_.is_group = true;
    if (inner != 0) group_.inner = inner;
    in_group_[instr.out[0]] = true;
  }

  void add_alone(int i) {
    const Instruction& instr = draft_.program.instructions[i];
    const bool waits = std::any_of(instr.in.begin(), instr.in.end(), [&](int v) {
      return in_group_[draft_.sources[v].root];
    });
    if (waits) close();
    Step step;
    step.instructions.push_back(i);
    draft_.steps.push_back(std::move(step));
  }

  void close() {
    if (group_.instructions.empty()) return;
    for (int i : group_.instructions) in_group_[draft_.program.instructions[i].out[0]] = false;
    draft_.steps.push_back(std::move(group_));
    group_ = Step();
  }

  Draft& draft_;
  std::vector<bool> in_group_;  // by value
  Step group_;
};

}  // namespace

void schedule(Draft& draft) { Scheduler(draft).run(); }

}  // namespace evertrace::tape
