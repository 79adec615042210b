#include "tape/thunks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/named.h"
#include "kernels/parallel.h"
#include "kernels/structure.h"
#include "tape/control.h"
#include "tape/moves.h"
#include "tape/draft.h"
#include "tape/small.h"
#include "tape/windows.h"

namespace evertrace::tape {
namespace {

constexpr double kParallelFrom = 60e3;  // nanoseconds of work: below, waking a thread costs more

// Small loops, one after the other.
class Chain : public Thunk {
 public:
  void add(const Draft& draft, int i) {
    const Instruction& instr = draft.program.instructions[i];
    Call call{loop_of(draft, i), draft.program.values[instr.out[0]].size,
              instr.numbers.empty() ? 0 : instr.numbers[0], instr.out[0],
              static_cast<int>(instr.in.size()), {}, {}, nullptr};
    for (int k = 0; k < call.count; ++k) {
      const int v = instr.in[k], view = draft.sources[v].view;
      call.in[k] = view >= 0 ? draft.view_source(view) : v;
      call.is_scalar[k] = draft.program.values[call.in[k]].size != call.size;
    }
    if (call.size <= kFew && call.count == 2) {
      call.small = find_small(instr.name, draft.program.values[instr.in[0]].dtype);
    }
    calls_.push_back(call);
  }

  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    for (const Call& call : calls_) {
      if (call.small != nullptr) {
        call.small(slots[call.in[0]], slots[call.in[1]], slots[call.out], call.size,
                   call.is_scalar[0] ? 0 : 1, call.is_scalar[1] ? 0 : 1);
        continue;
      }
      Operand operands[kMaxOperands];
      for (int k = 0; k < call.count; ++k) operands[k] = {slots[call.in[k]], call.is_scalar[k]};
      call.loop(operands, slots[call.out], call.size, call.param);
    }
  }

 private:
  struct Call {
    Loop loop;
    int64_t size, param;
    int out, count;
    int in[kMaxOperands];
    bool is_scalar[kMaxOperands];
    SmallLoop small = nullptr;
  };
  std::vector<Call> calls_;
};

class FusedThunk : public Thunk {
 public:
  FusedThunk(Fused fused, int64_t scratch) : fused_(std::move(fused)), scratch_(scratch) {}

  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    const int threads = fused_.nanoseconds < kParallelFrom ? 1 : thread_count();
    if (threads == 1) return fused_.run(slots, frame.arena + scratch_, 0, fused_.size);
    const int64_t unit = std::max<int64_t>(1, fused_.whole_rows ? fused_.inner : 1);
    const int64_t units = fused_.size / unit;
    const int64_t pieces = std::min<int64_t>(units, 2 * threads);
    parallel_for(pieces, [&](int64_t i) {
      const Piece range = piece(units, pieces, i);
      Scratch own(static_cast<size_t>(std::max<int64_t>(64, fused_.scratch)));
      fused_.run(slots, own.data(), range.begin * unit, range.end * unit);
    });
  }

 private:
  Fused fused_;
  int64_t scratch_;  // offset in the arena
};

class ReduceThunk : public Thunk {
 public:
  ReduceThunk(const Draft& draft, const Instruction& instr)
      : in_(instr.in[0]), out_(instr.out[0]), outer_(instr.numbers[0]), reduced_(instr.numbers[1]),
        inner_(instr.numbers[2]),
        reduce_(find_reduce(instr.name, draft.program.values[in_].dtype,
                            draft.program.values[out_].dtype)) {
    if (reduce_ == nullptr) throw std::invalid_argument("there is no reduction " + instr.name);
  }
  void run(Frame& frame) const override {
    reduce_(frame.slots[in_], frame.slots[out_], outer_, reduced_, inner_);
  }

 private:
  int in_, out_;
  int64_t outer_, reduced_, inner_;
  Reduce reduce_;
};

class MatmulThunk : public Thunk {
 public:
  MatmulThunk(const Draft& draft, const Instruction& instr)
      : x_(instr.in[0]), y_(instr.in[1]), out_(instr.out[0]),
        bytes_(draft.program.values[out_].bytes()),
        matmul_(find_matmul(draft.program.values[out_].dtype)) {
    if (matmul_ == nullptr) throw std::invalid_argument("there is no matrix product of this dtype");
    const auto& n = instr.numbers;
    shape_ = {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9]};
  }
  void run(Frame& frame) const override {
    char* out = frame.slots[out_];
    if (shape_.k == 0) std::memset(out, 0, static_cast<size_t>(bytes_));
    else matmul_(frame.slots[x_], frame.slots[y_], out, shape_);
  }

 private:
  int x_, y_, out_;
  int64_t bytes_;
  Matmul matmul_;
  MatmulShape shape_;
};

