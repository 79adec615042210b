"""The binomial distribution of successes among n trials."""

import math

from evertrace._src.numpy.ufuncs import exp
from evertrace._src.scipy.special.elementary import xlog1py, xlogy
from evertrace._src.scipy.stats.standard import log_choices, member, within

function = member("binom")


@function
def logpmf(k, n, p, loc=0):
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
def pmf(k, n, p, loc=0):
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
