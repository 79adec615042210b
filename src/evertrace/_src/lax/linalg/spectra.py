"""Eigenvalues and singular values."""

from __future__ import annotations

import operator
from typing import Any

from evertrace._src import dims, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.linalg.common import (
    as_matrices,
    as_square,
    complex_dtype,
    is_empty,
    public,
    zeros_beside,
)
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.linalg import matrices
from evertrace._src.ops.linalg.algorithms import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
)
from evertrace._src.ops.slicing import slice_in_dim


def _member(name, argument, value, kind):
    """Return the algorithm that a user asks for, or None; whether it is there is asked later.

    Raises:
      NotImplementedError: it is no member of the enum.
    """
    if value is not None and not isinstance(value, kind):
        fix = f"use a member of `lax.linalg.{kind.__name__}`."
        raise errors.unsupported(name, argument, value, fix)
    return value


def _subset(name, subset, size):
    """Return the first and the last but one number of the values that are asked for."""
    if subset is None:
        return 0, size
    start, end = map(operator.index, subset)
    if not 0 <= start <= end <= size:
        raise errors.user_error(
            ValueError,
            f"{name}: subset_by_index must be a pair (start, end) within (0, {size}), got "
            f"{(start, end)}.",
            fix="count from 0; `end` is not part of the subset.",
        )
    return start, end


def _cut(x, start, end, dim=1):
    """Return a slice along a dimension, counted from the last one on."""
    dim = x.aval.ndim - dim
    whole = (start, end) == (0, x.aval.shape[dim])
    return x if whole else slice_in_dim(x, start, end, dim)


@public
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    implementation: Any = None,
) -> tuple[Array, Array]:
    """Return eigenvectors and eigenvalues of Hermitian matrices.

    Args:
      x: ``[..., n, n]``.
      lower: which triangle is read if the input is not symmetrized.
      symmetrize_input: whether to take ``(x + adjoint(x)) / 2``. If not, tangents of `x` must be
        Hermitian for derivatives to be right.
      sort_eigenvalues: eigenvalues are ascending either way.
      subset_by_index: pair (start, end): which of the ascending eigenvalues to return; all of them
        are computed. Differs from JAX, which knows it on TPUs only.
      implementation: None or an `EighImplementation`: QR, on GPUs also JACOBI.

    Returns:
      v ``[..., n, n]``, whose columns are the normalised eigenvectors, and w ``[..., n]``, real; or
      ``[..., n, end - start]`` and ``[..., end - start]``. Derivatives of v are infinite or NaN
      where eigenvalues are equal, those of w are right.

    Example:
      >>> v, w = lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> w.round(4)
      Array([1., 3.], dtype=float32)
    """
    x = as_square("eigh", x)
    n = x.shape[-1]
    start, end = _subset("eigh", subset_by_index, n)
    implementation = _member("eigh", "implementation", implementation, EighImplementation)
    if is_empty(x):
        return x, zeros_beside(x, n, dtype=matrices.real_dtype(x.dtype))
    v, w = ops.eigh_p.bind(
        matrices.hermitian_part(x) if symmetrize_input else x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=None,
        algorithm=implementation,
    )
    return _cut(v, start, end), _cut(w, start, end)


@public
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    """Return singular values and vectors: ``x == u @ diag(s) @ vh``.

    Args:
      x: ``[..., m, n]``; k is the smaller of m and n.
      full_matrices: whether the vectors are complete bases, ``[..., m, m]`` and ``[..., n, n]``;
        else ``[..., m, k]`` and ``[..., k, n]``.
      compute_uv: whether to compute the vectors.
      subset_by_index: pair (start, end): which of the descending singular values to return; all of
        them are computed. Vectors must not be complete bases then. Differs from JAX, which knows it
        on TPUs only.
      algorithm: None, or an `SvdAlgorithm`: DEFAULT, DIVIDE_AND_CONQUER or QR on CPUs; DEFAULT,
        JACOBI, QR or POLAR on GPUs.

    Returns:
      ``(u, s, vh)``, or s alone; s is real, descending, ``[..., k]``. Derivatives of vectors are
      infinite or NaN where singular values are equal or zero, those of s are right.

    Example:
      >>> lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    x = as_matrices("svd", x)
    m, n = x.shape[-2:]
    k = dims.min_of(m, n)
    start, end = _subset("svd", subset_by_index, k)
    algorithm = _member("svd", "algorithm", algorithm, SvdAlgorithm)
    if compute_uv and full_matrices and (start, end) != (0, k):
        raise errors.user_error(
            ValueError,
            "svd: `full_matrices` and `subset_by_index` exclude each other.",
            fix="use `full_matrices=False`.",
        )
    if is_empty(x):
        s = zeros_beside(x, k, dtype=matrices.real_dtype(x.dtype))
        rows, columns = (m, n) if full_matrices else (0, 0)
        u = matrices.identity(matrices.shaped(x.aval, m, rows))
        return (u, s, matrices.identity(matrices.shaped(x.aval, columns, n))) if compute_uv else s
    s, *vectors = ops.svd_p.bind(
        x,
        full_matrices=bool(full_matrices and compute_uv),
        compute_uv=bool(compute_uv),
        subset_by_index=None,
        algorithm=algorithm,
    )
    s = _cut(s, start, end)
    if not compute_uv or (start, end) == (0, k):
        return (vectors[0], s, vectors[1]) if compute_uv else s
    return _cut(vectors[0], start, end), s, _cut(vectors[1], start, end, 2)


@public
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Return eigenvalues and eigenvectors of general matrices.

    Args:
      x: ``[..., n, n]``.
      compute_left_eigenvectors: whether to return left eigenvectors.
      compute_right_eigenvectors: whether to return right eigenvectors.
      enable_eigvec_derivs: whether eigenvectors may be differentiated, as those of length 1 whose
        largest component is real. That has a meaning where eigenvalues differ, and where no two
        components of a vector are the largest.
      implementation: None or an `EigImplementation`: LAPACK, on GPUs also MAGMA.
      use_magma: an older way to ask for MAGMA (True) or LAPACK (False).

    Returns:
      w ``[..., n]``, then the left and the right eigenvectors that were asked for, the columns of
      ``[..., n, n]``, normalised; all complex. w can be differentiated if it is all that was asked
      for, or with `enable_eigvec_derivs`.

    Example:
      >>> w, v = lax.linalg.eig(
      ...     jnp.array([[1.0, 2.0], [0.0, 3.0]]), compute_left_eigenvectors=False
      ... )
      >>> w.real
      Array([1., 3.], dtype=float32)
    """
    x = as_square("eig", x)
    implementation = _member("eig", "implementation", implementation, EigImplementation)
    if implementation is None and use_magma is not None:
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    wanted = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    if is_empty(x):
        dtype = complex_dtype(x.dtype)
        return [
            zeros_beside(x, 0, dtype=dtype),
            *[zeros_beside(x, 0, 0, dtype=dtype)] * sum(wanted),
        ]
    return list(
        ops.eig_p.bind(
            x,
            compute_left_eigenvectors=wanted[0],
            compute_right_eigenvectors=wanted[1],
            enable_eigvec_derivs=bool(enable_eigvec_derivs),
            implementation=implementation,
        )
    )
