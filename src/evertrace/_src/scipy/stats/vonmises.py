"""The von Mises distribution, the normal one of angles."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log, sin
from evertrace._src.scipy.special.bessel import i0e
from evertrace._src.scipy.stats.standard import member, unless

function = member("vonmises")


@function
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the logarithm of the density of the von Mises distribution of angles.

    Without the logarithm it is ``exp(kappa * cos(x)) / (2 * pi * i0(kappa))``.

    Args:
      x: floating array; integers become floats.
      kappa: concentration, not negative: 0 gives all angles the same density (JAX has NaN).

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import vonmises
      >>> round(float(vonmises.logpdf(0.5, 2.0)), 4)
      -0.9067
    """
    # cos(x) - 1, without cancellation; i0e is i0 without the factor that this leaves out.
    drop = -2 * sin(x / 2) ** 2
    return unless(kappa < 0, kappa * drop - log(2 * math.pi * i0e(kappa)))


@function
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the density of the von Mises distribution of angles.

    It is ``exp(kappa * cos(x)) / (2 * pi * i0(kappa))``.

    Args:
      x: floating array; integers become floats.
      kappa: concentration, not negative: 0 gives all angles the same density (JAX has NaN).

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import vonmises
      >>> round(float(vonmises.pdf(0.5, 2.0)), 4)
      0.4039
    """
    return exp(logpdf(x, kappa))
