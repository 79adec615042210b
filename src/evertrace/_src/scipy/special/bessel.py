"""Bessel functions.

Source: NIST's Digital Library of Mathematical Functions (DLMF), chapters 3.6 and 10.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

import functools
import math

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops import special as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.formula import (
    Formula,
    choose,
    exp,
    maximum,
)
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
