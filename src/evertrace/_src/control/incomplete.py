"""Incomplete gamma and beta functions as programs of primitives.

Sources: A. R. DiDonato and A. H. Morris, ACM TOMS 12 (1986) 377 and 18 (1992) 360, for the split
into regions, the power factors and the fraction of the beta function; N. M. Temme, "The asymptotic
expansion of the incomplete gamma functions", SIAM J. Math. Anal. 10 (1979) 757; NIST's Digital
Library of Mathematical Functions (DLMF), chapters 5 and 8.

Power factors, such as ``x**a * exp(-x) / Gamma(a)``, are small differences of large exponents: they
are computed in float64 whatever the dtype. Series and fractions run in the dtype itself.
"""

import functools
import math
from fractions import Fraction

import numpy as np

from evertrace._src.control.series import continued_fraction, sum_series
from evertrace._src.ops import gamma as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.formula import (
    Formula,
    choose,
    digamma,
    erfc,
    exp,
    expm1,
    lgamma,
    log,
    log1p,
    polynomial,
    sqrt,
)
from evertrace._src.ops.structural import full, spread
from evertrace._src.transforms.jvp import jvp_flat

# ---------------------------------------------------------------- power factors

# (u - log(1 + u)) / u**2 is 1 / (2 + u) - 2 * u / (2 + u)**3 * (1/3 + r**2/5 + r**4/7 + ...) with
# r = u / (2 + u), from log(1 + u) = 2 * atanh(r).
_ATANH = [1 / (2 * k + 3) for k in range(17)]

# Coefficients of z**-1, z**-3, ... in Stirling's series, DLMF 5.11.1.
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip


def _log_defect(u):
    """Return (u - log(1 + u)) / u**2 for -1/2 <= u <= 1."""
    v = 2 + u
    r = u / v
    return 1 / v - 2 * r / (v * v) * polynomial(_ATANH, r * r)


def excess(a, delta, ratio):
    """Return delta - a * log(ratio), where ratio is 1 + delta / a."""
    is_near = abs(delta) < 0.5 * a
    u = choose(is_near, delta / a, 0)
    return choose(is_near, delta * u * _log_defect(u), delta - a * log(choose(is_near, 1, ratio)))


def stirling(z):
    """Return log(Gamma(z)) - (z - 1/2) * log(z) + z - log(2 * pi) / 2."""
    is_large = z >= 10
    inverse = 1 / choose(is_large, z, 10)
    small = choose(is_large, 10, z)
    direct = lgamma(small) - (small - 0.5) * log(small) + small - 0.5 * math.log(2 * math.pi)
    return choose(is_large, inverse * polynomial(_STIRLING, inverse * inverse), direct)


def _gamma_factor(a, x):
    """Return x**a * exp(-x) / Gamma(a) in float64."""
    a, x = a.to(np.float64), x.to(np.float64)
    exponent = excess(a, x - a, x / a) + stirling(a)
    return sqrt(a / (2 * math.pi)) * exp(-exponent)


def _beta_factor(a, b, x, y, delta):
    """Return x**a * y**b / B(a, b); all are float64, y is 1 - x, and delta b * x - a * y."""
    total = a + b
    exponent = excess(a, delta, x * (total / a)) + excess(b, -delta, y * (total / b))
    exponent = exponent + stirling(a) + stirling(b) - stirling(total)
    return sqrt(a / (2 * math.pi) * (b / total)) * exp(-exponent)


# ---------------------------------------------------------------- gamma: regions


_FAR = 1e18
"""From here on, the upper value outside of Temme's region is zero in every dtype."""


def _is_central(a, x):
    """Whether Temme's expansion holds."""
    return (a > 20) & (abs(x - a) <= 0.3 * a)


def _is_below(a, x):
    """Whether the power series is the method of choice outside of Temme's region."""
    return (x <= 1) | (x <= a)


def _confined(condition, a, x, at):
    """Return `a` and `x`, or a point where a method converges at once if it is not chosen."""
    return choose(condition, a, at[0]), choose(condition, x, at[1])


