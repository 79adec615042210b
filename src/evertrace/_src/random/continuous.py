"""Continuous distributions that are functions of uniform and normal numbers.

Uniform numbers in [1, 2) are random bits in the place of a mantissa; most other distributions are
the inverse of their distribution function, applied to uniform numbers of the right interval. The
formulas are those that give JAX's numbers for the same key, up to rounding.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, cast

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.core.jaxpr import literal
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.elementwise import abs as abs_
from evertrace._src.lax.elementwise import clamp, nextafter, sign
from evertrace._src.lax.elementwise import complex as complex_
from evertrace._src.lax.functions import exp, log, log1p, sqrt, tan
from evertrace._src.lax.functions import pow as pow_
from evertrace._src.lax.special import erf, erf_inv
from evertrace._src.ops.bits import or_p, shift_right_logical_p
from evertrace._src.ops.convert import bitcast_convert_type_p, convert
from evertrace._src.ops.elementwise import add_p, max_p, mul_p, sub_p
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import unstack_p
from evertrace._src.ops.special import erf_inv_p
from evertrace._src.ops.structural import reduce_sum_p
from evertrace._src.random import keys as keys_
from evertrace._src.random.arguments import (
    drawing,
    float_dtype,
    inexact_dtype,
    one_key,
    operand,
    parameter,
    result_shape,
    sizes,
    start,
    start_with,
)

# ---------------------------------------------------------------- uniform


def unit(key, shape, dtype):
    """Return uniform numbers in [0, 1): all multiples of the dtype's epsilon are equally likely."""
    mantissa = _mantissa(dtype)
    bits = convert(keys_.raw_bits(key, shape, mantissa.random_bits), mantissa.word)
    bits = shift_right_logical_p.bind(bits, literal(mantissa.spare_bits, mantissa.word))
    bits = or_p.bind(bits, literal(mantissa.one, mantissa.word))
    numbers = bitcast_convert_type_p.bind(bits, new_dtype=dtype)
    return sub_p.bind(numbers, literal(1, dtype))


class _Mantissa(NamedTuple):
    """How random bits become the mantissa of a number in [1, 2).

    Attributes:
      word: the unsigned integer of a number's size; one: the number 1 as such an integer.
      random_bits: how many bits are drawn; spare_bits: how many of them are not used.
    """

    word: np.dtype
    one: int
    random_bits: int
    spare_bits: int


@functools.cache
def _mantissa(dtype):
    info = dtypes.finfo(dtype)
    if info.bits < 8:
        raise errors.user_error(
            errors.DTypeError,
            f"random: no numbers of dtype {dtypes.short_name(dtype)} are drawn.",
            fix="draw float32 ones, and convert them with `astype`.",
            anchor="dtype",
        )
    width = info.bits if info.nmant >= 8 else 8
    word = np.dtype(f"u{info.bits // 8}")
    return _Mantissa(word, int(np.ones((), dtype).view(word)), width, width - info.nmant)


def interval(name, key, shape, dtype, low, high):
    """Return uniform numbers in [low, high)."""
    numbers = unit(key, shape, dtype)
    if type(low) is float and type(high) is float and (low, high) == (0.0, 1.0):
        return numbers
    low, high = (
        literal(x, dtype) if type(x) is float else parameter(name, x, shape, dtype)
        for x in (low, high)
    )
    scaled = mul_p.bind(numbers, sub_p.bind(high, low))
    return max_p.bind(low, add_p.bind(scaled, low))


