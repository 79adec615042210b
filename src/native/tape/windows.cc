#include "tape/windows.h"

#include <cstring>
#include <stdexcept>

#include "tape/draft.h"

namespace evertrace::tape {
namespace {

Windows make(const Draft& draft, const Instruction& instr, const WindowNumbers& numbers) {
  Windows windows;
  const bool fits =
      windows.set(numbers.shape, numbers.indices_shape, numbers.sizes, numbers.dims,
                  draft.program.values[instr.in[1]].dtype, draft.program.values[instr.in[0]].item());
  if (!fits) throw std::invalid_argument("tape: windows do not fit");
  return windows;
}

class GatherThunk : public Thunk {
 public:
  GatherThunk(const Draft& draft, const Instruction& instr, const WindowNumbers& numbers)
      : x_(instr.in[0]), indices_(instr.in[1]), filler_(instr.in.size() > 2 ? instr.in[2] : -1),
        out_(instr.out[0]), windows_(make(draft, instr, numbers)) {}
  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    windows_.gather(slots[x_], slots[indices_], filler_ < 0 ? nullptr : slots[filler_],
                    slots[out_]);
  }

 private:
  int x_, indices_, filler_, out_;
  Windows windows_;
};

class ScatterThunk : public Thunk {
 public:
  ScatterThunk(const Draft& draft, const Instruction& instr, const WindowNumbers& numbers)
      : x_(instr.in[0]), indices_(instr.in[1]), updates_(instr.in[2]), out_(instr.out[0]),
        bytes_(draft.program.values[out_].bytes()), drops_(numbers.drops),
        windows_(make(draft, instr, numbers)) {
    if (instr.name.empty()) return;
    const DType dtype = draft.program.values[x_].dtype, dtypes[] = {dtype, dtype};
    join_ = find_loop(instr.name, dtypes, 2, dtype);
    if (join_ == nullptr) throw std::invalid_argument("there is no loop for " + instr.name);
  }
  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    if (slots[x_] != slots[out_]) {
      std::memcpy(slots[out_], slots[x_], static_cast<size_t>(bytes_));
    }
    windows_.scatter(slots[out_], slots[indices_], slots[updates_], join_, drops_);
  }

 private:
  int x_, indices_, updates_, out_;
  int64_t bytes_;
  bool drops_;
  Windows windows_;
  Loop join_ = nullptr;
};

}  // namespace

bool WindowNumbers::read(const std::vector<int64_t>& numbers) {
  size_t at = 0;
  for (auto* list : {&shape, &indices_shape, &sizes, &dims.window_dims, &dims.dropped,
                     &dims.index_map, &dims.operand_batch, &dims.indices_batch}) {
    if (at >= numbers.size() || numbers[at] < 0 ||
        static_cast<size_t>(numbers[at]) >= numbers.size() - at) {
      return false;
    }
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    list->assign(begin, begin + static_cast<std::ptrdiff_t>(numbers[at]));
    at += 1 + list->size();
  }
  if (at + 1 != numbers.size()) return false;
  drops = numbers[at] != 0;
  return true;
}

std::unique_ptr<Thunk> make_windows(const Draft& draft, const Instruction& instr) {
  WindowNumbers numbers;
  numbers.read(instr.numbers);  // which was found right before
  if (instr.op == Op::kGather) return std::make_unique<GatherThunk>(draft, instr, numbers);
  return std::make_unique<ScatterThunk>(draft, instr, numbers);
}

}  // namespace evertrace::tape
