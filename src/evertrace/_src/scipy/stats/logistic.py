"""The logistic distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import exp, log, log1p
from evertrace._src.scipy.special.elementary import expit, logit
from evertrace._src.scipy.stats.standard import member

function = member("logistic")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the logistic distribution.

    Without the logarithm it is ``exp(-z) / (scale * (1 + exp(-z))**2)`` with ``z = (x - loc) /
    scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.logpdf(0.5)), 4)
      -1.4482
    """
    z = (x - loc) / scale
    size = where(z < 0, -z, z)  # not abs, which has no curvature at 0
    return -size - 2 * log1p(exp(-size)) - log(scale)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the logistic distribution.

    It is ``exp(-z) / (scale * (1 + exp(-z))**2)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.pdf(0.5)), 4)
      0.235
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the logistic distribution is at most `x`.

    It is ``1 / (1 + exp(-z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.cdf(0.5)), 4)
      0.6225
    """
    return expit((x - loc) / scale)


@function
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the logistic distribution exceeds `x`.

    It is ``1 / (1 + exp(z))`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.sf(0.5)), 4)
      0.3775
    """
    return expit((loc - x) / scale)


@function
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the logistic distribution, the inverse of `cdf`.

    It is ``loc + scale * log(x / (1 - x))``.

    Args:
      x: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.ppf(0.25)), 4)
      -1.0986
    """
    return loc + scale * logit(x)


@function
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the upper quantiles of the logistic distribution, the inverse of `sf`.

    It is ``loc - scale * log(x / (1 - x))``.

    Args:
      x: floating array of probabilities.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import logistic
      >>> round(float(logistic.isf(0.25)), 4)
      1.0986
    """
    return loc - scale * logit(x)
