#include "tape/arena.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tape/control.h"
#include "tape/plan.h"

namespace evertrace::tape {
namespace {

// Memory by offset; the smallest hole that fits is taken.
class Arena {
 public:
  int64_t take(int64_t bytes) {
    bytes = aligned(bytes);
    auto best = holes_.end();
    for (auto it = holes_.begin(); it != holes_.end(); ++it) {
      if (it->second >= bytes && (best == holes_.end() || it->second < best->second)) best = it;
    }
    if (best == holes_.end()) {
      const int64_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [offset, size] = *best;
    holes_.erase(best);
    if (size > bytes) holes_[offset + bytes] = size - bytes;
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    bytes = aligned(bytes);
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    holes_[offset] = bytes;
  }

  int64_t end() const { return end_; }

 private:
  std::map<int64_t, int64_t> holes_;  // offset -> size
  int64_t end_ = 0;
};

class Placer {
 public:
  explicit Placer(Plan& plan)
      : plan_(plan), first_(values(), -1), last_(values(), -1) {}

  void run() {
    plan_.places.resize(values());
    find_lifetimes();
    bind();
    find_carried();
    for (size_t s = 0; s < plan_.steps.size(); ++s) place_step(static_cast<int>(s));
    plan_.arena_bytes = arena_.end();
    place_parts();
  }

 private:
  size_t values() const { return plan_.program.values.size(); }
  const Value& value(int v) const { return plan_.program.values[v]; }
  const Instruction& instruction(int i) const { return plan_.program.instructions[i]; }

  void find_lifetimes() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (int i : plan_.steps[s].instructions) {
        for (int v : instruction(i).in) last_[plan_.sources[v].root] = static_cast<int>(s);
        for (int v : instruction(i).out) first_[v] = static_cast<int>(s);
      }
    }
  }

  void bind() {
    for (int v : plan_.program.inputs) plan_.places[v].kind = Place::kBound;
    for (int v : plan_.program.outputs) plan_.places[v].kind = Place::kBound;
    for (const Constant& c : plan_.program.constants) {
      plan_.places[c.value] = {Place::kConstant, c.value, 0};
    }
  }

  // Whether a step may write `out` where the root `x`, of which it is the last reader, lies.
  bool may_overwrite(const Step& step, int x, int out) const {
    if (value(x).bytes() != value(out).bytes()) return false;
    bool written = false;
    for (int i : step.instructions) {
      const Instruction& instr = instruction(i);
      for (size_t k = 0; k < instr.in.size(); ++k) {
        const int v = instr.in[k];
        if (plan_.sources[v].root != x) continue;
        if (written || plan_.is_lazy(v) || value(v).bytes() != value(x).bytes()) return false;
        const bool in_order = instr.op == Op::kLoop && value(v).item() == value(out).item();
        const bool updated = (instr.op == Op::kUpdate || instr.op == Op::kScatter) && k == 0;
        if (!in_order && !updated) return false;
      }
      written = written || std::find(instr.out.begin(), instr.out.end(), out) != instr.out.end();
    }
    return true;
  }

  void find_carried() {
    plan_.carried.assign(plan_.program.outputs.size(), false);
    for (const auto& [in, output] : plan_.program.carried) {
      const int x = plan_.program.inputs[in], out = plan_.program.outputs[output];
      if (value(x).bytes() != value(out).bytes() || first_[out] < 0) continue;
      const int end = last_[x], start = first_[out];
      plan_.carried[output] =
          end < start || (end == start && may_overwrite(plan_.steps[start], x, out));
    }
  }

  void place_step(int s) {
    Step& step = plan_.steps[s];
    std::vector<bool> in_block(step.is_group ? values() : 0);
    for (int i : step.instructions) {
      for (int v : instruction(i).out) {
        if (plan_.places[v].kind != Place::kNone || value(v).bytes() == 0) continue;
        if (step.is_group && last_[v] == s) in_block[v] = true;
        else if (!take_over(step, s, v)) place(v, arena_.take(value(v).bytes()));
      }
    }
    if (step.is_group) {
      step.fused = fuse(plan_, step, in_block);
      step.scratch = step.fused.scratch;
    } else {
      step.scratch = scratch_bytes(plan_, instruction(step.instructions[0]));
    }
    if (step.scratch > 0) {
      step.scratch_offset = arena_.take(step.scratch);
      arena_.give(step.scratch_offset, step.scratch);
    }
    release(step, s);
  }

  void place(int v, int64_t offset) {
    plan_.places[v] = {Place::kArena, -1, offset};
    owned_[v] = true;
  }

  // Puts a result where an operand lies that nobody reads again.
  bool take_over(const Step& step, int s, int out) {
    for (int i : step.instructions) {
      for (int v : instruction(i).in) {
        const int x = plan_.sources[v].root;
        const auto owned = owned_.find(x);
        if (owned == owned_.end() || last_[x] != s || !may_overwrite(step, x, out)) continue;
        const int64_t offset = plan_.places[x].offset;
        owned_.erase(owned);
        place(out, offset);
        ++plan_.counts.reuses;
        return true;
      }
    }
    return false;
  }

  // Gives memory back of what the step was the last to read, or nobody reads.
  void release(const Step& step, int s) {
    const auto drop = [&](int v) {
      const auto owned = owned_.find(v);
      if (owned == owned_.end() || last_[v] > s) return;
      arena_.give(plan_.places[v].offset, value(v).bytes());
      owned_.erase(owned);
    };
    for (int i : step.instructions) {
      for (int v : instruction(i).in) drop(plan_.sources[v].root);
      for (int v : instruction(i).out) drop(v);
    }
  }

  // Parts of other values lie where these do.
  void place_parts() {
    for (size_t v = 0; v < values(); ++v) {
      const Source& source = plan_.sources[v];
      if (source.view >= 0 || source.root == static_cast<int>(v)) continue;
      const Place& base = plan_.places[source.root];
      const int64_t offset = source.offset * value(source.root).item();
      Place& place = plan_.places[v];
      place = base;
      place.offset += offset;
      if (base.kind == Place::kBound) place = {Place::kDerived, source.root, offset};
    }
  }

  Plan& plan_;
  std::vector<int> first_, last_;  // by root: the steps that write it, and that read it last
  std::map<int, bool> owned_;      // roots whose memory is theirs
  Arena arena_;
};

}  // namespace

void place_values(Plan& plan) { Placer(plan).run(); }

}  // namespace evertrace::tape
