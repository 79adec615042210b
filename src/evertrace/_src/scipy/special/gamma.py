"""The gamma and beta functions, their logarithms, derivatives and integrals.

Source: NIST's Digital Library of Mathematical Functions (DLMF), chapter 5: Stirling's series,
brought into reach by recurrence and reflection.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportAssignmentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.incomplete import stirling
from evertrace._src.lax.special import polygamma as lax_polygamma
from evertrace._src.numpy import reductions
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.creation import arange, asarray
from evertrace._src.numpy.promotion import as_argument, promote_inexact
from evertrace._src.numpy.shape import expand_dims
from evertrace._src.ops import gamma as incomplete
from evertrace._src.ops import special as ops
from evertrace._src.ops.formula import (
    Formula,
    choose,
    complex_of,
    cos,
    exp,
    floor,
    imag,
    lgamma,
    log,
    log1p,
    maximum,
    minimum,
    polynomial,
    power,
    real,
    sin,
)
from evertrace._src.ops.formula import (
    digamma as psi,
)
from evertrace._src.scipy.special.formulas import check_real, is_complex, public, special

# ---------------------------------------------------------------- formulas


def _is_whole(x):
    return floor(x) == x


def is_pole_of_gamma(x):
    return (x <= 0) & _is_whole(x)


def alternating(x):
    """Return 1 for even and -1 for odd whole numbers."""
    return 1 - 2 * (x - 2 * floor(x / 2))


def sign_of_gamma(x):
    """Return the sign of Gamma(x); NaN at negative whole numbers, that of the zero at zeros."""
    below = choose(_is_whole(x), math.nan, alternating(floor(x)))
    at_zero = choose(1 / x < 0, x.like(-1), 1)
    sign = choose(x > 0, 1, choose(x == 0, at_zero, below))
    return choose((x != x) | (x == -math.inf), math.nan, sign)


def _gamma_above_half(x):
    """Return Gamma(x) for x >= 1/2: Stirling's series above 10, below that ten steps up."""
    is_low = x < 10
    product = choose(is_low, x, 1)
    for k in range(1, 10):
        product = product * choose(is_low, x + k, 1)
    z = choose(is_low, x + 10, x)
    root = power(z, (z - 0.5) / 2) * exp(-z / 2)  # of the power, which overflows before Gamma
    rounded_off = choose(is_low, (x - (z - 10)) * log(z), 0)
    return math.sqrt(2 * math.pi) * root * exp(stirling(z) + rounded_off) * root / product


def _sine_of_pi(x):
    """Return sin(pi * x) without loss for large x; -0 for -0."""
    nearest = floor(x + 0.5)
    return choose(x == 0, x, alternating(nearest) * sin(math.pi * (x - nearest)))


def real_gamma(x):
    reflects = x < 0.5
    overflows = x > 200
    value = _gamma_above_half(minimum(choose(reflects, 1 - x, x), x.like(200)))
    value = choose(reflects, math.pi / (_sine_of_pi(x) * value), value)
    is_pole = is_pole_of_gamma(x) & (x != 0)
    return choose(overflows, math.inf, choose(is_pole, math.nan, value))


# Stirling's series in 1 / z, to where it is exact for |z| >= 9.
_SERIES = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]


def _complex_loggamma(z):
    """Return the principal branch: reflection for Re z < 0, then nine steps up, then the series."""
    x, y = real(z), imag(z)
    reflects = x < 0
    z = choose(reflects, 1 - z, z)
    steps, high = log(z), z + 9
    for k in range(1, 9):
        steps = steps + log(z + k)
    inverse = 1 / high
    value = (high - 0.5) * log(high) - high + 0.5 * math.log(2 * math.pi) - steps
    value = value + inverse * polynomial(_SERIES, inverse * inverse)
    # log(sin(pi * z)) continued from the strip around 1/2, in the upper half plane.
    angle = complex_of(x, abs(y))
    rotated = _times_i(math.pi * angle)
    sine = complex_of(real(-rotated) - math.log(2), imag(-rotated) + math.pi / 2)
    sine = sine + log(1 - _turn(x, abs(y)))
    sine = complex_of(real(sine), choose(y < 0, -imag(sine), imag(sine)))
    return choose(reflects, math.log(math.pi) - sine - value, value)


def _times_i(z):
    return complex_of(-imag(z), real(z))


