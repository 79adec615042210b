#include "kernels/loops/find.h"

namespace evertrace::EVERTRACE_TARGET {

constexpr const Family* families[] = {
    &kArithmetic, &kComplex, &kCompare, &kSelect, &kConvert, &kPowers,
    &kExponential, &kTanh, &kTrigonometric, &kFunctions, &kBits,
#ifdef EVERTRACE_IS_BASELINE  // there is nothing in it that other instructions would quicken
    &kGamma,
#endif
    nullptr,
};

}  // namespace evertrace::EVERTRACE_TARGET