class WindowMatmulThunk : public Thunk {
 public:
  WindowMatmulThunk(const Draft& draft, const Instruction& instr)
      : x_(instr.in[0]), y_(instr.in[1]), out_(instr.out[0]),
        matmul_(find_matmul_windows(draft.program.values[out_].dtype)) {
    if (matmul_ == nullptr) throw std::invalid_argument("there is no matrix product of this dtype");
    const auto& n = instr.numbers;
    const size_t rows = static_cast<size_t>(n[0]), rank = rows + static_cast<size_t>(n[1]);
    for (size_t d = 0; d < rank; ++d) {
      (d < rows ? shape_.rows : shape_.columns).push_back({n[3 + d], n[3 + rank + d]});
    }
    shape_.n = n[2];
  }
  void run(Frame& frame) const override {
    matmul_(frame.slots[x_], frame.slots[y_], frame.slots[out_], shape_);
  }

 private:
  int x_, y_, out_;
  MatmulWindows matmul_;
  WindowProduct shape_;
};

// Sorts and their like, which take arrays.
class KernelThunk : public Thunk {
 public:
  // The frames' arrays of that number are its own.
  KernelThunk(const Draft& draft, const Instruction& instr, std::vector<KernelArrays>& all)
      : kernel_(find_kernel(instr.name)), number_(all.size()) {
    const auto& n = instr.numbers;
    options_.assign(n.begin() + 1, n.begin() + 1 + n[0]);
    size_t at = static_cast<size_t>(n[0]) + 1;
    const auto add = [&](int v, Arrays& arrays, std::vector<int>& slots) {
      const size_t rank = static_cast<size_t>(n[at++]);
      const auto begin = n.begin() + static_cast<std::ptrdiff_t>(at);
      arrays.push_back({draft.program.values[v].dtype, {begin, begin + static_cast<std::ptrdiff_t>(rank)}, nullptr});
      at += rank;
      slots.push_back(v);
    };
    KernelArrays arrays;
    for (int v : instr.in) add(v, arrays.in, in_slots_);
    for (int v : instr.out) add(v, arrays.out, out_slots_);
    all.push_back(std::move(arrays));
  }

  void run(Frame& frame) const override {
    auto& [in, out] = frame.arrays[number_];
    for (size_t i = 0; i < in.size(); ++i) in[i].data = frame.slots[in_slots_[i]];
    for (size_t i = 0; i < out.size(); ++i) out[i].data = frame.slots[out_slots_[i]];
    const Failure failure = kernel_->run(in, out, options_);
    if (failure != nullptr) throw std::invalid_argument(failure);
  }

 private:
  const NamedKernel* kernel_;
  size_t number_;
  Options options_;
  std::vector<int> in_slots_, out_slots_;
};

// Machine code of others.
class FunctionThunk : public Thunk {
 public:
  explicit FunctionThunk(const Instruction& instr)
      : function_(reinterpret_cast<Function>(static_cast<uintptr_t>(instr.numbers[0]))),
        units_(instr.numbers[1]), nanoseconds_(static_cast<double>(instr.numbers[2])),
        slots_(instr.in), owner_(instr.owner) {
    slots_.insert(slots_.end(), instr.out.begin(), instr.out.end());
  }

  void run(Frame& frame) const override {
    constexpr size_t kFewPointers = 32;
    char* few[kFewPointers];
    std::vector<char*> many(slots_.size() > kFewPointers ? slots_.size() : 0);
    char** pointers = many.empty() ? few : many.data();
    for (size_t i = 0; i < slots_.size(); ++i) pointers[i] = frame.slots[slots_[i]];
    const int64_t threads = nanoseconds_ < kParallelFrom ? 1 : thread_count();
    const int64_t pieces = std::min(units_, threads == 1 ? 1 : 4 * threads);
    if (pieces == 1) return function_(pointers, 0, units_);
    parallel_for(pieces, [&](int64_t i) {
      const Piece range = piece(units_, pieces, i);
      function_(pointers, range.begin, range.end);
    });
  }

 private:
  Function function_;
  int64_t units_;
  double nanoseconds_;
  std::vector<int> slots_;
  std::shared_ptr<void> owner_;
};

