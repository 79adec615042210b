"""Systems and factorisations of stacks of matrices ``[..., m, n]``.

These are `lax.linalg` with NumPy's promotion, broadcasting and results. What NumPy raises an error
for, such as a singular matrix, gives infinities or NaN here: contents of arrays raise nothing.
Integers are converted to floats; dtypes narrower than 32 bits are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from evertrace._src import dims, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.lax import linalg as lax
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.numpy import creation, elementary, products, reductions, shape, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import aligned, broadcast_to, promote_dtypes_inexact
from evertrace._src.numpy.spectra import adjoint, as_matrices, as_square, public, svd
from evertrace._src.ops.linalg import geqrf_p, matrices, solving


@public
class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangular matrix."""

    Q: Array
    R: Array


@public
class SlogdetResult(NamedTuple):
    """The sign (or phase) of a determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


# ---------------------------------------------------------------- systems


@public
@native.planned(by_type=False)
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Return x with ``a @ x == b``.

    Args:
      a: ``[..., n, n]``.
      b: a vector ``[n]``, or ``[..., n, k]``; leading dimensions are broadcast.

    Returns:
      ``[..., n]`` or ``[..., n, k]``; infinities or NaN for a singular matrix. A derivative, of any
      order, takes another solution with the same LU factors.

    Example:
      >>> jnp.linalg.solve(jnp.array([[2.0, 1.0], [1.0, 2.0]]), jnp.array([4.0, 5.0])).round(4)
      Array([1., 2.], dtype=float32)
    """
    a, b = as_square("solve", a, b)
    if b.aval.ndim == 1:
        return shape.squeeze(_solve_columns(a, shape.expand_dims(b, -1)), -1)
    return _solve_columns(a, b)


def _solve_columns(a, b):
    n = a.aval.shape[-1]
    if b.aval.ndim < 2 or b.aval.shape[-2] != n:
        raise errors.user_error(
            errors.ShapeError,
            f"solve: right-hand sides of shape {b.aval.shape} do not fit matrices of shape "
            f"{a.aval.shape}.",
            fix=f"pass a vector of {n} elements, or matrices of {n} rows.",
            anchor="shape-linalg",
        )
    if a.aval.ndim == 2 and b.aval.ndim > 2:  # one matrix: all sides become its columns
        columns = shape.moveaxis(b, -2, 0)
        solved = _solve_columns(a, shape.reshape(columns, (n, math.prod(columns.shape[1:]))))
        return shape.moveaxis(shape.reshape(solved, columns.shape), 0, -2)
    leading = dims.broadcast_shapes(a.aval.shape[:-2], b.aval.shape[:-2])
    a = broadcast_to(a, (*leading, n, n))
    b = broadcast_to(b, (*leading, *b.aval.shape[-2:]))
    return solving.solve(a, b) if b.aval.size else b


