"""Hypergeometric functions of one variable and two or three parameters, all real.

Sources: NIST's Digital Library of Mathematical Functions (DLMF), chapters 13 and 15; J. W. Pearson,
S. Olver, M. A. Porter, "Numerical methods for the computation of the confluent and Gauss
hypergeometric functions", Numer. Algorithms 74, 2017.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportReturnType=false
from __future__ import annotations

import functools
import math

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.series import repeat, sum_series
from evertrace._src.ops.formula import Formula, choose, digamma, exp, floor, lgamma, log
from evertrace._src.scipy.special.formulas import slope_of, special
from evertrace._src.scipy.special.gamma import sign_of_gamma


def _is_whole(x):
    return floor(x) == x


def _gamma_quotient(above, below):
    """Return the product of Gamma over `above` divided by that over `below`; 0 at their poles."""
    logarithm, sign = 0, 1
    for x in above:
        logarithm, sign = lgamma(x) + logarithm, sign_of_gamma(x) * sign
    for x in below:
        is_pole = (x <= 0) & _is_whole(x)
        safe = choose(is_pole, 1, x)
        logarithm, sign = logarithm - lgamma(safe), sign_of_gamma(safe) * choose(is_pole, 0, sign)
    return sign * exp(logarithm)


def _hyp1f1(a, b, x):
    # Kummer's transformation, DLMF 13.2.39, leaves a positive argument.
    is_negative = x < 0
    a, x = choose(is_negative, b - a, a), abs(x)
    is_far = (x > 60 + (abs(a) + 1) * (abs(b - a) + 1)) & (x < math.inf)
    near = choose(is_far, 1, x)
    series = sum_series(x.like(1), lambda k, term: term * near * ((a + k - 1) / ((b + k - 1) * k)))
    series = choose(is_negative, exp(-near) * series, series)
    # DLMF 13.7.1
    far = choose(is_far, x, 100 + (abs(a) + 1) * (abs(b - a) + 1))
    tail = sum_series(x.like(1), lambda k, term: term * ((b - a + k - 1) * (k - a) / (far * k)))
    growth = choose(is_negative, 0, far)
    value = _gamma_quotient([b], [a]) * exp(growth + (a - b) * log(far)) * tail
    return choose(is_far, value, series)


def _gauss_series(a, b, c, x):
    return sum_series(
        x.like(1), lambda k, term: term * x * ((a + k - 1) / (c + k - 1) * ((b + k - 1) / k))
    )


def _is_finite_sum(a):
    return (a <= 0) & _is_whole(a)


# How far from a whole number the surplus c - a - b must be for DLMF 15.8.4 next to 1: by whether
# DLMF 15.8.10 is used below. There the errors of both are alike, some 1e-8.
APART = {True: 3e-9, False: 1e-3}


def _hyp2f1(a, b, c, x, of_whole=True):
    is_polynomial = _is_finite_sum(a) | _is_finite_sum(b)
    # DLMF 15.8.1 leaves an argument from 0 to 1.
    is_turned = (x < 0) & ~is_polynomial
    factor = choose(is_turned, exp(-a * log(1 - choose(is_turned, x, 0))), 1)
    b, y = choose(is_turned, c - b, b), choose(is_turned, x / (x - 1), x)
    rest = choose(is_turned, 1 / (1 - choose(is_turned, x, 0)), 1 - y)
    ends = is_polynomial | _is_finite_sum(b)
    surplus = c - a - b
    distance = abs(surplus - floor(surplus + 0.5))
    is_below = (rest > 0) & ~ends
    # The two terms of DLMF 15.8.4 are about 1 / distance times their sum. While the series takes
    # no more than a thousand terms, that is worth them.
    least = choose(rest > 0.03, rest.like(0.05), APART[of_whole])
    is_near_one = is_below & (rest < 0.1) & (distance > least)
    is_whole = is_below & (rest <= 0.03) & ~is_near_one
    is_inside = ends | (is_below & ~is_near_one & (~is_whole if of_whole else is_below))
    near, s = choose(is_near_one, rest, 0.5), choose(is_near_one, surplus, 0.5)
    value = _gauss_series(
        a, b, choose(is_near_one, 1 - s, c), choose(is_near_one, near, choose(is_inside, y, 0))
    )
    value = choose(is_near_one, _near_one(a, b, c, s, near, value), value)
    if of_whole:
        value = choose(is_whole, _near_one_of_whole(a, b, c, rest, is_whole), value)
    at_one = choose(
        surplus > 0, _gamma_quotient([c, choose(surplus > 0, surplus, 1)], [c - a, c - b]), math.inf
    )
    limit = choose(rest < 0, math.inf, factor * choose((rest == 0) & ~ends, at_one, value))
    is_nan = (x != x) | (c != c) | (a != a) | (b != b)
    return choose(is_nan, math.nan, choose(is_polynomial, value, limit))


def _near_one(a, b, c, s, rest, series):
    """Return 2F1 at 1 - `rest` by DLMF 15.8.4 from the first of its two series."""
    first = _gamma_quotient([c, s], [c - a, c - b]) * series
    second = _gamma_quotient([c, -s], [a, b]) * exp(s * log(rest))
    return first + second * _gauss_series(c - a, c - b, 1 + s, rest)


def _near_one_of_whole(a, b, c, rest, chosen):
    """Return 2F1 at 1 - `rest` by DLMF 15.8.10 where `chosen`: the surplus is whole there."""
    a, b, c, rest = (choose(chosen, t, at) for t, at in ((a, 1), (b, 1), (c, 2), (rest, 0.5)))
    # DLMF 15.8.1 leaves a surplus that is not negative.
    m = floor(c - a - b + 0.5)
    factor = choose(m < 0, exp(m * log(rest)), 1)
    a, b, m = choose(m < 0, c - a, a), choose(m < 0, c - b, b), abs(m)
    terms = choose(m > 0, m, 1)
    first = sum_series(
        choose(m > 0, m.like(1), 0),
        lambda k, term: choose(
            k < m, -term * rest * ((a + k - 1) * (b + k - 1) / (k * choose(k < m, m - k, 1))), 0
        ),
    )
    first = _gamma_quotient([c, terms], [a + m, b + m]) * first

    def step(k, term, bracket, total):
        p, q = a + m + k - 1, b + m + k - 1
        term = term * rest * (p / k * (q / (m + k)))
        bracket = bracket + (1 / p - 1 / k) + (1 / q - 1 / (m + k))
        return [term, bracket, total + term * bracket]

    def unfinished(term, bracket, total):
        return abs(term) * (1 + abs(bracket)) > 1e-17 * abs(total)

    bracket = log(rest) + digamma(a + m) + digamma(b + m) + np.euler_gamma - digamma(1 + m)
    second = repeat(unfinished, step, [m.like(1), bracket, bracket])[2]
    sign = 4 * floor(0.5 * m) - 2 * m + 1
    second = -sign * exp(m * log(rest)) * _gamma_quotient([c], [a, b, 1 + m]) * second
    return factor * (first + second)


def _hyp1f1_by_x(out, a, b, x):
    return a / b * Formula(hyp1f1((a + 1).x, (b + 1).x, x.x))


@special(slope_of(_hyp1f1, 0), slope_of(_hyp1f1, 1), _hyp1f1_by_x)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return Kummer's confluent hypergeometric function 1F1(a; b; x).

    Args:
      a: floating array; integers become floats.
      b: the same, broadcast with the others; no whole number below 1.
      x: the same.

    Returns:
      an array of the promoted dtype and common shape. Parameters that are large and of different
      sign lose digits. Differentiable any number of times by `x`, and once by `a` and `b`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.hyp1f1(1.0, 2.0, 0.5)), 4)
      1.2974
    """
    return _hyp1f1(a, b, x)


