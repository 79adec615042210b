// Working memory of kernels, kept for the next call.
//
// Fresh memory from the system costs more than sorting what is put into it: each page is a fault.

#pragma once

#include <cstddef>

namespace evertrace {

// A block of memory that is not initialised, aligned for every kernel's use: within the object if it
// is small.
class Scratch {
 public:
  explicit Scratch(size_t bytes);  // throws std::bad_alloc
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const { return data_; }

  // Blocks from this size on are kept; smaller ones malloc has without faults.
  static constexpr size_t kKept = size_t{1} << 16;

 private:
  static constexpr size_t kFew = 4096;
  size_t bytes_;
  char* data_;
  alignas(64) char few_[kFew];
};

// Gives the memory that is kept back to the system.
void release_scratch();

}  // namespace evertrace
