"""Student's t distribution."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.ufuncs import exp, log, log1p
from evertrace._src.scipy.special.gamma import betaln
from evertrace._src.scipy.stats.standard import member

function = member("t")


@function
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of Student's t distribution.

    Without the logarithm it is ``(1 + z**2 / df)**(-(df + 1) / 2) / (sqrt(df) * B(1/2, df / 2) *
    scale)`` with ``z = (x - loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import t
      >>> round(float(t.logpdf(0.5, 3.0)), 4)
      -1.161
    """
    z = (x - loc) / scale
    size = 0.5 * log(df * (scale * scale)) + betaln(0.5, df / 2)
    return -0.5 * (df + 1) * log1p(z * z / df) - size


@function
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of Student's t distribution.

    It is ``(1 + z**2 / df)**(-(df + 1) / 2) / (sqrt(df) * B(1/2, df / 2) * scale)`` with ``z = (x -
    loc) / scale``.

    Args:
      x: floating array; integers become floats.
      df: degrees of freedom, positive.
      loc: shift of the distribution.
      scale: stretch of the distribution, positive.

    Returns:
      an array of the common shape.

    Example:
      >>> from evertrace.scipy.stats import t
      >>> round(float(t.pdf(0.5, 3.0)), 4)
      0.3132
    """
    return exp(logpdf(x, df, loc, scale))
