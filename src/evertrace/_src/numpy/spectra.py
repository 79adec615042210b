"""Eigenvalues and singular values of stacks of matrices ``[..., m, n]``.

These are `lax.linalg` with NumPy's promotion and results; see `decompositions`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax import linalg as lax
from evertrace._src.numpy import creation, elementary, indexing, reductions, shape, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.numpy.sorting import argsort
from evertrace._src.ops.linalg import matrices
from evertrace._src.support import set_module

public = set_module("evertrace.numpy.linalg")


@public
class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


@public
class EighResult(NamedTuple):
    """Ascending real eigenvalues, and the orthonormal eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


@public
class SVDResult(NamedTuple):
    """Left singular vectors, descending singular values, adjoint right singular vectors."""

    U: Array
    S: Array
    Vh: Array


def as_matrices(name, *args, check=matrices.check_matrices) -> list[Array]:
    """Return arguments as arrays of one inexact dtype, the first of them matrices."""
    xs = promote_dtypes_inexact(name, *[operand(name, a) for a in args])
    check(name, xs[0].aval)
    return xs


def as_square(name, *args) -> list[Array]:
    """Return arguments as arrays of one inexact dtype, the first of them square matrices."""
    return as_matrices(name, *args, check=matrices.check_square)


def adjoint(x) -> Array:
    """Return the conjugate transposes of matrices."""
    return elementary.conj(shape.matrix_transpose(x))


# ---------------------------------------------------------------- spectra


@public
@native.planned(by_type=False)
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: ``[..., n, n]``.
      UPLO: "L" or "U", which triangle is read if the input is not symmetrized; default "L".
      symmetrize_input: whether to take ``(a + adjoint(a)) / 2``; see `lax.linalg.eigh`.

    Returns:
      A named tuple: ascending real eigenvalues ``[..., n]`` and eigenvectors ``[..., n, n]``, whose
      derivatives are not finite where eigenvalues are equal.

    Example:
      >>> w, v = jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> w.round(4)
      Array([1., 3.], dtype=float32)
    """
    if UPLO not in (None, "L", "U"):
        raise errors.user_error(
            ValueError,
            f"eigh: UPLO must be 'L' or 'U', got {UPLO!r}.",
            fix="use one of these.",
            anchor="choice",
        )
    (a,) = as_square("eigh", a)
    v, w = lax.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@public
@native.planned(by_type=False)
def eigvalsh(a: ArrayLike, UPLO: str = "L", *, symmetrize_input: bool = True) -> Array:
    """Return ascending eigenvalues of Hermitian matrices; see `eigh`.

    Example:
      >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).round(4)
      Array([1., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input=symmetrize_input).eigenvalues


@public
@native.planned(by_type=False)
def eig(a: ArrayLike) -> EigResult:
    """Return eigenvalues and right eigenvectors of square matrices; both are complex.

    Eigenvectors have no derivative here; see `lax.linalg.eig`.

    Example:
      >>> w, v = jnp.linalg.eig(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
      >>> w.real
      Array([1., 3.], dtype=float32)
    """
    (a,) = as_square("eig", a)
    return EigResult(*lax.eig(a, compute_left_eigenvectors=False))


@public
@native.planned(by_type=False)
def eigvals(a: ArrayLike) -> Array:
    """Return eigenvalues of square matrices ``[..., n, n]``, complex ``[..., n]``.

    Derivatives are right where eigenvalues differ.

    Example:
      >>> jnp.linalg.eigvals(jnp.array([[0.0, -1.0], [1.0, 0.0]]))
      Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    (a,) = as_square("eigvals", a)
    (w,) = lax.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return w


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...


@public
@native.planned(by_type=False)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return singular values and vectors; k is the smaller of m and n.

    Args:
      a: ``[..., m, n]``.
      full_matrices: whether vectors are complete bases ``[..., m, m]`` and ``[..., n, n]``, which
        have no derivative unless m = n; else ``[..., m, k]`` and ``[..., k, n]``.
      compute_uv: whether to return vectors.
      hermitian: whether `a` is Hermitian, which is faster then.
      subset_by_index: must be None, or all of them.

    Returns:
      A named tuple of U, descending S ``[..., k]`` and Vh; or S alone. Derivatives of vectors are
      not finite where singular values are equal or zero.

    Example:
      >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]])).S
      Array([4., 3.], dtype=float32)
    """
    (a,) = as_matrices("svd", a)
    if not hermitian:
        out = lax.svd(
            a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
        )
        return SVDResult(*out) if compute_uv else out
    w, v = eigh(a)
    s = ufuncs.absolute(w)
    order = argsort(s, -1, descending=True)
    s = indexing.take_along_axis(s, order, -1)
    if not compute_uv:
        return s
    u = indexing.take_along_axis(v, order[..., None, :], -1)
    signs = elementary.where(indexing.take_along_axis(w, order, -1) < 0, -1, 1).astype(a.dtype)
    return SVDResult(u, s, adjoint(u * signs[..., None, :]))


@public
@native.planned(by_type=False)
def svdvals(x: ArrayLike, /) -> Array:
    """Return descending singular values of matrices ``[..., m, n]``.

    Example:
      >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, -4.0]]))
      Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)


@public
@native.planned(by_type=False)
def matrix_rank(
    M: int, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None
) -> Array:
    """Return ranks: how many singular values exceed a part of the largest one.

    Args:
      M: ``[..., m, n]``; arrays of lower rank count as one row.
      rtol: that part, a number or ``[...]``; default: the machine epsilon times the larger of m and
        n.
      hermitian: whether the matrices are Hermitian, which is faster then.
      tol: an older name of `rtol`.

    Returns:
      int32 ``[...]``.

    Example:
      >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    """
    x = operand("matrix_rank", M)
    if x.aval.ndim < 2:
        return reductions.any(ufuncs.not_equal(x, 0)).astype(np.int32)
    (x,) = as_matrices("matrix_rank", x)
    rtol = tol if rtol is None else rtol
    if rtol is None:
        rtol = max(x.aval.shape[-2:]) * np.finfo(x.aval.dtype).eps
    s = svd(x, compute_uv=False, hermitian=hermitian)
    largest = reductions.max(s, -1, keepdims=True, initial=0)
    limit = ufuncs.multiply(*aligned(creation.asarray(rtol, s.dtype)[..., None], largest))
    return reductions.sum(ufuncs.greater(*aligned(s, limit)), -1, dtype=np.int32)
