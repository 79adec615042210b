"""The error function and its kin: Faddeeva's, Dawson's, Owen's and Fresnel's, normal distribution.

Source of Faddeeva's function, and of `dawsn` and `erfcx`, which are its values on the axes: M. Al
Azah, S. N. Chandler-Wilde, "Computation of the complex error function using modified trapezoidal
rules", SIAM J. Numer. Anal. 59, 2021. The integral is a sum over the midpoints or the nodes of a
grid, whichever are farther away, and the residue at the pole that the sum does not see.
"""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math
import operator

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.series import sum_series
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops import special as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.formula import (
    Formula,
    choose,
    complex_of,
    cos,
    erf_inv,
    exp,
    floor,
    imag,
    log,
    log1p,
    maximum,
    minimum,
    polynomial,
    real,
    sin,
    sqrt,
    tan,
)
from evertrace._src.ops.formula import erf as erf_of
from evertrace._src.ops.formula import erfc as erfc_of
from evertrace._src.scipy.special.formulas import is_complex, public, special

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# The grid: its step, its midpoints, and its nodes but for 0.
STEP = math.sqrt(math.pi / 12)
MIDPOINTS = [(k + 0.5) * STEP for k in range(12)]
NODES = [(k + 1) * STEP for k in range(12)]

FAR = 1e9
"""Beyond this, the first term of an asymptotic series is exact."""

# ---------------------------------------------------------------- Faddeeva's function


def _grid_sum(on_midpoints, z2):
    """Return the sum of exp(-t**2) / (z2 - t**2) over the midpoints, or else the nodes."""
    total = 0
    for a, b in zip(MIDPOINTS, NODES, strict=True):
        square = choose(on_midpoints, z2.like(a * a), b * b)
        weight = choose(on_midpoints, z2.like(math.exp(-a * a)), math.exp(-b * b))
        total = weight / (z2 - square) + total
    return total


def _off_grid(x):
    """Return x / STEP minus the nearest whole number, and whether that is below 1/4."""
    steps = x / STEP
    rest = steps - floor(steps + 0.5)
    return rest, abs(rest) <= 0.25


def _turned(size, angle):
    return complex_of(size * cos(angle), size * sin(angle))


def _first_quadrant(x, y):
    """Return Faddeeva's function of x + iy, neither negative nor beyond FAR."""
    is_high = y >= maximum(x, x.like(math.pi / STEP))
    rest, is_near_node = _off_grid(x)
    on_midpoints = (y >= x) | is_near_node
    z = complex_of(x, y)
    total = _grid_sum(on_midpoints, z * z) * z * complex(0, 2 * STEP / math.pi)
    at_zero = complex(0, STEP / math.pi) / choose(on_midpoints, 1, z)
    total = total + choose(on_midpoints, 0, at_zero)  # of the node 0, which has half the weight
    # exp(-2 * pi * i * z / STEP); where it is cut off, nothing is left of the residue.
    y = choose(is_high, 0, y)
    growth = exp(2 * math.pi / STEP * minimum(y, y.like(math.pi / STEP)))
    wave = _turned(growth, -2 * math.pi * rest)
    residue = 2 * _turned(exp((y - x) * (y + x)), -2 * x * y)
    residue = residue / (1 + choose(on_midpoints, wave, -wave))
    return total + choose(is_high, 0, residue)


def _conjugate_where(condition, z):
    return complex_of(real(z), choose(condition, -imag(z), imag(z)))


def _faddeeva(z):
    x, y = real(z), imag(z)
    is_far = abs(x) + abs(y) > FAR
    value = _first_quadrant(*[choose(is_far, 1, abs(part)) for part in (x, y)])
    value = choose(is_far, _far(x, abs(y), is_far), _conjugate_where(x < 0, value))
    # w(conj(z)) is the conjugate of 2 * exp(-z**2) - w(z).
    is_below = y < 0
    exponent = choose(is_below, (y - x) * (y + x), -math.inf)
    gaussian = 2 * _turned(exp(exponent), choose(is_below, -2 * x * abs(y), 0))
    return choose(is_below, _conjugate_where(is_below, gaussian - value), value)


def _far(x, y, is_far):
    """Return i / (sqrt(pi) * (x + iy)) without overflow."""
    largest = float(np.finfo(x.x.aval.dtype).max) / 4
    x, y = (choose(is_far, t, 1) for t in (x, y))
    x, y = (maximum(minimum(t, t.like(largest)), t.like(-largest)) for t in (x, y))
    size = maximum(abs(x), abs(y))
    x, y = x / size, y / size
    radius = (x * x + y * y) * size * ROOT_PI
    return complex_of(y / radius, x / radius)


# ---------------------------------------------------------------- its values on the axes


def _erfcx(x):
    """Return the values on the imaginary axis, where all terms are positive."""
    y = minimum(abs(x), x.like(FAR))
    total = -_grid_sum(y >= 0, -(y * y)) * y * (2 * STEP / math.pi)
    low = choose(y < math.pi / STEP, y, 0)
    pole = 2 * exp(low * low) / (1 + exp(2 * math.pi / STEP * low))
    value = total + choose(y < math.pi / STEP, pole, 0)
    value = choose(abs(x) > FAR, 1 / (ROOT_PI * maximum(abs(x), x.like(1))), value)
    return choose(x < 0, 2 * exp(x * x) - value, value)


