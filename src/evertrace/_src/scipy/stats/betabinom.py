"""The beta-binomial distribution: binomial, with a probability from the beta distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.elementary import floor
from evertrace._src.numpy.ufuncs import exp
from evertrace._src.scipy.special.gamma import betaln
from evertrace._src.scipy.stats.standard import log_choices, member, unless, within

function = member("betabinom")


@function
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the beta-binomial distribution.

    Without the logarithm they are ``comb(n, k) * B(k + a, n - k + b) / B(a, b)`` for k from 0 to n,
    rounded down.

    Args:
      k: array of numbers; integers become floats.
      n: number of trials.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import betabinom
      >>> round(float(betabinom.logpmf(2, 5, 2.0, 3.0)), 4)
      -1.4351
    """
    x = floor(k - loc)

    def inside(x):
        return log_choices(n, x) + betaln(x + a, n - x + b) - betaln(a, b)

    value = within((x >= 0) & (x <= n), inside, x, -math.inf, 0.0)
    return unless((n < 0) | (a <= 0) | (b <= 0), value)


@function
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the beta-binomial distribution.

    They are ``comb(n, k) * B(k + a, n - k + b) / B(a, b)`` for k from 0 to n, rounded down.

    Args:
      k: array of numbers; integers become floats.
      n: number of trials.
      a: shape, positive.
      b: shape, positive.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import betabinom
      >>> round(float(betabinom.pmf(2, 5, 2.0, 3.0)), 4)
      0.2381
    """
    return exp(logpmf(k, n, a, b, loc))