def _lower_sum(a, x):
    """Return a * igamma over the power factor: 1 + x/(a+1) + ..., DLMF 8.7.1."""
    return sum_series(a.like(1), lambda k, term: term * x / (a + k))


def _upper_fraction(a, x, least=None):
    """Return igammac over the power factor, DLMF 8.9.2 contracted to its even part."""
    return continued_fraction(x + 1 - a, lambda k: (k * (a - k), x + 1 - a + 2 * k), least)


def _central(a, x, sign):
    """Return igammac (sign 1) or igamma (sign -1) near x = a, a large, by Temme's expansion."""
    dtype = a.x.aval.dtype
    a, x = a.to(np.float64), x.to(np.float64)
    u = (x - a) / a
    eta = u * sqrt(2 * _log_defect(u))
    rows = _temme(float(np.finfo(dtype).eps))
    rest = polynomial([polynomial(row, eta) for row in rows], 1 / a)
    rest = rest * exp(-0.5 * a * eta * eta) / sqrt(2 * math.pi * a)
    return (0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * rest).to(dtype)


@functools.cache
def _temme(eps):
    """Return the Taylor coefficients of c_0, c_1, ... in eta, DLMF 8.12.9 to 8.12.12.

    What stays below `eps` / 64 in Temme's region is left out.
    """
    a, eta = 20, 0.34
    rows = []
    for k, row in enumerate(_all_temme()):
        kept = [n for n, c in enumerate(row) if abs(c) * eta**n / a**k > eps / 64]
        rows.append([float(c) for c in row[: max(kept, default=-1) + 1]])
    return [row for row in rows if row]


@functools.cache
def _all_temme(orders=12, degrees=18):
    """Return more coefficients than float64 can tell, as fractions."""
    alpha = [Fraction(0), Fraction(1), Fraction(1, 3)]
    for n in range(3, degrees + 2 * orders + 2):
        products = sum(j * alpha[j] * alpha[n - j + 1] for j in range(2, n))
        alpha.append((alpha[n - 1] - products) / (n + 1))
    first = [n * alpha[n] for n in range(2, len(alpha))]
    first[0] -= 1
    rows, odd = [first], 1
    for k in range(1, orders):
        odd *= 2 * k + 1
        stirling = (-1) ** k * odd * alpha[2 * k + 1]
        last = rows[-1]
        rows.append([(n + 2) * last[n + 2] + stirling * first[n] for n in range(len(last) - 2)])
    return [row[:degrees] for row in rows]


# ---------------------------------------------------------------- gamma: values


