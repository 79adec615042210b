"""Student's t distribution."""

from evertrace._src.numpy.ufuncs import exp, log, log1p
from evertrace._src.scipy.special.gamma import betaln
from evertrace._src.scipy.stats.standard import member

function = member("t")


@function
def logpdf(x, df, loc=0, scale=1):
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
def pdf(x, df, loc=0, scale=1):
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
