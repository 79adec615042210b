// Kernels on stacks of matrices ``[..., m, n]`` in row-major order, of float32, float64, complex64
// and complex128. How many operands, results and options each has is in `named.cc`.
//
// Most are LAPACK's: matrices are transposed on the way to it and back. No size may be zero then.

#pragma once

#include "kernels/kernels.h"

namespace evertrace {

// ---------------------------------------------------------------- factors and systems

// Rows and columns up to which Cholesky and LU factors and triangular systems are done by loops.
constexpr int64_t kSmallMatrix = 24;

// The lower factors of positive definite matrices, of which the upper triangles are not read; NaN
// where one is not positive definite.
Failure cholesky(const Arrays& in, const Arrays& out, const Options&);

// Solves op(a) x = b with triangular matrices, of which the other triangle is not read; op is of the
// matrix as it is stored, as are the other options.
struct TriangularOptions {
  bool lower, transposed, conjugated, unit_diagonal;
};
Failure triangular_solve(const Arrays& in, const Arrays& out, const Options& options);

// The packed factors of matrices, and the rows (int32) that were swapped with each.
Failure lu(const Arrays& in, const Arrays& out, const Options&);

// The permutations that successive swaps of rows amount to.
Failure permutation(const Arrays& in, const Arrays& out, const Options&);

// Solves systems of three diagonals, of which the first element of the first and the last of the
// last are not read; NaN where one is singular.
Failure tridiagonal_solve(const Arrays& in, const Arrays& out, const Options&);

// The upper factors of r^T r + w w^T; of real numbers.
Failure cholesky_update(const Arrays& in, const Arrays& out, const Options&);

// ---------------------------------------------------------------- orthogonal factors

// Packed reflectors below R, and their factors.
Failure geqrf(const Arrays& in, const Arrays& out, const Options&);

// The first columns of products of reflectors.
Failure householder_product(const Arrays& in, const Arrays& out, const Options&);

// Products of reflectors, their factors, and matrices: options {from the left, by the adjoint}.
Failure ormqr(const Arrays& in, const Arrays& out, const Options& options);

// Q, complete or not, and R; and the columns (int32) in the order that makes R's diagonal descend,
// if there is a third result.
Failure qr(const Arrays& in, const Arrays& out, const Options&);

// ---------------------------------------------------------------- spectra: NaN without convergence

// Eigenvectors and ascending eigenvalues of Hermitian matrices: options {the lower triangle is read}.
Failure eigh(const Arrays& in, const Arrays& out, const Options& options);

// Singular values, and vectors, complete or not, if there are three results: options {by QR
// iteration}.
Failure svd(const Arrays& in, const Arrays& out, const Options& options);

// Eigenvalues, and left and right eigenvectors: options {are the left wanted, the right}.
Failure eig(const Arrays& in, const Arrays& out, const Options& options);

// The Schur form, and its vectors if there are two results.
Failure schur(const Arrays& in, const Arrays& out, const Options&);

// Packed Hessenberg form and reflectors, and the reflectors' factors.
Failure hessenberg(const Arrays& in, const Arrays& out, const Options&);

// Packed tridiagonal form, both diagonals, and the reflectors' factors: options {lower}.
Failure tridiagonal(const Arrays& in, const Arrays& out, const Options& options);

}  // namespace evertrace
