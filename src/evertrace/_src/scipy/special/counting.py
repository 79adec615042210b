"""Counting by the gamma function: factorials, combinations, Pochhammer and Bernoulli numbers."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportReturnType=false
from __future__ import annotations

import functools
import math
import operator
from fractions import Fraction

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.creation import asarray
from evertrace._src.ops.formula import choose, exp, floor, lgamma, log, log1p
from evertrace._src.ops.formula import digamma as psi
from evertrace._src.scipy.special.formulas import public, special
from evertrace._src.scipy.special.gamma import (
    alternating,
    is_pole_of_gamma,
    log_beta,
    real_gamma,
    sign_of_gamma,
)

# ---------------------------------------------------------------- factorials and combinations


@public
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Return n!, and 0 for negative n.

    Args:
      n: array; integers become floats, and other numbers than whole ones are allowed.
      exact: must be False: there are no integers without bounds.

    Returns:
      a floating array of the shape of `n`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.factorial(5)), 4)
      120.0
    """
    if exact:
        raise errors.user_error(
            NotImplementedError,
            "factorial: exact=True asks for integers without bounds, which arrays do not hold.",
            fix="leave it out, or use `math.factorial` on a Python int.",
            anchor="unsupported",
        )
    return _factorial(n)


@special(lambda out, n: out * psi(choose(n < 0, 1, n + 1)), weak=True)
def _factorial(n):
    return choose(n < 0, 0, real_gamma(choose(n < 0, 1, n + 1)))


@public
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Return the number of ways to choose k of N things.

    Args:
      N: array; integers become floats, and other numbers than whole ones are allowed.
      k: the same, broadcast with `N`.
      repetition: whether a thing may be chosen more than once.

    Returns:
      a floating array of the promoted dtype and common shape: 0 where an argument is negative or k
      exceeds N (without repetition); with repetition 1 where k is 0.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.comb(5, 2)), 4)
      10.0
    """
    return (_comb_with_repetition if repetition else _comb)(N, k)


def _choices(n, k):
    """Return the binomial coefficient as a beta function, or 0 where it counts nothing."""
    counts = (n >= 0) & (k >= 0) & (k <= n)
    n, k = choose(counts, n, 1), choose(counts, k, 0)
    ways = exp(-log_beta(n - k + 1, k + 1)) / (n + 1)
    return choose(counts, _of_endless(n, k, ways), 0)


def _of_endless(n, k, ways):
    """Return the ways to choose k of n things, infinite or one for infinitely many things."""
    return choose((n == math.inf) & (k < math.inf), choose(k == 0, k + 1, math.inf), ways)


def _choices_by_n(out, n, k):
    inside = out > 0
    n, k = choose(inside, n, 1), choose(inside, k, 0)
    return out * (psi(n + 1) - psi(n - k + 1))


def _choices_by_k(out, n, k):
    inside = out > 0
    n, k = choose(inside, n, 1), choose(inside, k, 0)
    return out * (psi(n - k + 1) - psi(k + 1))


@special(_choices_by_n, _choices_by_k, weak=True)
def _comb(n, k):
    return _choices(n, k)


def _repeated_by_n(out, n, k):
    inside = (out > 0) & (n > 0)
    n, k = choose(inside, n, 1), choose(inside, k, 0)
    return out * (psi(n + k) - psi(n))


def _repeated_by_k(out, n, k):
    inside = (out > 0) & (n > 0)
    n, k = choose(inside, n, 1), choose(inside, k, 0)
    return out * (psi(n + k) - psi(k + 1))


@special(_repeated_by_n, _repeated_by_k, weak=True)
def _comb_with_repetition(n, k):
    # Of no things there is one way to choose none.
    nothing, counts = (n >= 0) & (k == 0), (n > 0) & (k > 0)
    others = choose(n + k == n + k, 0, n + k)  # NaN of NaN
    n, k = choose(counts, n, 1), choose(counts, k, 0)
    ways = _of_endless(n, k, exp(-log_beta(n, k + 1)) / (n + k))
    return choose(nothing, 1, choose(counts, ways, others))


@special(lambda out, z, m: out * (psi(z + m) - psi(z)), lambda out, z, m: out * psi(z + m))
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Return Pochhammer's symbol, Gamma(z + m) / Gamma(z).

    Args:
      z: floating array; integers become floats.
      m: the same, broadcast with `z`.

    Returns:
      an array of the promoted dtype and common shape. Where both gamma functions have poles and
      `m` is a whole number, the limit, as in SciPy; JAX has NaN there.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.poch(2.0, 3.0)), 4)
      24.0
    """
    # Both are poles: (z)_m is (-1)**m * (1 - z - m)_m.
    is_whole = (m == floor(m)) & (abs(m) < math.inf)
    both = is_pole_of_gamma(z) & is_pole_of_gamma(z + m) & is_whole
    start, end = choose(both, 1 - z - m, z), choose(both, 1 - z, z + m)
    sign = choose(both, alternating(m), sign_of_gamma(start) * sign_of_gamma(end))
    value = sign * exp(_log_ratio_of_gammas(start, end, m))
    value = choose(is_pole_of_gamma(end), math.inf, value)
    value = choose(z == math.inf, exp(m * z), value)
    value = choose(m == -math.inf, math.nan, value)
    value = choose(is_pole_of_gamma(z) & ~both, 0, value)
    has_none = (z != z) | (m != m) | (z == -math.inf)
    return choose(m == 0, 1, choose(has_none, math.nan, value))


