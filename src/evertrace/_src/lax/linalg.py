"""Linear algebra on stacks of matrices ``[..., m, n]``, of float32, float64, complex64, complex128.

Operands have equal dtypes and leading dimensions; `numpy.linalg` promotes and broadcasts. The
functions run on LAPACK, on the CPU. Where a factorisation fails, the results of that matrix are
NaN; nothing is raised.
"""

import enum
import operator
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.interop import as_array
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import add_p, scale
from evertrace._src.ops.linalg import matrices, solving
from evertrace._src.ops.structural import expand_dims, squeeze, zeros
from evertrace._src.support import set_module

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_p",
    "eig", "eig_p", "eigh", "eigh_p", "hessenberg", "hessenberg_p", "householder_product",
    "householder_product_p", "lu", "lu_p", "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p", "ormqr", "qr", "qr_p", "schur", "schur_p", "svd", "svd_p",
    "symmetric_product", "triangular_solve", "triangular_solve_p", "tridiagonal_solve",
    "tridiagonal_solve_p",
]  # fmt: skip

cholesky_p = ops.cholesky_p
eig_p = ops.eig_p
eigh_p = ops.eigh_p
hessenberg_p = ops.hessenberg_p
householder_product_p = ops.householder_product_p
lu_p = ops.lu_p
lu_pivots_to_permutation_p = ops.lu_pivots_to_permutation_p
qr_p = ops.qr_p
schur_p = ops.schur_p
svd_p = ops.svd_p
triangular_solve_p = ops.triangular_solve_p
tridiagonal_solve_p = ops.tridiagonal_solve_p


@set_module("evertrace.lax.linalg")
class EigImplementation(enum.Enum):
    """Libraries for eigenvalues of general matrices; LAPACK is the one in use."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


@set_module("evertrace.lax.linalg")
class EighImplementation(enum.Enum):
    """Algorithms for eigenvalues of Hermitian matrices: names for accelerators."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@set_module("evertrace.lax.linalg")
