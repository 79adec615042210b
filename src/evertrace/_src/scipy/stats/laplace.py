"""The Laplace distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import abs, exp, log
from evertrace._src.scipy.stats.standard import member

function = member("laplace")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Laplace distribution.

    Without the logarithm it is ``exp(-abs(z)) / (2 * scale)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import laplace
      >>> round(float(laplace.logpdf(0.5)), 4)
      -1.1931
    """
    return -abs((x - loc) / scale) - log(2 * scale)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Laplace distribution.

    It is ``exp(-abs(z)) / (2 * scale)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import laplace
      >>> round(float(laplace.pdf(0.5)), 4)
      0.3033
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the Laplace distribution is at most `x`.

    It is ``exp(z) / 2`` for negative z and ``1 - exp(-z) / 2`` for others with ``z = (x - loc) /
    scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import laplace
      >>> round(float(laplace.cdf(0.5)), 4)
      0.6967
    """
    z = (x - loc) / scale
    is_low = z < 0
    low, high = where(is_low, z, 0), where(is_low, 0, z)
    return where(is_low, 0.5 * exp(low), 1 - 0.5 * exp(-high))
