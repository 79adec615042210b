#include "tape/control.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "tape/draft.h"
#include "tape/thunks.h"

namespace evertrace::tape {
namespace {

constexpr int64_t kFlagBytes = 64;

void copy_bytes(char* to, const char* from, int64_t bytes) {
  if (to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Whether a body writes a carry over what it has read of it.
bool is_carried(const Tape& body, size_t k) { return body.donor(k) >= 0; }

// The carries of a loop: each has the memory of the result, and a second buffer unless the body
// writes over what it has read.
class Carries {
 public:
  // The carries are the body's inputs from `first` on; `init` and `out` are slots.
  Carries(const Tape& body, size_t first, std::vector<int> init, std::vector<int> out,
          int64_t scratch)
      : body_(body), first_(first), init_(std::move(init)), out_(std::move(out)) {
    for (size_t k = 0; k < out_.size(); ++k) {
      spare_.push_back(scratch);
      if (!is_carried(body, k)) scratch += aligned(body.output_bytes(k));
    }
  }

  static int64_t scratch_bytes(const Tape& body, size_t count) {
    int64_t bytes = 0;
    for (size_t k = 0; k < count; ++k) {
      if (!is_carried(body, k)) bytes += aligned(body.output_bytes(k));
    }
    return bytes;
  }

  size_t count() const { return out_.size(); }

  // Puts the first values where the first turn reads them.
  void start(Frame& frame, const char** now) const {
    for (size_t k = 0; k < count(); ++k) {
      now[k] = frame.slots[init_[k]];
      if (!is_carried(body_, k)) continue;
      copy_bytes(frame.slots[out_[k]], now[k], body_.output_bytes(k));
      now[k] = frame.slots[out_[k]];
    }
  }

  // Binds a turn, which reads `now` and writes where it says afterwards. `even` turns write to the
  // results' memory, if they were not just read from there.
  void bind(Frame& frame, Frame& inner, const char** now, bool even) const {
    for (size_t k = 0; k < count(); ++k) {
      char* next = even || is_carried(body_, k) ? frame.slots[out_[k]]
                                               : frame.arena + spare_[k];
      body_.bind_input(inner, first_ + k, now[k]);
      body_.bind_output(inner, k, next);
      now[k] = next;
    }
  }

  void finish(Frame& frame, const char* const* now) const {
    for (size_t k = 0; k < count(); ++k) {
      copy_bytes(frame.slots[out_[k]], now[k], body_.output_bytes(k));
    }
  }

 private:
  const Tape& body_;
  size_t first_;
  std::vector<int> init_, out_;
  std::vector<int64_t> spare_;  // offsets in the arena
};

// Pointers of the carries of a running loop: on the stack, if they are few.
class Pointers {
 public:
  explicit Pointers(size_t count) : many_(count > kFew ? count : 0) {}
  const char** data() { return many_.empty() ? few_ : many_.data(); }

 private:
  static constexpr size_t kFew = 32;
  const char* few_[kFew];
  std::vector<const char*> many_;
};

class Cond : public Thunk {
 public:
  Cond(const Draft& draft, const Instruction& instr, int child)
      : bodies_(instr.bodies), in_(instr.in), out_(instr.out), child_(child),
        index_(draft.program.values[instr.in[0]].dtype) {}

  void run(Frame& frame) const override {
    const int64_t last = static_cast<int64_t>(bodies_.size()) - 1;
    const int64_t chosen =
        std::clamp<int64_t>(read_integer(frame.slots[in_[0]], index_), 0, last);
    const Tape& body = *bodies_[static_cast<size_t>(chosen)];
    Frame& inner = *frame.children[static_cast<size_t>(child_ + chosen)];
    for (size_t i = 1; i < in_.size(); ++i) body.bind_input(inner, i - 1, frame.slots[in_[i]]);
    for (size_t i = 0; i < out_.size(); ++i) body.bind_output(inner, i, frame.slots[out_[i]]);
    body.execute(inner);
  }

 private:
  std::vector<std::shared_ptr<const Tape>> bodies_;
  std::vector<int> in_, out_;
  int child_;
  DType index_;
};

std::vector<int> part(const std::vector<int>& slots, size_t begin, size_t end) {
  return {slots.begin() + static_cast<std::ptrdiff_t>(begin),
          slots.begin() + static_cast<std::ptrdiff_t>(end)};
}

class While : public Thunk {
 public:
  While(const Instruction& instr, int64_t scratch, int child)
      : test_(instr.bodies[0]), body_(instr.bodies[1]), child_(child), flag_(scratch),
        test_consts_(part(instr.in, 0, static_cast<size_t>(instr.numbers[0]))),
        body_consts_(part(instr.in, test_consts_.size(),
                          test_consts_.size() + static_cast<size_t>(instr.numbers[1]))),
        carries_(*body_, body_consts_.size(),
                 part(instr.in, test_consts_.size() + body_consts_.size(), instr.in.size()),
                 instr.out, scratch + kFlagBytes) {}

  void run(Frame& frame) const override {
    Frame& test = *frame.children[static_cast<size_t>(child_)];
    Frame& body = *frame.children[static_cast<size_t>(child_) + 1];
    for (size_t i = 0; i < test_consts_.size(); ++i) {
      test_->bind_input(test, i, frame.slots[test_consts_[i]]);
    }
    for (size_t i = 0; i < body_consts_.size(); ++i) {
      body_->bind_input(body, i, frame.slots[body_consts_[i]]);
    }
    char* flag = frame.arena + flag_;
    test_->bind_output(test, 0, flag);
    Pointers pointers(carries_.count());
    const char** now = pointers.data();
    carries_.start(frame, now);
    for (bool even = true;; even = !even) {
      for (size_t k = 0; k < carries_.count(); ++k) {
        test_->bind_input(test, test_consts_.size() + k, now[k]);
      }
      test_->execute(test);
      if (*flag == 0) break;
      carries_.bind(frame, body, now, even);
      body_->execute(body);
    }
    carries_.finish(frame, now);
  }

 private:
  std::shared_ptr<const Tape> test_, body_;
  int child_;
  int64_t flag_;
  std::vector<int> test_consts_, body_consts_;
  Carries carries_;
};

constexpr int64_t kSharedFrom = 100'000;  // nanoseconds of turns from which threads share them
constexpr int64_t kTaken = 20'000;        // of turns that a thread takes at a time

class Scan : public Thunk {
 public:
  Scan(const Instruction& instr, int64_t scratch, int child)
      : body_(instr.bodies[0]), child_(child), length_(instr.numbers[2]),
        reverse_(instr.numbers[3] != 0),
        consts_(part(instr.in, 0, static_cast<size_t>(instr.numbers[0]))),
        carries_(*body_, consts_.size(),
                 part(instr.in, consts_.size(),
                      consts_.size() + static_cast<size_t>(instr.numbers[1])),
                 part(instr.out, 0, static_cast<size_t>(instr.numbers[1])), scratch),
        xs_(part(instr.in, consts_.size() + carries_.count(), instr.in.size())),
        ys_(part(instr.out, carries_.count(), instr.out.size())),
        is_free_(carries_.count() == 0 && length_ > 1 && !body_->calls_back() &&
                 thread_count() > 1) {}

  void run(Frame& frame) const override {
    Frame& body = *frame.children[static_cast<size_t>(child_)];
    bind_consts(frame, body);
    if (is_free_) return run_in_any_order(frame, body);
    Pointers pointers(carries_.count());
    const char** now = pointers.data();
    carries_.start(frame, now);
    for (int64_t turn = 0; turn < length_; ++turn) {
      // The last turn writes to the results' memory.
      carries_.bind(frame, body, now, (length_ - 1 - turn) % 2 == 0);
      run_turn(frame, body, turn);
    }
    carries_.finish(frame, now);
  }

 private:
  void bind_consts(Frame& frame, Frame& body) const {
    for (size_t i = 0; i < consts_.size(); ++i) {
      body_->bind_input(body, i, frame.slots[consts_[i]]);
    }
  }

  // Runs a turn, whose carries are bound.
  void run_turn(Frame& frame, Frame& body, int64_t turn) const {
    const int64_t i = reverse_ ? length_ - 1 - turn : turn;
    const size_t first_x = consts_.size() + carries_.count();
    for (size_t k = 0; k < xs_.size(); ++k) {
      const int64_t bytes = body_->input_bytes(first_x + k);
      body_->bind_input(body, first_x + k, frame.slots[xs_[k]] + i * bytes);
    }
    for (size_t k = 0; k < ys_.size(); ++k) {
      const int64_t bytes = body_->output_bytes(carries_.count() + k);
      body_->bind_output(body, carries_.count() + k, frame.slots[ys_[k]] + i * bytes);
    }
    body_->execute(body);
  }

  // How long turns take is seldom known before: the first one tells whether threads share the rest.
  void run_in_any_order(Frame& frame, Frame& body) const {
    const int64_t begin = clock_now();
    run_turn(frame, body, 0);
    const int64_t took = std::max<int64_t>(1, clock_now() - begin), left = length_ - 1;
    if (took < kSharedFrom / left) {
      for (int64_t turn = 1; turn < length_; ++turn) run_turn(frame, body, turn);
      return;
    }
    const int64_t threads = std::min<int64_t>(left, thread_count());
    const int64_t some = std::clamp<int64_t>(kTaken / took, 1, (left + threads - 1) / threads);
    std::atomic<int64_t> next{1};
    std::atomic<bool> has_failed{false};
    std::exception_ptr error;
    parallel_for(threads, [&](int64_t) {
      try {
        std::unique_ptr<Frame> own = body_->take_frame();
        bind_consts(frame, *own);
        for (int64_t turn; (turn = next.fetch_add(some, std::memory_order_relaxed)) < length_;) {
          const int64_t end = std::min(length_, turn + some);
          for (; turn < end; ++turn) run_turn(frame, *own, turn);
        }
        body_->leave_frame(std::move(own));
      } catch (...) {  // there is no memory: what kernels refuse, the first turn has said
        if (!has_failed.exchange(true)) error = std::current_exception();
        next.store(length_, std::memory_order_relaxed);
      }
    });
    if (error) std::rethrow_exception(error);
  }

  std::shared_ptr<const Tape> body_;
  int child_;
  int64_t length_;
  bool reverse_;
  std::vector<int> consts_;
  Carries carries_;
  std::vector<int> xs_, ys_;
  bool is_free_;  // whether turns may run in any order, and at the same time
};

}  // namespace

int64_t scratch_bytes(const Draft&, const Instruction& instr) {
  if (instr.op == Op::kWhile) {
    return kFlagBytes + Carries::scratch_bytes(*instr.bodies[1], instr.out.size());
  }
  if (instr.op == Op::kScan) {
    return Carries::scratch_bytes(*instr.bodies[0], static_cast<size_t>(instr.numbers[1]));
  }
  return 0;
}

std::unique_ptr<Thunk> make_control(const Draft& draft, const Step& step, int child) {
  const Instruction& instr = draft.program.instructions[step.instructions[0]];
  if (instr.op == Op::kCond) return std::make_unique<Cond>(draft, instr, child);
  if (instr.op == Op::kWhile) return std::make_unique<While>(instr, step.scratch_offset, child);
  return std::make_unique<Scan>(instr, step.scratch_offset, child);
}

}  // namespace evertrace::tape
