"""The Gumbel distribution of maxima, whose long tail is on the right."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, expm1, log
from evertrace._src.scipy.stats.standard import log_one_minus_exp, member, unless, within

function = member("gumbel_r")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the right-skewed Gumbel distribution.

    Without the logarithm it is ``exp(-z - exp(-z)) / scale`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.logpdf(0.5)), 4)
      -1.1065
    """
    z = (x - loc) / scale
    return unless(scale <= 0, -z - exp(-z) - log(scale))


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the right-skewed Gumbel distribution.

    It is ``exp(-z - exp(-z)) / scale`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.pdf(0.5)), 4)
      0.3307
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the right-skewed Gumbel distribution is at most `x`.

    It is ``exp(-exp(-z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.cdf(0.5)), 4)
      0.5452
    """
    return exp(logcdf(x, loc, scale))


@function
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the right-skewed Gumbel distribution.

    Without the logarithm it is ``exp(-exp(-z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.logcdf(0.5)), 4)
      -0.6065
    """
    return unless(scale <= 0, -exp((loc - x) / scale))


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the right-skewed Gumbel distribution exceeds `x`.

    It is ``1 - exp(-exp(-z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.sf(0.5)), 4)
      0.4548
    """
    return -expm1(logcdf(x, loc, scale))


@function
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the right-skewed Gumbel distribution.

    Without the logarithm it is ``1 - exp(-exp(-z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.logsf(0.5)), 4)
      -0.788
    """
    return log_one_minus_exp(-logcdf(x, loc, scale))


@function
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the right-skewed Gumbel distribution, the inverse of `cdf`.

    It is ``loc - scale * log(-log(p))``: infinite at 0 and 1, where JAX has NaN.

    Args:
      p: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import gumbel_r
      >>> round(float(gumbel_r.ppf(0.25)), 4)
      -0.3266
    """
    inside = (p >= 0) & (p <= 1)
    return within(inside, lambda p: loc - scale * log(-log(p)), p, math.nan, 0.5)
