// Fourier transforms of long rows, eight columns of which are transformed at once.

#pragma once

#include <cstdint>

namespace evertrace {

// Shorter rows NumPy's loops transform as quickly.
constexpr int64_t kLongFft = 1 << 11;

// Whether rows of so many complex numbers are long ones, and have no prime factor above five.
bool is_long(int64_t n);

// Transforms `rows` rows of `n` complex numbers; `in` and `out` do not overlap. The inverse divides by n.
template <class T>
void long_fft(bool inverse, const T* in, T* out, int64_t rows, int64_t n);

// Transforms rows of `n` real numbers to n / 2 + 1 complex ones, and back; n is even, its half long.
template <class T>
void long_rfft(const T* in, T* out, int64_t rows, int64_t n);
template <class T>
void long_irfft(const T* in, T* out, int64_t rows, int64_t n);

}  // namespace evertrace
