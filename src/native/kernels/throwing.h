// What a thread of ours needs before it can throw.

#pragma once

#include <atomic>
#include <exception>
#include <thread>

namespace evertrace {

// The first exception of a thread takes memory that the C++ library keeps for it; where there is none
// the process ends. So a thread takes it as it begins, and who starts it waits until `count` have.
inline void take_memory_to_throw(std::atomic<int>& begun) {
  static_cast<void>(std::uncaught_exceptions());
  begun.fetch_add(1, std::memory_order_release);
}

inline void wait_until_begun(const std::atomic<int>& begun, int count) {
  while (begun.load(std::memory_order_acquire) < count) std::this_thread::yield();
}

}  // namespace evertrace
