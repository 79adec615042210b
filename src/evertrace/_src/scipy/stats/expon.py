"""The exponential distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, expm1, log, log1p
from evertrace._src.scipy.stats.standard import log_one_minus_exp, member, within

function = member("expon")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the exponential distribution.

    Without the logarithm it is ``exp(-z) / scale`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.logpdf(0.5)), 4)
      -0.5
    """
    y = x - loc
    return within(y >= 0, lambda y: -y / scale - log(scale), y, -math.inf)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the exponential distribution.

    It is ``exp(-z) / scale`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.pdf(0.5)), 4)
      0.6065
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the exponential distribution is at most `x`.

    It is ``1 - exp(-z)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.cdf(0.5)), 4)
      0.3935
    """
    y = x - loc
    return within(y >= 0, lambda y: -expm1(-y / scale), y, 0)


@function
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the exponential distribution.

    Without the logarithm it is ``1 - exp(-z)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.logcdf(0.5)), 4)
      -0.9328
    """
    y = x - loc
    return within(y > 0, lambda y: log_one_minus_exp(y / scale), y, -math.inf)


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the exponential distribution exceeds `x`.

    It is ``exp(-z)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.sf(0.5)), 4)
      0.6065
    """
    return exp(logsf(x, loc, scale))


@function
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the exponential distribution.

    Without the logarithm it is ``exp(-z)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.logsf(0.5)), 4)
      -0.5
    """
    y = x - loc
    return within(y >= 0, lambda y: -y / scale, y, 0)


@function
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the exponential distribution, the inverse of `cdf`.

    It is ``loc - scale * log(1 - q)``.

    Args:
      q: floating array of probabilities.
      loc: shift of the distribution.
      scale: the mean if `loc` is 0, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import expon
      >>> round(float(expon.ppf(0.25)), 4)
      0.2877
    """
    inside = (q >= 0) & (q <= 1)
    return within(inside, lambda q: loc - scale * log1p(-q), q, math.nan, 0.5)
