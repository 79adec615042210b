"""The beta distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.elementary import xlog1py, xlogy
from evertrace._src.scipy.special.gamma import betainc, betaln
from evertrace._src.scipy.stats.standard import member, unless, within

function = member("beta")


@function
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density of the beta distribution.

    Without the logarithm it is ``z**(a - 1) * (1 - z)**(b - 1) / (B(a, b) * scale)`` for ``0 <= z
    <= 1`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.logpdf(0.25, 2.0, 3.0)), 4)
      0.5232
    """
    z = (x - loc) / scale

    def inside(z):
        return xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b) - log(scale)

    value = within((z >= 0) & (z <= 1), inside, z, -math.inf, 0.5)
    return unless((a <= 0) | (b <= 0) | (scale <= 0), value)


@function
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density of the beta distribution.

    It is ``z**(a - 1) * (1 - z)**(b - 1) / (B(a, b) * scale)`` for ``0 <= z <= 1`` with ``z = (x -
    loc) / scale``.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.pdf(0.25, 2.0, 3.0)), 4)
      1.6875
    """
    return exp(logpdf(x, a, b, loc, scale))


@function
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability that a number of the beta distribution is at most `x`.

    It is the regularised incomplete beta function ``betainc(a, b, z)`` with ``z = (x - loc) /
    scale``. Differentiable by `x`, `loc` and `scale` only.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.cdf(0.25, 2.0, 3.0)), 4)
      0.2617
    """
    return _share(betainc, x, a, b, loc, scale, 0.0, 1.0)


@function
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `cdf` of the beta distribution.

    Without the logarithm it is the regularised incomplete beta function ``betainc(a, b, z)`` with
    ``z = (x - loc) / scale``. Differentiable by `x`, `loc` and `scale` only.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.logcdf(0.25, 2.0, 3.0)), 4)
      -1.3405
    """
    return _share(lambda a, b, z: log(betainc(a, b, z)), x, a, b, loc, scale, -math.inf, 0.0)


@function
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the beta distribution exceeds `x`.

    It is ``betainc(b, a, 1 - z)`` with ``z = (x - loc) / scale``. Differentiable by `x`, `loc` and
    `scale` only.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.sf(0.25, 2.0, 3.0)), 4)
      0.7383
    """
    return _share(_survival, x, a, b, loc, scale, 1.0, 0.0)


@function
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `sf` of the beta distribution.

    Without the logarithm it is ``betainc(b, a, 1 - z)`` with ``z = (x - loc) / scale``.
    Differentiable by `x`, `loc` and `scale` only.

    Args:
      x: floating array; integers become floats.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import beta
      >>> round(float(beta.logsf(0.25, 2.0, 3.0)), 4)
      -0.3034
    """
    return _share(lambda a, b, z: log(_survival(a, b, z)), x, a, b, loc, scale, 0.0, -math.inf)


def _survival(a, b, z):
    return betainc(b, a, 1 - z)


def _share(formula, x, a, b, loc, scale, below, above):
    """Return a formula of the shapes and a standard argument between 0 and 1."""
    z = (x - loc) / scale
    outside = where(z <= 0, below, above)
    value = within((z > 0) & (z < 1), lambda z: formula(a, b, z), z, outside, 0.5)
    return unless((a < 0) | (b < 0), value)
