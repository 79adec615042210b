#include "kernels/processor.h"

namespace evertrace {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
Generation ask() {
  __builtin_cpu_init();
#if !defined(__clang__) && __GNUC__ >= 12
  if (__builtin_cpu_supports("x86-64-v4")) return Generation::kV4;
  return __builtin_cpu_supports("x86-64-v3") ? Generation::kV3 : Generation::kBaseline;
#else  // which know features alone; no processor has these and lacks the others of its generation
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2")) {
    return Generation::kBaseline;
  }
  const bool is_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return is_v4 ? Generation::kV4 : Generation::kV3;
#endif
}
#else
Generation ask() { return Generation::kBaseline; }
#endif

}  // namespace

Generation processor_generation() {
  static const Generation generation = ask();
  return generation;
}

}  // namespace evertrace