class SvdAlgorithm(enum.Enum):
    """Algorithms for singular values; on the CPU it is divide and conquer."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _matrices(name, x):
    x = as_array(x, name)
    matrices.check_matrices(name, x.aval)
    return x


def _is_empty(x):
    return 0 in x.aval.shape[-2:]


def _zeros(x, *sizes, dtype=None):
    return zeros(matrices.shaped(x.aval, *sizes, dtype=dtype))


def _unsupported(name, argument, value, fix):
    return errors.user_error(
        NotImplementedError, f"{name}: {argument}={value!r} is not supported.", fix=fix
    )


# ---------------------------------------------------------------- systems


def cholesky(x, *, symmetrize_input=True):
    """Factor Hermitian positive definite matrices as ``L @ adjoint(L)``.

    Args:
      x: ``[..., n, n]``.
      symmetrize_input: whether to take ``(x + adjoint(x)) / 2``. If not, the upper triangle is not
        read, and tangents of `x` must be Hermitian for derivatives to be right.

    Returns:
      L, lower triangular. Of matrices that are not positive definite the lower triangle is NaN.
    """
    x = _matrices("cholesky", x)
    matrices.check_square("cholesky", x.aval)
    if _is_empty(x):
        return x
    return ops.cholesky_p.bind(matrices.hermitian_part(x) if symmetrize_input else x)


def triangular_solve(
    a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False,
    unit_diagonal=False,
):  # fmt: skip
    """Solve ``op(a) @ x = b``, or ``x @ op(a) = b``, for triangular matrices `a`.

    Args:
      a: ``[..., n, n]``; the other triangle is not read.
      b: ``[..., n, k]`` with `left_side`, else ``[..., k, n]``; or without that k a vector.
      left_side: which side of x the matrix is on.
      lower: whether `a` is lower triangular.
      transpose_a: whether op transposes.
      conjugate_a: whether op conjugates.
      unit_diagonal: whether the diagonal is taken to be ones, and not read.

    Returns:
      x, of the shape of `b`. A zero on the diagonal gives infinities and NaN.
    """
    a, b = _matrices("triangular_solve", a), as_array(b, "triangular_solve")
    is_vector = b.ndim == a.ndim - 1
    if is_vector:
        b = _as_matrix(b, 1 if left_side else 0)
    solving.check_system("triangular_solve", a.aval, b.aval, left_side=left_side)
    if not b.aval.size:
        return _from_matrix(b, left_side) if is_vector else b
    out = solving.triangular_solve(
        a, b, left_side=bool(left_side), lower=bool(lower), transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a), unit_diagonal=bool(unit_diagonal),
    )  # fmt: skip
    return _from_matrix(out, left_side) if is_vector else out


def _as_matrix(x, place):
    """Return vectors as matrices with one column (place 1) or one row (place 0)."""
    return expand_dims(x, (x.aval.ndim - 1 + place,))


def _from_matrix(x, is_column):
    return squeeze(x, (x.aval.ndim - (1 if is_column else 2),))


def lu(x):
    """Factor matrices as ``P @ L @ U`` with partial pivoting.

    Args:
      x: ``[..., m, n]``.

    Returns:
      U with L (without its diagonal of ones) below it, ``[..., m, n]``; pivots, int32 ``[..., k]``
      with k the smaller of m and n: row i was swapped with row ``pivots[i]``; and what these swaps
      amount to, int32 ``[..., m]``: ``x[permutation] == L @ U``.
    """
    x = _matrices("lu", x)
    m, n = x.shape[-2:]
    if not _is_empty(x):
        return tuple(ops.lu_p.bind(x))
    pivots = _zeros(x, min(m, n), dtype=np.int32)
    return x, pivots, lu_pivots_to_permutation(pivots, m)


def lu_pivots_to_permutation(pivots, permutation_size):
    """Return the permutation that the swaps of an LU factorisation amount to.

    Args:
      pivots: int32 ``[..., k]``; row i is swapped with row ``pivots[i]``, one after the other.
      permutation_size: number of rows, at least k.

    Returns:
      int32 ``[..., permutation_size]``.
    """
    pivots = as_array(pivots, "lu_pivots_to_permutation")
    return ops.lu_pivots_to_permutation_p.bind(
        pivots, permutation_size=operator.index(permutation_size)
    )


def tridiagonal_solve(dl, d, du, b, *, perturb_singular=False):
    """Solve systems with tridiagonal matrices.

    Args:
      dl: ``[..., n]``, the diagonal below: row i has ``dl[i]`` left of the diagonal; ``dl[0]`` is
        not read.
      d: ``[..., n]``, the diagonal.
      du: ``[..., n]``, the diagonal above; ``du[n - 1]`` is not read.
      b: ``[..., n, k]``.
      perturb_singular: must be False.

    Returns:
      The solutions ``[..., n, k]``, NaN for a singular matrix.
    """
    if perturb_singular:
        raise _unsupported(
            "tridiagonal_solve", "perturb_singular", True, "add a small number to the diagonal."
        )
    operands = [as_array(x, "tridiagonal_solve") for x in (dl, d, du)]
    b = _matrices("tridiagonal_solve", b)
    if _is_empty(b):
        return b
    return ops.tridiagonal_solve_p.bind(*operands, b, perturb_singular=False)


def symmetric_product(a_matrix, c_matrix, *, alpha=1.0, beta=0.0, symmetrize_output=False):
    """Return ``alpha * a @ transpose(a) + beta * c``.

    Args:
      a_matrix: ``[..., n, k]``.
      c_matrix: ``[..., n, n]``, symmetric.
      alpha: number.
      beta: number.
      symmetrize_output: has no effect, as both triangles are computed.

    Returns:
      ``[..., n, n]``.
    """
    a, c = _matrices("symmetric_product", a_matrix), _matrices("symmetric_product", c_matrix)
    out = matrices.product(a, matrices.transposed(a))
    return add_p.bind(scale(out, alpha), scale(c, beta))


# ---------------------------------------------------------------- orthogonal factors


def householder_product(a, taus):
    """Multiply Householder reflectors.

    Args:
      a: ``[..., m, n]`` with m >= n: below the diagonal of column i stands what follows the one of
        the vector v of reflector i.
      taus: ``[..., k]`` with k <= n: reflector i is ``identity - taus[i] * v @ adjoint(v)``.

    Returns:
      The first n columns of the product, ``[..., m, n]``. It has no derivative; that of `qr` has.
    """
    a, taus = _matrices("householder_product", a), as_array(taus, "householder_product")
    return a if _is_empty(a) else ops.householder_product_p.bind(a, taus)


def ormqr(a, taus, c, *, left=True, transpose=False):
    """Multiply matrices by the Q that Householder reflectors make up.

    Args:
      a: ``[..., m, n]``, reflectors as in `householder_product`.
      taus: ``[..., k]``, their factors; k is at most the smaller of m and n.
      c: ``[..., m, p]`` with `left`, else ``[..., p, m]``.
      left: whether Q stands on the left.
      transpose: whether to multiply by the adjoint of Q.

    Returns:
      Matrices of the shape of `c`. Differs from JAX: the square matrices Q are formed on the way.
    """
    a, c = _matrices("ormqr", a), _matrices("ormqr", c)
    taus = as_array(taus, "ormqr")
    if _is_empty(a) or _is_empty(c):
        return c
    q = householder_product(matrices.resized(a, a.shape[-2], a.shape[-2]), taus)
    q = matrices.adjoint(q) if transpose else q
    return matrices.product(q, c) if left else matrices.product(c, q)


def qr(x, *, pivoting=False, full_matrices=True, use_magma=None) -> tuple[Any, ...]:
    """Factor matrices as ``Q @ R``, with orthonormal columns of Q and upper triangular R.

    Args:
      x: ``[..., m, n]``.
      pivoting: whether to permute columns so that the diagonal of R does not grow.
      full_matrices: whether Q is ``[..., m, m]`` and R ``[..., m, n]``; else both are cut to k, the
        smaller of m and n, ``[..., m, k]`` and ``[..., k, n]``.
      use_magma: has no effect on CPUs.

    Returns:
      Q and R; with `pivoting` also the permutation, int32 ``[..., n]``: ``x[:, p] == Q @ R``.
      Differentiable where the first k columns are independent, except the complete Q of m > n.
    """
    x = _matrices("qr", x)
    m, n = x.shape[-2:]
    if not _is_empty(x):
        return tuple(
            ops.qr_p.bind(
                x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma
            )
        )
    k = m if full_matrices else 0
    outs = matrices.identity(matrices.shaped(x.aval, m, k)), _zeros(x, k, n)
    if not pivoting:
        return outs
    return *outs, iota(np.int32, (*x.shape[:-2], n), x.ndim - 2)


# ---------------------------------------------------------------- spectra


def eigh(
    x, *, lower=True, symmetrize_input=True, sort_eigenvalues=True, subset_by_index=None,
    implementation=None,
):  # fmt: skip
    """Return eigenvectors and eigenvalues of Hermitian matrices.

    Args:
      x: ``[..., n, n]``.
      lower: which triangle is read if the input is not symmetrized.
      symmetrize_input: whether to take ``(x + adjoint(x)) / 2``. If not, tangents of `x` must be
        Hermitian for derivatives to be right.
      sort_eigenvalues: eigenvalues are ascending either way.
      subset_by_index: must be None, or all of them, ``(0, n)``.
      implementation: has no effect on CPUs.

    Returns:
      v ``[..., n, n]``, whose columns are the normalised eigenvectors, and w ``[..., n]``, real.
      Derivatives of v are infinite or NaN where eigenvalues are equal, those of w are right.
    """
    x = _matrices("eigh", x)
    matrices.check_square("eigh", x.aval)
    n = x.shape[-1]
    _check_subset("eigh", subset_by_index, n)
    if _is_empty(x):
        return x, _zeros(x, n, dtype=matrices.real_dtype(x.dtype))
    v, w = ops.eigh_p.bind(
        matrices.hermitian_part(x) if symmetrize_input else x, lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None, algorithm=implementation,
    )  # fmt: skip
    return v, w


def _check_subset(name, subset, size):
    if subset is not None and tuple(subset) != (0, size):
        raise _unsupported(name, "subset_by_index", subset, "take a slice of the results.")


def svd(x, *, full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None):
    """Return singular values and vectors: ``x == u @ diag(s) @ vh``.

    Args:
      x: ``[..., m, n]``; k is the smaller of m and n.
      full_matrices: whether the vectors are complete bases, ``[..., m, m]`` and ``[..., n, n]``;
        else ``[..., m, k]`` and ``[..., k, n]``.
      compute_uv: whether to compute the vectors.
      subset_by_index: must be None, or all of them, ``(0, k)``.
      algorithm: has no effect on CPUs.

    Returns:
      ``(u, s, vh)``, or s alone; s is real, descending, ``[..., k]``. Derivatives of vectors are
      infinite or NaN where singular values are equal or zero, those of s are right.
    """
    x = _matrices("svd", x)
    m, n = x.shape[-2:]
    k = min(m, n)
    _check_subset("svd", subset_by_index, k)
    if _is_empty(x):
        s = _zeros(x, k, dtype=matrices.real_dtype(x.dtype))
        rows, columns = (m, n) if full_matrices else (0, 0)
        u = matrices.identity(matrices.shaped(x.aval, m, rows))
        return (u, s, matrices.identity(matrices.shaped(x.aval, columns, n))) if compute_uv else s
    s, *vectors = ops.svd_p.bind(
        x, full_matrices=bool(full_matrices and compute_uv), compute_uv=bool(compute_uv),
        subset_by_index=None, algorithm=algorithm,
    )  # fmt: skip
    return (vectors[0], s, vectors[1]) if compute_uv else s


def eig(
    x, *, compute_left_eigenvectors=True, compute_right_eigenvectors=True,
    enable_eigvec_derivs=False, implementation=None, use_magma=None,
):  # fmt: skip
    """Return eigenvalues and eigenvectors of general matrices.

    Args:
      x: ``[..., n, n]``.
      compute_left_eigenvectors: whether to return left eigenvectors.
      compute_right_eigenvectors: whether to return right eigenvectors.
      enable_eigvec_derivs: whether eigenvectors may be differentiated, as those of length 1 whose
        largest component is real. That has a meaning where eigenvalues differ, and where no two
        components of a vector are the largest.
      implementation: has no effect on CPUs.
      use_magma: has no effect on CPUs.

    Returns:
      w ``[..., n]``, then the left and the right eigenvectors that were asked for, the columns of
      ``[..., n, n]``, normalised; all complex. w can be differentiated if it is all that was asked
      for, or with `enable_eigvec_derivs`.
    """
    x = _matrices("eig", x)
    matrices.check_square("eig", x.aval)
    wanted = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    if _is_empty(x):
        dtype = np.result_type(x.dtype, np.complex64)
        return [_zeros(x, 0, dtype=dtype), *[_zeros(x, 0, 0, dtype=dtype)] * sum(wanted)]
    return list(
        ops.eig_p.bind(
            x, compute_left_eigenvectors=wanted[0], compute_right_eigenvectors=wanted[1],
            enable_eigvec_derivs=bool(enable_eigvec_derivs), implementation=implementation,
        )
    )  # fmt: skip


def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """Factor square matrices as ``q @ t @ adjoint(q)``, with orthogonal q.

    Args:
      x: ``[..., n, n]``.
      compute_schur_vectors: whether to return q.
      sort_eig_vals: must be False.
      select_callable: must be None.

    Returns:
      t, upper triangular (of real matrices with blocks of 2 on the diagonal for pairs of complex
      eigenvalues), and q if it was asked for. They have no derivative.
    """
    x = _matrices("schur", x)
    if sort_eig_vals or select_callable is not None:
        raise _unsupported("schur", "sort_eig_vals", sort_eig_vals, "sort the factors afterwards.")
    if _is_empty(x):
        return [x] * (2 if compute_schur_vectors else 1)
    return list(
        ops.schur_p.bind(
            x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False,
            select_callable=None,
        )
    )  # fmt: skip


def hessenberg(a):
    """Reduce square matrices to upper Hessenberg form.

    Args:
      a: ``[..., n, n]``.

    Returns:
      The Hessenberg matrices with Householder reflectors below their first subdiagonal, and the
      reflectors' factors ``[..., n - 1]``. They have no derivative.
    """
    a = _matrices("hessenberg", a)
    matrices.check_square("hessenberg", a.aval)
    if _is_empty(a):
        return a, _zeros(a, 0)
    packed, taus = ops.hessenberg_p.bind(a)
    return packed, taus
