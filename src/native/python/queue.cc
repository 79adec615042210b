#include "python/queue.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "kernels/throwing.h"
#include "python/pending.h"
#include "python/thread_state.h"
#include "python/unlocked.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace evertrace {
namespace {

using Clock = std::chrono::steady_clock;

// Waking a thread takes some ten microseconds: a run is to be much longer than that.
constexpr int64_t kLongFrom = 200'000;  // nanoseconds
std::atomic<int64_t> long_from{kLongFrom};

// What may be before a run in the queue: all of it holds memory.
constexpr size_t kMostRuns = 32;
constexpr int64_t kMostBytes = int64_t{1} << 28;

// How long a signal may wait while Python waits for a run.
constexpr std::chrono::milliseconds kBetweenSignals(20);

void perform(QueuedRun& run) noexcept {
  QueuedRun::Stage stage = QueuedRun::kDone;
  for (const auto& needed : run.needs) {
    const QueuedRun::Stage before = needed->stage.load(std::memory_order_acquire);
    if (before == QueuedRun::kDone) continue;
    stage = before;
    std::snprintf(run.failure, sizeof run.failure, "%s", needed->failure);
  }
  if (stage == QueuedRun::kDone) {
    try {
      run_measured(*run.tape, *run.least, run.in.data(), run.out.data());
    } catch (const std::bad_alloc&) {
      stage = QueuedRun::kExhausted;
    } catch (const std::exception& error) {
      stage = QueuedRun::kFailed;
      std::snprintf(run.failure, sizeof run.failure, "%s", error.what());
    }
  }
  run.stage.store(stage, std::memory_order_release);
}

using Runs = std::list<std::shared_ptr<QueuedRun>>;

int drop_over(void*);

class Queue {
 public:
  // False where there is no thread.
  bool add(const std::shared_ptr<QueuedRun>& run) {
    const std::lock_guard lock(mutex);
    try {
      if (!has_thread) {
        std::thread([this] { serve(); }).detach();
        wait_until_begun(begun, 1);
      }
      has_thread = true;
    } catch (const std::exception&) {
      return false;
    }
    runs.push_back(run);
    bytes += run->bytes;
    wake.notify_one();
    return true;
  }

  // Does the first run, if there is one that nobody does; returns whether it did.
  bool run_first(std::unique_lock<std::mutex>& lock) {
    if (!is_idle()) return false;
    is_running = true;
    QueuedRun& run = *runs.front();  // it stays there meanwhile
    lock.unlock();
    perform(run);
    lock.lock();
    is_running = false;
    bytes -= run.bytes;
    over.splice(over.end(), runs, runs.begin());
    ended.notify_all();
    if (!runs.empty()) wake.notify_one();
    // What the run has held is given back where Python comes by next: here there is no GIL.
    if (!is_closed) Py_AddPendingCall(drop_over, nullptr);
    return true;
  }

  std::mutex mutex;
  std::condition_variable wake, ended;
  Runs runs, over;  // those to do, and those whose objects are still held
  int64_t bytes = 0;
  bool is_running = false, has_thread = false, is_closed = false;
  bool is_stopped = false;  // by a test

 private:
  bool is_idle() const { return !runs.empty() && !is_running && !is_stopped; }

  std::atomic<int> begun{0};

  [[noreturn]] void serve() {
    take_memory_to_throw(begun);
    while (true) {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return is_idle(); });
      run_first(lock);
    }
  }
};

// Never destroyed, for its thread may be at work when the process ends.
Queue* queue = new Queue;

#if defined(__unix__) || defined(__APPLE__)
// A forked child has no thread: what has not been computed is lost there, and a new queue begins.
void before_fork() { queue->mutex.lock(); }
void in_parent() { queue->mutex.unlock(); }
void in_child() {
  Queue* of_parent = queue;
  queue = new Queue;
  for (const auto& run : of_parent->runs) run->stage.store(QueuedRun::kLost);
  queue->over.splice(queue->over.end(), of_parent->over);
  queue->over.splice(queue->over.end(), of_parent->runs);
}
[[maybe_unused]] const int at_fork = pthread_atfork(before_fork, in_parent, in_child);
#endif

// Gives back what runs that are over have held; with the GIL. It may run Python.
int drop_over(void*) {
  Runs over;
  {
    const std::lock_guard lock(queue->mutex);
    over.swap(queue->over);
  }
  for (const auto& run : over) {
    run->held.clear();
    run->needs.clear();
    run->tape.reset();
  }
  return 0;
}

// Works or waits, without the GIL, until something is so; it is asked with the queue locked. False
// with an error of the user's handlers of signals.
template <class Predicate>
bool wait_until(const Predicate& is_so) {
  const auto is_done = [&is_so] {
    const std::lock_guard lock(queue->mutex);
    return is_so();
  };
  for (bool done = is_done(); !done;) {
    {
      const Unlocked unlocked(true);
      std::unique_lock lock(queue->mutex);
      if (!queue->run_first(lock)) queue->ended.wait_for(lock, kBetweenSignals, is_so);
      done = is_so();
    }
    if (!done && PyErr_CheckSignals() != 0) return false;
  }
  drop_over(nullptr);
  return true;
}

// Notes where the user's program is. False with an error.
bool find_place(QueuedRun& run) {
  static PyObject* find = nullptr;
  if (find == nullptr) {
    const Ref module(PyImport_ImportModule("evertrace._src.source"));
    find = module ? PyObject_GetAttrString(module.get(), "user_source") : nullptr;
    if (find == nullptr) return false;
  }
  run.place = Ref(PyObject_CallNoArgs(find));
  return static_cast<bool>(run.place);
}

