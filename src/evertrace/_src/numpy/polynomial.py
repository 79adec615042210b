"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import concrete_value
from evertrace._src.lax.loops import scan
from evertrace._src.numpy import creation, products, reductions, ufuncs
from evertrace._src.numpy.arguments import operand, static_int, traced_argument
from evertrace._src.numpy.convolution import convolve
from evertrace._src.numpy.decompositions import inv, lstsq
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import (
    aligned,
    broadcast_to,
    promote_dtypes,
    promote_dtypes_inexact,
)
from evertrace._src.numpy.shape import atleast_1d, trim_zeros
from evertrace._src.numpy.sorting import argsort
from evertrace._src.numpy.spectra import eigvals

_WRITTEN_OUT = 64
"""Up to how many steps a recurrence is written out: to compile a loop takes longer than these."""


@native.planned(by_type=False)
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | bool = 16) -> Array:
    """Return the values of a polynomial, by Horner's rule.

    Args:
      p: vector of coefficients; an array of higher rank has coefficients along its first axis.
      x: array of places.
      unroll: ignored: the rule is written out for up to 64 coefficients, and beyond them a loop.

    Returns:
      Array of the shape of `x`.

    Example:
      >>> jnp.polyval(jnp.array([1, 0, -2]), jnp.array([0, 1, 2]))  # x**2 - 2
      Array([-2, -1,  2], dtype=int32)
    """
    p, x = promote_dtypes("polyval", operand("polyval", p), operand("polyval", x))
    p, x = atleast_1d(p), creation.asarray(x)
    shape = dims.broadcast_shapes(p.shape[1:], x.shape)
    out = broadcast_to(creation.zeros((), p.dtype), shape)
    if dims.is_dim(p.aval.shape[0]) or p.shape[0] > _WRITTEN_OUT:
        x = broadcast_to(x, shape)
        return scan(lambda out, row: (out * x + row, None), out, p)[0]
    for coefficient in p if p.shape[0] else ():
        out = ufuncs.add(ufuncs.multiply(out, x), coefficient)
    return out


@native.planned(by_type=False)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the sum of two polynomials.

    Example:
      >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([1, 0, 0]))
      Array([1, 1, 2], dtype=int32)
    """
    x, y = _same_length("polyadd", a1, a2)
    return ufuncs.add(x, y)


@native.planned(by_type=False)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the difference of two polynomials.

    Example:
      >>> jnp.polysub(jnp.array([1, 2]), jnp.array([1, 0, 0]))
      Array([-1,  1,  2], dtype=int32)
    """
    x, y = _same_length("polysub", a1, a2)
    return ufuncs.subtract(x, y)


def _same_length(name, a1, a2):
    """Return both vectors with zeros in front of the shorter one."""
    arrays = promote_dtypes(name, *[atleast_1d(operand(name, a)) for a in (a1, a2)])
    size = max(x.shape[0] for x in arrays)
    return [
        concatenate([creation.zeros((size - x.shape[0], *x.shape[1:]), x.dtype), x]) for x in arrays
    ]


