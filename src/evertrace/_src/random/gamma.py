"""The gamma distribution, and those that are made from it.

Source: Marsaglia, Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26, 2000: the
cube of a linear function of a normal number is accepted with the right probability, which is above
0.95. Exponents below 1 take the method for the exponent plus 1, and a power of a uniform number.
Derivatives by the exponent are those of the quantile, see `lax.random_gamma_grad`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.functions import exp, log, rsqrt, sqrt
from evertrace._src.lax.functions import pow as pow_
from evertrace._src.lax.loops import while_loop
from evertrace._src.lax.special import digamma, random_gamma_grad
from evertrace._src.numpy import reductions, ufuncs
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import expand_dims, reshape
from evertrace._src.random import keys as keys_
from evertrace._src.random.arguments import (
    drawing,
    drawn_in,
    float_dtype,
    one_key,
    operand,
    parameter,
    sizes,
    start_with,
)
from evertrace._src.random.continuous import (
    standard_exponential,
    standard_normal,
    unit,
)
from evertrace._src.random.discrete import signs

SQUEEZE = 0.0331
"""Constant of the quick test that saves the logarithms, from the source."""


def _cube_root(key, c, dtype):
    """Draw normal numbers x until ``1 + c * x`` is positive; returns x and that."""

    def draw(state):
        key, used = keys_.pair(state[0])
        x = standard_normal(used, (), dtype)
        return key, x, 1 + c * x

    zero = np.zeros((), dtype)
    _, x, root = while_loop(lambda state: state[2] <= 0, draw, (key, zero, zero - 1))
    return x, root


def _gamma_one(key, alpha, log_space):
    """Return one number, or its logarithm."""
    dtype = alpha.dtype
    key, boost_key = keys_.pair(key)
    is_large = alpha >= 1
    d = where(is_large, alpha, alpha + 1) - np.asarray(1 / 3, dtype)
    c = rsqrt(d) / 3

    def is_rejected(state):
        _, x2, v, u = state
        slow = log(u) >= x2 * 0.5 + d * (1 - v + log(v))
        return (u >= 1 - x2 * x2 * SQUEEZE) & slow

    def draw(state):
        key, x_key, u_key = keys_.unstacked(keys_.split_typed(state[0], (3,)))
        x, root = _cube_root(x_key, c, dtype)
        return key, x * x, root * root * root, unit(u_key, (), dtype)

    first = (key, np.zeros((), dtype), np.ones((), dtype), np.full((), 2, dtype))  # is rejected
    _, _, v, _ = while_loop(is_rejected, draw, first)
    if log_space:
        logarithm = -standard_exponential(boost_key, (), dtype)
        boost = where(is_large | (logarithm == 0), 0, logarithm / alpha)
        return log(d) + log(v) + boost
    boost = where(is_large, 1, pow_(1 - unit(boost_key, (), dtype), 1 / alpha))
    return d * v * boost


def standard_gamma(key, alpha, shape, log_space):
    """Return gamma numbers of scale 1, or their logarithms, each with a key of its own."""
    dtype = alpha.dtype
    alpha = convert(broadcast_to(alpha, shape), drawn_in(dtype, bits=16))
    flat = reshape(alpha, (alpha.size,))
    split = keys_.split_typed(key, (alpha.size,))
    draw = _logarithms if log_space else _numbers
    return convert(reshape(draw(split, flat), shape), dtype)


@custom_jvp
def _numbers(keys, alpha):
    return vmap(lambda k, a: _gamma_one(k, a, False))(keys, alpha)


@custom_jvp
def _logarithms(keys, alpha):
    return vmap(lambda k, a: _gamma_one(k, a, True))(keys, alpha)


@_numbers.defjvp
def _numbers_jvp(primals, tangents):
    x = _numbers(*primals)
    return x, random_gamma_grad(primals[1], x) * tangents[1]


@_logarithms.defjvp
def _logarithms_jvp(primals, tangents):
    """Derive log(x); for small x, igamma(a, x) is x**a / Gamma(a + 1), DLMF 8.7.1."""
    out, alpha = _logarithms(*primals), primals[1]
    is_small = out < math.log(dtypes.finfo(out.dtype).eps) - 3  # far below rounding beside 1
    x = exp(where(is_small, 0, out))
    slope = where(is_small, (digamma(alpha + 1) - out) / alpha, random_gamma_grad(alpha, x) / x)
    return out, slope * tangents[1]


@drawing
def gamma(
    key: Key,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the gamma distribution: density proportional to ``x**(a - 1) * exp(-x)``.

    Args:
      key: one key.
      a: positive exponents, broadcast to `shape`.
      shape: of the result, by default that of `a`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys, or `a` does not broadcast to `shape`.

    Differentiable once in `a`, as are all distributions that are made from this one.

    Example:
      >>> x = random.gamma(random.key(2), 3.0, (2000,))
      >>> print(f"{x.mean():.1f}")
      3.0
    """
    key, shape, _, a = start_with("gamma", key, shape, dtype, a)
    return standard_gamma(key, a, shape, log_space=False)


