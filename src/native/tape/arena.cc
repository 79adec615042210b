#include "tape/arena.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tape/control.h"
#include "tape/draft.h"

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
  explicit Placer(Draft& draft)
      : draft_(draft), first_(values(), -1), last_(values(), -1), owned_(values()) {}

  void run() {
    draft_.places.resize(values());
    find_lifetimes();
    bind();
    find_donors();
    for (size_t s = 0; s < draft_.steps.size(); ++s) place_step(static_cast<int>(s));
    draft_.arena_bytes = arena_.end();
    place_parts();
  }

 private:
  size_t values() const { return draft_.program.values.size(); }
  const Value& value(int v) const { return draft_.program.values[v]; }
  const Instruction& instruction(int i) const { return draft_.program.instructions[i]; }

  void find_lifetimes() {
    for (size_t s = 0; s < draft_.steps.size(); ++s) {
      for (int i : draft_.steps[s].instructions) {
        for (int v : instruction(i).in) last_[draft_.sources[v].root] = static_cast<int>(s);
        for (int v : instruction(i).out) first_[v] = static_cast<int>(s);
      }
    }
  }

  void bind() {
    for (int v : draft_.program.inputs) draft_.places[v].kind = Place::kBound;
    for (int v : draft_.program.outputs) draft_.places[v].kind = Place::kBound;
    for (const Constant& c : draft_.program.constants) {
      draft_.places[c.value] = {Place::kConstant, c.value, 0};
    }
  }

  // Whether operand `k` of a loop is the first value of what leaves it as `out`, and each turn writes
  // over what it has read.
  static bool is_turned(const Instruction& instr, size_t k, int out) {
    if (instr.op != Op::kScan && instr.op != Op::kWhile) return false;
    const bool is_scan = instr.op == Op::kScan;
    const auto first = static_cast<size_t>(is_scan ? instr.numbers[0] : instr.numbers[0] + instr.numbers[1]);
    const size_t carries = is_scan ? static_cast<size_t>(instr.numbers[1]) : instr.out.size();
    return k >= first && k - first < carries && instr.out[k - first] == out &&
           instr.bodies.back()->donor(k - first) >= 0;
  }

  // Whether a step may write `out` where the root `x`, of which it is the last reader, lies.
  bool may_overwrite(const Step& step, int x, int out) const {
    if (value(x).bytes() != value(out).bytes()) return false;
    bool written = false;
    for (int i : step.instructions) {
      const Instruction& instr = instruction(i);
      for (size_t k = 0; k < instr.in.size(); ++k) {
        const int v = instr.in[k];
        if (draft_.sources[v].root != x) continue;
        if (written || draft_.is_lazy(v) || value(v).bytes() != value(x).bytes()) return false;
        const bool in_order = instr.op == Op::kLoop && value(v).item() == value(out).item();
        const bool updated = (instr.op == Op::kUpdate || instr.op == Op::kScatter) && k == 0;
        if (!in_order && !updated && !is_turned(instr, k, out)) return false;
      }
      written = written || std::find(instr.out.begin(), instr.out.end(), out) != instr.out.end();
    }
    return true;
  }

  void find_donors() {
    const auto& program = draft_.program;
    const size_t outputs = program.outputs.size();
    draft_.donors.assign(outputs, -1);
    for (const auto& [in, output] : program.carried) {
      const size_t first = output < 0 ? 0 : static_cast<size_t>(output);
      const size_t end = output < 0 ? outputs : first + 1;
      for (size_t k = first; k < end; ++k) {
        if (draft_.donors[k] >= 0 || !may_lend(program.inputs[in], program.outputs[k])) continue;
        draft_.donors[k] = in;
        break;
      }
    }
  }

  // Whether an output may be written where an input lies: it is read no more, or in step.
  bool may_lend(int x, int out) const {
    if (value(x).bytes() != value(out).bytes() || first_[out] < 0) return false;
    const int end = last_[x], start = first_[out];
    return end < start || (end == start && may_overwrite(draft_.steps[start], x, out));
  }

  void place_step(int s) {
    Step& step = draft_.steps[s];
    std::vector<bool> in_block(step.is_group ? values() : 0);
    for (int i : step.instructions) {
      for (int v : instruction(i).out) {
        if (draft_.places[v].kind != Place::kNone || value(v).bytes() == 0) continue;
        if (step.is_group && last_[v] == s) in_block[v] = true;
        else if (!take_over(step, s, v)) place(v, arena_.take(value(v).bytes()));
      }
    }
    if (step.is_group) {
      step.fused = fuse(draft_, step, in_block);
      step.scratch = step.fused.scratch;
    } else {
      step.scratch = scratch_bytes(draft_, instruction(step.instructions[0]));
    }
    if (step.scratch > 0) {
      step.scratch_offset = arena_.take(step.scratch);
      arena_.give(step.scratch_offset, step.scratch);
    }
    release(step, s);
  }

  void place(int v, int64_t offset) {
    draft_.places[v] = {Place::kArena, -1, offset};
    owned_[v] = true;
  }

  // Puts a result where an operand lies that nobody reads again.
  bool take_over(const Step& step, int s, int out) {
    for (int i : step.instructions) {
      for (int v : instruction(i).in) {
        const int x = draft_.sources[v].root;
        if (!owned_[x] || last_[x] != s || !may_overwrite(step, x, out)) continue;
        const int64_t offset = draft_.places[x].offset;
        owned_[x] = false;
        place(out, offset);
        ++draft_.counts.reuses;
        return true;
      }
    }
    return false;
  }

  // Gives memory back of what the step was the last to read, or nobody reads.
  void release(const Step& step, int s) {
    const auto drop = [&](int v) {
      if (!owned_[v] || last_[v] > s) return;
      arena_.give(draft_.places[v].offset, value(v).bytes());
      owned_[v] = false;
    };
    for (int i : step.instructions) {
      for (int v : instruction(i).in) drop(draft_.sources[v].root);
      for (int v : instruction(i).out) drop(v);
    }
  }

  // Parts of other values lie where these do.
  void place_parts() {
    for (size_t v = 0; v < values(); ++v) {
      const Source& source = draft_.sources[v];
      if (source.view >= 0 || source.root == static_cast<int>(v)) continue;
      const Place& base = draft_.places[source.root];
      const int64_t offset = source.offset * value(source.root).item();
      Place& place = draft_.places[v];
      place = base;
      place.offset += offset;
      if (base.kind == Place::kBound) place = {Place::kDerived, source.root, offset};
    }
  }

  Draft& draft_;
  std::vector<int> first_, last_;  // by root: the steps that write it, and that read it last
  std::vector<bool> owned_;        // by value: roots whose memory is theirs
  Arena arena_;
};

}  // namespace

void place_values(Draft& draft) { Placer(draft).run(); }

}  // namespace evertrace::tape
