#include "kernels/codes.h"

#include "kernels/clones.h"

namespace evertrace {
namespace {

template <class Coding, Order order>
struct Codes {
  using Bits = typename Coding::Bits;
  using Key = typename Coding::Key;

  EVERTRACE_CLONES static void encode(const void* numbers, int64_t count, void* keys) {
    const Bits* from = static_cast<const Bits*>(numbers);
    Key* to = static_cast<Key*>(keys);
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] = Coding::template encode<order>(from[i]);
  }

  EVERTRACE_CLONES static void decode(const void* keys, int64_t count, void* numbers) {
    const Key* from = static_cast<const Key*>(keys);
    Bits* to = static_cast<Bits*>(numbers);
    EVERTRACE_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] = Coding::decode(from[i]);
  }
};

// Integers have one order.
template <class Coding>
constexpr bool is_float = false;
template <class B, B kInfinity, B kNaN>
constexpr bool is_float<Float<B, kInfinity, kNaN>> = true;

}  // namespace

CodeLoops find_codes(DType dtype, Order order) {
  CodeLoops found{nullptr, nullptr};
  with_coding(dtype, [&](auto coding) {
    using Coding = decltype(coding);
    found = {Codes<Coding, Order::kTotal>::encode, Codes<Coding, Order::kTotal>::decode};
    if constexpr (is_float<Coding>) {
      if (order == Order::kNumber) found.encode = Codes<Coding, Order::kNumber>::encode;
      if (order == Order::kBits) found.encode = Codes<Coding, Order::kBits>::encode;
    }
  });
  return found;
}

}  // namespace evertrace