def _over_regular(fun, a, x, at):
    """Return `fun` and whether `a` and `x` are positive and finite; others are replaced by `at`."""
    regular = (a > 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    return fun(choose(regular, a, at), choose(regular, x, at)), regular


def _gamma_edges(a, x, at_zero, at_infinity):
    """Return the values where an argument is 0, infinite, or not allowed."""
    limit = choose((x == math.inf) | (a == 0), at_infinity, x.like(at_zero))
    allowed = (a >= 0) & (x >= 0) & ~((a == 0) & (x == 0)) & ~((a == math.inf) & (x == math.inf))
    return choose(allowed, limit, math.nan)


def _lower_or_upper(a, x):
    """Return the lower value below and the upper one above; both times the smaller kind."""
    central, below = _is_central(a, x), _is_below(a, x)
    factor = _gamma_factor(a, x).to(a.x.aval.dtype)
    lower = factor * _lower_sum(*_confined(below & ~central, a, x, (1, 0.5))) / a
    # Far out the factor is zero, and the fraction would overflow.
    above = ~(below | central) & (x < _FAR)
    upper = factor * _upper_fraction(*_confined(above, a, x, (1, 2)))
    return central, below, lower, upper


def _lower(a, x):
    central, below, lower, upper = _lower_or_upper(a, x)
    near = _central(*_confined(central, a, x, (30, 30)), -1)
    return choose(central, near, choose(below, lower, 1 - upper))


def _upper(a, x):
    central, below, lower, upper = _lower_or_upper(a, x)
    near = _central(*_confined(central, a, x, (30, 30)), 1)
    # Where both are small, the complement of the lower value would be 1 - 1.
    bound = choose(x < 0.5, -0.4 / log(choose(x < 0.5, x, 0.5)), 1.1 * x)
    tiny = (x <= 1.1) & (a <= bound)
    small = _small_upper(*_confined(tiny, a, x, (0.5, 0.5)))
    return choose(central, near, choose(tiny, small, choose(below, 1 - lower, upper)))


def _small_upper(a, x):
    """Return igammac for small `a` and `x` from the power series, DLMF 8.7.3."""
    dtype = a.x.aval.dtype
    total = sum_series(-x / (1 + a), lambda k, term: -term * x * (a + k) / ((k + 1) * (a + k + 1)))
    a, x, total = (y.to(np.float64) for y in (a, x, total))
    exponent = a * log(x) - _lgamma_after_one(a)
    return (-expm1(exponent) - a * exp(exponent) * total).to(dtype)


def _lgamma_after_one(a):
    """Return log(Gamma(1 + a)) without loss for small `a`, DLMF 5.7.3."""
    is_small = a < 0.5
    small, rest = choose(is_small, a, 0), choose(is_small, 0.5, a)
    series = small * polynomial(_zeta_coefficients(), small) - log1p(small)
    return choose(is_small, series, lgamma(1 + rest))


@functools.cache
def _zeta_coefficients(terms=28):
    """Return the coefficients of (log(Gamma(1 + a)) + log(1 + a)) / a, from zeta(n) - 1."""
    zetas = [math.fsum([*(j**-n for j in range(2, 200)), _tail(n, 200)]) for n in range(2, terms)]
    return [1 - np.euler_gamma, *[(-1) ** n * z / n for n, z in enumerate(zetas, 2)]]


def _tail(n, start):
    """Return the sum of j**-n over j >= start by the Euler-Maclaurin formula."""
    third = n * (n + 1) * (n + 2) / (720 * start**3)
    return start**-n * (start / (n - 1) + 0.5 + n / (12 * start) - third)


# ---------------------------------------------------------------- gamma: derivatives by a


def derivative(fun, a):
    """Return the value of an elementwise function and its derivative, both formulas."""
    ones = full(a.x.aval, 1)
    (value,), (slope,) = jvp_flat(lambda y: [fun(Formula(y)).x], [a.x], [ones])
    return Formula(value), Formula(slope)


def _scaled_slope(a, x):
    """Return the derivative of igammac by `a` over the power factor, outside of Temme's region."""
    central, below = _is_central(a, x), _is_below(a, x)
    a, x = _confined(~central, a, x, (1, 2))
    low_a, low_x = _confined(below, a, x, (1, 0.5))
    high_a, high_x = _confined(~below, a, x, (1, 2))
    rate = log(x) - digamma(choose(below, 1 + a, a))
    total, by_a = derivative(lambda y: _lower_sum(y, low_x), low_a)
    lower = -(total * rate + by_a) / low_a
    least = 30 + 100 / high_x  # whole `a` end the fraction, but not its derivative
    fraction, by_a = derivative(lambda y: _upper_fraction(y, high_x, least), high_a)
    return choose(below, lower, fraction * rate + by_a)


def _slopes(a, x):
    """Return the derivative of igamma by `a`, and that over minus the density of `x`."""
    dtype, central = a.x.aval.dtype, _is_central(a, x)
    near_a, near_x = _confined(central, a, x, (30, 30))
    _, near = derivative(lambda y: _central(y, near_x, -1), near_a.to(np.float64))
    factor, slope = _gamma_factor(a, x), _scaled_slope(a, x)
    by_a = choose(central, near.to(dtype), -(factor * slope.to(np.float64)).to(dtype))
    near = -near * near_x.to(np.float64) / choose(central, factor, 1)
    return by_a, choose(central, near.to(dtype), x * slope)


# ---------------------------------------------------------------- beta


def _beta(a, b, x):
    """Return betainc of positive finite `a` and `b`, and 0 < x < 1."""
    dtype = a.x.aval.dtype
    # Above its mean, what is left to 1 is the smaller number, and its fraction converges faster;
    # but right next to an end whose exponent is small, its fraction converges too slowly.
    near_zero, near_one = (x * (b + 1) < 1e-3) & (a < 1), ((1 - x) * (a + 1) < 1e-3) & (b < 1)
    turned = ((x > a / (a + b)) & ~near_zero) | near_one
    wide_a, wide_b, wide_x = (y.to(np.float64) for y in (a, b, x))
    a, b = choose(turned, wide_b, wide_a), choose(turned, wide_a, wide_b)
    x = choose(turned, 1 - wide_x, wide_x)
    y = choose(turned, wide_x, 1 - wide_x)
    delta = b * x - a * y
    factor = _beta_factor(a, b, x, y, delta).to(dtype)
    a, b, x, y, delta = (z.to(dtype) for z in (a, b, x, y, delta))
    value = factor * _beta_fraction(a, b, x, y, delta)
    return choose(turned, 1 - value, value)


def _beta_fraction(a, b, x, y, delta):
    """Return betainc over its power factor, DiDonato and Morris 1992, equation 9."""

    def partial(k):
        odd = a + 2 * k - 1
        numerator = (a + k - 1) / odd * ((a + b + k - 1) / odd) * (k * (b - k)) * x * x
        rest = (a + k) / (odd + 2) * (1 - delta + k * (1 + y))
        return numerator, k + k * (b - k) * x / odd + rest

    return continued_fraction(a / (a + 1) * (1 - delta), partial)


# ---------------------------------------------------------------- programs


def _program(fun):
    """Return a function of operands that computes formulas; narrow floats take float32."""

    def run(*operands):
        dtype = operands[0].aval.dtype
        shape = next((x.aval.shape for x in operands if x.aval.shape), ())
        wide = np.float64 if dtype == np.float64 else np.float32
        out = fun(*[Formula(spread(x, shape)).to(wide) for x in operands])
        return convert(out.x, dtype, all(x.aval.weak_type for x in operands))

    return run


@_program
def igamma(a, x):
    """Return the regularised lower incomplete gamma function."""
    value, regular = _over_regular(_lower, a, x, 1)
    return choose(regular, value, _gamma_edges(a, x, 0, 1))


@_program
def igammac(a, x):
    """Return the regularised upper incomplete gamma function."""
    value, regular = _over_regular(_upper, a, x, 1)
    return choose(regular, value, _gamma_edges(a, x, 1, 0))


def _slope(which, a, x):
    values, regular = _over_regular(_slopes, a, x, 1)
    edge = choose((a > 0) & (x == 0), x.like(0), math.nan)
    return choose(regular, values[which], edge)


igamma_grad_a = _program(functools.partial(_slope, 0))
"""Derivative of `igamma` by a."""

random_gamma_grad = _program(functools.partial(_slope, 1))
"""Derivative by a of a number drawn from the gamma distribution, its quantile kept."""


@_program
def betainc(a, b, x):
    """Return the regularised incomplete beta function."""
    inside = (a > 0) & (a < math.inf) & (b > 0) & (b < math.inf)
    regular = inside & (x > 0) & (x < 1)
    value = _beta(*[choose(regular, y, at) for y, at in ((a, 1), (b, 1), (x, 0.5))])
    limit = choose((x == 1) | ((x > 0) & ((a == 0) | (b == math.inf))), x.like(1), 0)
    allowed = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    allowed = allowed & ~((a == 0) & (b == 0)) & ~((a == math.inf) & (b == math.inf))
    return choose(regular, value, choose(allowed, limit, math.nan))


# SciPy has no such derivatives, so the host runs the programs.
def _run_program(prim, program):
    def eager(*operands):
        prim.infer(operands, {})  # which checks the types
        return program(*operands)

    prim.define("eager")(eager)


_run_program(ops.igamma_grad_a_p, igamma_grad_a)
_run_program(ops.random_gamma_grad_p, random_gamma_grad)
