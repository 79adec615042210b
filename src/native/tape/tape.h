// A tape: thunks over planned memory, made from a program, which any number of threads may run.
//
// All values that live at one time within a run lie in one arena; outputs are written straight to
// the caller's memory. A running call takes a frame (arena and table of pointers) from those that
// earlier calls have left, so that nothing is allocated and hardly anything prepared.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/scratch.h"
#include "tape/program.h"

namespace evertrace::tape {

struct Draft;
class Tape;

// The arrays of a kernel that takes such.
struct KernelArrays {
  Arrays in, out;
};

// What one running call has: where each value is, and the same for the bodies of control flow.
struct Frame {
  explicit Frame(const Tape& tape);
  std::optional<Scratch> memory;  // of the arena
  char* arena = nullptr;          // where it is, or was when it last ran
  std::vector<char*> slots;  // by value
  std::vector<std::unique_ptr<Frame>> children;
  std::vector<KernelArrays> arrays;
};

// One step of a tape.
class Thunk {
 public:
  virtual ~Thunk() = default;
  virtual void run(Frame& frame) const = 0;

  std::string label;  // its operations, for profiles
};

// Is told which steps ran from when to when, while a profile is taken: on any thread, without the GIL.
using StepWatcher = void (*)(const std::string& label, int64_t begin, int64_t end);
extern std::atomic<StepWatcher> step_watcher;
int64_t clock_now();  // in nanoseconds

// How much there is of what: for tests and explanations.
struct Counts {
  int64_t thunks, loops, fused, copies, reuses, arena_bytes, buffers, functions;
};

class Tape {
 public:
  // Throws std::invalid_argument: the program is none; tells what a kernel is missing for.
  explicit Tape(Program program);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Reads the inputs, writes the outputs. They must not overlap, but an output may lie on its donor.
  void run(const void* const* in, void* const* out) const;

  // The same in parts, for the bodies of control flow: pointers that change are bound before each
  // turn.
  void bind_input(Frame& frame, size_t i, const char* data) const {
    frame.slots[inputs_[i]] = const_cast<char*>(data);
  }
  void bind_output(Frame& frame, size_t i, char* data) const { frame.slots[outputs_[i]] = data; }
  void execute(Frame& frame) const;
  // Frames for turns that run at the same time.
  std::unique_ptr<Frame> take_frame() const;
  void leave_frame(std::unique_ptr<Frame> frame) const;

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  int64_t input_bytes(size_t i) const { return input_bytes_[i]; }
  int64_t output_bytes(size_t i) const { return output_bytes_[i]; }
  // The input whose memory output `i` may be given, or -1.
  int donor(size_t i) const { return donors_[i]; }
  bool has_donors() const { return has_donors_; }
  bool calls_back() const { return calls_back_; }  // see `Call`
  const Counts& counts() const { return counts_; }

 private:
  friend struct Frame;
  std::unique_ptr<Frame> spare_frame() const;
  void give_arena(Frame& frame) const;

  // A value that is a part of an input or an output: known when these are bound.
  struct Derived {
    int slot, base;
    int64_t offset;
  };
  // A value whose place is known when the frame is made.
  struct Fixed {
    int slot;
    int64_t offset;
  };

  std::vector<std::unique_ptr<Thunk>> thunks_;
  std::vector<int> inputs_, outputs_;  // slots
  std::vector<int64_t> input_bytes_, output_bytes_;
  std::vector<int> donors_;
  bool has_donors_, calls_back_;
  std::vector<Derived> derived_;
  std::vector<Fixed> in_arena_;
  std::vector<std::pair<int, const char*>> constants_;
  std::vector<Constant> constant_data_;
  std::vector<std::shared_ptr<const Tape>> bodies_;  // one child frame each
  std::vector<KernelArrays> arrays_;                 // of which frames have copies
  int64_t arena_bytes_ = 0;
  size_t num_slots_ = 0;
  Counts counts_ = {};
  mutable std::atomic<Frame*> spare_{nullptr};  // the frame of the last call
  mutable std::vector<std::unique_ptr<Frame>> spares_;  // of calls that ran at the same time
};

}  // namespace evertrace::tape
