#include "kernels/loops/find.h"

namespace evertrace::EVERTRACE_TARGET {

Loop find(const Query& query) {
  for (const auto family : {find_arithmetic, find_complex, find_compare, find_select, find_convert,
                            find_powers, find_exponential, find_trigonometric, find_functions,
                            find_bits, find_gamma}) {
    const Loop found = family(query);
    if (found != nullptr) return found;
  }
#ifdef EVERTRACE_IS_BASELINE
  return nullptr;
#else
  return baseline::find(query);
#endif
}

}  // namespace evertrace::EVERTRACE_TARGET