@public
@native.planned(by_type=False)
def inv(a: ArrayLike) -> Array:
    """Return the inverses of square matrices: infinities or NaN where there is none.

    To solve a system, `solve` is faster and more exact.

    Example:
      >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    (a,) = as_square("inv", a)
    eye = creation.eye(a.aval.shape[-1], dtype=a.aval.dtype)
    return _solve_columns(a, broadcast_to(eye, a.aval.shape))


@public
@native.planned(by_type=False)
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Return x with ``tensordot(a, x, x.ndim) == b``.

    Args:
      a: ``b.shape`` followed by the shape of x; their sizes agree.
      b: array.
      axes: dimensions of `a` that are first moved to its end.

    Example:
      >>> a = 2 * jnp.eye(4).reshape(2, 2, 4)
      >>> jnp.linalg.tensorsolve(a, jnp.ones((2, 2)))
      Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    a, b = promote_dtypes_inexact(
        "tensorsolve", operand("tensorsolve", a), operand("tensorsolve", b)
    )
    if axes is not None:
        a = shape.moveaxis(a, tuple(axes), tuple(range(a.aval.ndim - len(axes), a.aval.ndim)))
    rest = a.aval.shape[b.aval.ndim :]
    if a.aval.size != math.prod(rest) ** 2:
        raise errors.user_error(
            errors.ShapeError,
            f"tensorsolve: a of shape {a.aval.shape} is no square system for b of shape "
            f"{b.aval.shape}: {a.aval.size} elements, and {math.prod(rest)} unknowns.",
            fix="make the product of a's last sizes that of its first ones.",
            anchor="shape-linalg",
        )
    size = math.prod(rest)
    return solve(a.reshape(size, size), b.ravel()).reshape(rest)


@public
@native.planned(by_type=False)
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of the linear map ``x -> tensordot(a, x, a.ndim - ind)``.

    Args:
      a: array whose first `ind` dimensions have as many elements as the others.
      ind: int.

    Returns:
      Array of shape ``a.shape[ind:] + a.shape[:ind]``.

    Example:
      >>> jnp.linalg.tensorinv(2 * jnp.eye(4).reshape(2, 2, 4)).shape
      (4, 2, 2)
    """
    a = operand("tensorinv", a)
    rows, columns = a.aval.shape[:ind], a.aval.shape[ind:]
    if ind <= 0 or math.prod(rows) != math.prod(columns):
        raise errors.user_error(
            errors.ShapeError,
            f"tensorinv: sizes {rows} and {columns} of shape {a.aval.shape} (ind={ind}) have "
            "different products.",
            fix="choose ind > 0 so that both parts have as many elements.",
            anchor="shape-linalg",
        )
    return inv(a.reshape(math.prod(rows), -1)).reshape(*columns, *rows)


@public
@native.planned(by_type=False)
def cholesky(a: ArrayLike, *, upper: ArrayLike = False, symmetrize_input: bool = True) -> Array:
    """Factor Hermitian positive definite matrices as ``L @ adjoint(L)``.

    Args:
      a: ``[..., n, n]``.
      upper: whether to return ``adjoint(L)``.
      symmetrize_input: whether to take ``(a + adjoint(a)) / 2``; see `lax.linalg.cholesky`.

    Returns:
      L, lower triangular; its triangle is NaN where the matrix is not positive definite.

    Example:
      >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    (a,) = as_square("cholesky", a)
    factor = lax.cholesky(adjoint(a) if upper else a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


@public
@native.planned(by_type=False)
def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Return the x of least ``|a @ x - b|``, and of these that of least ``|x|``.

    Args:
      a: ``[m, n]``.
      b: ``[m]`` or ``[m, k]``.
      rcond: singular values below this part of the largest count as zero; default: the machine
        epsilon times the larger of m and n.
      numpy_resid: whether residuals are left out, as NumPy does, for n >= m or deficient rank;
        then the rank must be known, so that this cannot be traced.

    Returns:
      x ``[n]`` or ``[n, k]``; squared residuals ``[k]``; the rank, an int32; the singular values.
      Derivatives of x are those at constant rank.

    Example:
      >>> x, residuals, rank, s = jnp.linalg.lstsq(jnp.ones((2, 1)), jnp.array([1.0, 3.0]))
      >>> x.round(4), residuals.round(4)
      (Array([2.], dtype=float32), Array([2.], dtype=float32))
    """
    a, b = as_matrices("lstsq", a, b)
    m, n = a.aval.shape[-2:]
    if a.aval.ndim != 2 or b.aval.ndim not in (1, 2) or b.aval.shape[0] != m:
        raise errors.user_error(
            errors.ShapeError,
            f"lstsq: takes a matrix [m, n] and sides [m] or [m, k], got shapes {a.aval.shape} and "
            f"{b.aval.shape}.",
            fix="use `vmap` for stacks of systems.",
            anchor="shape-linalg",
        )
    columns = shape.expand_dims(b, -1) if b.aval.ndim == 1 else b
    u, s, vh = lax.svd(a, full_matrices=False)
    eps = np.finfo(a.aval.dtype).eps
    limit = eps * max(m, n)
    if rcond is not None:
        limit = elementary.where(ufuncs.less(rcond, 0), eps, rcond)
    counts = (s > 0) & (s >= limit * reductions.max(s, initial=0))
    x = products.matmul(_inverse(a, u, s, vh, counts), columns)
    rank = reductions.sum(counts, dtype=np.int32)
    if numpy_resid and (m <= n or rank < n):
        residuals = creation.zeros(0, s.dtype)
    else:
        residuals = reductions.sum(ufuncs.absolute(columns - products.matmul(a, x)) ** 2, 0)
    return x[:, 0] if b.aval.ndim == 1 else x, residuals, rank, s


