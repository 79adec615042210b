"""The Bernoulli distribution of a single trial."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.ufuncs import exp
from evertrace._src.scipy.special.elementary import xlog1py, xlogy
from evertrace._src.scipy.stats.standard import member, unless, within

function = member("bernoulli")


@function
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the Bernoulli distribution.

    Without the logarithm they are ``1 - p`` at 0 and ``p`` at 1. As in JAX, ``p**k * (1 - p)**(1 -
    k)`` holds between them too.

    Args:
      k: array of numbers; integers become floats.
      p: probability of 1.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import bernoulli
      >>> round(float(bernoulli.logpmf(1, 0.3)), 4)
      -1.204
    """
    x = k - loc
    inside = (x >= 0) & (x <= 1)
    return within(inside, lambda x: xlogy(x, p) + xlog1py(1 - x, -p), x, -math.inf, 0.5)


@function
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the Bernoulli distribution.

    They are ``1 - p`` at 0 and ``p`` at 1. As in JAX, ``p**k * (1 - p)**(1 - k)`` holds between
    them too.

    Args:
      k: array of numbers; integers become floats.
      p: probability of 1.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import bernoulli
      >>> round(float(bernoulli.pmf(1, 0.3)), 4)
      0.3
    """
    return exp(logpmf(k, p, loc))


@function
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Return the probability that a number of the Bernoulli distribution is at most `k`.

    It is 0 below 0, ``1 - p`` from there to 1, and 1 above.

    Args:
      k: array of numbers; integers become floats.
      p: probability of 1.

    Returns:
      an array of the common shape, from 0 to 1.

    Example:
      >>> from evertrace.scipy.stats import bernoulli
      >>> round(float(bernoulli.cdf(1, 0.3)), 4)
      1.0
    """
    value = within((k >= 0) & (k < 1), lambda _: 1 - p, k, where(k < 0, 0.0, 1.0))
    return unless(_is_invalid(p), value)


@function
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Return the quantiles of the Bernoulli distribution, the inverse of `cdf`.

    It is 0 up to ``1 - p``, and 1 above.

    Args:
      q: floating array of probabilities.
      p: probability of 1.

    Returns:
      an array of the common shape; NaN for a probability outside of [0, 1].

    Example:
      >>> from evertrace.scipy.stats import bernoulli
      >>> round(float(bernoulli.ppf(0.25, 0.3)), 4)
      0.0
    """
    value = within((q >= 0) & (q <= 1), lambda q: where(q > 1 - p, 1, 0 * q), q, math.nan)
    return unless(_is_invalid(p), value)


def _is_invalid(p):
    return ~((p >= 0) & (p <= 1))
