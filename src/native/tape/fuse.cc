#include "tape/fuse.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/structure.h"
#include "tape/draft.h"

namespace evertrace::tape {
namespace {

constexpr int64_t kBlockBytes = 1 << 14;  // of all operands of a block together: half of L1
constexpr int64_t kLeast = 256, kMost = 4096;  // elements of a block
constexpr double kNanosecondsPerAddition = 0.1;

// Gives out parts of the working memory of a block, and takes them back.
class BlockMemory {
 public:
  explicit BlockMemory(int64_t first) : end_(first) {}
  // Memory is used again for items of the same size only: results may lie on operands then.
  int64_t take(int64_t bytes, int64_t item) {
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].second != item) continue;
      const int64_t offset = free_[i].first;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return offset;
    }
    const int64_t offset = end_;
    end_ += bytes;
    return offset;
  }
  void give(int64_t offset, int64_t item) { free_.emplace_back(offset, item); }
  int64_t end() const { return end_; }

 private:
  int64_t end_;
  std::vector<std::pair<int64_t, int64_t>> free_;
};

class Fuser {
 public:
  Fuser(const Draft& draft, const Step& step, const std::vector<bool>& in_block)
      : draft_(draft), step_(step), in_block_(in_block), last_(draft.program.values.size(), -1),
        at_(draft.program.values.size(), -1) {}

  Fused make() {
    const auto& program = draft_.program;
    fused_.size = program.values[program.instructions[step_.instructions[0]].out[0]].size;
    fused_.inner = step_.inner;
    choose_block();
    for (size_t j = 0; j < step_.instructions.size(); ++j) {
      for (int v : program.instructions[step_.instructions[j]].in) {
        last_[draft_.sources[v].root] = static_cast<int>(j);
      }
    }
    if (fused_.whole_rows) expand_views();
    BlockMemory memory(fused_.scratch);
    for (size_t j = 0; j < step_.instructions.size(); ++j) add_loop(static_cast<int>(j), memory);
    fused_.scratch = memory.end();
    return std::move(fused_);
  }

 private:
  const Instruction& instruction(int j) const {
    return draft_.program.instructions[step_.instructions[j]];
  }

  void choose_block() {
    int64_t bytes = 0;  // of an element of everything that a block touches
    for (int i : step_.instructions) {
      bytes += draft_.program.values[draft_.program.instructions[i].out[0]].item();
    }
    int64_t block = std::clamp(kBlockBytes / std::max<int64_t>(1, bytes), kLeast, kMost);
    block &= ~int64_t{63};
    if (fused_.inner != 0) {
      fused_.whole_rows = fused_.inner < kLeast;
      if (fused_.whole_rows) block = std::max<int64_t>(1, block / fused_.inner) * fused_.inner;
      else block = std::min(block, fused_.inner);
    }
    fused_.block = std::min(block, fused_.size);
  }

  void expand_views() {
    for (int i : step_.instructions) {
      for (int v : draft_.program.instructions[i].in) {
        const int view = draft_.sources[v].view;
        if (view < 0 || pattern(view) == kScalar) continue;
        const Ref::Kind kind = pattern(view) == kRow ? Ref::kRow : Ref::kColumn;
        if (find_expanded(kind, source_slot(view)) != nullptr) continue;
        const int64_t item = draft_.program.values[v].item();
        fused_.expanded.push_back({kind, source_slot(view), fused_.scratch, item});
        fused_.scratch += aligned(fused_.block * item);
      }
    }
  }

  int64_t pattern(int view) const { return draft_.view_pattern(view); }
  int source_slot(int view) const { return draft_.view_source(view); }

  const Expanded* find_expanded(Ref::Kind kind, int slot) const {
    for (const Expanded& e : fused_.expanded) {
      if (e.kind == kind && e.slot == slot) return &e;
    }
    return nullptr;
  }

  Ref read(int v) const {
    const int64_t item = draft_.program.values[v].item();
    const Source& source = draft_.sources[v];
    if (source.view >= 0) {
      const int slot = source_slot(source.view);
      if (pattern(source.view) == kScalar) return {Ref::kScalar, slot, 0, item};
      const Ref::Kind kind = pattern(source.view) == kRow ? Ref::kRow : Ref::kColumn;
      const Expanded* expanded = find_expanded(kind, slot);
      if (expanded != nullptr) return {Ref::kBlock, -1, expanded->offset, item};
      return {kind, slot, 0, item};
    }
    if (draft_.program.values[v].size != fused_.size) return {Ref::kScalar, v, 0, item};
    if (at_[source.root] >= 0) return {Ref::kBlock, -1, at_[source.root], item};
    return {Ref::kDense, v, 0, item};
  }

