"""The Poisson distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.elementary import floor, where
from evertrace._src.numpy.reductions import sum
from evertrace._src.numpy.shape import broadcast_arrays
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.elementary import xlogy
from evertrace._src.scipy.special.gamma import gammaincc, gammaln
from evertrace._src.scipy.stats.standard import is_count, member, unless, within

function = member("poisson")


@function
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the Poisson distribution.

    Without the logarithm they are ``mu**k * exp(-mu) / k!`` for ``k = 0, 1, ...``.

    Args:
      k: array of numbers; integers become floats.
      mu: the mean if `loc` is 0, not negative.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import poisson
      >>> round(float(poisson.logpmf(2, 1.5)), 4)
      -1.3822
    """
    x = k - loc
    return within(is_count(x), lambda x: xlogy(x, mu) - gammaln(x + 1) - mu, x, -math.inf)


@function
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the Poisson distribution.

    They are ``mu**k * exp(-mu) / k!`` for ``k = 0, 1, ...``.

    Args:
      k: array of numbers; integers become floats.
      mu: the mean if `loc` is 0, not negative.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import poisson
      >>> round(float(poisson.pmf(2, 1.5)), 4)
      0.251
    """
    return exp(logpmf(k, mu, loc))


@function
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability that a number of the Poisson distribution is at most `k`.

    It is ``gammaincc(floor(k) + 1, mu)`` for ``k >= 0``.

    Args:
      k: array of numbers; integers become floats.
      mu: the mean if `loc` is 0, not negative.
      loc: shift of the distribution.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import poisson
      >>> round(float(poisson.cdf(2, 1.5)), 4)
      0.8088
    """
    x = k - loc
    outside = where(x < 0, 0.0, 1.0)
    return within((x >= 0) & (x < math.inf), lambda x: gammaincc(floor(x) + 1, mu), x, outside)


@function
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the entropy of the Poisson distribution, ``-sum(pmf * log(pmf))``.

    Below a mean of 100 it is the sum of 256 terms, above an asymptotic series, whose first term
    left out is of order ``mu**-4``.

    Args:
      mu: floating array, the mean; integers become floats.
      loc: shift of the distribution, which changes only the shape of the result.

    Returns:
      an array of the common shape; NaN for negative means.

    Source: R. J. Evans, J. Boersma, N. M. Blachman, A. A. Jagers, "The entropy of a Poisson
    distribution", SIAM Review 30 (1988), 314-317.

    Example:
      >>> from evertrace.scipy.stats import poisson
      >>> round(float(poisson.entropy(1.5)), 4)
      1.5394
    """
    mu, _ = broadcast_arrays(mu, loc)
    is_small = mu < _MANY
    large = where(is_small, _MANY, mu)
    series = 1 / 12 + (1 / 24 + 19 / 360 / large) / large
    asymptotic = 0.5 * (log(large) + math.log(2 * math.pi * math.e)) - series / large
    value = where(is_small, _sum_of_terms(where(is_small, mu, 1)), asymptotic)
    return unless(mu < 0, value)


_MANY = 100  # where the series is good to ten digits, and 256 terms hold all that counts


def _sum_of_terms(mu):
    logs = logpmf(asarray(np.arange(256), mu.dtype), mu[..., None])
    return sum(exp(logs) * where(logs > -math.inf, -logs, 0), -1)