@public
@native.planned(by_type=False)
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Return pseudo-inverses (Moore-Penrose).

    Args:
      a: ``[..., m, n]``.
      rtol: singular values up to this part of the largest count as zero, a number or ``[...]``;
        default: 10 times the larger of m and n times the machine epsilon.
      hermitian: whether `a` is Hermitian, which is faster then.
      rcond: an older name of `rtol`.

    Returns:
      ``[..., n, m]``. Derivatives are those at constant rank.

    Example:
      >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    """
    (a,) = as_matrices("pinv", a)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(a.aval.shape[-2:]) * np.finfo(a.aval.dtype).eps
    if not a.aval.size:
        return shape.matrix_transpose(a)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    limit = ufuncs.multiply(*aligned(creation.asarray(rtol, s.dtype)[..., None], s[..., :1]))
    return _inverse(a, u, s, vh, ufuncs.greater(*aligned(s, limit)))


def _inverse(a, u, s, vh, counts):
    """Return pseudo-inverses, given singular values and vectors, of which some count."""
    inverse = elementary.where(counts, 1 / elementary.where(counts, s, 1), 0)
    return _pseudo_inverse(a, *map(stop_gradient, (u, inverse, vh)))


@custom_jvp
def _pseudo_inverse(a, u, inverse, vh):
    """Return pseudo-inverses as functions of `a` alone: factors carry no tangents.

    The derivative of the factors is infinite for equal singular values, that of the product is not.
    """
    return products.matmul(adjoint(vh) * inverse[..., None, :].astype(u.dtype), adjoint(u))


@_pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals, tangents):
    """Return the tangent at constant rank.

    G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate" (1973), equation 4.12.
    """
    a, da, mul = primals[0], tangents[0], products.matmul
    p = _pseudo_inverse(*primals)
    da_h, p_h = adjoint(da), adjoint(p)
    rows = mul(mul(p, p_h), da_h - mul(mul(da_h, a), p))
    columns = mul(da_h - mul(p, mul(a, da_h)), mul(p_h, p))
    return p, rows + columns - mul(mul(p, da), p)


# ---------------------------------------------------------------- determinants


@public
@native.planned(by_type=False)
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return signs and logarithms of the absolute values of determinants.

    Args:
      a: ``[..., n, n]``.
      method: "lu" or "qr" in JAX; LU factors are used here.

    Returns:
      A named tuple: sign (a complex number of modulus 1 for a complex matrix, 0 for a singular
      one) and logabsdet (-inf for a singular one, where the derivative is not finite), ``[...]``.

    Example:
      >>> sign, logabsdet = jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
      >>> sign, logabsdet
      (Array(-1., dtype=float32), Array(0., dtype=float32))
    """
    if method not in (None, "lu", "qr"):
        raise errors.user_error(
            ValueError,
            f"slogdet: method must be 'lu' or 'qr', got {method!r}.",
            fix="leave it out.",
            anchor="choice",
        )
    (a,) = as_square("slogdet", a)
    return SlogdetResult(*_signed_logarithm(a, *lax.lu(stop_gradient(a))))