  void add_loop(int j, BlockMemory& memory) {
    const Instruction& instr = instruction(j);
    FusedLoop made{loop_of(draft_, step_.instructions[j]), instr.numbers.empty() ? 0 : instr.numbers[0],
                   static_cast<int>(instr.in.size()), {}, {}};
    for (int i = 0; i < made.count; ++i) made.in[i] = read(instr.in[i]);
    for (int i = 0; i < made.count; ++i) {  // what was read last is free for the result
      const int root = draft_.sources[instr.in[i]].root;
      if (last_[root] != j || at_[root] < 0) continue;
      memory.give(at_[root], draft_.program.values[root].item());
      last_[root] = -1;
    }
    const int out = instr.out[0];
    const int64_t item = draft_.program.values[out].item();
    if (in_block_[out]) {
      at_[out] = memory.take(block_bytes(out), item);
      made.out = {Ref::kBlock, -1, at_[out], item};
    } else {
      made.out = {Ref::kDense, out, 0, item};
    }
    fused_.loops.push_back(made);
    fused_.nanoseconds +=
        kNanosecondsPerAddition * loop_cost(instr.name) * static_cast<double>(fused_.size);
  }

  int64_t block_bytes(int v) const {
    return aligned(fused_.block * draft_.program.values[v].item());
  }

  const Draft& draft_;
  const Step& step_;
  const std::vector<bool>& in_block_;
  std::vector<int> last_;     // by value: the loop that reads it last
  std::vector<int64_t> at_;   // by value: its block's offset
  Fused fused_;
};

void expand(const Expanded& e, const char* from, char* to, int64_t inner, int64_t rows) {
  const int64_t shape[] = {rows, inner}, out[] = {inner * e.item, e.item};
  const int64_t row[] = {0, e.item}, column[] = {e.item, 0};
  copy_strided(from, to, 2, shape, e.kind == Ref::kRow ? row : column, out, e.item);
}

}  // namespace

Loop loop_of(const Draft& draft, int instruction) {
  const Instruction& instr = draft.program.instructions[instruction];
  DType dtypes[kMaxOperands];
  if (instr.in.size() > kMaxOperands) throw std::invalid_argument(instr.name + ": many operands");
  for (size_t i = 0; i < instr.in.size(); ++i) dtypes[i] = draft.program.values[instr.in[i]].dtype;
  const Loop loop = find_loop(instr.name, dtypes, static_cast<int>(instr.in.size()),
                              draft.program.values[instr.out[0]].dtype);
  if (loop == nullptr) throw std::invalid_argument("there is no loop for " + instr.name);
  return loop;
}

Fused fuse(const Draft& draft, const Step& step, const std::vector<bool>& in_block) {
  return Fuser(draft, step, in_block).make();
}

void Fused::run(char* const* slots, char* work, int64_t begin, int64_t end) const {
  for (const Expanded& e : expanded) {  // the same rows in every block
    if (e.kind == Ref::kRow) expand(e, slots[e.slot], work + e.offset, inner, block / inner);
  }
  int64_t row = inner == 0 ? 0 : begin / inner, column = inner == 0 ? 0 : begin % inner;
  for (int64_t at = begin, count; at < end; at += count) {
    count = std::min(block, end - at);
    if (inner != 0 && !whole_rows) count = std::min(count, inner - column);
    for (const Expanded& e : expanded) {
      if (e.kind != Ref::kColumn) continue;
      expand(e, slots[e.slot] + row * e.item, work + e.offset, inner, count / inner);
    }
    const auto place = [&](const Ref& ref) -> char* {
      switch (ref.kind) {
        case Ref::kDense: return slots[ref.slot] + at * ref.item;
        case Ref::kScalar: return slots[ref.slot];
        case Ref::kBlock: return work + ref.offset;
        case Ref::kRow: return slots[ref.slot] + column * ref.item;
        default: return slots[ref.slot] + row * ref.item;
      }
    };
    for (const FusedLoop& loop : loops) {
      Operand operands[kMaxOperands];
      for (int i = 0; i < loop.count; ++i) {
        const Ref& ref = loop.in[i];
        operands[i] = {place(ref), ref.kind == Ref::kScalar || ref.kind == Ref::kColumn};
      }
      loop.loop(operands, place(loop.out), count, loop.param);
    }
    if (inner == 0) continue;
    if (whole_rows) {
      row += count / inner;
    } else {
      column += count;
      if (column == inner) { column = 0; ++row; }
    }
  }
}

}  // namespace evertrace::tape
