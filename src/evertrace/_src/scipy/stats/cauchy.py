"""The Cauchy distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import arctan2, exp, log, log1p, tan
from evertrace._src.scipy.stats.standard import member, within

function = member("cauchy")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Cauchy distribution.

    Without the logarithm it is ``1 / (pi * scale * (1 + z**2))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.logpdf(0.5)), 4)
      -1.3679
    """
    z = (x - loc) / scale
    return -log(math.pi * scale) - log1p(z * z)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Cauchy distribution.

    It is ``1 / (pi * scale * (1 + z**2))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.pdf(0.5)), 4)
      0.2546
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the Cauchy distribution is at most `x`.

    It is ``1/2 + atan(z) / pi`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.cdf(0.5)), 4)
      0.6476
    """
    # The angle from the other side of the vertical, which keeps its digits in the lower tail.
    return arctan2(1, (loc - x) / scale) / math.pi


@function
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the Cauchy distribution.

    Without the logarithm it is ``1/2 + atan(z) / pi`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.logcdf(0.5)), 4)
      -0.4345
    """
    return log(cdf(x, loc, scale))


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the Cauchy distribution exceeds `x`.

    It is ``1/2 - atan(z) / pi`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.sf(0.5)), 4)
      0.3524
    """
    return arctan2(1, (x - loc) / scale) / math.pi


@function
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the Cauchy distribution.

    Without the logarithm it is ``1/2 - atan(z) / pi`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.logsf(0.5)), 4)
      -1.0429
    """
    return log(sf(x, loc, scale))


@function
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the Cauchy distribution, the inverse of `cdf`.

    It is ``loc + scale * tan(pi * (q - 1/2))``: infinite at 0 and 1, where JAX has large numbers.

    Args:
      q: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.ppf(0.25)), 4)
      -1.0
    """
    return loc + scale * _quantile(q)


@function
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the upper quantiles of the Cauchy distribution, the inverse of `sf`.

    It is ``loc - scale * tan(pi * (q - 1/2))``: infinite at 0 and 1, where JAX has large numbers.

    Args:
      q: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import cauchy
      >>> round(float(cauchy.isf(0.25)), 4)
      1.0
    """
    return loc - scale * _quantile(q)


def _quantile(q):
    """Return the quantile for q from 0 to 1, measured from the nearer end."""

    def lower(p):
        return -1 / tan(math.pi * p)

    low = within((q > 0) & (q <= 0.5), lower, q, -math.inf, 0.5)
    high = within((q > 0.5) & (q < 1), lambda p: -lower(1 - p), q, math.inf, 0.75)
    return where((q < 0) | (q > 1), math.nan, where(q <= 0.5, low, high))
