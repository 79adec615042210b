// The queue of the first CPU device: runs of tapes that the caller does not wait for.
//
// They are run one after the other and without the GIL, so what a run reads has been written when its
// turn comes, and what it writes over has been read: by a thread of its own, or by one that waits, as
// waking another would take it longer. The arrays that a run writes are *pending* until then (see
// pending.h). Only tapes go there whose runs were measured to be long.

#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "python/tape.h"

namespace evertrace {

struct QueuedRun {
  enum Stage { kQueued, kDone, kExhausted, kFailed, kLost };

  // What is run. Filled by the caller; dropped, with the GIL, some time after the run is over.
  std::shared_ptr<const tape::Tape> tape;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Scalar> numbers;  // that are among the inputs
  std::vector<Ref> held;        // what owns memory that is read or written
  std::vector<std::shared_ptr<QueuedRun>> needs;  // runs that make what is read
  int64_t bytes = 0;                              // that are written

  std::shared_ptr<std::atomic<int64_t>> least;  // time of a run of the tape
  Ref place;                                    // of the call, in the user's program
  std::atomic<Stage> stage{kQueued};
  char failure[200] = "";  // of C++

  bool is_over() const { return stage.load(std::memory_order_acquire) != kQueued; }
};

// Whether a run of a tape on these inputs goes on the queue: it is long, nobody will write to what it
// reads, as to a NumPy array of the user's, and it calls no Python.
bool is_worth_queue(const TapeObject* tape, PyObject* const* inputs);  // the same of a long one
inline bool is_for_queue(const TapeObject* tape, PyObject* const* inputs) {
  return tape->is_long && !(*tape->tape)->calls_back() && is_worth_queue(tape, inputs);
}

// Makes a run, with room for its inputs and outputs, and waits until few others are before it. Null
// with an error, which may be an interrupt. It may run Python.
std::shared_ptr<QueuedRun> begin_run(const TapeObject* tape, PyObject* const* inputs);

// Makes the outputs pending, and does the run: later, or at once where no thread is to be had. False
// with an error.
bool put_on_queue(const std::shared_ptr<QueuedRun>& run, PyObject* const* outs);

// Waits for the end of a run. False with an error: an interrupt, or that of the run. It may run
// Python.
bool wait_for(const QueuedRun& run);

// Lets nothing more on the queue, as the interpreter ends; returns whether a run is not over.
bool close_queue();

// Runs a tape at once, measured if it is long. Throws.
void run_measured(const tape::Tape& tape, std::atomic<int64_t>& least, const void* const* in,
                  void* const* out);

}  // namespace evertrace
