"""Bessel functions and spherical harmonics.

Source: NIST's Digital Library of Mathematical Functions (DLMF), chapters 3.6, 10 and 14.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

import functools
import math

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy import reductions
from evertrace._src.numpy.arguments import operand, static_int, traced_argument
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.promotion import as_operands, promote_inexact, promote_shapes
from evertrace._src.ops import special as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.formula import (
    Formula,
    choose,
    complex_of,
    cos,
    exp,
    floor,
    maximum,
    sin,
    sqrt,
)
from evertrace._src.ops.structural import spread
from evertrace._src.scipy.special.formulas import public, special

# ---------------------------------------------------------------- modified, of orders 0 and 1


@public
def i0e(x: ArrayLike) -> Array:
    """Return ``exp(-abs(x)) * i0(x)``.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.i0e(1.0)), 4)
      0.4658
    """
    return ops.bessel_i0e_p.bind(*promote_inexact("i0e", x))


@public
def i1e(x: ArrayLike) -> Array:
    """Return ``exp(-abs(x)) * i1(x)``.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.i1e(1.0)), 4)
      0.2079
    """
    return ops.bessel_i1e_p.bind(*promote_inexact("i1e", x))


def _grown(prim, x):
    """Return a scaled function without its scale; infinite where that overflows."""
    half = exp(0.5 * abs(x))
    value = half * (half * Formula(prim.bind(x.x)))
    return choose(abs(x) == math.inf, x if prim is ops.bessel_i1e_p else abs(x), value)


@special(lambda out, x: Formula(i1(x.x)), weak=True)
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function I of order 0.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.i0(1.0)), 4)
      1.2661
    """
    return _grown(ops.bessel_i0e_p, x)


def _i1_slope(out, x):
    at_zero = x == 0
    safe = choose(at_zero, 1, x)
    return choose(at_zero, 0.5, Formula(i0(safe.x)) - out / safe)


@special(_i1_slope, weak=True)
def i1(x: ArrayLike) -> Array:
    """Return the modified Bessel function I of order 1.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.i1(1.0)), 4)
      0.5652
    """
    return _grown(ops.bessel_i1e_p, x)


# ---------------------------------------------------------------- of the first kind


_MOST_STEPS = 10_000  # of the recurrence: seconds of tracing


@public
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Return the Bessel functions of the first kind of orders 0 to v.

    By the recurrence from high orders down (Miller's method), whose scale is that of the sum
    ``J_0 + 2 * J_2 + 2 * J_4 + ... = 1``.

    Args:
      z: floating array; integers become floats.
      v: static int, not negative.
      n_iter: static int, the order where the recurrence begins. It has to exceed `v` and `abs(z)`
        by about 30 for the precision of float64.

    Returns:
      an array of shape ``(v + 1, *z.shape)``. Small `z` are exact; JAX has NaN there.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.bessel_jn(jnp.array(1.0), v=2), 4).tolist()
      [0.7652, 0.4401, 0.1149]
    """
    orders, start = static_int("bessel_jn", "v", v), static_int("bessel_jn", "n_iter", n_iter)
    if orders < 0:
        raise errors.user_error(
            ValueError,
            f"bessel_jn: v must not be negative, got {orders}.",
            fix="use that J of order -n is (-1)**n times J of order n.",
        )
    if max(orders, start) > _MOST_STEPS:
        raise errors.user_error(
            ValueError,
            f"bessel_jn: v and n_iter are numbers of steps that a program is made of, at most "
            f"{_MOST_STEPS}; got {orders} and {start}.",
            fix="use SciPy's `jv` on the host for higher orders.",
        )
    (z,) = promote_inexact("bessel_jn", z)
    return _bessel_rule(orders, start)(as_array(z))


@functools.lru_cache(maxsize=256)
def _bessel_rule(orders, start):
    """Return the function of z with its derivative, J_n' = (J_{n-1} - J_{n+1}) / 2."""

    @custom_jvp
    def bessel(z):
        working = np.dtype(np.float32) if z.dtype.itemsize < 4 else z.dtype
        found = _miller(Formula(convert(z, working)), orders, start)
        return stack([convert(y.x, z.dtype) for y in found])

    def jvp(primals, tangents):
        (z,), (dz,) = primals, tangents
        wide = _bessel_rule(orders + 1, start)(z)
        slopes = [-wide[1], *[(wide[n - 1] - wide[n + 1]) / 2 for n in range(1, orders + 1)]]
        return bessel(z), stack(slopes) * dz

    bessel.defjvp(jvp)
    return bessel


def _miller(z, orders, start):
    is_zero = z == 0
    inverse = 2 / choose(is_zero, 1, z)
    top = max(start, orders + 1)
    top += top % 2
    after, current, total = z.like(0), z.like(1), z.like(0)
    found = {}
    for n in range(top, 0, -1):
        if n % 2 == 0:
            total = total + 2 * current
        if n <= orders:
            found[n] = current
        after, current = current, n * inverse * current - after
        scale = 1 / maximum(abs(current) * 1e-8, z.like(1))
        after, current, total = after * scale, current * scale, total * scale
        found = {k: y * scale for k, y in found.items()}
    found[0] = current
    total = total + current
    return [choose(is_zero, 0 if n else 1, found[n] / total) for n in range(orders + 1)]


# ---------------------------------------------------------------- spherical harmonics


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
    value = _legendre(choose(degree > top, top, degree), size, theta, top)
    sign = choose((order < 0) & _is_odd(size), value.like(-1), 1)
    return complex_of(sign * value * cos(order * phi), sign * value * sin(order * phi)).x


_MOST_DEGREES = 4096


def _is_odd(n):
    return floor(n / 2) != n / 2


def _largest_degree(n):
    if isinstance(n, Tracer) and concrete_value(n) is None:
        raise traced_argument("sph_harm_y", "n_max", n)
    return int(reductions.max(n)) if n.size else 0


def _legendre(n, m, theta, top):
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