class CallThunk : public Thunk {
 public:
  CallThunk(const Draft& draft, const Instruction& instr) : call_(instr.call), slots_(instr.in) {
    slots_.insert(slots_.end(), instr.out.begin(), instr.out.end());
    for (int v : slots_) bytes_.push_back(draft.program.values[v].bytes());
  }

  void run(Frame& frame) const override {
    std::vector<char*> pointers;
    pointers.reserve(slots_.size());
    for (int slot : slots_) pointers.push_back(frame.slots[slot]);
    call_(pointers.data(), bytes_.data());
  }

 private:
  Call call_;
  std::vector<int> slots_;
  std::vector<int64_t> bytes_;
};

std::unique_ptr<Thunk> make_thunk(const Draft& draft, const Step& step,
                                  std::vector<std::shared_ptr<const Tape>>& bodies,
                                  std::vector<KernelArrays>& arrays) {
  const Instruction& instr = draft.program.instructions[step.instructions[0]];
  switch (instr.op) {
    case Op::kReduce: return std::make_unique<ReduceThunk>(draft, instr);
    case Op::kMatmul: return std::make_unique<MatmulThunk>(draft, instr);
    case Op::kWindowMatmul: return std::make_unique<WindowMatmulThunk>(draft, instr);
    case Op::kKernel: return std::make_unique<KernelThunk>(draft, instr, arrays);
    case Op::kCond:
    case Op::kWhile:
    case Op::kScan: {
      const int child = static_cast<int>(bodies.size());
      bodies.insert(bodies.end(), instr.bodies.begin(), instr.bodies.end());
      return make_control(draft, step, child);
    }
    case Op::kGather:
    case Op::kScatter: return make_windows(draft, instr);
    case Op::kFunction: return std::make_unique<FunctionThunk>(instr);
    case Op::kCall: return std::make_unique<CallThunk>(draft, instr);
    default: return make_move(draft, instr);
  }
}

// What a profile calls an instruction.
std::string name_of(const Instruction& instr) {
  switch (instr.op) {
    case Op::kCopy: return "copy";
    case Op::kMatmul: return "matmul";
    case Op::kSlice: return "slice";
    case Op::kUpdate: return "update";
    case Op::kCond: return "cond";
    case Op::kWhile: return "while";
    case Op::kScan: return "scan";
    case Op::kGather: return "gather";
    case Op::kScatter: return "scatter";
    case Op::kWindowMatmul: return "convolution";
    case Op::kFunction: return "fused loops";
    default: return instr.name;
  }
}

void add_label(Thunk& thunk, const Draft& draft, const Step& step) {
  for (const int i : step.instructions) {
    const std::string name = name_of(draft.program.instructions[i]);
    if (name.empty()) continue;
    if (!thunk.label.empty()) thunk.label += ' ';
    thunk.label += name;
  }
}

}  // namespace

int64_t read_integer(const char* data, DType dtype) {
  const auto as = [&](auto zero) {
    std::memcpy(&zero, data, sizeof zero);
    return static_cast<int64_t>(zero);
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return as(uint8_t{});
    case DType::kUInt16: return as(uint16_t{});
    case DType::kUInt32: return as(uint32_t{});
    case DType::kInt8: return as(int8_t{});
    case DType::kInt16: return as(int16_t{});
    case DType::kInt32: return as(int32_t{});
    case DType::kInt64: return as(int64_t{});
    default: {
      const int64_t value = as(uint64_t{});
      return value < 0 ? std::numeric_limits<int64_t>::max() : value;
    }
  }
}

std::vector<std::unique_ptr<Thunk>> make_thunks(const Draft& draft,
                                                std::vector<std::shared_ptr<const Tape>>& bodies,
                                                std::vector<KernelArrays>& arrays) {
  std::vector<std::unique_ptr<Thunk>> thunks;
  Chain* chain = nullptr;  // the last thunk, if it is one
  for (const Step& step : draft.steps) {
    const int first = step.instructions[0];
    if (step.is_group) {
      chain = nullptr;
      thunks.push_back(std::make_unique<FusedThunk>(step.fused, step.scratch_offset));
    } else if (draft.program.instructions[first].op == Op::kLoop) {
      if (chain == nullptr) {
        thunks.push_back(std::make_unique<Chain>());
        chain = static_cast<Chain*>(thunks.back().get());
      }
      chain->add(draft, first);
    } else {
      chain = nullptr;
      thunks.push_back(make_thunk(draft, step, bodies, arrays));
    }
    add_label(*thunks.back(), draft, step);
  }
  return thunks;
}

}  // namespace evertrace::tape
