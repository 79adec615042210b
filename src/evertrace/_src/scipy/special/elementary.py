"""Logarithms that end well, entropies, power transforms, softmax."""

# Annotations say what callers may pass; bodies get arrays, which the decorators make of it.
# pyright: reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

import math

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis
from evertrace._src.control.incomplete import excess
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.numpy import reductions, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops.elementwise import logistic_p
from evertrace._src.ops.formula import choose, exp, expm1, log, log1p, polynomial
from evertrace._src.scipy.special.formulas import is_complex, public, special

# ---------------------------------------------------------------- x log y


def _zero_or_product(x, y, logarithm, neutral):
    """Return ``x * logarithm(y)``, 0 where x is 0 and y not NaN."""
    vanishes = (x == 0) & (y == y)
    return choose(vanishes, 0, x * logarithm(choose(vanishes, neutral, y)))


@special(lambda out, x, y: log(y), lambda out, x, y: x / y, complex_too=True, weak=True)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x * log(y)``, and 0 where x is 0.

    Args:
      x: floating or complex array; integers become floats.
      y: the same, broadcast with `x`.

    Returns:
      an array of the promoted dtype and common shape; NaN where `y` is NaN.

    Example:
      >>> from evertrace.scipy import special
      >>> special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0])).tolist()
      [0.0, 0.0]
    """
    return _zero_or_product(x, y, log, 1)


@special(lambda out, x, y: log1p(y), lambda out, x, y: x / (1 + y), complex_too=True, weak=True)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x * log(1 + y)``, and 0 where x is 0; exact for small y.

    Args:
      x: floating or complex array; integers become floats.
      y: the same, broadcast with `x`.

    Returns:
      an array of the promoted dtype and common shape; NaN where `y` is NaN.

    Example:
      >>> from evertrace.scipy import special
      >>> special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 0.0])).tolist()
      [0.0, 0.0]
    """
    return _zero_or_product(x, y, log1p, 0)


# ---------------------------------------------------------------- entropies


@special(lambda out, x: choose(x < 0, 0, -log(x) - 1), weak=True)
def entr(x: ArrayLike) -> Array:
    """Return ``-x * log(x)``: 0 at 0, -inf below.

    Args:
      x: floating array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.entr(0.5)), 4)
      0.3466
    """
    return choose(x < 0, -math.inf, -_zero_or_product(x, choose(x < 0, 1, x), log, 1))


def _divergence(p, q, inside, at_zero):
    """Return `inside` for positive p and q, `at_zero` for p = 0, inf elsewhere, NaN from NaN."""
    edge = choose((p == 0) & (q >= 0), at_zero, q.like(math.inf))
    return choose((p != p) | (q != q), math.nan, choose((p > 0) & (q > 0), inside, edge))


def _within(p, q, slope, otherwise=0):
    return choose((p > 0) & (q > 0), slope, choose((p == 0) & (q >= 0), otherwise, p.like(0)))


@special(lambda out, p, q: _within(p, q, log(p / q)), lambda out, p, q: _within(p, q, 1 - p / q, 1))
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Return ``p * log(p / q) - p + q``, a term of the Kullback-Leibler divergence.

    Args:
      p: floating array; integers become floats.
      q: the same, broadcast with `p`.

    Returns:
      an array of the promoted dtype and common shape: q where p is 0 and q is not negative, inf
      where either is negative or q is 0 beside a positive p.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.kl_div(0.5, 0.25)), 4)
      0.0966
    """
    return _divergence(p, q, excess(p, q - p, q / p), q)


@special(
    lambda out, p, q: _within(p, q, log(p / q) + 1),
    lambda out, p, q: _within(p, q, -p / q),
    weak=True,
)
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Return ``p * log(p / q)``, a term of the relative entropy.

    Args:
      p: floating array; integers become floats.
      q: the same, broadcast with `p`.

    Returns:
      an array of the promoted dtype and common shape: 0 where p is 0 and q is not negative, inf
      where either is negative or q is 0 beside a positive p, NaN where either is NaN, as in SciPy
      (JAX has inf).

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.rel_entr(0.5, 0.25)), 4)
      0.3466
    """
    is_near = abs(p - q) < 0.5 * q
    near = log1p(choose(is_near, (p - q) / q, 0))
    return _divergence(p, q, p * choose(is_near, near, log(p / q)), 0)


# ---------------------------------------------------------------- logit, power transforms


