// Copies and choices, which depend on the size of items alone.

#include "kernels/loops/apply.h"

namespace evertrace::EVERTRACE_TARGET {
namespace {

struct Item16 {
  uint64_t low, high;
};

template <class T>
void copy_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  if (!operands[0].is_scalar) {
    std::memmove(result, operands[0].data, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  const T value = *static_cast<const T*>(operands[0].data);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(result)[i] = value;
}

// The second case where the first operand, a boolean, holds, else the first case.
template <class T>
void select_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  const uint8_t* which = static_cast<const uint8_t*>(operands[0].data);
  if (operands[0].is_scalar) return copy_loop<T>(operands + (*which ? 2 : 1), result, n, 0);
  const T* x = static_cast<const T*>(operands[1].data);
  const T* y = static_cast<const T*>(operands[2].data);
  T* out = static_cast<T*>(result);
  if (operands[1].is_scalar && operands[2].is_scalar) {
    const T a = *x, b = *y;
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = which[i] ? b : a;
  } else if (operands[1].is_scalar) {
    const T a = *x;
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = which[i] ? y[i] : a;
  } else if (operands[2].is_scalar) {
    const T b = *y;
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = which[i] ? b : x[i];
  } else {
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = which[i] ? y[i] : x[i];
  }
}

Loop find_select(const Query& query) {
  if (query.first != DType::kBool || query.in != query.out) return nullptr;
  switch (item_size(query.in)) {
    case 1: return &select_loop<uint8_t>;
    case 2: return &select_loop<uint16_t>;
    case 4: return &select_loop<uint32_t>;
    case 8: return &select_loop<uint64_t>;
    case 16: return &select_loop<Item16>;
    default: return nullptr;
  }
}

constexpr Entry kEntries[] = {
    {"copy", 1, 1, same<find_copy>},
    {"select_n", 3, 1, find_select},
};

}  // namespace

Loop find_copy(DType dtype) {
  switch (item_size(dtype)) {
    case 1: return &copy_loop<uint8_t>;
    case 2: return &copy_loop<uint16_t>;
    case 4: return &copy_loop<uint32_t>;
    case 8: return &copy_loop<uint64_t>;
    case 16: return &copy_loop<Item16>;
    default: return nullptr;
  }
}

constexpr Family kSelect = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