@native.planned(by_type=False)
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Return the product of two polynomials.

    Args:
      a1: vector of coefficients.
      a2: vector of coefficients.
      trim_leading_zeros: whether to leave out zeros in front of the factors, as NumPy does; only
        for known values, since the size of the result depends on it.

    Differs from NumPy: integers give floats.

    Example:
      >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))  # x**2 - 1
      Array([ 1.,  0., -1.], dtype=float32)
    """
    x, y = promote_dtypes("polymul", *[atleast_1d(operand("polymul", a)) for a in (a1, a2)])
    if trim_leading_zeros and (x.shape[0] > 1 or y.shape[0] > 1):
        x, y = trim_zeros(x, "f"), trim_zeros(y, "f")
    return convolve(x, y) if x.shape[0] and y.shape[0] else creation.zeros(1, x.dtype)


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Divide polynomials with remainder.

    Args:
      u: coefficients of the dividend.
      v: coefficients of the divisor; the first must not be zero.
      trim_leading_zeros: whether to leave out (nearly) zero coefficients in front of the remainder,
        as NumPy does; only for known values.

    Returns:
      ``(quotient, remainder)``.

    Example:
      >>> jnp.polydiv(jnp.array([1.0, 0.0, -1.0]), jnp.array([1.0, 1.0]))
      (Array([ 1., -1.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    u, v = promote_dtypes_inexact("polydiv", *[atleast_1d(operand("polydiv", a)) for a in (u, v)])
    count = u.shape[0] - v.shape[0] + 1
    quotient = creation.zeros(1, u.dtype)
    if count > 0:
        divide = _divide_written_out if count <= _WRITTEN_OUT else _divide_in_a_loop
        quotient, u = divide(u, v, count)
    if trim_leading_zeros:
        host = concrete_value(u)._contents()
        kept = np.flatnonzero(~np.isclose(host, 0, rtol=1e-14, atol=1e-14))
        return quotient, u[(kept[0] if kept.size else host.size - 1) :]
    if count > 0:
        done = u[:count]  # zero, but for rounding, unless it is no number
        u = u.at[:count].set(ufuncs.add(ufuncs.multiply(done, 0), 0))
    return quotient, u


def _divide_written_out(u, v, count):
    quotient = []
    for k in range(count):
        factor = ufuncs.divide(u[k], v[0])
        quotient.append(factor)
        u = u.at[k : k + v.shape[0]].add(ufuncs.multiply(ufuncs.negative(factor), v))
    return creation.array(quotient), u


def _divide_in_a_loop(u, v, count):
    """Carry what the divisor is subtracted from; rows of `u` enter it at the end."""
    size = v.shape[0]

    def step(window, entering):
        factor = ufuncs.divide(window[0], v[0])
        window = ufuncs.add(window, ufuncs.multiply(ufuncs.negative(factor), v))
        return concatenate([window[1:], entering[None]]), (factor, window[0])

    entering = concatenate([u[size:], creation.zeros_like(u[:1])])
    window, (quotient, done) = scan(step, u[:size], entering)
    return quotient, concatenate([done, window[:-1]])


@native.planned(by_type=False)
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Return the derivative of order `m` of a polynomial.

    Raises:
      ValueError: `m` is negative.

    Example:
      >>> jnp.polyder(jnp.array([1, 2, 3]))  # 2 x + 2
      Array([2., 2.], dtype=float32)
    """
    (p,) = promote_dtypes_inexact("polyder", atleast_1d(operand("polyder", p)))
    for _ in range(min(_order("polyder", m), p.shape[0])):
        p = ufuncs.multiply(p[:-1], creation.arange(p.shape[0] - 1, 0, -1, p.dtype))
    return p


@native.planned(by_type=False)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | Sequence[ArrayLike] | None = None) -> Array:
    """Return an antiderivative of order `m` of a polynomial.

    Args:
      p: vector of coefficients.
      m: int, 0 or more.
      k: constants of integration, one or `m` of them; default 0.

    Example:
      >>> jnp.polyint(jnp.array([6.0, 2.0]), k=5.0)  # 3 x**2 + 2 x + 5
      Array([3., 2., 5.], dtype=float32)
    """
    (p,) = promote_dtypes_inexact("polyint", atleast_1d(operand("polyint", p)))
    m = _order("polyint", m)
    constants = atleast_1d(operand("polyint", 0 if k is None else creation.asarray(k)))
    constants = broadcast_to(constants, (m,)) if constants.shape[0] in (1, m) else None
    if constants is None:
        raise errors.user_error(
            ValueError,
            f"polyint: k must be a scalar or have {m} elements.",
            fix="give one constant per order.",
            anchor="shape",
        )
    if m > _MOST_TERMS:
        return _integrated(p, constants.astype(p.dtype), m)
    for i in range(m):
        divisors = creation.arange(p.shape[0], 0, -1, p.dtype)
        p = concatenate([ufuncs.divide(p, divisors), constants[i : i + 1].astype(p.dtype)])
    return p


