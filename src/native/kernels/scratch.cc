#include "kernels/scratch.h"

#include <cstddef>
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

constexpr size_t kMiddle = size_t{1} << 20;   // up to here there are many blocks, of few sizes
constexpr size_t kLargest = size_t{1} << 28;  // larger blocks are not kept
constexpr size_t kMostMiddle = 16, kMostLarge = 4;  // blocks
constexpr std::align_val_t kAlignment{64};

struct Block {
  size_t bytes;
  char* data;
};

// Blocks that wait, the last one used last.
struct Shelf {
  size_t most;
  std::vector<Block> blocks;
};

std::mutex mutex;

#if defined(__unix__) || defined(__APPLE__)
// A forked child would else wait for a thread that it does not have.
[[maybe_unused]] const int at_fork = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                                    [] { mutex.unlock(); });
#endif

Shelf& shelf_of(size_t bytes) {
  static auto* middle = new Shelf{kMostMiddle, {}};  // never destroyed: threads outlive `main`
  static auto* large = new Shelf{kMostLarge, {}};
  return bytes <= kMiddle ? *middle : *large;
}

// The size of the block that serves so many bytes: sizes that grow call by call share one.
size_t rounded(size_t bytes) {
  if (bytes > kMiddle) return bytes;
  size_t size = Scratch::kKept;
  while (size < bytes) size *= 2;
  return size;
}

char* allocate(size_t bytes) { return static_cast<char*>(::operator new(bytes, kAlignment)); }
void release(char* data) { ::operator delete(data, kAlignment); }

}  // namespace

Scratch::Scratch(size_t bytes) : bytes_(bytes), data_(few_) {
  if (bytes_ <= kFew) return;
  if (bytes_ >= kKept) {
    bytes_ = rounded(bytes);
    std::lock_guard lock(mutex);
    auto& blocks = shelf_of(bytes_).blocks;
    for (size_t i = blocks.size(); i-- > 0;) {
      if (blocks[i].bytes < bytes_ || blocks[i].bytes / 4 > bytes_) continue;
      bytes_ = blocks[i].bytes;
      data_ = blocks[i].data;
      show_memory(data_, bytes);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  data_ = allocate(bytes_);
}

Scratch::~Scratch() {
  if (data_ == few_) return;
  char* dropped = data_;
  if (bytes_ >= kKept && bytes_ <= kLargest) {
    std::lock_guard lock(mutex);
    Shelf& shelf = shelf_of(bytes_);
    dropped = nullptr;
    if (shelf.blocks.size() == shelf.most) {
      dropped = shelf.blocks.front().data;
      shelf.blocks.erase(shelf.blocks.begin());
    }
    shelf.blocks.push_back({bytes_, data_});
    hide_memory(data_, bytes_);
  }
  if (dropped != nullptr) release(dropped);
}

void release_scratch() {
  std::vector<Block> blocks;
  {
    std::lock_guard lock(mutex);
    for (const size_t bytes : {kMiddle, kLargest}) {
      auto& waiting = shelf_of(bytes).blocks;
      blocks.insert(blocks.end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
  }
  for (const Block& block : blocks) release(block.data);
}

}  // namespace evertrace
