"""The chi-squared distribution: the gamma distribution of shape df / 2 and twice the scale."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.scipy.stats import gamma
from evertrace._src.scipy.stats.standard import member

function = member("chi2")


@function
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the chi-squared distribution.

    Without the logarithm it is ``(z / 2)**(df / 2 - 1) * exp(-z / 2) / (2 * Gamma(df / 2) *
    scale)`` for ``z = (x - loc) / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.logpdf(1.5, 3.0)), 4)
      -1.4662
    """
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@function
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the chi-squared distribution.

    It is ``(z / 2)**(df / 2 - 1) * exp(-z / 2) / (2 * Gamma(df / 2) * scale)`` for ``z = (x - loc)
    / scale >= 0``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.pdf(1.5, 3.0)), 4)
      0.2308
    """
    return gamma.pdf(x, df / 2, loc, 2 * scale)


@function
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the chi-squared distribution is at most `x`.

    It is ``gammainc(df / 2, z / 2)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.cdf(1.5, 3.0)), 4)
      0.3177
    """
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@function
def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf` of the chi-squared distribution.

    Without the logarithm it is ``gammainc(df / 2, z / 2)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.logcdf(1.5, 3.0)), 4)
      -1.1466
    """
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


@function
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability that a number of the chi-squared distribution exceeds `x`.

    It is ``gammaincc(df / 2, z / 2)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.sf(1.5, 3.0)), 4)
      0.6823
    """
    return gamma.sf(x, df / 2, loc, 2 * scale)


@function
def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf` of the chi-squared distribution.

    Without the logarithm it is ``gammaincc(df / 2, z / 2)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape, not positive.

    Example:
      >>> from evertrace.scipy.stats import chi2
      >>> round(float(chi2.logsf(1.5, 3.0)), 4)
      -0.3823
    """
    return gamma.logsf(x, df / 2, loc, 2 * scale)
