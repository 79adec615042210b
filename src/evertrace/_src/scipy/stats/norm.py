"""The normal distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.error import log_ndtr, ndtr, ndtri
from evertrace._src.scipy.stats.standard import member

function = member("norm")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the normal distribution.

    Without the logarithm it is ``exp(-z**2 / 2) / (sqrt(2 * pi) * scale)`` with ``z = (x - loc) /
    scale``.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.logpdf(0.5)), 4)
      -1.0439
    """
    z = (x - loc) / scale
    return -0.5 * (z * z + log(2 * math.pi * (scale * scale)))


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the normal distribution.

    It is ``exp(-z**2 / 2) / (sqrt(2 * pi) * scale)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.pdf(0.5)), 4)
      0.3521
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the normal distribution is at most `x`.

    It is ``erfc(-z / sqrt(2)) / 2`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.cdf(0.5)), 4)
      0.6915
    """
    return ndtr((x - loc) / scale)


@function
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the normal distribution.

    Without the logarithm it is ``erfc(-z / sqrt(2)) / 2`` with ``z = (x - loc) / scale``. It does
    not underflow.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.logcdf(0.5)), 4)
      -0.3689
    """
    return log_ndtr((x - loc) / scale)


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the normal distribution exceeds `x`.

    It is ``erfc(z / sqrt(2)) / 2`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.sf(0.5)), 4)
      0.3085
    """
    return ndtr((loc - x) / scale)


@function
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the normal distribution.

    Without the logarithm it is ``erfc(z / sqrt(2)) / 2`` with ``z = (x - loc) / scale``. It does
    not underflow.

    Args:
      x: floating array; integers become floats.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.logsf(0.5)), 4)
      -1.1759
    """
    return log_ndtr((loc - x) / scale)


@function
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the normal distribution, the inverse of `cdf`.

    It is ``loc + scale * ndtri(q)``, see `special.ndtri`.

    Args:
      q: floating array of probabilities.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.ppf(0.25)), 4)
      -0.6745
    """
    return loc + scale * ndtri(q)


@function
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the upper quantiles of the normal distribution, the inverse of `sf`.

    It is ``loc - scale * ndtri(q)``, precise for small `q`, where JAX computes ``1 - q`` first.

    Args:
      q: floating array of probabilities.
      loc: the mean.
      scale: the standard deviation.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import norm
      >>> round(float(norm.isf(0.25)), 4)
      0.6745
    """
    return loc - scale * ndtri(q)