def _log_ratio_of_gammas(start, end, m):
    """Return log(Gamma(end) / Gamma(start)), where end = start + m.

    That of large ones is taken of Stirling's series: the difference of their logarithms would be
    lost in rounding.
    """
    is_large = (start > 16) & (end > 16) & (start < math.inf) & (end < math.inf)
    a, b = choose(is_large, start, 17), choose(is_large, end, 17)
    by = choose(is_large, m, 0)
    series = (a - 0.5) * log1p(by / a) + by * (log(b) - 1) + _stirling_tail(b) - _stirling_tail(a)
    return choose(is_large, series, lgamma(end) - lgamma(start))


def _stirling_tail(x):
    square = x * x
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / x


@public
def bernoulli(n: int) -> Array:
    """Return the Bernoulli numbers B(0) to B(n), with B(1) = -1/2.

    Args:
      n: static int, not negative.

    Returns:
      an array of the default floating dtype of shape ``(n + 1,)``. The numbers are computed as
      fractions; those that exceed the dtype are infinite.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.bernoulli(4), 4).tolist()
      [1.0, -0.5, 0.1667, 0.0, -0.0333]
    """
    count = operator.index(n)
    if count < 0:
        raise errors.user_error(
            ValueError, f"bernoulli: n must not be negative, got {count}.", fix="pass 0 or more."
        )
    numbers = np.zeros(count + 1)
    finite = [float(b) for b in _bernoulli(min(count, _LAST_FINITE))]
    numbers[: len(finite)] = finite
    numbers[_LAST_FINITE + 2 :: 4], numbers[_LAST_FINITE + 4 :: 4] = -math.inf, math.inf
    return asarray(numbers)


_LAST_FINITE = 258
"""The last number that float64 holds; the next ones are negative, 0, positive, 0."""


@functools.lru_cache(maxsize=16)
def _bernoulli(count):
    """Return fractions by the recurrence sum of comb(n + 1, j) * B(j) over j <= n is 0."""
    numbers = [Fraction(1)]
    for n in range(1, count + 1):
        odd = n > 1 and n % 2
        total = 0 if odd else sum(math.comb(n + 1, j) * b for j, b in enumerate(numbers))
        numbers.append(-total / Fraction(n + 1))
    return numbers
