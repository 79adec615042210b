"""Counts of events: Poisson, binomial and multinomial numbers.

The first two take a simple method for small means, whose time grows with the mean, and rejection
from a transformed uniform distribution for large ones. Both loops run for all elements of an array
at once, with one key, until the last element is done.

Sources: Knuth, "The Art of Computer Programming", volume 2, section 3.4.1; Hörmann, "The
Transformed Rejection Method for Generating Poisson Random Variables", 1993, and "The Generation
of Binomial Random Variates", 1993; Devroye, "Non-Uniform Random Variate Generation", 1986, for
binomials by geometric gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.core.aval import ShapedArray
from evertrace._src.lax.elementwise import abs as abs_
from evertrace._src.lax.elementwise import ceil, clamp, floor
from evertrace._src.lax.functions import log, log1p, sqrt
from evertrace._src.lax.loops import scan, while_loop
from evertrace._src.lax.special import lgamma
from evertrace._src.numpy import reductions
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.elementary import isinf, isnan, where
from evertrace._src.numpy.indexing import take
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.numpy.shape import flip
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import expand_dims, full, moveaxis
from evertrace._src.random import keys as keys_
from evertrace._src.random.arguments import (
    drawing,
    drawn_in,
    float_dtype,
    int_dtype,
    one_key,
    operand,
    result_shape,
    start_with,
)
from evertrace._src.random.continuous import unit

INT32 = np.dtype(np.int32)
SMALL_MEAN = 10
"""Means from which on rejection is faster."""


# ---------------------------------------------------------------- Poisson


@drawing
def poisson(
    key: Key,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers of events that occur at a rate.

    Args:
      key: one key.
      lam: rates, not negative; broadcast to `shape`.
      shape: of the result, by default that of `lam`.
      dtype: an integer dtype, by default int32 (int64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`; -1 where the rate is NaN.

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys, or `lam` does not broadcast to `shape`.

    Example:
      >>> random.poisson(random.key(2), jnp.array([0.0, 3.0, 1000.0]))
      Array([  0,   3, 998], dtype=int32)
    """
    dtype = int_dtype("poisson", dtype)
    key, shape, _, lam = start_with("poisson", key, shape, np.float32, lam)
    lam = broadcast_to(lam, shape)
    is_small = isnan(lam) | (lam < SMALL_MEAN)
    # Each method gets rates that it is quick with where its result is not taken. One key does for
    # both, as each number is that of one method; `clone` says so to the checker of key reuse.
    small = _poisson_by_products(key, where(is_small, lam, 0), dtype)
    large = _poisson_by_rejection(keys_.clone(key), where(is_small, 1e5, lam), dtype)
    return where(lam == 0, 0, where(is_small, small, large))


def _poisson_by_products(key, lam, dtype):
    """Count the uniform numbers whose product stays above ``exp(-lam)``."""

    def is_open(log_product):
        return log_product > -lam

    def step(state):
        count, key, log_product = state
        key, used = keys_.pair(key)
        count = where(is_open(log_product), count + 1, count)
        return count, key, log_product + log(unit(used, lam.shape, lam.dtype))

    first = (full(ShapedArray(lam.shape, dtype), 0), key, full(lam.aval, 0))
    count, _, _ = while_loop(lambda state: reductions.any(is_open(state[2])), step, first)
    return count - 1


def _poisson_by_rejection(key, lam, dtype):
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def step(state):
        out, is_done, key = state
        key, u_key, v_key = keys_.unstacked(keys_.split_typed(key, (3,)))
        u = unit(u_key, lam.shape, lam.dtype) - 0.5
        v = unit(v_key, lam.shape, lam.dtype)
        us = 0.5 - abs_(u)
        k = floor((2 * a / us + b) * u + lam + 0.43)
        left = log(v * inverse_alpha / (a / (us * us) + b))
        right = -lam + k * log_lam - lgamma(k + 1)
        is_quick = (us >= 0.07) & (v <= v_r)
        is_out = (k < 0) | ((us < 0.013) & (v > us))
        is_accepted = is_quick | (~is_out & (left <= right))
        return where(is_accepted, k, out), is_done | is_accepted, key

    nothing = full(ShapedArray(lam.shape, np.dtype(bool)), 0)
    first = (full(lam.aval, -1), nothing, key)
    out, _, _ = while_loop(lambda state: reductions.any(~state[1]), step, first)
    return convert(out, dtype)


# ---------------------------------------------------------------- binomial