def _turn(x, y):
    """Return exp(2 * pi * i * (x + i * y))."""
    turn = 2 * math.pi * (x - floor(x))
    size = exp(-2 * math.pi * y)
    return complex_of(size * cos(turn), size * sin(turn))


def _complex_psi(z):
    """Return the derivative of log(Gamma(z)), DLMF 5.11.2 and 5.5.4."""
    x, y = real(z), imag(z)
    reflects = x < 0
    w = choose(reflects, 1 - z, z)
    steps, high = 1 / w, w + 9
    for k in range(1, 9):
        steps = steps + 1 / (w + k)
    inverse = 1 / high
    tail = polynomial([(2 * k + 1) * c for k, c in enumerate(_SERIES)], inverse * inverse)
    value = log(high) - 0.5 * inverse - inverse * inverse * tail - steps
    # pi / tan(pi * z) is -i * pi * (1 + q) / (1 - q), with q = exp(2 * pi * i * z), |q| <= 1.
    q = _turn(x, abs(y))
    cotangent = -_times_i(math.pi * (1 + q) / (1 - q))
    cotangent = complex_of(real(cotangent), choose(y < 0, -imag(cotangent), imag(cotangent)))
    return choose(reflects, value - cotangent, value)


def _psi(z):
    return _complex_psi(z) if is_complex(z) else psi(z)


def log_beta(a, b):
    low, high = minimum(a, b), maximum(a, b)
    is_large = (high >= 10) & (low > 0)
    p, q = choose(is_large, low, 1), choose(is_large, high, 10)
    # lgamma(q) - lgamma(p + q), of which most cancels.
    quotient = p - (q - 0.5) * log1p(p / q) - p * log(p + q) + stirling(q) - stirling(p + q)
    direct = lgamma(a) + lgamma(b) - lgamma(a + b)
    return choose(is_large, lgamma(p) + quotient, direct)


# ---------------------------------------------------------------- the gamma function


@special(lambda out, x: out * _psi(x), complex_too=True)
def gamma(x: ArrayLike) -> Array:
    """Return the gamma function, the continuation of (n - 1)!.

    Args:
      x: floating or complex array; integers become floats.

    Returns:
      an array of the shape of `x`; at -1, -2, ... NaN, at the zeros inf with their sign. Within a
      few ulps for real `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.gamma(5.0)), 4)
      24.0
    """
    if not is_complex(x):
        return real_gamma(x)
    is_pole = (imag(x) == 0) & is_pole_of_gamma(real(x))
    return choose(is_pole, complex(math.nan, math.nan), exp(_complex_loggamma(x)))


