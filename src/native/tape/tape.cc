#include "tape/tape.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "tape/draft.h"
#include "tape/thunks.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace evertrace::tape {
namespace {

constexpr int64_t kLargestKept = 1 << 20;  // bytes of an arena whose tape keeps frames
constexpr size_t kMostKept = 4;            // frames beside the last one

// Of the frames that wait in all tapes. A forked child would else wait for a thread that it has not.
std::mutex mutex;

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int at_fork = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                                    [] { mutex.unlock(); });
#endif

}  // namespace

std::atomic<StepWatcher> step_watcher{nullptr};

int64_t clock_now() {
  using std::chrono::steady_clock;
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

bool Instruction::calls_back() const {
  return op == Op::kCall || std::any_of(bodies.begin(), bodies.end(), [](const auto& body) {
           return body->calls_back();
         });
}

Tape::Tape(Program program) {
  validate(program);
  calls_back_ = std::any_of(program.instructions.begin(), program.instructions.end(),
                            [](const Instruction& instr) { return instr.calls_back(); });
  for (int v : program.inputs) {
    inputs_.push_back(v);
    input_bytes_.push_back(program.values[v].bytes());
  }
  for (int v : program.outputs) output_bytes_.push_back(program.values[v].bytes());
  Draft draft = make_draft(std::move(program));
  constant_data_ = std::move(draft.program.constants);
  for (const Constant& c : constant_data_) constants_.emplace_back(c.value, c.data.data());
  outputs_ = draft.outputs;
  donors_ = draft.donors;
  has_donors_ = std::any_of(donors_.begin(), donors_.end(), [](int i) { return i >= 0; });
  num_slots_ = draft.program.values.size();
  for (size_t v = 0; v < num_slots_; ++v) {
    const Place& place = draft.places[v];
    const int slot = static_cast<int>(v);
    if (place.kind == Place::kArena) in_arena_.push_back({slot, place.offset});
    if (place.kind == Place::kDerived) derived_.push_back({slot, place.base, place.offset});
    if (place.kind == Place::kConstant && place.base != slot) {
      for (const Constant& c : constant_data_) {
        if (c.value == place.base) constants_.emplace_back(slot, c.data.data() + place.offset);
      }
    }
  }
  arena_bytes_ = draft.arena_bytes;
  counts_ = draft.counts;
  thunks_ = make_thunks(draft, bodies_, arrays_);
  counts_.thunks = static_cast<int64_t>(thunks_.size());
}

Tape::~Tape() { delete spare_.load(); }

Frame::Frame(const Tape& tape) : slots(tape.num_slots_), arrays(tape.arrays_) {
  tape.give_arena(*this);
  for (const auto& [slot, data] : tape.constants_) slots[slot] = const_cast<char*>(data);
  for (const auto& body : tape.bodies_) children.push_back(std::make_unique<Frame>(*body));
}

// Has a frame that has none have memory for the arena.
void Tape::give_arena(Frame& frame) const {
  frame.memory.emplace(std::max<size_t>(64, static_cast<size_t>(arena_bytes_)));
  if (frame.arena == frame.memory->data()) return;
  frame.arena = frame.memory->data();
  for (const auto& fixed : in_arena_) frame.slots[fixed.slot] = frame.arena + fixed.offset;
}

std::unique_ptr<Frame> Tape::take_frame() const {
  std::unique_ptr<Frame> frame = spare_frame();
  if (!frame) return std::make_unique<Frame>(*this);
  if (!frame->memory) give_arena(*frame);
  return frame;
}

// A frame that a call has left, or null.
std::unique_ptr<Frame> Tape::spare_frame() const {
  std::unique_ptr<Frame> frame(spare_.exchange(nullptr, std::memory_order_acquire));
  if (frame) return frame;
  std::lock_guard lock(mutex);
  if (!spares_.empty()) {
    frame = std::move(spares_.back());
    spares_.pop_back();
  }
  return frame;
}

void Tape::leave_frame(std::unique_ptr<Frame> frame) const {
  if (arena_bytes_ > kLargestKept) return;
  // `Scratch` keeps the memory for all tapes: those of one program for many sizes run in the same.
  if (static_cast<size_t>(arena_bytes_) >= Scratch::kKept) frame->memory.reset();
  Frame* none = nullptr;
  if (spare_.compare_exchange_strong(none, frame.get(), std::memory_order_release)) {
    frame.release();  // NOLINT(bugprone-unused-return-value): `spare_` has it
    return;
  }
  std::lock_guard lock(mutex);
  if (spares_.size() < kMostKept) spares_.push_back(std::move(frame));
}

void Tape::execute(Frame& frame) const {
  char** slots = frame.slots.data();
  for (const Derived& d : derived_) slots[d.slot] = slots[d.base] + d.offset;
  const StepWatcher watcher = step_watcher.load(std::memory_order_relaxed);
  if (watcher == nullptr) {
    for (const auto& thunk : thunks_) thunk->run(frame);
    return;
  }
  for (const auto& thunk : thunks_) {
    const int64_t begin = clock_now();
    thunk->run(frame);
    watcher(thunk->label, begin, clock_now());
  }
}

void Tape::run(const void* const* in, void* const* out) const {
  std::unique_ptr<Frame> frame = take_frame();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    bind_input(*frame, i, static_cast<const char*>(in[i]));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    bind_output(*frame, i, static_cast<char*>(out[i]));
  }
  execute(*frame);
  leave_frame(std::move(frame));
}

}  // namespace evertrace::tape
