#include "kernels/blocks.h"

#include <cstdint>
#include <new>
#include <utility>

#include "kernels/hidden.h"

namespace evertrace {
namespace {

// Sizes grow by quarters of a power of two, so that a block is at most a quarter too large. A block
// begins with a header of one cache line, which is also what links those that are kept.
constexpr size_t kMaxKept = size_t{256} << 20;
constexpr size_t kLargest = size_t{128} << 20;  // larger blocks are not kept
constexpr int kClasses = 160;
constexpr size_t kTooLarge = size_t{1} << 46;

struct alignas(kBlockAlignment) Header {
  Header* next;
  int size_class;
};

struct Kept {
  Header* lists[kClasses] = {};
  size_t bytes = 0;
};
Kept kept;

constexpr std::align_val_t kAlignment{kBlockAlignment};
void release(Header* header) { ::operator delete(header, kAlignment); }

// The number of a size class: up to 256 bytes one per cache line, then four per power of two.
int class_of(size_t bytes) {
  const size_t lines = (bytes + kBlockAlignment - 1) / kBlockAlignment;
  if (lines <= 4) return lines == 0 ? 0 : static_cast<int>(lines) - 1;
  const int power = 63 - __builtin_clzll(lines - 1);  // 2^power < lines <= 2^(power + 1), power >= 2
  const size_t quarter = (lines - 1 - (size_t{1} << power)) >> (power - 2);
  return 4 * (power - 1) + static_cast<int>(quarter);
}

size_t bytes_of(int size_class) {
  if (size_class < 4) return kBlockAlignment * (static_cast<size_t>(size_class) + 1);
  const int power = size_class / 4 + 1;
  const size_t quarters = 5 + static_cast<size_t>(size_class % 4);
  return kBlockAlignment * (quarters << (power - 2));
}

}  // namespace

void* take_block(size_t bytes) {
  if (bytes > kTooLarge) return nullptr;
  const int size_class = class_of(bytes);
  const size_t size = bytes_of(size_class);
  Header* header = kept.lists[size_class];
  if (header != nullptr) {
    kept.lists[size_class] = header->next;
    kept.bytes -= size;
  } else {
    header = static_cast<Header*>(::operator new(sizeof(Header) + size, kAlignment, std::nothrow));
    if (header == nullptr) return nullptr;
    header->size_class = size_class;
    hide_memory(header + 1, size);
  }
  show_memory(header + 1, bytes);
  return header + 1;
}

void give_block(void* data) {
  if (data == nullptr) return;
  Header* header = static_cast<Header*>(data) - 1;
  const size_t size = bytes_of(header->size_class);
  if (size > kLargest || kept.bytes + size > kMaxKept) {
    release(header);
    return;
  }
  hide_memory(data, size);
  header->next = kept.lists[header->size_class];
  kept.lists[header->size_class] = header;
  kept.bytes += size;
}

void release_blocks() {
  for (Header*& list : kept.lists) {
    while (list != nullptr) release(std::exchange(list, list->next));
  }
  kept.bytes = 0;
}

size_t kept_block_bytes() { return kept.bytes; }

}  // namespace evertrace