def _dawson(x):
    """Return sqrt(pi) / 2 times the imaginary part on the real axis."""
    is_far = abs(x) > FAR
    y = choose(is_far, 1, x)
    rest, on_midpoints = _off_grid(y)
    total = _grid_sum(on_midpoints, y * y) * y * (2 * STEP / math.pi)
    total = total + choose(on_midpoints, 0, STEP / math.pi / choose(on_midpoints, 1, y))
    tangent = tan(math.pi * rest)
    pole = choose(on_midpoints, tangent, -1 / choose(on_midpoints, 1, tangent))
    value = ROOT_PI / 2 * (total + exp(-(y * y)) * pole)
    return choose(x == 0, x, choose(is_far, 0.5 / choose(is_far, x, 1), value))


def _log_ndtr(x):
    is_low = x < -1
    tail = _erfcx(choose(is_low, -x, 1) / math.sqrt(2))
    low = log(tail / 2) - 0.5 * x * x
    high = log1p(-0.5 * erfc_of(choose(is_low, 0, x) / math.sqrt(2)))
    return choose(is_low, low, high)


def _ndtri(p):
    """Invert `erf` around 1/2; in the tails take Newton's steps from Hastings' formula."""
    is_upper = p > 0.5
    tail = choose(is_upper, 1 - p, p)
    is_tail = (tail > 0) & (tail < 0.1)
    q = choose(is_tail, tail, 0.1)
    t = sqrt(-2 * log(q))
    x = -t + polynomial([2.515517, 0.802853, 0.010328], t) / polynomial(
        [1, 1.432788, 0.189269, 0.001308], t
    )
    for _ in range(3):
        slope = math.sqrt(2 / math.pi) / _erfcx(-x / math.sqrt(2))
        x = x - (_log_ndtr(x) - log(q)) / slope
    central = choose(is_tail, 0.5, p)
    value = math.sqrt(2) * erf_inv(2 * central - 1)
    return choose(is_tail, choose(is_upper, -x, x), value)


# ---------------------------------------------------------------- Owen's and Fresnel's functions

_POINTS, _WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(24))


def _owens_t(h, a):
    """Integrate by Gauss's rule for |a| <= 1; reflect others, D. B. Owen, Ann. Math. Stat. 1956."""
    sign = choose(a < 0, a.like(-1), 1)
    h, a = abs(h), abs(a)
    is_steep = a > 1
    height = choose(is_steep & (h > 0), a * h, h)
    slope = choose(is_steep, 1 / choose(is_steep, a, 1), a)
    # Nothing is left of the integrand exp(-(h * x)**2 / 2) beyond 9 / h.
    end = minimum(slope, 9 / maximum(height, h.like(1)))
    total = h.like(0)
    for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
        x = 0.5 * (1 + point) * end
        square = 1 + x * x
        total = total + weight * exp(-0.5 * height * height * square) / square
    value = total * end / (4 * math.pi)
    upper, far = (0.5 * erfc_of(t / math.sqrt(2)) for t in (h, height))
    turned = 0.5 * (upper + far) - upper * far - value
    return sign * choose(is_steep, turned, value)


def _phase(x):
    """Return pi * x**2 / 2 without most of its whole turns: x is even plus a rest within 1."""
    even = 2 * floor(x / 2 + 0.5)
    rest = x - even
    product = even * rest
    return math.pi * (product - 2 * floor(product / 2) + 0.5 * rest * rest)


def _fresnel(x):
    y = minimum(abs(x), x.like(1e6))
    is_small = y < 1.5
    low, high = choose(is_small, y, 1), choose(is_small, 2, y)
    square = (math.pi / 2) * low * low
    ratio = -(square * square)

    def next_sine(k, term):
        return term * ratio * (4 * k - 1) / (2 * k * (2 * k + 1) * (4 * k + 3))

    def next_cosine(k, term):
        return term * ratio * (4 * k - 3) / ((2 * k - 1) * (2 * k) * (4 * k + 1))

    sine = sum_series(square * low / 3, next_sine)
    cosine = sum_series(low, next_cosine)
    scaled = ROOT_PI / 2 * high
    wave = 1 - _turned(x.like(1), _phase(high)) * _first_quadrant(scaled, scaled)
    far = wave * complex(0.5, 0.5)
    is_far = abs(x) > 1e6
    outs = []
    for near, part in ((sine, imag(far)), (cosine, real(far))):
        value = choose(is_far, 0.5, choose(is_small, near, part))
        outs.append(choose(x != x, x, choose(x < 0, -value, value)))
    return tuple(outs)


# ---------------------------------------------------------------- error functions


@public
def erf(x: ArrayLike) -> Array:
    """Return the error function, 2 / sqrt(pi) * integral of exp(-t**2) from 0 to x.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.erf(0.5)), 4)
      0.5205
    """
    return ops.erf_p.bind(*promote_inexact("erf", x))


