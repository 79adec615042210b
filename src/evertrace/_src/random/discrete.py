"""Random integers and truth values.

Source of the bounded integers: the remainder of a number with twice as many random bits as the
range needs, whose bias cannot be noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.lax.elementwise import clamp, floor, rem
from evertrace._src.lax.functions import log, log1p
from evertrace._src.lax.sort import top_k
from evertrace._src.numpy.arguments import canonical_axis
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.numpy.reductions import argmax
from evertrace._src.ops.convert import convert
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import unstack_p
from evertrace._src.ops.structural import expand_dims, moveaxis, reshape
from evertrace._src.random import keys as keys_
from evertrace._src.random.arguments import (
    drawing,
    float_dtype,
    int_dtype,
    one_key,
    operand,
    parameter,
    result_shape,
    sizes,
    spread,
    start_with,
)
from evertrace._src.random.continuous import is_high, standard_gumbel, unit

# ---------------------------------------------------------------- integers


@drawing
def randint(
    key: Key,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw uniformly distributed integers in ``[minval, maxval)``.

    Args:
      key: one key.
      shape: of the result.
      minval: integers that broadcast to `shape`; limited to the range of `dtype`. Floats, such as
        ``1e4``, are truncated first.
      maxval: the same, but may be one more than the largest number, to include that.
      dtype: an integer dtype, by default int32 (int64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`; where ``minval >= maxval``, it holds `minval`.

    Raises:
      DTypeError: a bound is complex or a key.

    Example:
      >>> random.randint(random.key(0), (5,), 1, 7)
      Array([2, 1, 3, 2, 6], dtype=int32)
    """
    key, shape = one_key("randint", key)[0], sizes("randint", shape)
    dtype = int_dtype("randint", dtype)
    if dtypes.itemsize_bits(dtype) >= 32:
        low, high = _bound("minval", minval), _bound("maxval", maxval)
        return _randint(key, shape, spread(low, shape), spread(high, shape), dtype)
    # The limits of narrow types fit in int32, where nothing overflows.
    info = dtypes.iinfo(dtype)
    low, high = (convert(_bound("bound", x), np.dtype(np.int32)) for x in (minval, maxval))
    low, high = clamp(int(info.min), low, int(info.max)), clamp(int(info.min), high, info.max + 1)
    wide = _randint(key, shape, spread(low, shape), spread(high, shape), np.dtype(np.int32))
    return convert(wide, dtype)


def _bound(argument, x):
    x = operand("randint", x)
    if x.dtype == np.bool_ or dtypes.issubdtype(x.dtype, np.floating):
        return convert(x, dtypes.default_dtype(int))
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"randint: {argument} must be an integer, got dtype {dtypes.short_name(x.dtype)}.",
            fix="pass integers, e.g. `int(x)` or `x.astype(int)`.",
            anchor="dtype",
        )
    return x


