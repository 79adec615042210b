"""The Gumbel distribution of minima, whose long tail is on the left: the mirror of gumbel_r."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import log, log1p
from evertrace._src.scipy.stats import gumbel_r
from evertrace._src.scipy.stats.standard import member, within

function = member("gumbel_l")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the left-skewed Gumbel distribution.

    Without the logarithm it is ``exp(z - exp(z)) / scale`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.logpdf(0.5)), 4)
      -1.1487
    """
    return gumbel_r.logpdf(-x, -loc, scale)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the left-skewed Gumbel distribution.

    It is ``exp(z - exp(z)) / scale`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.pdf(0.5)), 4)
      0.317
    """
    return gumbel_r.pdf(-x, -loc, scale)


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the left-skewed Gumbel distribution is at most `x`.

    It is ``1 - exp(-exp(z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.cdf(0.5)), 4)
      0.8077
    """
    return gumbel_r.sf(-x, -loc, scale)


@function
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the left-skewed Gumbel distribution.

    Without the logarithm it is ``1 - exp(-exp(z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.logcdf(0.5)), 4)
      -0.2136
    """
    return gumbel_r.logsf(-x, -loc, scale)


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the left-skewed Gumbel distribution exceeds `x`.

    It is ``exp(-exp(z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.sf(0.5)), 4)
      0.1923
    """
    return gumbel_r.cdf(-x, -loc, scale)


@function
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the left-skewed Gumbel distribution.

    Without the logarithm it is ``exp(-exp(z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.logsf(0.5)), 4)
      -1.6487
    """
    return gumbel_r.logcdf(-x, -loc, scale)


@function
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the left-skewed Gumbel distribution, the inverse of `cdf`.

    It is ``loc + scale * log(-log(1 - p))``: infinite at 0 and 1, where JAX has NaN.

    Args:
      p: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import gumbel_l
      >>> round(float(gumbel_l.ppf(0.25)), 4)
      -1.2459
    """
    inside = (p >= 0) & (p <= 1)
    return within(inside, lambda p: loc + scale * log(-log1p(-p)), p, math.nan, 0.5)
