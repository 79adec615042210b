"""Exponential, sine and cosine integrals, and the dilogarithm.

Sources: NIST's Digital Library of Mathematical Functions (DLMF), chapters 6, 8 and 25; W. H. Press
et al., Numerical Recipes, chapter 6, for where series end and continued fractions begin.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportReturnType=false
from __future__ import annotations

import math

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.series import continued_fraction, repeat, sum_series
from evertrace._src.ops.formula import (
    Formula,
    choose,
    complex_of,
    cos,
    digamma,
    exp,
    imag,
    log,
    maximum,
    polynomial,
    real,
    sin,
)
from evertrace._src.scipy.special.formulas import public, special

# ---------------------------------------------------------------- formulas


def _upper_fraction(n, z):
    """Return exp(z) * E_n(z) by DLMF 8.19.17, contracted to its even part."""
    return continued_fraction(z + n, lambda k: (-k * (n + k - 1), z + n + 2 * k))


def _small_expn(n, x):
    """Return E_n(x) for 0 < x <= 1 and whole n by the series DLMF 8.19.8."""
    eps = float(np.finfo(x.x.aval.dtype).eps) / 8

    def term(k, power):
        """Divide by k - n + 1; where that is 0 the logarithm comes in."""
        is_log = n == k + 1
        plain = -power / choose(is_log, 1, k - n + 1)
        return choose(is_log, power * (digamma(choose(is_log, n, 1)) - log(x)), plain)

    def step(k, power, total):
        power = -power * x / k
        return power, total + term(k, power)

    def unfinished(power, total):
        return abs(power) > eps * abs(total)

    one = x.like(1)
    return repeat(unfinished, step, [one, term(x.like(0), one)])[1]


def _expn(n, x):
    is_regular = (x > 0) & (x < math.inf) & (n > 0)
    is_small = is_regular & (x <= 1)
    is_large = is_regular & ~is_small
    small = _small_expn(choose(is_small, n, 1), choose(is_small, x, 1))
    large = _upper_fraction(choose(is_large, n, 1), choose(is_large, x, 2))
    value = choose(is_small, small, large * exp(-x))
    value = choose(n == 0, exp(-x) / x, value)
    at_zero = choose(n > 1, 1 / choose(n > 1, n - 1, 1), math.inf)
    value = choose(x == 0, at_zero, choose(x == math.inf, 0, value))
    return choose((x >= 0) & (n >= 0), value, math.nan)


def _expi(x):
    """Return Ei(x): the series DLMF 6.6.1, beyond 50 the asymptotic series DLMF 6.12.2."""
    is_small, is_large = (x > 0) & (x <= 50), (x > 50) & (x < math.inf)
    low = choose(is_small, x, 1)
    series = sum_series(low, lambda k, term: term * low * (k / ((k + 1) * (k + 1))))
    small = np.euler_gamma + log(low) + series
    high = choose(is_large, x, 60)
    half = exp(0.5 * high)
    large = half * (sum_series(1 / high, lambda k, term: term * (k / high)) * half)
    below = -_expn(x.like(1), choose(x < 0, -x, 1))
    edge = choose(x == 0, -math.inf, x)
    positive = choose(is_small, small, choose(is_large, large, edge))
    return choose(x < 0, below, positive)


def _sici(x):
    """Return Si and Ci: series up to 4, beyond that E_1(ix) by its continued fraction."""
    y = abs(x)
    is_small, is_large = y <= 4, (y > 4) & (y < math.inf)
    low, high = choose(is_small, y, 1), choose(is_large, y, 8)
    square = -(low * low)

    def next_sine(k, term):
        return term * square * (2 * k - 1) / (2 * k * (2 * k + 1) * (2 * k + 1))

    def next_cosine(k, term):
        return term * square * (2 * k) / ((2 * k + 1) * (2 * k + 2) * (2 * k + 2))

    sine = sum_series(low, next_sine)
    cosine = np.euler_gamma + log(low) + sum_series(square / 4, next_cosine)
    fraction = _upper_fraction(1, complex_of(high.like(0), high))
    e1 = complex_of(cos(high), -sin(high)) * fraction  # -Ci(x) + i * (Si(x) - pi / 2)
    sine = choose(is_small, sine, choose(is_large, imag(e1) + math.pi / 2, math.pi / 2))
    cosine = choose(is_small, cosine, choose(is_large, -real(e1), 0))
    cosine = choose(x == -math.inf, math.nan, cosine)
    is_nan = x != x
    return choose(is_nan, x, choose(x < 0, -sine, sine)), choose(is_nan, x, cosine)


# B(2k) / (2k + 1)!, of Li_2(1 - x) = u + u**2 / 4 * (-1) + ... in u = -log(x), DLMF 25.12.
_BERNOULLI = (
    1, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
)  # fmt: skip
_DEBYE = [b / math.factorial(2 * k + 1) for k, b in enumerate(_BERNOULLI)]


def _spence(x):
    """Return the series near 1; elsewhere reflect to 1 / x, and to 1 - x."""
    is_inverted = x > 2
    y = choose(is_inverted, 1 / choose(is_inverted, x, 1), x)
    is_low = y < 0.5
    z = choose(is_low, 1 - y, y)
    u = -log(choose(z > 0, z, 1))
    value = u * polynomial(_DEBYE, u * u) - u * u / 4
    low = choose(is_low & (y > 0), y, 0.5)
    value = choose(is_low, math.pi**2 / 6 - log(low) * log(1 - low) - value, value)
    value = choose(y == 0, math.pi**2 / 6, value)
    logarithm = log(choose(is_inverted, x, 1))
    value = choose(is_inverted, -0.5 * logarithm * logarithm - value, value)
    return choose(x >= 0, value, math.nan)


def _log_quotient(x):
    """Return log(x) / (1 - x), which is -1 at 1."""
    is_one = x == 1
    safe = choose(is_one, 2, x)
    return choose(is_one, -1, log(safe) / (1 - safe))


def _sine_quotient(x):
    is_zero = x == 0
    safe = choose(is_zero, 1, x)
    return choose(is_zero, 1, sin(safe) / safe)


# ---------------------------------------------------------------- public functions


@special(lambda out, x: exp(x) / x)
def expi(x: ArrayLike) -> Array:
    """Return the exponential integral Ei, the integral of exp(t) / t from -inf to x.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`: -inf at 0. At infinity it has the limits, as in SciPy; JAX has
      NaN.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.expi(1.0)), 4)
      1.8951
    """
    return _expi(x)


@public
def exp1(x: ArrayLike) -> Array:
    """Return the exponential integral E_1, the integral of exp(-t) / t from x to inf.

    Args:
      x: floating array, not negative; integers become floats.

    Returns:
      an array of the shape of `x`: inf at 0, NaN below.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.exp1(1.0)), 4)
      0.2194
    """
    return _exp1(x)


@special(lambda out, x: -exp(-x) / x)
def _exp1(x):
    return _expn(x.like(1), x)


def _expn_by_x(out, n, x):
    below = Formula(expn(maximum(n - 1, n.like(0)).x, x.x))
    return -choose(n == 0, out * (1 + 1 / x), below)


@special(None, _expn_by_x)
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the exponential integral E_n, the integral of exp(-x * t) / t**n from 1 to inf.

    Args:
      n: array of whole numbers that are not negative.
      x: floating array, not negative, broadcast with `n`; integers become floats.

    Returns:
      a floating array of the promoted dtype and common shape. The derivative by `n` is 0.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.expn(2, 0.5)), 4)
      0.3266
    """
    return _expn(n, x)


@special(lambda out, x: (_sine_quotient(x), cos(x) / x))
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Return the sine and cosine integrals.

    Those are the integrals of sin(t) / t from 0 to x, and of -cos(t) / t from x to inf.

    Args:
      x: floating array; integers become floats.

    Returns:
      a tuple of two arrays of the shape of `x`. The second is that of `abs(x)`, its real part.

    Example:
      >>> from evertrace.scipy import special
      >>> [round(float(y), 4) for y in special.sici(1.0)]
      [0.9461, 0.3374]
    """
    return _sici(x)


@special(lambda out, x: _log_quotient(x))
def spence(x: ArrayLike) -> Array:
    """Return Spence's function, the integral of log(t) / (1 - t) from 1 to x.

    Args:
      x: floating array, not negative; integers become floats. JAX takes arrays of float32 and
        float64 only.

    Returns:
      an array of the shape of `x`; NaN below 0.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.spence(2.0)), 4)
      -0.8225
    """
    return _spence(x)
