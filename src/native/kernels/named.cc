#include "kernels/named.h"

#include "kernels/fft.h"
#include "kernels/linalg.h"

namespace evertrace {
namespace {

// Running reductions, along the axis of the first option.
constexpr char kSum[] = "sum", kProd[] = "prod", kMax[] = "max", kMin[] = "min",
               kLogSumExp[] = "logsumexp";
template <const char* kOperation>
Failure running(const Arrays& in, const Arrays& out, const Options& options) {
  return scan(in[0], out[0], options[0], options[1] != 0, kOperation);
}

// Name, function, operands, results, options, and how many results there are at least.
constexpr NamedKernel kKernels[] = {
    {"sort", [](auto& in, auto& out, auto& n) { return sort(in, out, n[0]); }, kAny, kAny, 1, kAny},
    {"top_k", [](auto& in, auto& out, auto&) { return top_k(in[0], out[0], out[1]); }, 1, 2, 0, 2},
    {"search", [](auto& in, auto& out, auto& n) { return search(in[0], in[1], out[0], n[0] != 0); },
     2, 1, 1, 1},
    {"threefry", [](auto& in, auto& out, auto&) {
       return threefry(in[0], in[1], in[2], out[0], out[1]);
     }, 3, 2, 0, 2},
    {"random_words", [](auto& in, auto& out, auto&) { return random_words(in[0], out[0]); },
     1, 1, 0, 1},
    {kSum, running<kSum>, 1, 1, 2, 1},
    {kProd, running<kProd>, 1, 1, 2, 1},
    {kMax, running<kMax>, 1, 1, 2, 1},
    {kMin, running<kMin>, 1, 1, 2, 1},
    {kLogSumExp, running<kLogSumExp>, 1, 1, 2, 1},
    {"fft", fft, 1, 1, 2, 1},
    {"cholesky", cholesky, 1, 1, 0, 1},
    {"triangular_solve", triangular_solve, 2, 1, 4, 1},
    {"lu", lu, 1, 2, 0, 2},
    {"permutation", permutation, 1, 1, 0, 1},
    {"tridiagonal_solve", tridiagonal_solve, 4, 1, 0, 1},
    {"cholesky_update", cholesky_update, 2, 1, 0, 1},
    {"geqrf", geqrf, 1, 2, 0, 2},
    {"householder_product", householder_product, 2, 1, 0, 1},
    {"ormqr", ormqr, 3, 1, 2, 1},
    {"qr", qr, 1, 3, 0, 2},
    {"eigh", eigh, 1, 2, 1, 2},
    {"svd", svd, 1, 3, 1, 1},
    {"eig", eig, 1, 3, 2, 1},
    {"schur", schur, 1, 2, 0, 1},
    {"hessenberg", hessenberg, 1, 2, 0, 2},
    {"tridiagonal", tridiagonal, 1, 4, 1, 4},
};

}  // namespace

const NamedKernel* find_kernel(std::string_view name) {
  for (const NamedKernel& kernel : kKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

const char* kernel_name(size_t n) {
  return n < sizeof kKernels / sizeof *kKernels ? kKernels[n].name : nullptr;
}

}  // namespace evertrace