_MOST_TERMS = 16  # that a program has: more are a dimension


def _integrated(p, constants, m):
    """Integrate `m` times at once: (q - t)! / q! is the factor of x**q that was x**(q - t)."""
    powers = np.arange(p.shape[0] + m)[::-1]
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, len(powers))))])  # of q!
    factors = np.exp(logarithms[np.maximum(powers - m, 0)] - logarithms[powers])
    return concatenate([p, constants]) * creation.asarray(factors, p.dtype)


def _order(name, m):
    m = static_int(name, "m", m)
    if m < 0:
        raise errors.user_error(
            ValueError, f"{name}: the order must not be negative, got {m}.", fix="use m >= 0."
        )
    return m


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the polynomial, with leading coefficient 1, that has the given zeros.

    Args:
      seq_of_zeros: vector of n zeros, or a square matrix: its characteristic polynomial is meant,
        which then has complex coefficients.

    Returns:
      ``[n + 1]``.

    Example:
      >>> jnp.poly(jnp.array([1.0, 2.0]))  # (x - 1) (x - 2)
      Array([ 1., -3.,  2.], dtype=float32)
    """
    (zeros,) = promote_dtypes_inexact("poly", atleast_1d(operand("poly", seq_of_zeros)))
    if zeros.ndim == 2:
        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"poly: takes a vector of zeros or a square matrix, got shape {zeros.shape}.",
            fix="use `vmap` for several polynomials.",
            anchor="shape",
        )
    out = creation.ones(1, zeros.dtype)
    for zero in zeros if zeros.shape[0] else ():
        padding = creation.zeros(1, zeros.dtype)
        out = concatenate([out, padding]) - zero * concatenate([padding, out])
    return out


@native.planned(by_type=False)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return the matrix of powers of the elements of a vector.

    Args:
      x: vector of n elements.
      N: number of columns; default n.
      increasing: whether powers increase from left to right.

    Returns:
      Array ``[n, N]`` of the dtype of `x`.

    Raises:
      ShapeError: `x` is no vector.

    Example:
      >>> jnp.vander(jnp.array([2, 3]), 3)
      Array([[4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    x = operand("vander", x)
    if x.aval.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"vander: takes a vector, got shape {x.aval.shape}.",
            fix="flatten it first.",
            anchor="shape",
        )
    count = x.aval.shape[0] if N is None else static_int("vander", "N", N)
    powers = np.arange(count, dtype=np.int32)
    powers = creation.asarray(powers if increasing else powers[::-1].copy())
    if dtypes.issubdtype(x.aval.dtype, np.inexact):
        powers = powers.astype(x.aval.dtype)
    table = ufuncs.power(*aligned(x[:, None], powers))
    return table.astype(x.aval.dtype) if dtypes.issubdtype(x.aval.dtype, np.integer) else table


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Return the zeros of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: vector of n + 1 coefficients.
      strip_zeros: whether leading and trailing zeros are taken off first, so that the number of
        zeros depends on contents and `p` cannot be traced. If not, each leading zero gives a NaN
        behind the zeros.

    Returns:
      Complex vector of (up to) n zeros.

    Example:
      >>> jnp.roots(jnp.array([1.0, -3.0, 2.0]), strip_zeros=False)
      Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    (p,) = promote_dtypes_inexact("roots", atleast_1d(operand("roots", p)))
    if p.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"roots: takes a vector of coefficients, got shape {p.shape}.",
            fix="use `vmap` for several polynomials.",
            anchor="shape",
        )
    zeros_at_origin = 0
    if strip_zeros:
        contents = concrete_value(p)
        if contents is None:
            raise traced_argument("roots", "p, with `strip_zeros`,", p)
        nonzero = np.flatnonzero(contents)
        if not nonzero.size:
            return creation.zeros(0, dtypes.to_complex_dtype(p.dtype))
        zeros_at_origin = p.shape[0] - 1 - int(nonzero[-1])
        p = p[int(nonzero[0]) : int(nonzero[-1]) + 1]
    found = _roots(p) if strip_zeros else _roots_behind_zeros(p)
    return concatenate([found, creation.zeros(zeros_at_origin, found.dtype)])


def _roots_behind_zeros(p):
    """Return as many zeros as the degree is, and NaN for each coefficient 0 in front."""
    count = p.shape[0]
    leading = reductions.argmax(ufuncs.not_equal(p, 0))
    found = _roots(p[(creation.arange(count) + leading) % count])
    # The zeros moved to the end are as many zeros at the origin, and the smallest in magnitude.
    order = argsort(-ufuncs.absolute(found) * ufuncs.greater(leading, 0).astype(found.real.dtype))
    kept = creation.arange(count - 1) < count - 1 - leading
    return ufuncs.choose_by(kept, found[order], complex(np.nan, np.nan))


def _roots(p):
    """Return the eigenvalues of the matrix whose characteristic polynomial is `p` over ``p[0]``."""
    n = p.shape[0] - 1
    if n < 1:
        return creation.zeros(0, dtypes.to_complex_dtype(p.dtype))
    below = creation.eye(n - 1, n, dtype=p.dtype)
    return eigvals(concatenate([-(p[1:] / p[0])[None], below]))


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any: ...


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Return the polynomial that fits points best, by least squares.

    Args:
      x: vector of n places.
      y: ``[n]``, or ``[n, k]`` for k polynomials.
      deg: int, its degree.
      rcond: singular values below this part of the largest count as zero; default: the machine
        epsilon times n.
      full: whether to return what `lstsq` does, and rcond.
      w: weights of the differences ``[n]``.
      cov: whether to return the covariance of the coefficients too, scaled by the residuals, or
        with "unscaled", not.

    Returns:
      Coefficients ``[deg + 1]`` or ``[deg + 1, k]``; with `full` the tuple (coefficients,
      residuals, rank, singular values, rcond), with `cov` the pair (coefficients, covariance).

    Example:
      >>> x = jnp.array([0.0, 1.0, 2.0, 3.0])
      >>> jnp.polyfit(x, 2 * x + 1, 1).round(3)
      Array([2., 1.], dtype=float32)
    """
    x, y = promote_dtypes_inexact("polyfit", operand("polyfit", x), operand("polyfit", y))
    order = static_int("polyfit", "deg", deg) + 1
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0] or order < 1 or not x.size:
        raise errors.user_error(
            errors.ShapeError,
            f"polyfit: takes places [n] and values [n] or [n, k] with n > 0, and a degree >= 0; "
            f"got shapes {x.shape} and {y.shape}, and {deg}.",
            fix="check the arguments.",
            anchor="shape",
        )
    if rcond is None:
        rcond = x.shape[0] * float(np.finfo(x.dtype).eps)
    powers, values = vander(x, order), y
    if w is not None:
        w = creation.asarray(w, x.dtype)
        powers, values = powers * w[:, None], ufuncs.multiply(*aligned(values.T, w)).T
    scale = ufuncs.sqrt(reductions.sum(ufuncs.absolute(powers) ** 2, 0))
    scaled = ufuncs.divide(*aligned(powers, scale))
    found, residuals, rank, singular_values = lstsq(scaled, values, rcond)
    found = ufuncs.divide(*aligned(found.T, scale)).T
    if full:
        return found, residuals, rank, singular_values, rcond
    if not cov:
        return found
    covariance = inv(products.matmul(scaled.T, scaled)) / products.outer(scale, scale)
    if y.ndim == 2:
        covariance = covariance[:, :, None]
    if cov != "unscaled":
        covariance = ufuncs.multiply(*aligned(covariance, residuals / (x.shape[0] - order)))
    return found, covariance
