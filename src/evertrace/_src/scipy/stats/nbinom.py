"""The negative binomial distribution: failures before the n-th success."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.elementary import xlog1py, xlogy
from evertrace._src.scipy.special.gamma import betaln
from evertrace._src.scipy.stats.standard import member, within

function = member("nbinom")


@function
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the negative binomial distribution.

    Without the logarithm they are ``comb(n + k - 1, k) * p**n * (1 - p)**k`` for ``k >= 0``, as in
    JAX also between the integers.

    Args:
      k: array of numbers; integers become floats.
      n: number of successes to wait for.
      p: probability of success in each trial.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import nbinom
      >>> round(float(nbinom.logpmf(2, 5, 0.3)), 4)
      -4.0252
    """
    x = k - loc

    def inside(x):
        # Gamma(x + n) / (Gamma(n) * x!)
        choices = -betaln(n, x + 1) - log(x + n)
        return choices + xlogy(n, p) + xlog1py(x, -p)

    return within((x >= 0) & (x < math.inf), inside, x, -math.inf)


@function
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the negative binomial distribution.

    They are ``comb(n + k - 1, k) * p**n * (1 - p)**k`` for ``k >= 0``, as in JAX also between the
    integers.

    Args:
      k: array of numbers; integers become floats.
      n: number of successes to wait for.
      p: probability of success in each trial.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import nbinom
      >>> round(float(nbinom.pmf(2, 5, 0.3)), 4)
      0.0179
    """
    return exp(logpmf(k, n, p, loc))
