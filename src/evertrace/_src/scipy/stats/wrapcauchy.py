"""The Cauchy distribution, wrapped around the circle."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log, log1p, sin
from evertrace._src.scipy.stats.standard import member, unless, within

function = member("wrapcauchy")


@function
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the logarithm of the density of the wrapped Cauchy distribution of angles.

    Without the logarithm it is ``(1 - c**2) / (2 * pi * (1 + c**2 - 2 * c * cos(x)))`` for ``0 <= x
    <= 2 * pi``.

    Args:
      x: floating array; integers become floats.
      c: concentration, between 0 and 1; NaN elsewhere.

    Returns:
      an array of the common shape; -inf outside of the support.

    Example:
      >>> from evertrace.scipy.stats import wrapcauchy
      >>> round(float(wrapcauchy.logpdf(0.5, 0.3)), 4)
      -1.3585
    """

    def inside(x):
        # 1 + c**2 - 2 * c * cos(x), without cancellation
        spread = (1 - c) ** 2 + 4 * c * sin(x / 2) ** 2
        return log1p(-c * c) - log(2 * math.pi * spread)

    value = within((x >= 0) & (x <= 2 * math.pi), inside, x, -math.inf)
    return unless(~((c > 0) & (c < 1)), value)


@function
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the density of the wrapped Cauchy distribution of angles.

    It is ``(1 - c**2) / (2 * pi * (1 + c**2 - 2 * c * cos(x)))`` for ``0 <= x <= 2 * pi``.

    Args:
      x: floating array; integers become floats.
      c: concentration, between 0 and 1; NaN elsewhere.

    Returns:
      an array of the common shape; 0 outside of the support.

    Example:
      >>> from evertrace.scipy.stats import wrapcauchy
      >>> round(float(wrapcauchy.pdf(0.5, 0.3)), 4)
      0.257
    """
    return exp(logpdf(x, c))