@special(lambda out, x: 1 / (x * (1 - x)), complex_too=True, weak=True)
def logit(x: ArrayLike) -> Array:
    """Return ``log(x / (1 - x))``, the inverse of `expit`.

    Args:
      x: floating or complex array; integers become floats.

    Returns:
      an array of the shape of `x`; NaN outside of [0, 1].

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.logit(0.75)), 4)
      1.0986
    """
    if is_complex(x):
        # The angles of x and 1 - x add up to less than pi: no branch is left. Quotients of complex
        # numbers by zero are what each engine makes them.
        return log(x) - log(1 - x)
    far = log(x / (1 - x))
    is_middle = abs(x - 0.5) < 0.2
    off = choose(is_middle, 2 * (x - 0.5), 0)
    return choose(is_middle, log1p(off) - log1p(-off), far)


@public
def expit(x: ArrayLike) -> Array:
    """Return the logistic function, ``1 / (1 + exp(-x))``.

    Args:
      x: floating or complex array; integers become floats.

    Returns:
      an array of the shape of `x`.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.expit(1.0)), 4)
      0.7311
    """
    return logistic_p.bind(*promote_inexact("expit", x))


# (z * exp(z) - exp(z) + 1) / z**2 = 1/2 + z/3 + z**2/8 + ...: coefficients (k + 1) / (k + 2)!.
_TILT = [(k + 1) / math.factorial(k + 2) for k in range(17)]


def _transform(logarithm, exponent):
    """Return (exp(exponent * logarithm) - 1) / exponent, the logarithm where exponent is 0."""
    is_zero = exponent == 0
    power = choose(is_zero, 1, exponent)
    return choose(is_zero, logarithm, expm1(power * logarithm) / power)


def _transform_by_exponent(logarithm, exponent):
    z = exponent * logarithm
    is_small = abs(z) < 0.5
    large = choose(is_small, 1, z)
    far = (large * exp(large) - expm1(large)) / (large * large)
    near = polynomial(_TILT, choose(is_small, z, 0))
    return logarithm * logarithm * choose(is_small, near, far)


@special(
    lambda out, x, lmbda: exp((lmbda - 1) * log(x)),
    lambda out, x, lmbda: _transform_by_exponent(log(x), lmbda),
    complex_too=True,
    weak=True,
)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Return the Box-Cox transform ``(x**lmbda - 1) / lmbda``, which is log(x) at lmbda = 0.

    Args:
      x: floating or complex array, not negative if real; integers become floats.
      lmbda: the same, broadcast with `x`.

    Returns:
      an array of the promoted dtype and common shape. The derivative by `lmbda` at 0 is
      ``log(x)**2 / 2``, the limit; JAX has 0 there.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.boxcox(4.0, 0.5)), 4)
      2.0
    """
    return _transform(log(x), lmbda)


@special(
    lambda out, x, lmbda: exp((lmbda - 1) * log1p(x)),
    lambda out, x, lmbda: _transform_by_exponent(log1p(x), lmbda),
    complex_too=True,
    weak=True,
)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Return `boxcox` of ``1 + x``, exact for small x.

    Args:
      x: floating or complex array, at least -1 if real; integers become floats.
      lmbda: the same, broadcast with `x`.

    Returns:
      an array of the promoted dtype and common shape.

    Example:
      >>> from evertrace.scipy import special
      >>> round(float(special.boxcox1p(3.0, 0.5)), 4)
      2.0
    """
    return _transform(log1p(x), lmbda)


# ---------------------------------------------------------------- softmax


def _shifted(name, x, axis):
    """Return x minus its largest element along axes."""
    (x,) = promote_inexact(name, operand(name, x))
    if not x.size:
        return x
    return x - stop_gradient(reductions.max(x, axis, keepdims=True))


@public
def softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """Return exponentials divided by their sum.

    Args:
      x: floating or complex array; integers become floats.
      axis: int, tuple of ints or None: the axes over which the results add up to 1, by default
        all of them, unlike those of `nn.softmax`.

    Returns:
      an array of the shape of `x`; NaN if an element is inf.

    Example:
      >>> from evertrace.scipy import special
      >>> special.softmax(jnp.zeros((2, 2))).tolist()
      [[0.25, 0.25], [0.25, 0.25]]
    """
    terms = ufuncs.exp(_shifted("softmax", x, axis))
    return terms / reductions.sum(terms, axis, keepdims=True)


@public
def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """Return the logarithm of `softmax`, without underflow.

    Args:
      x: floating or complex array; integers become floats.
      axis: int, tuple of ints or None (all axes, unlike `nn.log_softmax`).

    Returns:
      an array of the shape of `x`; NaN if an element is inf.

    Example:
      >>> from evertrace.scipy import special
      >>> np.round(special.log_softmax(jnp.zeros(2)), 4).tolist()
      [-0.6931, -0.6931]
    """
    shifted = _shifted("log_softmax", x, axis)
    return shifted - ufuncs.log(reductions.sum(ufuncs.exp(shifted), axis, keepdims=True))
