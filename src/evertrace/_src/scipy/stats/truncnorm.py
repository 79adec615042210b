"""The normal distribution between two ends."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportArgumentType=false, reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import isfinite, where
from evertrace._src.numpy.ufuncs import exp, log1p
from evertrace._src.scipy.special.error import log_ndtr
from evertrace._src.scipy.stats import norm
from evertrace._src.scipy.stats.standard import log_one_minus_exp, member, unless, within

function = member("truncnorm")


@function
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density of the truncated normal distribution.

    Without the logarithm it is ``norm.pdf(z) / (scale * (ndtr(b) - ndtr(a)))`` for ``a <= z <= b``
    with ``z = (x - loc) / scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.logpdf(0.5, -1.0, 2.0)), 4)
      -0.8438
    """
    z = (x - loc) / scale
    value = within((a <= z) & (z <= b), lambda z: norm.logpdf(z * scale, 0, scale), z, -math.inf, 0)
    return unless(~(a < b), value - _log_mass(a, b))


@function
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density of the truncated normal distribution.

    It is ``norm.pdf(z) / (scale * (ndtr(b) - ndtr(a)))`` for ``a <= z <= b`` with ``z = (x - loc) /
    scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.pdf(0.5, -1.0, 2.0)), 4)
      0.4301
    """
    return exp(logpdf(x, a, b, loc, scale))


@function
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability that a number of the truncated normal distribution is at most `x`.

    It is ``(ndtr(z) - ndtr(a)) / (ndtr(b) - ndtr(a))`` for ``a <= z <= b`` with ``z = (x - loc) /
    scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.cdf(0.5, -1.0, 2.0)), 4)
      0.6509
    """
    return exp(logcdf(x, a, b, loc, scale))


@function
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `cdf` of the truncated normal distribution.

    Without the logarithm it is ``(ndtr(z) - ndtr(a)) / (ndtr(b) - ndtr(a))`` for ``a <= z <= b``
    with ``z = (x - loc) / scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.logcdf(0.5, -1.0, 2.0)), 4)
      -0.4294
    """
    z = (x - loc) / scale
    outside = where(z <= a, -math.inf, 0.0)

    def inside(z):
        whole = _log_mass(a, b)
        below = _log_mass(a, z) - whole
        # Near 0 it is a difference of almost equal numbers, unless it is taken from above.
        is_most = below > -0.5
        above = where(is_most, _log_mass(z, b) - whole, -1)
        return where(is_most, log1p(-exp(above)), below)

    value = within((a < z) & (z < b), inside, z, outside, _inner(a, b))
    return unless(~(a < b), value)


@function
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the truncated normal distribution exceeds `x`.

    It is ``(ndtr(b) - ndtr(z)) / (ndtr(b) - ndtr(a))`` for ``a <= z <= b`` with ``z = (x - loc) /
    scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.sf(0.5, -1.0, 2.0)), 4)
      0.3491
    """
    return exp(logsf(x, a, b, loc, scale))


@function
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `sf` of the truncated normal distribution.

    Without the logarithm it is ``(ndtr(b) - ndtr(z)) / (ndtr(b) - ndtr(a))`` for ``a <= z <= b``
    with ``z = (x - loc) / scale``. Both ends may lie far in one tail. NaN where ``a >= b``.

    Args:
      x: floating array; integers become floats.
      a: lower end of the support, in units of `scale` from `loc`.
      b: upper end, above `a`.
      loc: the mean of the whole normal distribution.
      scale: its standard deviation, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import truncnorm
      >>> round(float(truncnorm.logsf(0.5, -1.0, 2.0)), 4)
      -1.0523
    """
    return logcdf(-x, -b, -a, -loc, scale)


def _log_mass(a, b):
    """Return ``log(ndtr(b) - ndtr(a))`` for ``a < b``, by the tail in which both are."""
    is_high = a > 0
    low, high = where(is_high, -b, a), where(is_high, -a, b)
    low, high = log_ndtr(low), log_ndtr(high)
    return high + log_one_minus_exp(high - low)


def _inner(a, b):
    """Return a number between two ends, one or both of which may be infinite."""
    low = where(isfinite(a), a, where(isfinite(b), b - 2, -1))
    return 0.5 * (low + where(isfinite(b), b, low + 2))