def _randint(key, shape, low, high, dtype):
    """Return integers for bounds of any integer dtype."""
    bits = dtypes.itemsize_bits(dtype)
    word = np.dtype(f"u{bits // 8}")
    largest, info = int(dtypes.iinfo(dtype).max), dtypes.iinfo(high.dtype)
    includes_largest = high > min(max(largest, int(info.min)), int(info.max))
    low, high = _limited(low, dtype), _limited(high, dtype)
    is_range = high > low
    one = from_host(np.ones((), word))
    span = select_where(is_range, convert(high - low, word), one)
    span = select_where(includes_largest & is_range, span + 1, span)
    # high_bits * 2**bits + low_bits modulo the span, without a wider type.
    factor = rem(from_host(np.asarray(2 ** (bits // 2), word)), span)
    factor = rem(factor * factor, span)
    upper, lower = (keys_.raw_bits(k, shape, bits) for k in keys_.pair(key))
    offset = rem(rem(upper, span) * factor + rem(lower, span), span)
    return low + convert(offset, dtype)


def _limited(bound, dtype):
    """Return a bound in `dtype`, limited to what both dtypes can hold."""
    ours, given = dtypes.iinfo(dtype), dtypes.iinfo(bound.dtype)
    low, high = max(int(ours.min), int(given.min)), min(int(ours.max), int(given.max))
    return convert(clamp(low, bound, high), dtype)


def select_where(condition, on_true, on_false):
    """Select between operands each of which may be of rank 0."""
    shape = dims.broadcast_shapes(condition.shape, on_true.shape, on_false.shape)
    on_true, on_false = (broadcast_to(x, shape) for x in (on_true, on_false))
    return select(condition, on_true, on_false)


# ---------------------------------------------------------------- two values


@drawing
def bernoulli(
    key: Key,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw True with probability `p`.

    Args:
      key: one key.
      p: probabilities, floating; broadcast to `shape`.
      shape: of the result, by default that of `p`.
      mode: ``"low"`` uses as many random bits as the dtype of `p` has; ``"high"`` twice as many,
        for probabilities near 0.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      A boolean array.

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys, or `p` does not broadcast to `shape`.

    Example:
      >>> random.bernoulli(random.key(2), 0.25, (6,))
      Array([False, False,  True, False, False,  True], dtype=bool)
    """
    key, p = one_key("bernoulli", key)[0], operand("bernoulli", p)
    dtype = float_dtype("bernoulli", dtypes.to_inexact_dtype(p.dtype))
    whole = result_shape("bernoulli", shape, p)
    p = parameter("bernoulli", p, whole, dtype)
    if not is_high("bernoulli", mode):
        return unit(key, whole, dtype) < p
    coarse, fine = unstack_p.bind(unit(key, (2, *whole), dtype), axis=0)
    return fine * float(dtypes.finfo(dtype).eps) < p - coarse


@drawing
def rademacher(
    key: Key, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Draw -1 and 1 with equal probability.

    Args:
      key: one key.
      shape: of the result.
      dtype: by default int32 (int64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Example:
      >>> random.rademacher(random.key(0), (6,))
      Array([-1, -1,  1,  1, -1,  1], dtype=int32)
    """
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "rademacher")
    key, shape = one_key("rademacher", key)[0], sizes("rademacher", shape)
    return signs(key, shape, dtype)


def signs(key, shape, dtype):
    """Return -1 and 1 with equal probability."""
    is_positive = unit(key, shape, dtypes.default_dtype(float)) < 0.5
    return convert(is_positive, dtype) * 2 - 1


# ---------------------------------------------------------------- categories and counts


@drawing
def categorical(
    key: Key,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw indices with probabilities proportional to ``exp(logits)``.

    Args:
      key: one key.
      logits: floating array of unnormalised logarithms of probabilities.
      axis: of `logits`, along which an index is drawn.
      shape: of the result, by default that of `logits` without `axis`, which it must end with.
      replace: whether the same index may be drawn again.
      mode: of the random numbers, see `gumbel`.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An int32 array of `shape`.

    Raises:
      ShapeError: `shape` does not end with that of the logits without `axis`, or more different
        indices are asked for than there are.

    Source: the Gumbel-max trick.

    Example:
      >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
      >>> jnp.bincount(random.categorical(random.key(0), logits, shape=(1000,)))
      Array([ 92, 209, 699], dtype=int32)
    """
    key, logits = one_key("categorical", key)[0], operand("categorical", logits)
    logits = convert(logits, dtypes.to_inexact_dtype(logits.dtype))
    axis = canonical_axis("categorical", axis, logits.ndim)
    batch = (*logits.shape[:axis], *logits.shape[axis + 1 :])
    shape = batch if shape is None else sizes("categorical", shape)
    added = len(shape) - len(batch)
    if added < 0 or dims.broadcast_shapes(shape[added:], batch) != shape[added:]:
        raise errors.user_error(
            errors.ShapeError,
            f"categorical: shape {shape} must end with the shape of the logits without their "
            f"axis, {batch}.",
            fix="leave `shape` out, or put the number of draws in front of that shape.",
            anchor="shape-broadcast",
        )
    draws = shape[:added]
    if not replace:
        return _categorical_without_replacement(key, logits, axis, draws, mode)
    full = list(shape[added:])
    full.insert(axis, logits.shape[axis])
    noise = standard_gumbel(key, (*draws, *full), logits.dtype, mode)
    logits = expand_dims(logits, tuple(range(added)))
    return argmax(noise + spread(logits, noise.shape), axis=axis + added)


def _categorical_without_replacement(key, logits, axis, draws, mode):
    scores = logits + standard_gumbel(key, logits.shape, logits.dtype, mode)
    count = int(np.prod(draws))
    if count > logits.shape[axis]:
        raise errors.user_error(
            errors.ShapeError,
            f"categorical: cannot draw {count} different indices of {logits.shape[axis]}.",
            fix="draw fewer, or pass `replace=True`.",
            anchor="shape",
        )
    _, index = top_k(scores, count, axis=axis)
    index = moveaxis(index, axis, 0)
    return reshape(index, (*draws, *index.shape[1:]))


@drawing
def geometric(
    key: Key,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw the number of trials until the first success, each succeeding with probability `p`.

    Args:
      key: one key.
      p: probabilities in (0, 1]; broadcast to `shape`.
      shape: of the result, by default that of `p`.
      dtype: an integer dtype, by default int32 (int64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An integer array; all numbers are at least 1.

    Example:
      >>> random.geometric(random.key(0), 0.25, (5,))
      Array([1, 1, 4, 3, 2], dtype=int32)
    """
    dtype = int_dtype("geometric", dtype)
    p = operand("geometric", p)
    key, shape, _, p = start_with("geometric", key, shape, dtypes.to_inexact_dtype(p.dtype), p)
    u = unit(key, shape, p.dtype)
    u = select_where(u == 0, from_host(np.ones((), u.dtype)), u)
    return convert(floor(log(u) / log1p(-p)) + 1, dtype)
