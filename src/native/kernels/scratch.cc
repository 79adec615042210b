#include "kernels/scratch.h"

#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "kernels/hidden.h"

namespace evertrace {
namespace {

constexpr size_t kSmallest = size_t{1} << 16;  // smaller blocks malloc has without faults
constexpr size_t kLargest = size_t{1} << 28;   // larger blocks are not kept
constexpr size_t kMostKept = 4;                // blocks
constexpr std::align_val_t kAlignment{64};

struct Block {
  size_t bytes;
  char* data;
};

std::mutex mutex;

#if defined(__unix__) || defined(__APPLE__)
// A forked child would else wait for a thread that it does not have.
[[maybe_unused]] const int at_fork = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                                    [] { mutex.unlock(); });
#endif

std::vector<Block>& kept() {
  static auto* blocks = new std::vector<Block>;  // never destroyed: threads outlive `main`
  return *blocks;
}

char* allocate(size_t bytes) { return static_cast<char*>(::operator new(bytes, kAlignment)); }
void release(char* data) { ::operator delete(data, kAlignment); }

}  // namespace

Scratch::Scratch(size_t bytes) : bytes_(bytes), data_(few_) {
  if (bytes_ <= kFew) return;
  if (bytes_ >= kSmallest) {
    std::lock_guard lock(mutex);
    auto& blocks = kept();
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes < bytes_ || blocks[i].bytes / 4 > bytes_) continue;
      bytes_ = blocks[i].bytes;
      data_ = blocks[i].data;
      show_memory(data_, bytes);
      blocks[i] = blocks.back();
      blocks.pop_back();
      return;
    }
  }
  data_ = allocate(bytes_);
}

Scratch::~Scratch() {
  if (data_ == few_) return;
  char* dropped = data_;
  if (bytes_ >= kSmallest && bytes_ <= kLargest) {
    std::lock_guard lock(mutex);
    auto& blocks = kept();
    dropped = nullptr;
    if (blocks.size() == kMostKept) {
      dropped = blocks.front().data;
      blocks.erase(blocks.begin());
    }
    blocks.push_back({bytes_, data_});
    hide_memory(data_, bytes_);
  }
  if (dropped != nullptr) release(dropped);
}

void release_scratch() {
  std::vector<Block> blocks;
  {
    std::lock_guard lock(mutex);
    blocks.swap(kept());
  }
  for (const Block& block : blocks) release(block.data);
}

}  // namespace evertrace
