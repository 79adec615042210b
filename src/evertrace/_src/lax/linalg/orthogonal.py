"""Factors with orthogonal matrices, and the reductions of matrices by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors
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
from evertrace._src.ops.creation import iota
from evertrace._src.ops.linalg import matrices
from evertrace._src.ops.slicing import slice_in_dim

# ---------------------------------------------------------------- reflectors


@public
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Multiply Householder reflectors.

    Args:
      a: ``[..., m, n]`` with m >= n: below the diagonal of column i stands what follows the one of
        the vector v of reflector i.
      taus: ``[..., k]`` with k <= n: reflector i is ``identity - taus[i] * v @ adjoint(v)``.

    Returns:
      The first n columns of the product, ``[..., m, n]``. It has no derivative; that of `qr` has.

    Example:
      >>> packed, taus = jnp.linalg.qr(jnp.array([[3.0], [4.0]]), mode="raw")
      >>> lax.linalg.householder_product(packed.T, taus).round(4)
      Array([[-0.6],
             [-0.8]], dtype=float32)
    """
    a, taus = as_matrices("householder_product", a), as_array(taus, "householder_product")
    return a if is_empty(a) else ops.householder_product_p.bind(a, taus)


@public
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply matrices by the Q that Householder reflectors make up, without making Q.

    Args:
      a: ``[..., m, n]``, reflectors as in `householder_product`.
      taus: ``[..., k]``, their factors; k is at most the smaller of m and n.
      c: ``[..., m, p]`` with `left`, else ``[..., p, m]``.
      left: whether Q, ``[..., m, m]``, stands on the left.
      transpose: whether to multiply by the adjoint of Q.

    Returns:
      Matrices of the shape of `c`, in which this is linear and differentiable; there is no
      derivative by the reflectors.

    Example:
      >>> packed, taus = jnp.linalg.qr(jnp.array([[3.0], [4.0]]), mode="raw")
      >>> lax.linalg.ormqr(packed.T, taus, jnp.array([[3.0], [4.0]]), transpose=True).round(4)
      Array([[-5.],
             [ 0.]], dtype=float32)
    """
    a, c = as_matrices("ormqr", a), as_matrices("ormqr", c)
    taus = as_array(taus, "ormqr")
    k = taus.aval.shape[-1] if taus.aval.ndim else 0
    if k < a.aval.shape[-1]:  # further columns hold no reflectors
        a = slice_in_dim(a, 0, k, a.aval.ndim - 1)
    if is_empty(a) or is_empty(c):
        return c
    return ops.ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


# ---------------------------------------------------------------- qr


@public
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Any, ...]:
    """Factor matrices as ``Q @ R``, with orthonormal columns of Q and upper triangular R.

    Args:
      x: ``[..., m, n]``.
      pivoting: whether to permute columns so that the diagonal of R does not grow.
      full_matrices: whether Q is ``[..., m, m]`` and R ``[..., m, n]``; else both are cut to k, the
        smaller of m and n, ``[..., m, k]`` and ``[..., k, n]``.
      use_magma: whether MAGMA pivots on GPUs, by default where it is installed; has no effect on
        CPUs.

    Returns:
      Q and R; with `pivoting` also the permutation, int32 ``[..., n]``: ``x[:, p] == Q @ R``.
      Differentiable where the first k columns are independent, except the complete Q of m > n.

    Example:
      >>> q, r = lax.linalg.qr(jnp.array([[3.0], [4.0]]), full_matrices=False)
      >>> r.round(4)
      Array([[-5.]], dtype=float32)
    """
    x = as_matrices("qr", x)
    m, n = x.shape[-2:]
    if not is_empty(x):
        return tuple(
            ops.qr_p.bind(
                x,
                pivoting=bool(pivoting),
                full_matrices=bool(full_matrices),
                use_magma=None if use_magma is None else bool(use_magma),
            )
        )
    k = m if full_matrices else 0
    outs = matrices.identity(matrices.shaped(x.aval, m, k)), zeros_beside(x, k, n)
    if not pivoting:
        return outs
    return *outs, iota(np.int32, (*x.shape[:-2], n), x.ndim - 2)


# ---------------------------------------------------------------- reductions


@public
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> list[Array]:
    """Factor square matrices as ``q @ t @ adjoint(q)``, with orthogonal q.

    Args:
      x: ``[..., n, n]``.
      compute_schur_vectors: whether to return q.
      sort_eig_vals: must be False.
      select_callable: must be None.

    Returns:
      t, upper triangular (of real matrices with blocks of 2 on the diagonal for pairs of complex
      eigenvalues), and q if it was asked for. They have no derivative.

    Example:
      >>> t, q = lax.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> t
      Array([[2., 1.],
             [0., 3.]], dtype=float32)
    """
    x = as_matrices("schur", x)
    if sort_eig_vals or select_callable is not None:
        raise errors.unsupported(
            "schur", "sort_eig_vals", sort_eig_vals, "sort the factors afterwards."
        )
    if is_empty(x):
        return [x] * (2 if compute_schur_vectors else 1)
    return list(
        ops.schur_p.bind(
            x,
            compute_schur_vectors=bool(compute_schur_vectors),
            sort_eig_vals=False,
            select_callable=None,
        )
    )


@public
def hessenberg(a: ArrayLike) -> list[Array]:
    """Reduce square matrices to upper Hessenberg form.

    Args:
      a: ``[..., n, n]``.

    Returns:
      A list: the Hessenberg matrices with Householder reflectors below their first subdiagonal, and
      the reflectors' factors ``[..., n - 1]``. They have no derivative.

    Example:
      >>> packed, taus = lax.linalg.hessenberg(jnp.arange(9.0).reshape(3, 3))
      >>> abs(jnp.triu(packed, -1)).round(3)
      Array([[ 0.   ,  2.236,  0.   ],
             [ 6.708, 12.   ,  3.   ],
             [ 0.   ,  1.   ,  0.   ]], dtype=float32)
    """
    a = as_square("hessenberg", a)
    if is_empty(a):
        return [a, zeros_beside(a, 0)]
    return list(ops.hessenberg_p.bind(a))


@public
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
    """Reduce Hermitian matrices to tridiagonal form.

    Args:
      a: ``[..., n, n]``.
      lower: which triangle is read.

    Returns:
      A list: the matrices with the tridiagonal form on their diagonal and the first one below it
      (above it unless `lower`), and Householder reflectors farther off; the diagonal ``[..., n]``
      and the other one ``[..., n - 1]``, both real; the reflectors' factors ``[..., n - 1]``. They
      have no derivative.

    Example:
      >>> a = jnp.array([[4.0, 3.0, 4.0], [3.0, 1.0, 0.0], [4.0, 0.0, 1.0]])
      >>> _, diagonal, below, _ = lax.linalg.tridiagonal(a)
      >>> diagonal.round(4), below.round(4)
      (Array([4., 1., 1.], dtype=float32), Array([-5.,  0.], dtype=float32))
    """
    a = as_square("tridiagonal", a)
    if is_empty(a):
        empty = zeros_beside(a, 0, dtype=matrices.real_dtype(a.dtype))
        return [a, empty, empty, zeros_beside(a, 0)]
    return list(ops.tridiagonal_p.bind(a, lower=bool(lower)))
