#include "kernels/lapack.h"

#include <array>
#include <atomic>

namespace evertrace::lapack {
namespace {

// Without the letter of the dtype; some are called otherwise where numbers are complex.
struct Name {
  const char* real;
  const char* complex;
};
constexpr Name kNames[] = {
    {"potrf", "potrf"}, {"getrf", "getrf"}, {"trsm", "trsm"},   {"gtsv", "gtsv"},
    {"geqrf", "geqrf"}, {"geqp3", "geqp3"}, {"orgqr", "ungqr"}, {"ormqr", "unmqr"},
    {"syevd", "heevd"}, {"gesdd", "gesdd"}, {"gesvd", "gesvd"}, {"geev", "geev"},
    {"gees", "gees"},   {"gehrd", "gehrd"}, {"sytrd", "hetrd"},
};
constexpr size_t kRoutines = static_cast<size_t>(Routine::kCount);
static_assert(std::size(kNames) == kRoutines);

using Table = std::array<std::array<void*, 4>, kRoutines>;
Table table;
std::atomic<bool> loaded{false};

}  // namespace

bool load(Finder find, void* context) {
  if (is_loaded()) return true;
  Table found;
  for (size_t i = 0; i < kRoutines; ++i) {
    for (size_t letter = 0; letter < 4; ++letter) {
      const char* name = letter < 2 ? kNames[i].real : kNames[i].complex;
      found[i][letter] = find(context, "sdcz"[letter] + std::string(name));
      if (found[i][letter] == nullptr) return false;
    }
  }
  table = found;
  loaded.store(true, std::memory_order_release);
  return true;
}

bool is_loaded() { return loaded.load(std::memory_order_acquire); }

void* address(Routine routine, int letter) {
  return table[static_cast<size_t>(routine)][static_cast<size_t>(letter)];
}

}  // namespace evertrace::lapack