@public
def gammaln(x: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the gamma function.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`; inf at the poles.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.gammaln(5.0)), 4)
      3.1781
    """
    return ops.lgamma_p.bind(*promote_inexact("gammaln", x))


@special(lambda out, x: x.like(0))
def gammasgn(x: ArrayLike) -> Array:
    """Return the sign of the gamma function, 1 or -1.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`; at zeros their sign, NaN at -1, -2, ... and at -inf.

    Example:
      >>> from evertrace.scipy import special
      >>> special.gammasgn(jnp.array([-1.5, -0.5, 2.0])).tolist()
      [1.0, -1.0, 1.0]
    """
    return sign_of_gamma(x)


@special(lambda out, x: _psi(x), complex_too=True, weak=True)
def loggamma(x: ArrayLike) -> Array:
    """Return the logarithm of the gamma function, continued from the positive axis.

    Args:
      x: floating or complex array; integers become floats.

    Returns:
      an array of the shape of `x`. Real arguments that are not positive give NaN; complex ones
      have a branch cut along the negative axis.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.loggamma(1 + 1j), 4).tolist()
      (-0.6509-0.3016j)
    """
    if is_complex(x):
        return _complex_loggamma(x)
    return choose(x <= 0, math.nan, lgamma(x))


@public
def digamma(x: ArrayLike) -> Array:
    """Return the derivative of `gammaln`.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`; NaN at 0, -1, -2, ...

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.digamma(1.0)), 4)
      -0.5772
    """
    return ops.digamma_p.bind(*promote_inexact("digamma", x))


@public
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the n-th derivative of `digamma`.

    Args:
      n: array of integers that are not negative.
      x: floating array, broadcast with `n`; integers become floats.

    Returns:
      an array of the promoted dtype and common shape.

    Raises:
      DTypeError: if `n` is not of an integer dtype.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.polygamma(1, 1.0)), 4)
      1.6449
    """
    order = as_argument("polygamma", 0, n)
    dtype = asarray(order).dtype
    if not dtypes.issubdtype(dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"polygamma: n must be of an integer dtype, got {dtype}.",
            fix="pass the order as an integer, e.g. `polygamma(1, x)`.",
            anchor="dtype",
        )
    return lax_polygamma(*promote_inexact("polygamma", n, x))


@public
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Return the Hurwitz zeta function, the sum of (k + q) ** -x over k = 0, 1, 2, ...

    Args:
      x: floating array; integers become floats.
      q: the same, broadcast with `x`. SciPy's default, Riemann's zeta function, is not supported,
        as in JAX: pass 1.

    Returns:
      an array of the promoted dtype and common shape. Differentiable by `q` only.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.zeta(2.0, 1.0)), 4)
      1.6449
    """
    if q is None:
        raise errors.user_error(
            NotImplementedError,
            "zeta: Riemann's zeta function, the default of SciPy, is not supported.",
            fix="pass q: `zeta(x, 1)` is Riemann's function for x > 1.",
            anchor="unsupported",
        )
    return ops.zeta_p.bind(*promote_inexact("zeta", x, q))


@public
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised lower incomplete gamma function, see `lax.igamma`.

    Args:
      a: floating array, not negative; integers become floats.
      x: the same, broadcast with `a`.

    Returns:
      an array of the promoted dtype and common shape.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.gammainc(2.0, 3.0)), 4)
      0.8009
    """
    return incomplete.igamma_p.bind(*promote_inexact("gammainc", a, x))


@public
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised upper incomplete gamma function, see `lax.igammac`.

    Args:
      a: floating array, not negative; integers become floats.
      x: the same, broadcast with `a`.

    Returns:
      an array of the promoted dtype and common shape.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.gammaincc(2.0, 3.0)), 4)
      0.1991
    """
    return incomplete.igammac_p.bind(*promote_inexact("gammaincc", a, x))


@public
def multigammaln(a: ArrayLike, d: int) -> Array:
    """Return the logarithm of the multivariate gamma function.

    Args:
      a: floating array, above ``(d - 1) / 2``; integers become floats.
      d: static int, the dimension.

    Returns:
      an array of the shape of `a`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.multigammaln(3.0, 2)), 4)
      1.5502
    """
    d = static_int("multigammaln", "d", d)
    (a,) = promote_inexact("multigammaln", a)
    check_real("multigammaln", a.aval.dtype)
    a = Formula(asarray(a))
    if d <= _MOST_TERMS:
        terms = sum((lgamma(a - j / 2) for j in range(d)), a.like(0))
    else:
        spread = expand_dims(a.x, -1) - arange(d, dtype=a.x.aval.dtype) / 2
        terms = Formula(reductions.sum(ops.lgamma_p.bind(spread), axis=-1))
    return (terms + d * (d - 1) / 4 * math.log(math.pi)).to(a.x.aval.dtype).x


_MOST_TERMS = 16  # that a program has: more are a dimension


# ---------------------------------------------------------------- the beta function


@special(lambda out, a, b: psi(a) - psi(a + b), lambda out, a, b: psi(b) - psi(a + b), weak=True)
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the beta function.

    Args:
      a: floating array; integers become floats.
      b: the same, broadcast with `a`.

    Returns:
      an array of the promoted dtype and common shape. Where an argument is large, what cancels in
      the difference of three logarithms is left out of it.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.betaln(2.0, 3.0)), 4)
      -2.4849
    """
    return log_beta(a, b)


@special(
    lambda out, a, b: out * (psi(a) - psi(a + b)), lambda out, a, b: out * (psi(b) - psi(a + b))
)
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the beta function, Gamma(a) * Gamma(b) / Gamma(a + b).

    Args:
      a: floating array; integers become floats.
      b: the same, broadcast with `a`.

    Returns:
      an array of the promoted dtype and common shape.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.beta(2.0, 3.0)), 4)
      0.0833
    """
    return sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b) * exp(log_beta(a, b))


@public
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised incomplete beta function, see `lax.betainc`.

    Args:
      a: floating array, not negative; integers become floats.
      b: the same, broadcast with `a`.
      x: the same, from 0 to 1.

    Returns:
      an array of the promoted dtype and common shape. Differentiable by `x` only.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.betainc(2.0, 3.0, 0.4)), 4)
      0.5248
    """
    operands = promote_inexact("betainc", a, b, x)
    return incomplete.regularized_incomplete_beta_p.bind(*operands)
