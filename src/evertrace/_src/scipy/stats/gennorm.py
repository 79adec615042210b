"""The generalised normal distribution: Laplace's for beta = 1, the normal one for beta = 2."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import abs, exp, log
from evertrace._src.scipy.special.gamma import gammaincc, gammaln
from evertrace._src.scipy.stats.standard import member, within

function = member("gennorm")


@function
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the logarithm of the density of the generalised normal distribution.

    Without the logarithm it is ``beta * exp(-abs(x)**beta) / (2 * Gamma(1 / beta))``.

    Args:
      x: floating array; integers become floats.
      beta: shape, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gennorm
      >>> round(float(gennorm.logpdf(0.5, 1.5)), 4)
      -0.9444
    """
    return log(beta / 2) - gammaln(1 / beta) - _power(x, beta)


@function
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the density of the generalised normal distribution.

    It is ``beta * exp(-abs(x)**beta) / (2 * Gamma(1 / beta))``.

    Args:
      x: floating array; integers become floats.
      beta: shape, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import gennorm
      >>> round(float(gennorm.pdf(0.5, 1.5)), 4)
      0.3889
    """
    return exp(logpdf(x, beta))


@function
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the probability that a number of the generalised normal distribution is at most `x`.

    It is ``1/2 + sign(x) * gammainc(1 / beta, abs(x)**beta) / 2``.

    Args:
      x: floating array; integers become floats.
      beta: shape, positive.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import gennorm
      >>> round(float(gennorm.cdf(0.5, 1.5)), 4)
      0.7417
    """

    def away(x):
        tail = gammaincc(1 / beta, abs(x) ** beta) / 2
        return where(x < 0, tail, 1 - tail)

    # At 0 the slope is the density, but that of gammaincc there is infinite, times 0.
    middle = 0.5 + x * pdf(0 * x, beta)
    return within(x != 0, away, x, middle)


def _power(x, beta):
    """Return ``abs(x)**beta``, for 0 without a derivative by `beta`."""
    return within(x != 0, lambda x: abs(x) ** beta, x, where(beta == 0, 1.0, 0.0))
