"""The Pareto distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportArgumentType=false, reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, expm1, log, log1p
from evertrace._src.scipy.stats.standard import log_one_minus_exp, member, within

function = member("pareto")


@function
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Pareto distribution.

    Without the logarithm it is ``b / (scale * z**(b + 1))`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.logpdf(1.5, 2.0)), 4)
      -0.5232
    """
    y = x - loc

    def inside(y):
        return log(b) - log(scale) - (b + 1) * log(y / scale)

    return within(y >= scale, inside, y, -math.inf, scale)


@function
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Pareto distribution.

    It is ``b / (scale * z**(b + 1))`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.pdf(1.5, 2.0)), 4)
      0.5926
    """
    return exp(logpdf(x, b, loc, scale))


@function
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the Pareto distribution is at most `x`.

    It is ``1 - z**-b`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.cdf(1.5, 2.0)), 4)
      0.5556
    """
    return -expm1(logsf(x, b, loc, scale))


@function
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the Pareto distribution.

    Without the logarithm it is ``1 - z**-b`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.logcdf(1.5, 2.0)), 4)
      -0.5878
    """
    y = x - loc
    inside = y > scale
    return within(inside, lambda y: log_one_minus_exp(b * log(y / scale)), y, -math.inf, 2 * scale)


@function
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the Pareto distribution exceeds `x`.

    It is ``z**-b`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.sf(1.5, 2.0)), 4)
      0.4444
    """
    return exp(logsf(x, b, loc, scale))


@function
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the Pareto distribution.

    Without the logarithm it is ``z**-b`` for ``z = (x - loc) / scale >= 1``.

    Args:
      x: floating array; integers become floats.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.logsf(1.5, 2.0)), 4)
      -0.8109
    """
    y = x - loc
    return within(y >= scale, lambda y: -b * log(y / scale), y, 0, scale)


@function
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the Pareto distribution, the inverse of `cdf`.

    It is ``loc + scale * (1 - q)**(-1 / b)``.

    Args:
      q: floating array of probabilities.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import pareto
      >>> round(float(pareto.ppf(0.25, 2.0)), 4)
      1.1547
    """
    inside = (q >= 0) & (q <= 1)
    return within(inside, lambda q: loc + scale * exp(-log1p(-q) / b), q, math.nan, 0.5)
