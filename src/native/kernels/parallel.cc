// The idea: a loop is a counter of which whoever has time takes the next index. The thread that
// starts it works on it too, so that it ends even if no other thread ever comes: in a process that
// was forked, or whose processors are busy, it is just slower.

#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/throwing.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace evertrace {
namespace {

// Waking a thread takes some ten microseconds; the phases of a kernel follow each other faster.
constexpr int kSpins = 4000;

inline void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

int count_processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct Loop {
  Loop(int64_t n, FunctionRef<void(int64_t)> f) : count(n), body(f) {}

  const int64_t count;
  const FunctionRef<void(int64_t)> body;  // lives until `done` is `count`
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};

  bool finished() const { return done.load(std::memory_order_acquire) == count; }

  void work() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      body(i);
      done.fetch_add(1, std::memory_order_acq_rel);
    }
  }
};

class Pool {
 public:
  void run(const std::shared_ptr<Loop>& loop, int helpers) {
    {
      std::lock_guard lock(mutex_);
      try {
        start_threads();
        for (int i = 0; i < helpers; ++i) waiting_.push_back(loop);
        // NOLINTNEXTLINE(bugprone-empty-catch)
      } catch (const std::exception&) {  // no thread or no memory is to be had: slower, no failure
      }
      pending_.store(static_cast<int>(waiting_.size()), std::memory_order_release);
    }
    wake_.notify_all();
    loop->work();
    for (int spins = 0; !loop->finished(); ++spins) {
      // The others are in their last call: nearly done, unless the system has stopped them.
      if (spins < kSpins) pause(); else std::this_thread::yield();
    }
  }

 private:
  void start_threads() {
    for (; threads_ < thread_count() - 1; ++threads_) {
      std::thread([this] { serve(); }).detach();
      wait_until_begun(begun_, threads_ + 1);
    }
  }

  [[noreturn]] void serve() {
    take_memory_to_throw(begun_);
    while (true) {
      for (int i = 0; i < kSpins && pending_.load(std::memory_order_acquire) == 0; ++i) pause();
      std::shared_ptr<Loop> loop;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !waiting_.empty(); });
        loop = std::move(waiting_.front());
        waiting_.pop_front();
        pending_.store(static_cast<int>(waiting_.size()), std::memory_order_release);
      }
      loop->work();
    }
  }

  std::atomic<int> begun_{0};  // threads that have what they need to throw
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Loop>> waiting_;
  std::atomic<int> pending_{0};
  int threads_ = 0;
};

// Never destroyed, for its threads may run until the process ends. A forked child has none of
// them, and perhaps a locked mutex: it begins with a new pool.
Pool* pool = new Pool;

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int at_fork =
    pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
#endif

}  // namespace

int thread_count() {
  static const int count = count_processors();
  return count;
}

void parallel_for(int64_t count, FunctionRef<void(int64_t)> body) {
  const int helpers = static_cast<int>(std::min<int64_t>(count, thread_count())) - 1;
  if (helpers <= 0) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  pool->run(std::make_shared<Loop>(count, body), helpers);
}

}  // namespace evertrace
