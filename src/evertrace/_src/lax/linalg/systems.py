"""Triangular, tridiagonal and LU systems, Cholesky factors, and products of symmetric matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.linalg.common import (
    as_matrices,
    as_square,
    is_empty,
    public,
    zeros_beside,
)
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.linalg import matrices, solving
from evertrace._src.ops.structural import expand_dims, squeeze

# ---------------------------------------------------------------- cholesky


@public
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Factor Hermitian positive definite matrices as ``L @ adjoint(L)``.

    Args:
      x: ``[..., n, n]``.
      symmetrize_input: whether to take ``(x + adjoint(x)) / 2``. If not, the upper triangle is not
        read, and tangents of `x` must be Hermitian for derivatives to be right.

    Returns:
      L, lower triangular. Of matrices that are not positive definite the lower triangle is NaN.

    Example:
      >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    x = as_square("cholesky", x)
    if is_empty(x):
        return x
    return ops.cholesky_p.bind(matrices.hermitian_part(x) if symmetrize_input else x)


@public
def cholesky_update(r_matrix: Any, w_vector: Any) -> Array:
    """Return the Cholesky factor of a matrix to which ``w @ transpose(w)`` is added.

    Args:
      r_matrix: R, upper triangular ``[..., n, n]``, the factor of ``transpose(R) @ R``; what is
        below the diagonal is not read.
      w_vector: w, ``[..., n]``.

    Returns:
      The factor of the sum, upper triangular, with a diagonal that is not negative, by one rotation
      per row, in O(n^2) operations. Differentiable, unlike in JAX, where R is not singular. Golub
      and Van Loan, "Matrix Computations", 4th edition (2013), section 6.5.4.

    Raises:
      DTypeError: the matrix is complex.

    Example:
      >>> lax.linalg.cholesky_update(jnp.array([[3.0, 0.0], [0.0, 1.0]]), jnp.array([4.0, 0.0]))
      Array([[5., 0.],
             [0., 1.]], dtype=float32)
    """
    r, w = as_square("cholesky_update", r_matrix), as_array(w_vector, "cholesky_update")
    return r if is_empty(r) else ops.cholesky_update_p.bind(r, w)


@public
def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Return ``alpha * a @ transpose(a) + beta * c``.

    Args:
      a_matrix: ``[..., n, k]``, real.
      c_matrix: ``[..., n, n]``, symmetric.
      alpha: number, known while tracing.
      beta: number, known while tracing.
      symmetrize_output: has no effect, as both triangles are computed.

    Returns:
      ``[..., n, n]``. Differentiable, unlike in JAX.

    Example:
      >>> lax.linalg.symmetric_product(jnp.array([[1.0], [2.0]]), jnp.eye(2), beta=3.0)
      Array([[4., 2.],
             [2., 7.]], dtype=float32)
    """
    a, c = (
        as_matrices("symmetric_product", a_matrix),
        as_matrices("symmetric_product", c_matrix),
    )
    return ops.symmetric_product_p.bind(a, c, alpha=float(alpha), beta=float(beta))


# ---------------------------------------------------------------- triangular systems


@public
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
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

    Example:
      >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
      >>> lax.linalg.triangular_solve(a, jnp.array([2.0, 9.0]), left_side=True, lower=True)
      Array([1., 2.], dtype=float32)
    """
    a, b = as_matrices("triangular_solve", a), as_array(b, "triangular_solve")
    is_vector = b.ndim == a.ndim - 1
    if is_vector:
        b = _as_matrix(b, 1 if left_side else 0)
    solving.check_system("triangular_solve", a.aval, b.aval, left_side=left_side)
    if not b.aval.size:
        return _from_matrix(b, left_side) if is_vector else b
    out = solving.triangular_solve(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
    )
    return _from_matrix(out, left_side) if is_vector else out


def _as_matrix(x, place) -> Array:
    """Return vectors as matrices with one column (place 1) or one row (place 0)."""
    return expand_dims(x, (x.aval.ndim - 1 + place,))


def _from_matrix(x, is_column):
    return squeeze(x, (x.aval.ndim - (1 if is_column else 2),))


# ---------------------------------------------------------------- lu


@public
def lu(x: ArrayLike) -> list[Array]:
    """Factor matrices as ``P @ L @ U`` with partial pivoting.

    Args:
      x: ``[..., m, n]``.

    Returns:
      A list: U with L (without its diagonal of ones) below it, ``[..., m, n]``; pivots, int32
      ``[..., k]`` with k the smaller of m and n: row i was swapped with row ``pivots[i]``; and what
      these swaps amount to, int32 ``[..., m]``: ``x[permutation] == L @ U``.

    Example:
      >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> factors
      Array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32)
      >>> permutation
      Array([1, 0], dtype=int32)
    """
    x = as_matrices("lu", x)
    m, n = x.shape[-2:]
    if not is_empty(x):
        return list(ops.lu_p.bind(x))
    pivots = zeros_beside(x, min(m, n), dtype=np.int32)
    return [x, pivots, lu_pivots_to_permutation(pivots, m)]


@public
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: Any) -> Array:
    """Return the permutation that the swaps of an LU factorisation amount to.

    Args:
      pivots: int32 ``[..., k]``; row i is swapped with row ``pivots[i]``, one after the other.
      permutation_size: number of rows, at least k.

    Returns:
      int32 ``[..., permutation_size]``.

    Example:
      >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2, 2]), 3)
      Array([2, 0, 1], dtype=int32)
    """
    pivots = as_array(pivots, "lu_pivots_to_permutation")
    return ops.lu_pivots_to_permutation_p.bind(
        pivots, permutation_size=operator.index(permutation_size)
    )
