"""The uniform distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.stats.standard import member, within

function = member("uniform")


@function
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the uniform distribution.

    Without the logarithm it is ``1 / scale`` for ``loc <= x <= loc + scale``.

    Args:
      x: floating array; integers become floats.
      loc: lower end of the support.
      scale: length of the support.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import uniform
      >>> round(float(uniform.logpdf(0.25)), 4)
      0.0
    """
    inside = (x >= loc) & (x <= loc + scale)
    return within(inside, lambda _: -log(where(inside, scale, 1)), x, -math.inf)


@function
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the uniform distribution.

    It is ``1 / scale`` for ``loc <= x <= loc + scale``.

    Args:
      x: floating array; integers become floats.
      loc: lower end of the support.
      scale: length of the support.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import uniform
      >>> round(float(uniform.pdf(0.25)), 4)
      1.0
    """
    return exp(logpdf(x, loc, scale))


@function
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the uniform distribution is at most `x`.

    It is ``(x - loc) / scale`` for ``loc <= x <= loc + scale``.

    Args:
      x: floating array; integers become floats.
      loc: lower end of the support.
      scale: length of the support.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import uniform
      >>> round(float(uniform.cdf(0.25)), 4)
      0.25
    """
    y = x - loc
    outside = where(y < 0, 0.0, 1.0)
    return within((y >= 0) & (y <= scale), lambda y: y / scale, y, outside)


@function
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the quantiles of the uniform distribution, the inverse of `cdf`.

    It is ``loc + q * scale``.

    Args:
      q: floating array of probabilities.
      loc: lower end of the support.
      scale: length of the support.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import uniform
      >>> round(float(uniform.ppf(0.25)), 4)
      0.25
    """
    inside = (q >= 0) & (q <= 1)
    return within(inside, lambda q: loc + q * scale, q, math.nan)