@public
def erfc(x: ArrayLike) -> Array:
    """Return the complementary error function, 1 - erf(x).

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.erfc(0.5)), 4)
      0.4795
    """
    return ops.erfc_p.bind(*promote_inexact("erfc", x))


@public
def erfinv(x: ArrayLike) -> Array:
    """Return the inverse of the error function.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`; infinite at -1 and 1, NaN beyond.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.erfinv(0.5)), 4)
      0.4769
    """
    return ops.erf_inv_p.bind(*promote_inexact("erfinv", x))


@special(lambda out, x: 2 * x * out - 2 / ROOT_PI, complex_too=True)
def erfcx(x: ArrayLike) -> Array:
    """Return the scaled complementary error function, exp(x**2) * erfc(x).

    Args:
      x: floating or complex array; integers become floats.

    Returns:
      an array of the shape of `x`; inf far below 0.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.erfcx(100.0)), 4)
      0.0056
    """
    if is_complex(x):
        return _faddeeva(complex_of(-imag(x), real(x)))
    return _erfcx(x)


@special(lambda out, z: complex(0, 2 / ROOT_PI) - 2 * z * out, complex_too=True)
def _wofz(z):
    return _faddeeva(z)


@public
def wofz(z: ArrayLike) -> Array:
    """Return Faddeeva's function, exp(-z**2) * erfc(-i * z).

    Args:
      z: floating or complex array; integers become floats.

    Returns:
      a complex array of the shape of `z`.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.wofz(1.0 + 1.0j), 4).tolist()
      (0.3047+0.2082j)
    """
    (z,) = promote_inexact("wofz", z)
    wide = z.aval.dtype in (np.float64, np.complex128)
    return _wofz(convert(z, np.dtype(np.complex128 if wide else np.complex64)))


@special(lambda out, x: 1 - 2 * x * out)
def dawsn(x: ArrayLike) -> Array:
    """Return Dawson's integral, exp(-x**2) * integral of exp(t**2) from 0 to x.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.dawsn(1.0)), 4)
      0.5381
    """
    return _dawson(x)


# ---------------------------------------------------------------- the normal distribution


@special(lambda out, x: exp(-0.5 * x * x) / ROOT_TWO_PI)
def ndtr(x: ArrayLike) -> Array:
    """Return the normal distribution function, the chance that a normal number is below x.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`. JAX takes arrays of float32 and float64 only.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.ndtr(1.0)), 4)
      0.8413
    """
    return 0.5 * erfc_of(-x / math.sqrt(2))


@public
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Return the logarithm of `ndtr`, without loss in both tails.

    Args:
      x: floating array; integers become floats. JAX takes arrays of float32 and float64 only.
      series_order: int from 0 to 30. It has no effect: no asymptotic series is used.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.log_ndtr(-30.0)), 3)
      -454.321
    """
    if not isinstance(series_order, int):
        raise errors.user_error(
            TypeError,
            f"log_ndtr: series_order must be an integer, got {series_order!r}.",
            fix="leave it out: it has no effect.",
        )
    if not 0 <= operator.index(series_order) <= 30:
        raise errors.user_error(
            ValueError,
            f"log_ndtr: series_order must be from 0 to 30, got {series_order}.",
            fix="leave it out: it has no effect.",
        )
    return _log_ndtr_of(x)


@special(lambda out, x: math.sqrt(2 / math.pi) / _scaled(-x / math.sqrt(2)))
def _log_ndtr_of(x):
    return _log_ndtr(x)


def _scaled(x):
    """Return `erfcx` of a formula with its derivative."""
    return Formula(erfcx(x.x))


@special(lambda out, p: ROOT_TWO_PI * exp(0.5 * out * out))
def ndtri(p: ArrayLike) -> Array:
    """Return the inverse of `ndtr`, the quantiles of the normal distribution.

    Args:
      p: floating array; integers become floats. JAX takes arrays of float32 and float64 only.

    Returns:
      an array of the shape of `p`: infinite at 0 and 1, NaN beyond.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.ndtri(0.975)), 4)
      1.96
    """
    return _ndtri(p)


@special(
    lambda out, h, a: exp(-0.5 * h * h) * erf_of(a * h / math.sqrt(2)) * (-0.5 / ROOT_TWO_PI),
    lambda out, h, a: exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Return Owen's T function: the chance that X > h and 0 < Y < a * X for normal X and Y.

    Args:
      h: floating array; integers become floats.
      a: the same, broadcast with `h`.

    Returns:
      an array of the promoted dtype and common shape.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.owens_t(0.5, 1.0)), 4)
      0.1067
    """
    return _owens_t(h, a)


@special(lambda out, x: (sin(_phase(x)), cos(_phase(x))))
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Return Fresnel's integrals of sin(pi * t**2 / 2) and cos(pi * t**2 / 2) from 0 to x.

    Args:
      x: floating array; integers become floats.

    Returns:
      a tuple of two arrays of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> [round(float(y), 4) for y in special.fresnel(1.0)]
      [0.4383, 0.7799]
    """
    return _fresnel(x)
