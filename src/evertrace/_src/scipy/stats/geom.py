"""The geometric distribution: which trial is the first to succeed."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.elementary import xlog1py
from evertrace._src.scipy.stats.standard import member, within

function = member("geom")


@function
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithms of the probabilities of the geometric distribution.

    Without the logarithm they are ``(1 - p)**(k - 1) * p`` for ``k = 1, 2, ...``, as in JAX also
    between the integers.

    Args:
      k: array of numbers; integers become floats.
      p: probability of success in each trial.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import geom
      >>> round(float(geom.logpmf(2, 0.3)), 4)
      -1.5606
    """
    x = k - loc
    return within(x > 0, lambda x: xlog1py(x - 1, -p) + log(p), x, -math.inf)


@function
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probabilities of the geometric distribution.

    They are ``(1 - p)**(k - 1) * p`` for ``k = 1, 2, ...``, as in JAX also between the integers.

    Args:
      k: array of numbers; integers become floats.
      p: probability of success in each trial.
      loc: shift of the distribution.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import geom
      >>> round(float(geom.pmf(2, 0.3)), 4)
      0.21
    """
    return exp(logpmf(k, p, loc))
