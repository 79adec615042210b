// LAPACK's routines on single matrices in column-major order.
//
// They are those of SciPy, whose addresses Python hands over before the first kernel that needs them
// runs, so that nothing is linked, and all engines take the same ones.

#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <string>

namespace evertrace::lapack {

enum class Routine : uint8_t {
  kPotrf, kGetrf, kTrsm, kGtsv, kGeqrf, kGeqp3, kOrgqr, kOrmqr,
  kSyevd, kGesdd, kGesvd, kGeev, kGees, kGehrd, kSytrd, kCount,
};

// Finds the address of a routine by its whole name, such as "dgetrf"; null where there is none.
using Finder = void* (*)(void* context, const std::string& name);

// Takes all routines; false, and none is taken, if one is missing.
bool load(Finder find, void* context);
bool is_loaded();

void* address(Routine routine, int letter);

template <class T>
constexpr int kLetter = -1;
template <>
constexpr int kLetter<float> = 0;
template <>
constexpr int kLetter<double> = 1;
template <>
constexpr int kLetter<std::complex<float>> = 2;
template <>
constexpr int kLetter<std::complex<double>> = 3;

// Calls the routine for matrices of T. Fortran takes addresses only.
template <class T, class... Args>
void call(Routine routine, Args*... args) {
  reinterpret_cast<void (*)(Args*...)>(address(routine, kLetter<T>))(args...);
}

// Returns what `ask(&size, &minus_one)` says is the best size of working memory.
template <class T, class Ask>
int best_work(const Ask& ask) {
  T size = 1;
  int query = -1;
  ask(&size, &query);
  // As a number of the matrix, it may have been rounded down.
  const auto count = std::real(size);
  constexpr double eps = std::numeric_limits<decltype(std::real(T()))>::epsilon();
  const double most = static_cast<double>(count) * (1 + eps);
  return most > 1 ? static_cast<int>(most) : 1;
}

}  // namespace evertrace::lapack