def _hyp2f1_by_x(out, a, b, c, x):
    return a * b / c * Formula(hyp2f1((a + 1).x, (b + 1).x, (c + 1).x, x.x))


# The surplus changes with the parameters, so their derivatives cannot take it for whole.
_hyp2f1_of_any = functools.partial(_hyp2f1, of_whole=False)


@special(*[slope_of(_hyp2f1_of_any, i) for i in range(3)], _hyp2f1_by_x, narrowest=np.float64)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Return Gauss's hypergeometric function 2F1(a, b; c; x).

    Args:
      a: floating array; integers become floats.
      b: the same, broadcast with the others.
      c: the same; no whole number below 1.
      x: the same, at most 1.

    Returns:
      an array of the promoted dtype and common shape; inf where x exceeds 1, unless the series
      ends. It is computed in float64: errors were below 1e-13 for parameters up to 5, relative to
      the value, except next to 1 (and at x < -30), where those with ``c - a - b`` (``b - a``) at a
      distance d from a whole number were about 1e-17 / d, at worst 1e-8. Differentiable any number
      of times by `x`, and once by `a`, `b` and `c`; next to 1 the latter need d > 1e-3.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.hyp2f1(1.0, 2.0, 3.0, 0.5)), 4)
      1.5452
    """
    return _hyp2f1(a, b, c, x)