// Waits until few runs are before the next one, which writes so many bytes. False with an error.
bool make_room(int64_t bytes) {
  return wait_until([bytes] {
    return queue->runs.empty() ||
           (queue->runs.size() < kMostRuns && queue->bytes + bytes <= kMostBytes);
  });
}

// Raises what went wrong in a run, with the user's line of the call.
void raise_failure(const QueuedRun& run) {
  const Ref errors(PyImport_ImportModule("evertrace._src.errors"));
  PyObject* place = run.place ? run.place.get() : Py_None;
  const char* function = run.stage == QueuedRun::kExhausted ? "queued_out_of_memory"
                         : run.stage == QueuedRun::kLost    ? "queued_lost"
                                                            : "queued_failed";
  const Ref error(
      errors ? PyObject_CallMethod(errors.get(), function, "Os", place, run.failure) : nullptr);
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

// ------------------------------------------------------------------------ in Python

PyObject* drain(PyObject*, PyObject*) {
  if (!wait_until([] { return queue->runs.empty(); })) return nullptr;
  Py_RETURN_NONE;
}

PyObject* stop(PyObject*, PyObject* flag) {
  const int is_true = PyObject_IsTrue(flag);
  if (is_true < 0) return nullptr;
  const std::lock_guard lock(queue->mutex);
  queue->is_stopped = is_true != 0;
  queue->wake.notify_all();
  Py_RETURN_NONE;
}

PyObject* length(PyObject*, PyObject*) {
  const std::lock_guard lock(queue->mutex);
  return PyLong_FromSize_t(queue->runs.size());
}

PyObject* set_from(PyObject*, PyObject* number) {
  const long long from = PyLong_AsLongLong(number);
  if (from == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(long_from.exchange(from));
}

PyMethodDef methods[] = {
    {"drain_queue", as_method<drain>(), METH_NOARGS, "Wait until no run is on the queue."},
    {"stop_queue", as_method<stop>(), METH_O, "stop_queue(flag): begin no run, for tests; or go on."},
    {"queue_length", as_method<length>(), METH_NOARGS, "How many runs are not over."},
    {"set_queued_from", as_method<set_from>(), METH_O,
     "set_queued_from(nanoseconds): of a tape's shortest run, -1 for any; returns what it was."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_worth_queue(const TapeObject* tape, PyObject* const* inputs) {
  const int64_t least = (*tape->least)->load(std::memory_order_relaxed);
  const int64_t from = long_from.load(std::memory_order_relaxed);
  if (least < from || (least == kNeverRun && from >= 0)) return false;
  for (size_t i = 0; i < (*tape->tape)->num_inputs(); ++i) {
    PyObject* x = inputs[i];
    const bool is_number = PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x);
    if (!is_array(x) && !is_number) return false;
  }
  if (queue->is_closed) return false;
  PyObject* config = current_config();
  static PyObject* const name = PyUnicode_InternFromString("cpu_enable_async_dispatch");
  const Ref flag(config == nullptr ? nullptr : PyObject_GetAttr(config, name));
  if (!flag) forget_error();
  return flag.get() == Py_True;
}

std::shared_ptr<QueuedRun> begin_run(const TapeObject* tape, PyObject* const* inputs) {
  auto run = std::make_shared<QueuedRun>();
  const size_t num_in = (*tape->tape)->num_inputs(), num_out = (*tape->tape)->num_outputs();
  run->tape = *tape->tape;
  run->least = *tape->least;
  run->in.resize(num_in);
  run->numbers.resize(num_in);
  run->out.resize(num_out);
  for (size_t i = 0; i < num_out; ++i) run->bytes += run->tape->output_bytes(i);
  if (!find_place(*run) || !make_room(run->bytes)) return nullptr;
  for (size_t i = 0; i < num_in; ++i) {  // now: what gives its memory away is not pending then
    auto needed = is_array(inputs[i]) ? pending_run(inputs[i]) : nullptr;
    if (needed) run->needs.push_back(std::move(needed));
  }
  return run;
}

bool put_on_queue(const std::shared_ptr<QueuedRun>& run, PyObject* const* outs) {
  for (size_t i = 0; i < run->out.size(); ++i) {
    if (!make_pending(outs[i], run)) return false;
    run->held.push_back(Ref::borrow(pending_data(outs[i]).owner));
  }
  if (queue->add(run)) return true;
  const Unlocked unlocked(true);
  perform(*run);
  return true;
}

bool wait_for(const QueuedRun& run) {
  if (!run.is_over() && !wait_until([&run] { return run.is_over(); })) return false;
  if (run.stage == QueuedRun::kDone) return true;
  raise_failure(run);
  return false;
}

bool close_queue() {
  const std::lock_guard lock(queue->mutex);
  queue->is_closed = true;
  return !queue->runs.empty();
}

void run_measured(const tape::Tape& tape, std::atomic<int64_t>& least, const void* const* in,
                  void* const* out) {
  const Clock::time_point start = Clock::now();
  tape.run(in, out);
  const int64_t took = std::chrono::nanoseconds(Clock::now() - start).count();
  if (took < least.load(std::memory_order_relaxed)) least.store(took, std::memory_order_relaxed);
}

int add_queue(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
