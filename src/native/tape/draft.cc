#include "tape/draft.h"

#include <algorithm>
#include <utility>

#include "tape/arena.h"
#include "tape/control.h"
#include "tape/schedule.h"

namespace evertrace::tape {
namespace {

// Finds what each value is read from: the parts of another that need no instruction.
void resolve(Draft& draft) {
  const size_t count = draft.program.values.size();
  draft.makers.assign(count, -1);
  draft.sources.resize(count);
  for (size_t v = 0; v < count; ++v) draft.sources[v] = {static_cast<int>(v), 0, -1};
  for (size_t i = 0; i < draft.program.instructions.size(); ++i) {
    const Instruction& instr = draft.program.instructions[i];
    for (int v : instr.out) draft.makers[v] = static_cast<int>(i);
    if (instr.op != Op::kAlias) continue;
    const Source& base = draft.sources[instr.in[0]];
    draft.sources[instr.out[0]] = {base.root, base.offset + instr.numbers[0], -1};
  }
}

// Has each output be computed into the caller's memory, or copied there.
void claim_outputs(Draft& draft) {
  Program& program = draft.program;
  std::vector<bool> claimed(program.values.size());
  for (int& v : program.outputs) {
    const Source source = draft.sources[v];
    const bool whole = program.values[source.root].bytes() == program.values[v].bytes();
    if (draft.makers[source.root] >= 0 && whole && !claimed[source.root]) {
      claimed[source.root] = true;
      v = source.root;
      continue;
    }
    const Value value = program.values[v];
    const int copy = static_cast<int>(program.values.size());
    program.values.push_back(value);
    draft.sources.push_back({copy, 0, -1});
    draft.makers.push_back(static_cast<int>(program.instructions.size()));
    claimed.push_back(true);
    program.instructions.push_back(
        {Op::kCopy, {copy}, {v}, {}, {1, 0, 0, value.size, 1, 1}, {}, {}, {}});
    v = copy;
  }
  draft.outputs = program.outputs;
}

// Where each value is read, by root.
struct Uses {
  std::vector<int> count;   // of readings, of a root in any way
  std::vector<bool> apart;  // whether a root is an output, or read otherwise than by its own loops
};

Uses count_uses(const Draft& draft) {
  const Program& program = draft.program;
  Uses uses{std::vector<int>(program.values.size()), std::vector<bool>(program.values.size())};
  for (int v : program.outputs) uses.apart[v] = true;
  for (const Instruction& instr : program.instructions) {
    if (instr.op == Op::kAlias) continue;
    for (int v : instr.in) {
      const Source& source = draft.sources[v];
      ++uses.count[source.root];
      const bool whole = program.values[v].size == program.values[source.root].size;
      const bool same = instr.op == Op::kLoop && program.values[instr.out[0]].size == program.values[v].size;
      if (!whole || !same) uses.apart[source.root] = true;
    }
  }
  return uses;
}

// The copy that a broadcast is where it cannot be read in place.
void make_copy(const Program& program, Instruction& instr) {
  const int64_t size = program.values[instr.in[0]].size, total = program.values[instr.out[0]].size;
  const int64_t repeats = size == 0 ? 0 : total / size;
  instr.op = Op::kCopy;
  if (instr.numbers[0] == kColumn) instr.numbers = {2, 0, 0, size, repeats, 1, 0, repeats, 1};
  else instr.numbers = {2, 0, 0, repeats, size, 0, 1, size, 1};
}

// The row size that reading a broadcast in place asks of a loop; 0 for none.
int64_t row_size(const Program& program, const Instruction& spread) {
  const int64_t size = program.values[spread.in[0]].size;
  if (spread.numbers[0] == kScalar) return 0;
  return spread.numbers[0] == kRow ? size : program.values[spread.out[0]].size / size;
}

// Decides which broadcasts are read in place: those that only loops of their size read, and only
// one size of rows in each loop.
void choose_views(Draft& draft) {
  const Uses uses = count_uses(draft);
  Program& program = draft.program;
  std::vector<std::vector<size_t>> readers(program.values.size());  // of broadcasts
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    for (int v : program.instructions[i].in) {
      const int root = draft.sources[v].root, maker = draft.makers[root];
      if (maker >= 0 && program.instructions[maker].op == Op::kSpread) readers[root].push_back(i);
    }
  }
  std::vector<int64_t> rows(program.instructions.size());
  for (Instruction& instr : program.instructions) {
    if (instr.op != Op::kSpread) continue;
    const int v = instr.out[0];
    if (program.values[v].size == 0) continue;
    const int64_t row = row_size(program, instr);
    bool in_place = !uses.apart[v] && draft.sources[instr.in[0]].view < 0;  // no view of a view
    for (size_t i : readers[v]) in_place = in_place && (row == 0 || rows[i] == 0 || rows[i] == row);
    if (!in_place) {
      make_copy(program, instr);
      continue;
    }
    for (size_t i : readers[v]) rows[i] = row != 0 ? row : rows[i];
    draft.sources[v] = {draft.sources[instr.in[0]].root, 0, v};
  }
  // A view has the root of what it is a view of, and its aliases are views too.
  for (Instruction& instr : program.instructions) {
    if (instr.op == Op::kAlias && draft.sources[instr.in[0]].view >= 0) {
      draft.sources[instr.out[0]] = draft.sources[instr.in[0]];
    }
  }
}

// Whether a copy is the transposition of a matrix of m rows.
bool is_transposition(const Instruction& instr, int64_t m, int64_t n) {
  const std::vector<int64_t> want = {2, 0, 0, n, m, 1, n, m, 1};
  return instr.op == Op::kCopy && instr.in.size() == 1 && instr.numbers == want;
}

// A product that is only transposed afterwards is computed the other way round: (x y)' = y' x'.
void turn_products(Draft& draft) {
  const Uses uses = count_uses(draft);
  Program& program = draft.program;
  for (Instruction& copy : program.instructions) {
    if (copy.op != Op::kCopy || copy.in.size() != 1) continue;
    const int product = draft.sources[copy.in[0]].root;
    if (draft.makers[product] < 0 || uses.count[product] != 1) continue;
    Instruction& instr = program.instructions[draft.makers[product]];
    if (instr.op != Op::kMatmul || instr.numbers[0] != 1 || draft.sources[copy.in[0]].offset != 0 ||
        std::find(program.outputs.begin(), program.outputs.end(), product) != program.outputs.end()) {
      continue;
    }
    const std::vector<int64_t> s = instr.numbers;
    if (!is_transposition(copy, s[1], s[2])) continue;
    instr.numbers = {1, s[2], s[1], s[3], s[7], s[9], s[8], s[4], s[6], s[5]};
    std::swap(instr.in[0], instr.in[1]);
    instr.out = copy.out;
    draft.makers[copy.out[0]] = draft.makers[product];
    draft.makers[product] = -1;
    copy = {Op::kCopy, {}, {}, {}, {}, {}, {}, {}};  // nothing
  }
}

// A product reads a transposed matrix as it was before, if nothing else reads the transposition.
void read_transpositions(Draft& draft) {
  const Uses uses = count_uses(draft);
  Program& program = draft.program;
  for (Instruction& instr : program.instructions) {
    if (instr.op != Op::kMatmul || instr.numbers[0] != 1) continue;
    for (const int side : {0, 1}) {
      const int root = draft.sources[instr.in[side]].root;
      if (draft.makers[root] < 0 || uses.count[root] != 1 || instr.in[side] != root ||
          std::find(program.outputs.begin(), program.outputs.end(), root) != program.outputs.end()) {
        continue;
      }
      Instruction& copy = program.instructions[draft.makers[root]];
      if (copy.op != Op::kCopy || copy.numbers[0] != 2) continue;
      const int64_t rows = copy.numbers[3], columns = copy.numbers[4];
      if (!is_transposition(copy, columns, rows)) continue;
      // The two dimensions of the operand, which are those of the transposition in one order.
      std::vector<int64_t>& s = instr.numbers;
      const int64_t sizes[] = {s[side == 0 ? 1 : 3], s[side == 0 ? 3 : 2]};
      int64_t* const steps = &s[side == 0 ? 5 : 8];
      const int last = steps[1] == 1 ? 1 : 0;
      if (steps[last] != 1 || sizes[last] != columns || steps[1 - last] != columns ||
          sizes[1 - last] != rows) {
        continue;
      }
      steps[last] = rows;
      steps[1 - last] = 1;
      instr.in[side] = copy.in[0];
      draft.makers[root] = -1;
      copy = {Op::kCopy, {}, {}, {}, {}, {}, {}, {}};  // nothing
    }
  }
}

void count(Draft& draft) {
  Counts& counts = draft.counts;
  for (const Step& step : draft.steps) {
    counts.fused += step.is_group && step.instructions.size() > 1 ? 1 : 0;
    for (int i : step.instructions) {
      const Op op = draft.program.instructions[i].op;
      counts.loops += op == Op::kLoop ? 1 : 0;
      counts.copies += op == Op::kCopy ? 1 : 0;
      counts.functions += op == Op::kFunction ? 1 : 0;
    }
  }
  for (const Place& place : draft.places) counts.buffers += place.kind == Place::kArena ? 1 : 0;
  counts.arena_bytes = draft.arena_bytes;
}

}  // namespace

Draft make_draft(Program program) {
  Draft draft;
  draft.program = std::move(program);
  resolve(draft);
  claim_outputs(draft);
  turn_products(draft);
  read_transpositions(draft);
  choose_views(draft);
  schedule(draft);
  place_values(draft);
  count(draft);
  return draft;
}

}  // namespace evertrace::tape