@drawing
def binomial(
    key: Key, n: ArrayLike, p: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Draw numbers of successes of `n` trials, each succeeding with probability `p`.

    Args:
      key: one key.
      n: numbers of trials, integers or floats without a fraction; broadcast to `shape`.
      p: probabilities in [0, 1], broadcast to `shape`.
      shape: of the result, by default the common shape of `n` and `p`.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).

    Returns:
      A floating array; NaN where `n` is negative or `p` is not in [0, 1].

    Differs from JAX: Stirling's correction is taken at the number itself, where JAX takes it at 9
    for all larger ones; a draw near the bound of acceptance may differ.

    Example:
      >>> random.binomial(random.key(2), 100, jnp.array([0.0, 0.1, 0.5, 1.0]))
      Array([  0.,  10.,  50., 100.], dtype=float32)
    """
    dtype = float_dtype("binomial", dtype)
    key, shape, _, n, p = start_with("binomial", key, shape, drawn_in(dtype), n, p)
    n, p = (broadcast_to(x, shape) for x in (n, p))
    # Count the rarer outcome.
    is_rare = p < 0.5
    q = where(is_rare, p, 1 - p)
    is_invalid = isnan(n) | (n < 0) | isnan(q) | (q < 0)
    q, trials = where(is_invalid, 0.01, q), where(is_invalid, 0, floor(n))
    is_small = is_invalid | isinf(n) | (n * q <= SMALL_MEAN)  # whose product may be inf * 0
    small = _binomial_by_gaps(key, where(is_small & ~isinf(n), trials, 0), q)
    large = _binomial_by_rejection(
        keys_.clone(key), where(is_small, 1e4, trials), where(is_small, 0.5, q)
    )
    rare = where(is_small, small, large)
    count = where(is_rare | isinf(n), where(isinf(n), n, rare), trials - rare)
    return convert(where(is_invalid, np.nan, count), dtype)


def _binomial_by_gaps(key, n, q):
    """Count the successes: the gaps between them are geometric numbers."""
    log_failure = abs_(log1p(-q))  # of zeros of both signs: gaps that are never negative

    def step(state):
        count, position, key = state
        used, key = keys_.pair(key)
        count = where(position <= n, count + 1, count)
        gap = ceil(abs_(log(unit(used, n.shape, n.dtype))) / log_failure)
        return count, position + gap, key

    first = (full(n.aval, 0), full(n.aval, 0), key)
    count, _, _ = while_loop(lambda state: reductions.any(state[1] <= n), step, first)
    return count - 1


def _binomial_by_rejection(key, n, q):
    stddev = sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = n * q + 0.5
    v_r = 0.92 - 4.2 / b
    odds = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * stddev
    mode = floor((n + 1) * q)

    def log_density(k):
        """Return the logarithm of the probability of `k` relative to that of the mode."""
        return (
            (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )

    def step(state):
        out, is_done, key = state
        key, u_key, v_key = keys_.unstacked(keys_.split_typed(key, (3,)))
        u = unit(u_key, n.shape, n.dtype) - 0.5
        v = unit(v_key, n.shape, n.dtype)
        us = 0.5 - abs_(u)
        k = floor((2 * a / us + b) * u + c)
        is_quick = (us >= 0.07) & (v <= v_r)
        is_out = (k < 0) | (k > n)
        bound = log(v * alpha / (a / (us * us) + b))
        is_accepted = is_quick | (~is_out & (bound <= log_density(k)))
        return where(is_accepted, k, out), is_done | is_accepted, key

    first = (full(n.aval, -1), full(ShapedArray(n.shape, np.dtype(bool)), 0), key)
    out, _, _ = while_loop(lambda state: reductions.any(~state[1]), step, first)
    return out


# What Stirling's formula for log(k!) lacks, for k = 0, ..., 9.
_TAILS = np.array(
    [
        0.08106146679532733, 0.04134069595540946, 0.027677925684997717, 0.02079067210376584,
        0.01664469118982126, 0.013876128823072875, 0.011896709945893313, 0.010411265261973668,
        0.00925546218270945, 0.008330563433359472,
    ]
)  # fmt: skip


def _stirling_tail(k):
    """Return ``log(k!) - (k + 1/2) log(k + 1) + (k + 1) - log(2 pi) / 2``."""
    table = operand("binomial", _TAILS, k.dtype)
    index = convert(clamp(0, k, len(_TAILS) - 1), INT32)
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return where(k < len(_TAILS), take(table, index, mode="clip"), series)


@drawing
def multinomial(
    key: Key,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Draw how often each of several outcomes occurs in `n` trials.

    Args:
      key: one key.
      n: numbers of trials, broadcast to the result without its last axis.
      p: ``[..., k]``, probabilities that add up to 1 along the last axis; broadcast to `shape`.
      shape: of the result, ``(..., k)``; by default the common shape of `p` and of `n` with an
        axis of size 1 added.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      unroll: how many outcomes a turn of the compiled loop draws.

    Returns:
      A floating array whose sums along the last axis are `n`.

    Example:
      >>> counts = random.multinomial(random.key(0), 1000, jnp.array([0.2, 0.3, 0.5]))
      >>> counts, int(counts.sum())
      (Array([181., 285., 534.], dtype=float32), 1000)
    """
    dtype = float_dtype("multinomial", dtype)
    wide = drawn_in(dtype)
    n, p = operand("multinomial", n, wide), operand("multinomial", p, wide)
    by_outcome = expand_dims(n, (n.ndim,))
    whole = result_shape("multinomial", shape, by_outcome, p)
    batch, outcomes = whole[:-1], whole[-1]
    n, p = broadcast_to(n, batch), broadcast_to(p, whole)
    # The share of an outcome among those that were not drawn yet.
    rest = flip(cumsum(flip(p, -1), axis=-1), -1)
    shares = moveaxis(p / where(rest == 0, 1, rest), len(batch), 0)

    def draw(left, outcome):
        share, used = outcome
        count = binomial(used, left, clamp(0.0, share, 1.0), dtype=wide)
        return left - count, count

    split = keys_.split_typed(one_key("multinomial", key)[0], (outcomes,))
    _, counts = scan(draw, n, (shares, split), unroll=unroll)
    return convert(moveaxis(counts, 0, len(batch)), dtype)
