// Fourier transforms, by the loops of NumPy's universal functions, whose addresses Python hands over.

#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace evertrace {

enum class FftStep : uint8_t { kForward, kInverse, kRealEven, kRealOdd, kRealInverse, kCount };

// A loop over rows as NumPy calls it: (input, factor, output), {rows, elements in, elements out},
// {steps between rows of the three, steps between elements in and out}, and data of its own.
struct FftLoop {
  void (*run)(char** args, const intptr_t* sizes, const intptr_t* steps, void* data);
  void* data;
};

void set_fft_loop(FftStep step, bool is_double, const FftLoop& loop);

// Transforms the last dimensions: options {FftType, how many}; see `ops/fft.py`. No size may be zero.
Failure fft(const Arrays& in, const Arrays& out, const Options& options);

}  // namespace evertrace