@drawing
def uniform(
    key: Key,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw uniformly distributed numbers in ``[minval, maxval)``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      minval: lower bound, which may be drawn; broadcasts to `shape`.
      maxval: upper bound, which is not drawn; broadcasts to `shape`.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`. The number of different values is that of the numbers of
      the dtype in [1, 2).

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys, or a bound does not broadcast to `shape`.

    Example:
      >>> random.uniform(random.key(0), (3,))
      Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
      >>> random.uniform(random.key(0), (2,), minval=10, maxval=20)
      Array([19.47667 , 19.785799], dtype=float32)
    """
    key, shape, dtype = start("uniform", key, shape, dtype)
    return interval("uniform", key, shape, dtype, minval, maxval)


# ---------------------------------------------------------------- normal


def standard_normal(key, shape, dtype):
    """Return numbers with the standard normal distribution."""
    numbers = interval("normal", key, shape, dtype, _above_minus_one(dtype), 1.0)
    return mul_p.bind(erf_inv_p.bind(numbers), literal(math.sqrt(2), dtype))


@functools.cache
def _above_minus_one(dtype):
    return float(np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)))


@drawing
def normal(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw numbers from the standard normal distribution, of mean 0 and variance 1.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on), or a complex one, whose
        real and imaginary parts have variance 1/2 each.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys, or `shape` has a negative size.

    Example:
      >>> random.normal(random.key(0), (3,))
      Array([ 1.622642  ,  2.0252647 , -0.43359438], dtype=float32)
    """
    key, shape = one_key("normal", key)[0], sizes("normal", shape)
    dtype = inexact_dtype("normal", dtype)
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return standard_normal(key, shape, dtype)
    part = cast("Any", np.zeros((), dtype)).real.dtype
    real, imag = (standard_normal(k, shape, part) for k in keys_.pair(key))
    return complex_(real, imag) / math.sqrt(2)


@drawing
def truncated_normal(
    key: Key,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the standard normal distribution, given that the result is between two bounds.

    Args:
      key: one key.
      lower: bound that broadcasts to `shape` and is not drawn.
      upper: the same.
      shape: of the result, by default the common shape of the bounds.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> random.truncated_normal(random.key(0), 0, jnp.array([1.0, 2.0, 3.0]))
      Array([0.9287132 , 1.8387917 , 0.42806244], dtype=float32)
    """
    key, shape, dtype, lower, upper = start_with(
        "truncated_normal", key, shape, dtype, lower, upper
    )
    root = math.sqrt(2)
    mass = interval("truncated_normal", key, shape, dtype, erf(lower / root), erf(upper / root))
    # Rounding must not take the result to a bound.
    first = nextafter(stop_gradient(lower), math.inf)
    last = nextafter(stop_gradient(upper), -math.inf)
    return clamp(first, erf_inv(mass) * root, last)


@drawing
def lognormal(
    key: Key,
    sigma: ArrayLike = 1.0,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers whose logarithm is normal with mean 0 and standard deviation `sigma`.

    Args:
      key: one key.
      sigma: standard deviation, broadcasts to `shape`.
      shape: of the result, by default that of `sigma`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.lognormal(random.key(2), 0.5, (10_000,))
      >>> print(f"{jnp.median(x):.1f} {jnp.log(x).std():.1f}")  # exp(0) and sigma
      1.0 0.5
    """
    key, shape, dtype, sigma = start_with("lognormal", key, shape, dtype, sigma)
    return exp(standard_normal(key, shape, dtype) * sigma)


@drawing
def maxwell(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw lengths of vectors of three independent standard normal numbers.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> speeds = random.maxwell(random.key(0), (10_000,))
      >>> print(f"{speeds.mean():.2f}")  # 2 * sqrt(2 / pi) = 1.596
      1.60
    """
    return _maxwell(*start("maxwell", key, shape, dtype))


def _maxwell(key, shape, dtype):
    vectors = standard_normal(key, (*shape, 3), dtype)
    return sqrt(reduce_sum_p.bind(vectors * vectors, axes=(len(shape),), out_sharding=None))


@drawing
def double_sided_maxwell(
    key: Key, loc: ArrayLike, scale: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None
) -> Array:
    """Draw ``loc + scale * sign * maxwell``, the sign being random.

    Args:
      key: one key.
      loc: shift.
      scale: factor; the common shape of both is appended to `shape`.
      shape: leading dimensions of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.double_sided_maxwell(random.key(0), 5.0, 2.0, (10_000,))
      >>> print(f"{x.mean():.1f} {(x > 5).mean():.2f}")
      5.0 0.50
    """
    name = "double_sided_maxwell"
    shape = sizes(name, shape)
    dtype = float_dtype(name, dtype)
    shape = (*shape, *result_shape(name, None, operand(name, loc), operand(name, scale)))
    loc, scale = (parameter(name, x, shape, dtype) for x in (loc, scale))
    length_key, sign_key = keys_.pair(one_key(name, key)[0])
    signs = convert(unit(sign_key, shape, np.dtype(np.float32)) < 0.5, dtype) * 2 - 1
    return signs * _maxwell(length_key, shape, dtype) * scale + loc


@drawing
def wald(
    key: Key,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the Wald (inverse Gaussian) distribution with a mean and scale 1.

    Args:
      key: one key.
      mean: broadcasts to `shape`.
      shape: of the result, by default that of `mean`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Source: Michael, Schucany, Haas, "Generating Random Variates Using Transformations with
    Multiple Roots", The American Statistician 30, 1976.

    Example:
      >>> x = random.wald(random.key(0), 2.0, (10_000,))
      >>> print(f"{x.mean():.1f}")
      2.0
    """
    key, shape, dtype, mean = start_with("wald", key, shape, dtype, mean)
    normal_key, uniform_key = keys_.pair(key)
    y = standard_normal(normal_key, shape, dtype)
    y = y * y
    squared = mean * mean
    root = sqrt(mean * 4 * y + squared * (y * y))
    smaller = mean + squared * y / 2 - mean / 2 * root
    is_smaller = unit(uniform_key, shape, dtype) <= mean / (mean + smaller)
    return select(is_smaller, smaller, squared / smaller)


# ---------------------------------------------------------------- inverse distribution functions


@drawing
def exponential(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw from the exponential distribution of rate 1: density ``exp(-x)`` for x >= 0.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> waits = random.exponential(random.key(2), (10_000,))
      >>> print(f"{waits.mean():.1f} {(waits > 1).mean():.2f}")  # 1 and exp(-1) = 0.37
      1.0 0.37
    """
    return standard_exponential(*start("exponential", key, shape, dtype))


def standard_exponential(key, shape, dtype):
    """Return numbers with the exponential distribution of rate 1."""
    return -log1p(-unit(key, shape, dtype))


@drawing
def gumbel(
    key: Key,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the standard Gumbel distribution: density ``exp(-x - exp(-x))``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      mode: ``"low"`` (the default) uses as many random bits as the dtype has; ``"high"`` twice as
        many, for better tails.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      ValueError: there is no such mode.

    Example:
      >>> x = random.gumbel(random.key(0), (10_000,))
      >>> print(f"{x.mean():.2f}")  # Euler's constant, 0.577
      0.58
    """
    return standard_gumbel(*start("gumbel", key, shape, dtype), mode)


def standard_gumbel(key, shape, dtype, mode=None):
    """Return numbers with the standard Gumbel distribution."""
    info = dtypes.finfo(dtype)
    tiny = float(info.tiny)
    if not is_high("gumbel", mode):
        return -log(-log(interval("gumbel", key, shape, dtype, tiny, 1.0)))
    coarse, fine = unstack_p.bind(unit(key, (2, *shape), dtype), axis=0)
    # Below 1/2 a number has room for the bits of another one; above, log1p(-x) needs none.
    finer = coarse + fine * float(info.eps) + tiny
    return -log(-log1p(-select(coarse >= 0.5, coarse, finer)))


def is_high(name, mode):
    """Whether `mode` asks for more random bits per number."""
    if mode not in (None, "low", "high"):
        raise errors.user_error(
            ValueError,
            f"{name}: mode must be 'low', 'high' or None, got {mode!r}.",
            fix="pass `mode='low'`, or leave it out.",
            anchor="choice",
        )
    return mode == "high"


@drawing
def laplace(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw from the Laplace distribution: density ``exp(-abs(x)) / 2``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.laplace(random.key(2), (10_000,))
      >>> print(f"{abs(x).mean():.1f}")  # abs(x) has the exponential distribution
      1.0
    """
    key, shape, dtype = start("laplace", key, shape, dtype)
    lowest = -1 + float(dtypes.finfo(dtype).epsneg)
    u = interval("laplace", key, shape, dtype, lowest, 1.0)
    return sign(u) * log1p(-abs_(u))


@drawing
def logistic(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw from the logistic distribution, whose distribution function is the sigmoid.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.logistic(random.key(0), (10_000,))
      >>> print(f"{(x < 1).mean():.2f}")  # 1 / (1 + exp(-1)) = 0.731
      0.73
    """
    key, shape, dtype = start("logistic", key, shape, dtype)
    u = interval("logistic", key, shape, dtype, float(dtypes.finfo(dtype).tiny), 1.0)
    return log(u) - log1p(-u)


@drawing
def cauchy(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw from the Cauchy distribution: density ``1 / (pi * (1 + x**2))``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.cauchy(random.key(0), (10_000,))
      >>> print(f"{(abs(x) < 1).mean():.2f} {(abs(x) > 100).mean():.3f}")  # 1/2, and heavy tails
      0.50 0.007
    """
    key, shape, dtype = start("cauchy", key, shape, dtype)
    u = interval("cauchy", key, shape, dtype, float(dtypes.finfo(dtype).eps), 1.0)
    return tan((u - 0.5) * math.pi)


@drawing
def pareto(
    key: Key,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the Pareto distribution: density ``b / x**(b + 1)`` for x >= 1.

    Args:
      key: one key.
      b: exponent, broadcasts to `shape`.
      shape: of the result, by default that of `b`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> incomes = random.pareto(random.key(0), 3.0, (10_000,))
      >>> print(f"{incomes.min():.2f} {incomes.mean():.2f}")  # the mean is b / (b - 1)
      1.00 1.51
    """
    key, shape, dtype, b = start_with("pareto", key, shape, dtype, b)
    return exp(standard_exponential(key, shape, dtype) / b)


@drawing
def rayleigh(
    key: Key,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw lengths of vectors of two normal numbers with standard deviation `scale`.

    Args:
      key: one key.
      scale: broadcasts to `shape`.
      shape: of the result, by default that of `scale`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.rayleigh(random.key(0), 2.0, (10_000,))
      >>> print(f"{x.mean():.2f}")  # 2 * sqrt(pi / 2) = 2.507
      2.51
    """
    key, shape, dtype, scale = start_with("rayleigh", key, shape, dtype, scale)
    return sqrt(log(unit(key, shape, dtype)) * -2) * scale


@drawing
def weibull_min(
    key: Key,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Draw ``scale * exponential ** (1 / concentration)``.

    Args:
      key: one key.
      scale: factor, broadcasts to `shape`.
      concentration: exponent, broadcasts to `shape`.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> lifetimes = random.weibull_min(random.key(0), 100.0, 2.0, (10_000,))
      >>> print(f"{(lifetimes > 100).mean():.2f}")  # exp(-1) = 0.37
      0.37
    """
    key, shape, dtype, scale, concentration = start_with(
        "weibull_min", key, shape, dtype, scale, concentration
    )
    return pow_(standard_exponential(key, shape, dtype), 1 / concentration) * scale


@drawing
def triangular(
    key: Key,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the triangular distribution, whose density rises to `mode` and falls again.

    Args:
      key: one key.
      left: lower end, broadcasts to `shape`.
      mode: where the density is largest, broadcasts to `shape`.
      right: upper end, broadcasts to `shape`.
      shape: of the result, by default the common shape of the parameters.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.triangular(random.key(0), 0.0, 1.0, 5.0, (10_000,))
      >>> print(f"{x.mean():.2f}")  # the mean of the three
      2.00
    """
    key, shape, dtype, left, mode, right = start_with(
        "triangular", key, shape, dtype, left, mode, right
    )
    u = unit(key, shape, dtype)
    width = right - left
    rising = left + sqrt(u * width * (mode - left))
    falling = right - sqrt((1 - u) * width * (right - mode))
    return select(u < (mode - left) / width, rising, falling)
