#include "tape/moves.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/structure.h"
#include "tape/draft.h"
#include "tape/thunks.h"

namespace evertrace::tape {
namespace {

// A strided view copied to another, in as few dimensions as will do.
class Move {
 public:
  // Strides and offsets in elements.
  Move(const int64_t* shape, const int64_t* in_strides, const int64_t* out_strides, int64_t rank,
       int64_t item)
      : item_(item) {
    for (int64_t d = 0; d < rank; ++d) {
      bytes_ *= shape[d];
      if (shape[d] == 1) continue;
      const int64_t in = in_strides[d] * item, out = out_strides[d] * item;
      if (!shape_.empty() && in_.back() == in * shape[d] && out_.back() == out * shape[d]) {
        shape_.back() *= shape[d];
        in_.back() = in;
        out_.back() = out;
        continue;
      }
      shape_.push_back(shape[d]);
      in_.push_back(in);
      out_.push_back(out);
    }
    bytes_ *= item;
    dense_ = shape_.empty() || (shape_.size() == 1 && in_[0] == item && out_[0] == item);
  }

  void run(const char* in, char* out) const {
    if (bytes_ == 0) return;
    if (!dense_) {
      copy_strided(in, out, static_cast<int>(shape_.size()), shape_.data(), in_.data(), out_.data(),
                   item_);
      return;
    }
    switch (bytes_) {  // known sizes are one instruction each
      case 4: std::memcpy(out, in, 4); break;
      case 8: std::memcpy(out, in, 8); break;
      default: std::memcpy(out, in, static_cast<size_t>(bytes_));
    }
  }

 private:
  std::vector<int64_t> shape_, in_, out_;
  int64_t item_, bytes_ = 1;
  bool dense_;
};

class CopyThunk : public Thunk {
 public:
  CopyThunk(const Draft& draft, const Instruction& instr)
      : out_(instr.out[0]), size_(draft.program.values[out_].size),
        item_(draft.program.values[out_].item()) {
    const auto& n = instr.numbers;
    size_t at = 0;
    for (int v : instr.in) {
      if (at == n.size()) {
        filling_ = v;
        break;
      }
      const int64_t rank = n[at], in = n[at + 1], out = n[at + 2];
      const int64_t* shape = n.data() + at + 3;
      parts_.push_back({v, in * item_, out * item_,
                        Move(shape, shape + rank, shape + 2 * rank, rank, item_)});
      at += 3 + 3 * static_cast<size_t>(rank);
    }
  }

  void run(Frame& frame) const override {
    char* out = frame.slots[out_];
    if (filling_ >= 0) fill(out, frame.slots[filling_], size_, item_);
    for (const Part& part : parts_) part.move.run(frame.slots[part.slot] + part.in, out + part.out);
  }

 private:
  struct Part {
    int slot;
    int64_t in, out;
    Move move;
  };
  int out_;
  int64_t size_, item_;
  int filling_ = -1;
  std::vector<Part> parts_;
};

std::vector<int64_t> dense_strides(const int64_t* shape, int64_t rank) {
  std::vector<int64_t> strides(static_cast<size_t>(rank), 1);
  for (int64_t d = rank - 2; d >= 0; --d) {
    strides[static_cast<size_t>(d)] = strides[static_cast<size_t>(d) + 1] * shape[d + 1];
  }
  return strides;
}

// A slice whose begin is read when it runs; what would reach beyond an end is moved inside.
class Window {
 public:
  // {rank, shape, sizes} and the slots of the starts.
  Window(const Draft& draft, const Instruction& instr, size_t first_start) {
    const int64_t rank = instr.numbers[0];
    const int64_t* shape = instr.numbers.data() + 1;
    const int64_t* sizes = shape + rank;
    const int64_t item = draft.program.values[instr.in[0]].item();
    const std::vector<int64_t> strides = dense_strides(shape, rank);
    for (int64_t d = 0; d < rank; ++d) {
      const int slot = instr.in[first_start + static_cast<size_t>(d)];
      if (shape[d] == sizes[d]) continue;
      dims_.push_back({slot, draft.program.values[slot].dtype, shape[d] - sizes[d],
                       strides[static_cast<size_t>(d)] * item});
    }
  }

  int64_t offset(char* const* slots) const {
    int64_t bytes = 0;
    for (const Dim& d : dims_) {
      bytes += std::clamp<int64_t>(read_integer(slots[d.slot], d.dtype), 0, d.last) * d.stride;
    }
    return bytes;
  }

  static Move move(const Instruction& instr, int64_t item, bool into) {
    const int64_t rank = instr.numbers[0];
    const int64_t* shape = instr.numbers.data() + 1;
    const std::vector<int64_t> whole = dense_strides(shape, rank);
    const std::vector<int64_t> own = dense_strides(shape + rank, rank);
    return into ? Move(shape + rank, own.data(), whole.data(), rank, item)
                : Move(shape + rank, whole.data(), own.data(), rank, item);
  }

 private:
  struct Dim {
    int slot;
    DType dtype;
    int64_t last, stride;
  };
  std::vector<Dim> dims_;
};

class SliceThunk : public Thunk {
 public:
  SliceThunk(const Draft& draft, const Instruction& instr)
      : in_(instr.in[0]), out_(instr.out[0]), window_(draft, instr, 1),
        move_(Window::move(instr, draft.program.values[in_].item(), false)) {}
  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    move_.run(slots[in_] + window_.offset(slots), slots[out_]);
  }

 private:
  int in_, out_;
  Window window_;
  Move move_;
};

class UpdateThunk : public Thunk {
 public:
  UpdateThunk(const Draft& draft, const Instruction& instr)
      : in_(instr.in[0]), update_(instr.in[1]), out_(instr.out[0]),
        bytes_(draft.program.values[out_].bytes()), window_(draft, instr, 2),
        move_(Window::move(instr, draft.program.values[in_].item(), true)) {}
  void run(Frame& frame) const override {
    char* const* slots = frame.slots.data();
    const int64_t offset = window_.offset(slots);
    if (slots[in_] != slots[out_]) {
      std::memcpy(slots[out_], slots[in_], static_cast<size_t>(bytes_));
    }
    move_.run(slots[update_], slots[out_] + offset);
  }

 private:
  int in_, update_, out_;
  int64_t bytes_;
  Window window_;
  Move move_;
};

}  // namespace

std::unique_ptr<Thunk> make_move(const Draft& draft, const Instruction& instr) {
  if (instr.op == Op::kSlice) return std::make_unique<SliceThunk>(draft, instr);
  if (instr.op == Op::kUpdate) return std::make_unique<UpdateThunk>(draft, instr);
  return std::make_unique<CopyThunk>(draft, instr);
}

}  // namespace evertrace::tape