@drawing
def loggamma(
    key: Key,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw logarithms of gamma numbers, without underflow for small `a`; see `gamma`.

    Args:
      key: one key.
      a: positive exponents, broadcast to `shape`.
      shape: of the result, by default that of `a`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.loggamma(random.key(1), jnp.array([1e-4, 1e-3]))
      >>> x, jnp.exp(x)
      (Array([-17625.254  ,   -242.87048], dtype=float32), Array([0., 0.], dtype=float32))
    """
    key, shape, _, a = start_with("loggamma", key, shape, dtype, a)
    return standard_gamma(key, a, shape, log_space=True)


@drawing
def beta(
    key: Key,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the beta distribution: density proportional to ``x**(a-1) * (1-x)**(b-1)``.

    Args:
      key: one key.
      a: positive exponents, broadcast to `shape`.
      b: the same.
      shape: of the result, by default the common shape of `a` and `b`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`, of numbers in [0, 1].

    Example:
      >>> x = random.beta(random.key(0), 2.0, 6.0, (2000,))
      >>> print(f"{x.mean():.2f}")  # a / (a + b)
      0.25
    """
    key, shape, _, a, b = start_with("beta", key, shape, dtype, a, b)
    x, y = (
        standard_gamma(k, p, shape, log_space=True)
        for k, p in zip(keys_.pair(key), (a, b), strict=True)
    )
    larger = where(x > y, x, y)
    x, y = exp(x - larger), exp(y - larger)
    return x / (x + y)


@drawing
def dirichlet(
    key: Key,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw vectors of non-negative numbers that add up to 1, from the Dirichlet distribution.

    Args:
      key: one key.
      alpha: ``[..., n]``, positive concentrations.
      shape: of the result without its last axis, by default that of `alpha` without it.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      Array of shape ``(*shape, n)``.

    Raises:
      ShapeError: `alpha` is a scalar.

    Example:
      >>> shares = random.dirichlet(random.key(0), jnp.array([1.0, 1.0, 8.0]), (2000,))
      >>> shares.mean(axis=0).round(1)
      Array([0.1, 0.1, 0.8], dtype=float32)
    """
    dtype = float_dtype("dirichlet", dtype)
    alpha = operand("dirichlet", alpha, dtype)
    if not alpha.ndim:
        raise errors.user_error(
            errors.ShapeError,
            "dirichlet: alpha must have at least one axis, got a scalar.",
            fix="pass a vector of concentrations.",
            anchor="shape",
        )
    key = one_key("dirichlet", key)[0]
    batch = alpha.shape[:-1] if shape is None else sizes("dirichlet", shape)
    shape = (*batch, alpha.shape[-1])
    alpha = parameter("dirichlet", alpha, shape, dtype)
    logarithms = standard_gamma(key, alpha, shape, log_space=True)
    terms = exp(logarithms - stop_gradient(reductions.max(logarithms, -1, keepdims=True)))
    return terms / reductions.sum(terms, -1, keepdims=True)


# ---------------------------------------------------------------- quotients and roots


@drawing
def chisquare(
    key: Key,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw sums of `df` squares of standard normal numbers.

    Args:
      key: one key.
      df: positive degrees of freedom, broadcast to `shape`.
      shape: of the result, by default that of `df`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.chisquare(random.key(0), 4.0, (2000,))
      >>> print(f"{x.mean():.1f}")  # df
      4.0
    """
    key, shape, _, df = start_with("chisquare", key, shape, dtype, df)
    return _chisquare(key, df, shape)


def _chisquare(key, df, shape):
    return exp(standard_gamma(key, df / 2, shape, log_space=True)) * 2


@drawing
def f(
    key: Key,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw quotients of two chi-square numbers, each divided by its degrees of freedom.

    Args:
      key: one key.
      dfnum: degrees of freedom above, broadcast to `shape`.
      dfden: degrees of freedom below, broadcast to `shape`.
      shape: of the result, by default the common shape of the degrees of freedom.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.f(random.key(0), 4.0, 10.0, (2000,))
      >>> print(f"{x.mean():.1f}")  # dfden / (dfden - 2)
      1.3
    """
    key, shape, _, above, below = start_with("f", key, shape, dtype, dfnum, dfden)
    below_key, above_key = keys_.pair(key)
    return (_chisquare(above_key, above, shape) / above) / (
        _chisquare(below_key, below, shape) / below
    )


@drawing
def t(
    key: Key,
    df: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from Student's t distribution.

    Args:
      key: one key.
      df: positive degrees of freedom, broadcast to `shape`.
      shape: of the result; None for that of `df`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.t(random.key(0), 3.0, (2000,))
      >>> print(f"{(abs(x) > 3.182).mean():.2f}")  # 0.05, as tables say
      0.05
    """
    key, shape, dtype, df = start_with("t", key, shape, dtype, df)
    normal_key, gamma_key = keys_.pair(key)
    half = df / 2
    spread = sqrt(half / standard_gamma(gamma_key, half, shape, log_space=False))
    return standard_normal(normal_key, shape, dtype) * spread


@drawing
def generalized_normal(
    key: Key,
    p: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw from the distribution whose density is proportional to ``exp(-abs(x)**p)``.

    Args:
      key: one key.
      p: positive exponent.
      shape: of the result.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> x = random.generalized_normal(random.key(2), 2.0, (2000,))
      >>> print(f"{x.var():.2f}")  # for p = 2 it is normal with variance 1/2
      0.49
    """
    key, shape, dtype, p = start_with("generalized_normal", key, shape, dtype, p)
    return _generalized_normal(key, p, shape, dtype)


def _generalized_normal(key, p, shape, dtype):
    gamma_key, sign_key = keys_.pair(key)
    length = pow_(standard_gamma(gamma_key, 1 / p, shape, log_space=False), 1 / p)
    return signs(sign_key, shape, dtype) * length


@drawing
def ball(
    key: Key,
    d: int,
    p: ArrayLike = 2,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw points that are uniformly distributed in the unit ball of the p-norm.

    Args:
      key: one key.
      d: number of coordinates.
      p: exponent of the norm, broadcast to `shape`.
      shape: of the result without its last axis.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      Array of shape ``(*shape, d)``.

    Source: Barthe et al., "A Probabilistic Approach to the Geometry of the l_p^n-Ball", 2005.

    Example:
      >>> points = random.ball(random.key(0), 3, shape=(2000,))
      >>> radius = jnp.linalg.norm(points, axis=-1)
      >>> print(f"{radius.max():.2f} {(radius < 0.5).mean():.2f}")  # (1/2)**3 = 0.125
      1.00 0.12
    """
    d = static_int("ball", "d", d)
    key, shape, dtype, p = start_with("ball", key, shape, dtype, p)
    point_key, radius_key = keys_.pair(key)
    by_point = expand_dims(p, (p.ndim,)) if p.ndim else p
    points = _generalized_normal(point_key, by_point, (*shape, d), dtype)
    power = reductions.sum(ufuncs.power(ufuncs.abs(points), by_point), -1)
    norm = pow_(power + standard_exponential(radius_key, shape, dtype), 1 / p)
    return points / expand_dims(norm, (len(shape),))
