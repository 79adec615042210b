"""The gamma distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.elementary import xlogy
from evertrace._src.scipy.special.gamma import gammainc, gammaincc, gammaln
from evertrace._src.scipy.stats.standard import member, unless, within

function = member("gamma")


@function
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the gamma distribution.

    Without the logarithm it is ``z**(a - 1) * exp(-z) / (Gamma(a) * scale)`` for ``z = (x - loc) /
    scale >= 0``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.logpdf(1.5, 2.0)), 4)
      -1.0945
    """
    y = x - loc

    def inside(y):
        z = y / scale
        return xlogy(a - 1, z) - z - gammaln(a) - log(scale)

    return within((y >= 0) & (y < math.inf), inside, y, -math.inf)


@function
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the gamma distribution.

    It is ``z**(a - 1) * exp(-z) / (Gamma(a) * scale)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.pdf(1.5, 2.0)), 4)
      0.3347
    """
    return exp(logpdf(x, a, loc, scale))


@function
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the gamma distribution is at most `x`.

    It is the regularised incomplete gamma function ``gammainc(a, z)`` with ``z = (x - loc) /
    scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.cdf(1.5, 2.0)), 4)
      0.4422
    """
    return _share(gammainc, x, a, loc, scale, 0)


@function
def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the gamma distribution.

    Without the logarithm it is the regularised incomplete gamma function ``gammainc(a, z)`` with
    ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.logcdf(1.5, 2.0)), 4)
      -0.8161
    """
    return _share(lambda a, z: log(gammainc(a, z)), x, a, loc, scale, -math.inf)


@function
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the gamma distribution exceeds `x`.

    It is ``gammaincc(a, z)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.sf(1.5, 2.0)), 4)
      0.5578
    """
    return _share(gammaincc, x, a, loc, scale, 1)


@function
def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the gamma distribution.

    Without the logarithm it is ``gammaincc(a, z)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import gamma
      >>> round(float(gamma.logsf(1.5, 2.0)), 4)
      -0.5837
    """
    return _share(lambda a, z: log(gammaincc(a, z)), x, a, loc, scale, 0)


def _share(formula, x, a, loc, scale, outside):
    """Return a formula of the shape and a positive standard argument."""
    z = (x - loc) / scale
    return unless(a < 0, within(z > 0, lambda z: formula(a, z), z, outside))
