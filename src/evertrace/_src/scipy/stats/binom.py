"""The binomial distribution of successes among n trials."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp
from evertrace._src.scipy.special.elementary import xlog1py, xlogy
from evertrace._src.scipy.stats.standard import log_choices, member, within

function = member("binom")


@function
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the binomial distribution.

    Without the logarithm they are ``comb(n, k) * p**k * (1 - p)**(n - k)`` for ``0 <= k <= n``, as
    in JAX also between the integers.

    Args:
      k: array of numbers; integers become floats.
      n: number of trials.
      p: probability of success in each.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import binom
      >>> round(float(binom.logpmf(2, 5, 0.3)), 4)
      -1.1754
    """
    x = k - loc

    def inside(x):
        return log_choices(n, x) + xlogy(x, p) + xlog1py(n - x, -p)

    return within((x >= 0) & (x <= n), inside, x, -math.inf, 0.0)


@function
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the binomial distribution.

    They are ``comb(n, k) * p**k * (1 - p)**(n - k)`` for ``0 <= k <= n``, as in JAX also between
    the integers.

    Args:
      k: array of numbers; integers become floats.
      n: number of trials.
      p: probability of success in each.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import binom
      >>> round(float(binom.pmf(2, 5, 0.3)), 4)
      0.3087
    """
    return exp(logpmf(k, n, p, loc))
