"""Associated Legendre functions and spherical harmonics, with the phase of Condon and Shortley.

Both go up in the degree by recurrences of three terms, which are stable in that direction.

Source: NIST's Digital Library of Mathematical Functions (DLMF), chapter 14.10; normalised as in
S. A. Holmes and W. E. Featherstone, "A unified approach to the Clenshaw summation and the recursive
computation of very high degree and order normalised associated Legendre functions", 2002.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy import reductions, ufuncs
from evertrace._src.numpy.arguments import operand, static_int, traced_argument
from evertrace._src.numpy.creation import ones_like, zeros, zeros_like
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.promotion import as_operands, promote_inexact, promote_shapes
from evertrace._src.ops.convert import convert
from evertrace._src.ops.formula import Formula, choose, complex_of, cos, floor, maximum, sin, sqrt
from evertrace._src.ops.structural import reshape, spread
from evertrace._src.scipy.special.formulas import public

_MOST_DEGREES = 4096


@public
def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """Return associated Legendre functions of the first kind and their derivatives.

    Args:
      m: static int, the largest order, equal to `n`.
      n: static int, the largest degree.
      z: array of shape (k,), float32 or float64, from -1 to 1.

    Returns:
      the values and the derivatives by `z`, each of shape (m + 1, n + 1, k) and the dtype of `z`,
      orders first; zero where the order is above the degree. SciPy's `lpmn` took one `z`.

    Raises:
      NotImplementedError: `m` is not `n`.
      TypeError, ValueError: `z` is of another dtype or rank, an order is negative or above 4096.

    Example:
      >>> from evertrace.scipy import special
      >>> values, slopes = special.lpmn(1, 1, jnp.array([0.6]))
      >>> np.round(values[:, :, 0], 2).tolist(), np.round(slopes[:, :, 0], 2).tolist()
      ([[1.0, 0.6], [0.0, -0.8]], [[0.0, 1.0], [0.0, 0.75]])
    """
    z, size = _points("lpmn", m, n, z)
    values, slopes = _table(z, _plain(size, z.dtype))
    return stack(values, axis=1), stack(slopes, axis=1)


@public
def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """Return associated Legendre functions of the first kind.

    Args:
      m: static int, the largest order, equal to `n`.
      n: static int, the largest degree.
      z: array of shape (k,), float32 or float64, from -1 to 1.
      is_normalized: whether they are those of orthonormal spherical harmonics, which neither
        overflow nor underflow.

    Returns:
      an array of shape (m + 1, n + 1, k) and the dtype of `z`, orders first; zero where the order
      is above the degree.

    Raises:
      NotImplementedError: `m` is not `n`.
      TypeError, ValueError: `z` is of another dtype or rank, an order is negative or above 4096.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.lpmn_values(1, 1, jnp.array([0.6]), False)[:, :, 0], 2).tolist()
      [[1.0, 0.6], [0.0, -0.8]]
    """
    z, size = _points("lpmn_values", m, n, z)
    steps = (_normalised if is_normalized else _plain)(size, z.dtype)
    return stack(_table(z, steps)[0], axis=1)


def _points(name, m, n, z):
    """Return the points as a row, and how many orders there are."""
    order, degree, z = static_int(name, "m", m), static_int(name, "n", n), operand(name, z)
    if order != degree:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: the largest order {order} is not the largest degree {degree}.",
            fix="compute as many of both, and take a part.",
            anchor="unsupported",
        )
    if not 0 <= degree <= _MOST_DEGREES:
        raise errors.user_error(
            ValueError,
            f"{name}: n must be from 0 to {_MOST_DEGREES}, got {degree}.",
            fix="pass the largest degree.",
            anchor="arguments",
        )
    if z.dtype not in (np.float32, np.float64):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: z must be float32 or float64, got {z.dtype}.",
            fix="convert it with `astype`.",
            anchor="dtype",
        )
    if z.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: z must have one dimension, got shape {z.shape}.",
            fix="pass `z.ravel()`, and reshape the result.",
            anchor="shape",
        )
    return reshape(z, (1, z.size)), degree + 1


class _Steps(NamedTuple):
    """The coefficients of a recurrence: (degrees, orders, 1) of the first two, then (degrees,).

    That of a degree l is ``ahead[l] * z * P[l - 1] - back[l] * P[l - 2]`` below the order l, and
    ``first[l] * (1 - z**2) ** (l / 2)`` at it.
    """

    ahead: np.ndarray
    back: np.ndarray
    first: np.ndarray


def _plain(size, dtype):
    n, m = np.ogrid[:size, :size]
    gap = np.where(m < n, n - m, 1)
    return _steps((2 * n - 1) / gap, (n + m - 1) / gap, 1.0, 1 - 2 * np.arange(1.0, size), dtype)


def _normalised(size, dtype):
    n, m = np.ogrid[:size, :size]
    gap, k = np.where(m < n, n * n - m * m, 1), np.arange(1, size)
    ahead = np.sqrt(np.maximum(4 * n * n - 1, 0) / gap)
    lower = np.maximum((n - 1) ** 2 - m * m, 0) / np.maximum(4 * (n - 1) ** 2 - 1, 1)
    ratios = -np.sqrt((2 * k + 1) / (2 * k))
    return _steps(ahead, ahead * np.sqrt(lower), math.sqrt(0.25 / math.pi), ratios, dtype)


def _steps(ahead, back, first, ratios, dtype):
    with np.errstate(over="ignore"):  # as the functions themselves do where they are not normalised
        firsts = np.cumprod([first, *ratios]).astype(dtype)
    return _Steps(ahead.astype(dtype)[..., None], back.astype(dtype)[..., None], firsts)


def _table(z, steps):
    """Return values and slopes at a row of points, for each degree an array (orders, points)."""
    size = len(steps.first)
    orders = np.arange(size)[:, None]
    nothing = zeros((size, z.shape[1]), z.dtype)
    powers = [ones_like(z), ufuncs.sqrt(1 - z * z)]  # of the sines, from 0
    rows, slopes = [nothing, nothing], [nothing, nothing]
    for degree in range(size):
        ahead, back, first = steps.ahead[degree], steps.back[degree], steps.first[degree]
        row = ahead * (z * rows[-1]) - back * rows[-2]
        slope = ahead * (rows[-1] + z * slopes[-1]) - back * slopes[-2]
        start, fall = first * powers[degree], nothing
        if degree > 0:
            before = 1 / powers[1] if degree == 1 else powers[degree - 2]
            fall = -degree * first * z * before
        rows.append(_row(orders - degree, row, start))
        slopes.append(_row(orders - degree, slope, fall))
        powers.append(powers[-1] * powers[1])
    return rows[2:], slopes[2:]


def _row(above, below, first):
    """Return one array of orders below the degree, at it, and above it, where there is nothing."""
    return where(above < 0, below, where(above == 0, first, zeros_like(below)))


@public
def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Return spherical harmonics, with the phase of Condon and Shortley.

    Args:
      n: integer array, the degrees, not negative.
      m: integer array, the orders, ``abs(m) <= n``.
      theta: floating array, angles from the pole.
      phi: floating array, longitudes.
      diff_n: must be None.
      n_max: static int, the largest degree; by default that of `n`, which must then be known while
        tracing. Larger degrees are taken for it.

    Returns:
      a complex array of the common shape of all four, which JAX wants to be of one axis.
      Differentiable by the angles.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.sph_harm_y(2, 1, 0.5, 0.3), 4).tolist()
      (-0.3105-0.0961j)
    """
    if diff_n is not None:
        raise errors.user_error(
            NotImplementedError,
            "sph_harm_y: diff_n is not supported.",
            fix="differentiate with `grad` or `jvp`.",
            anchor="unsupported",
        )
    degree, order = operand("sph_harm_y", n), operand("sph_harm_y", m)
    for name, x in (("n", degree), ("m", order)):
        if not dtypes.issubdtype(x.dtype, np.integer):
            raise errors.user_error(
                errors.DTypeError,
                f"sph_harm_y: {name} must be of an integer dtype, got {x.dtype}.",
                fix="convert it with `astype(int)`.",
                anchor="dtype",
            )
    top = _largest_degree(degree) if n_max is None else static_int("sph_harm_y", "n_max", n_max)
    if top > _MOST_DEGREES:
        raise errors.user_error(
            ValueError,
            f"sph_harm_y: the largest degree is {top}, and the recurrence, a step for each degree, "
            f"is written out for {_MOST_DEGREES} at most.",
            fix="pass a smaller `n_max`: larger degrees are taken for it.",
            anchor="loop-bounds",
        )
    angles = promote_inexact("sph_harm_y", theta, phi)
    operands = promote_shapes("sph_harm_y", degree, order, *as_operands("sph_harm_y", *angles))
    shape = next((x.aval.shape for x in operands if x.aval.shape), ())
    dtype = np.dtype(np.float64 if angles[0].aval.dtype == np.float64 else np.float32)
    degree, order, theta, phi = (Formula(convert(spread(x, shape), dtype)) for x in operands)
    size = abs(order)
    value = _at_angle(choose(degree > top, top, degree), size, theta, top)
    sign = choose((order < 0) & _is_odd(size), value.like(-1), 1)
    return complex_of(sign * value * cos(order * phi), sign * value * sin(order * phi)).x


