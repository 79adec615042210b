#include "tape/small.h"

#include <type_traits>

namespace evertrace::tape {
namespace {

// Integers wrap: they are calculated with as unsigned ones.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping { using Type = T; };
template <class T>
struct Wrapping<T, true> { using Type = std::make_unsigned_t<T>; };
template <class T>
using W = typename Wrapping<T>::Type;

struct Add { template <class T> static T of(T x, T y) { return static_cast<T>(W<T>(x) + W<T>(y)); } };
struct Sub { template <class T> static T of(T x, T y) { return static_cast<T>(W<T>(x) - W<T>(y)); } };
struct Mul { template <class T> static T of(T x, T y) { return static_cast<T>(W<T>(x) * W<T>(y)); } };
struct Div { template <class T> static T of(T x, T y) { return x / y; } };
struct Eq { template <class T> static bool of(T x, T y) { return x == y; } };
struct Ne { template <class T> static bool of(T x, T y) { return x != y; } };
struct Lt { template <class T> static bool of(T x, T y) { return x < y; } };
struct Le { template <class T> static bool of(T x, T y) { return x <= y; } };
struct Gt { template <class T> static bool of(T x, T y) { return x > y; } };
struct Ge { template <class T> static bool of(T x, T y) { return x >= y; } };

template <class F, class T>
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void run(const char* x, const char* y, char* out, int64_t n, int64_t x_step, int64_t y_step) {
  using R = decltype(F::of(T{}, T{}));
  const T* a = reinterpret_cast<const T*>(x);
  const T* b = reinterpret_cast<const T*>(y);
  R* result = reinterpret_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) result[i] = F::of(a[i * x_step], b[i * y_step]);
}

template <class F>
SmallLoop of_dtype(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return run<F, float>;
    case DType::kFloat64: return run<F, double>;
    default: break;
  }
  if constexpr (!std::is_same_v<F, Div>) {  // integers are divided otherwise
    if (dtype == DType::kInt32) return run<F, int32_t>;
    if (dtype == DType::kInt64) return run<F, int64_t>;
  }
  return nullptr;
}

struct Row {
  std::string_view name;
  SmallLoop (*find)(DType);
};

constexpr Row kRows[] = {
    {"add", of_dtype<Add>}, {"add_any", of_dtype<Add>}, {"sub", of_dtype<Sub>},
    {"mul", of_dtype<Mul>}, {"div", of_dtype<Div>},     {"eq", of_dtype<Eq>},
    {"ne", of_dtype<Ne>},   {"lt", of_dtype<Lt>},       {"le", of_dtype<Le>},
    {"gt", of_dtype<Gt>},   {"ge", of_dtype<Ge>},
};

}  // namespace

SmallLoop find_small(std::string_view primitive, DType dtype) {
  for (const Row& row : kRows) {
    if (row.name == primitive) return row.find(dtype);
  }
  return nullptr;
}

}  // namespace evertrace::tape