@custom_jvp
def _signed_logarithm(a, factors, pivots, rows):
    """Return sign and logarithm of determinants as functions of `a` alone, given its LU factors."""
    diagonal = matrices.diagonal(factors)
    sign = _parity(pivots, factors.dtype) * reductions.prod(ufuncs.sign(diagonal), -1)
    return sign, reductions.sum(ufuncs.log(ufuncs.absolute(diagonal)), -1)


@_signed_logarithm.defjvp
def _signed_logarithm_jvp(primals, tangents):
    sign, logarithm = _signed_logarithm(*primals)
    change = _relative_change(primals, tangents[0])
    turn = sign * (change - elementary.real(change))  # an imaginary number
    return (sign, logarithm), (turn, elementary.real(change))


def _relative_change(factored, da):
    """Return the tangent of determinants, divided by them: the trace of ``A^-1 dA``."""
    a, factors, _, rows = factored
    change = solving.lu_solve_p.bind(a, factors, rows, da, transpose_a=False, conjugate_a=False)
    return reductions.sum(matrices.diagonal(change), -1)


def _parity(pivots, dtype):
    """Return the signs of the permutations that the pivots of LU factors amount to."""
    moved = ufuncs.not_equal(*aligned(pivots, creation.arange(pivots.shape[-1], dtype=np.int32)))
    odd = reductions.sum(moved, -1, dtype=np.int32) % 2
    return (1 - 2 * odd).astype(dtype)


@public
@native.planned(by_type=False)
def det(a: ArrayLike) -> Array:
    """Return determinants.

    Args:
      a: ``[..., n, n]``.

    Returns:
      ``[...]``. Up to n = 3 they are polynomials, as are their derivatives; for larger singular
      matrices derivatives are not finite.

    Example:
      >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    """
    (a,) = as_square("det", a)
    n = a.aval.shape[-1]
    if n == 1:
        return a[..., 0, 0]
    if n == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if n == 3:
        cofactors = products.cross(a[..., 1, :], a[..., 2, :])
        return reductions.sum(a[..., 0, :] * cofactors, -1)
    return _determinant(a, *lax.lu(stop_gradient(a)))


@custom_jvp
def _determinant(a, factors, pivots, rows):
    """Return determinants as functions of `a` alone, given its LU factors."""
    return _parity(pivots, factors.dtype) * reductions.prod(matrices.diagonal(factors), -1)


@_determinant.defjvp
def _determinant_jvp(primals, tangents):
    out = _determinant(*primals)
    return out, out * _relative_change(primals, tangents[0])


# ---------------------------------------------------------------- orthogonal factors


@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "raw", "full"] = "reduced"
) -> QRResult: ...


@public
@native.planned(by_type=False)
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factor matrices as ``Q @ R``; k is the smaller of m and n.

    Args:
      a: ``[..., m, n]``.
      mode: "reduced" for Q ``[..., m, k]`` and R ``[..., k, n]``, "complete" for ``[..., m, m]``
        and ``[..., m, n]``, "r" for the reduced R alone, "raw" for Householder reflectors
        ``[..., n, m]`` and their factors ``[..., k]``.

    Returns:
      A named tuple, or the array R. Complete factors of m > n have no derivative.

    Example:
      >>> q, r = jnp.linalg.qr(jnp.array([[3.0], [4.0]]))
      >>> r.round(4)
      Array([[-5.]], dtype=float32)
    """
    (a,) = as_matrices("qr", a)
    if mode == "raw":
        if 0 in a.aval.shape[-2:]:
            taus = creation.zeros((*a.aval.shape[:-2], 0), a.aval.dtype)
            return QRResult(shape.matrix_transpose(a), taus)
        packed, taus = geqrf_p.bind(a)
        return QRResult(shape.matrix_transpose(packed), taus)
    if mode not in ("reduced", "complete", "r"):
        raise errors.user_error(
            ValueError,
            f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}.",
            fix="use one of these.",
            anchor="choice",
        )
    q, r = lax.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)