def _is_odd(n):
    return floor(n / 2) != n / 2


def _largest_degree(n):
    if isinstance(n, Tracer) and concrete_value(n) is None:
        raise traced_argument("sph_harm_y", "n_max", n)
    return int(reductions.max(n)) if n.size else 0


def _at_angle(n, m, theta, top):
    """Return normalised associated Legendre functions of degree n and order m at cos(theta)."""
    x, y = cos(theta), sin(theta)
    # Start with degree m: sqrt((2m + 1) / (4 pi) * 1/2 * 3/4 * ... ) * (-sin(theta))**m.
    current = x.like(math.sqrt(1 / (4 * math.pi)))
    for k in range(1, top + 1):
        current = choose(m >= k, -math.sqrt((2 * k + 1) / (2 * k)) * y * current, current)
    before, value = x.like(0), current
    for degree in range(1, top + 1):
        is_above = m < degree
        gap = choose(is_above, degree * degree - m * m, 1)
        ahead = choose(is_above, (degree - 1) * (degree - 1) - m * m, 0)
        step = sqrt((4 * degree * degree - 1) / gap)
        drop = sqrt(maximum(ahead, m.like(0)) / max(4 * (degree - 1) ** 2 - 1, 1))
        following = step * (x * current - drop * before)
        before, current = choose(is_above, current, before), choose(is_above, following, current)
        value = choose(n >= degree, current, value)
    return value
