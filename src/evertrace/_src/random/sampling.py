"""Permutations, and draws from the elements of an array.

A permutation is the order in which random numbers sort. As some of them may be equal, arrays of
many elements are sorted several times, until the bias is negligible.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Key, Shape
from evertrace._src.lax.branches import cond
from evertrace._src.lax.functions import log
from evertrace._src.lax.sort import sort_key_val, top_k
from evertrace._src.numpy.arguments import canonical_axis, static_int
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.indexing import take
from evertrace._src.numpy.search import searchsorted
from evertrace._src.ops.creation import iota
from evertrace._src.ops.sizes import dim_as_value
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import reshape, squeeze
from evertrace._src.random import keys as keys_
from evertrace._src.random.arguments import drawing, one_key, operand, sizes
from evertrace._src.random.continuous import standard_gumbel, unit
from evertrace._src.random.discrete import randint

LARGEST_WORD = 2**32 - 1


@drawing
def permutation(
    key: Key,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Array:
    """Return the elements of `x` in random order.

    Args:
      key: one key.
      x: an array, or an integer that stands for ``arange(x)``.
      axis: along which the elements are permuted.
      independent: whether each vector along `axis` is permuted by itself; otherwise they are moved
        around as a whole.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of the shape and dtype of `x`.

    Raises:
      TypeError: `key` is no random key.
      ShapeError: it is an array of keys; `vmap` draws with each.

    Example:
      >>> random.permutation(random.key(2), jnp.array([10, 20, 30, 40]))
      Array([30, 20, 40, 10], dtype=int32)
    """
    key = one_key("permutation", key)[0]
    x, is_count = _population("permutation", x)
    if is_count:
        return _shuffle(key, iota(dtypes.default_dtype(int), (x,)), 0)
    axis = canonical_axis("permutation", axis, x.ndim)
    if independent or x.ndim == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, iota(dtypes.default_dtype(int), (x.shape[axis],)), 0)
    return take(x, order, axis, mode="clip")


def _population(name, x) -> tuple[Any, bool]:
    """Return (count, True) for an integer argument, else (array, False)."""
    x = dims.bare(x)
    if dims.is_dim(x):
        return x, True
    if isinstance(x, int | np.integer) or getattr(x, "shape", None) == ():
        return static_int(name, "x", x), True
    return operand(name, x), False


def _shuffle(key, x, axis):
    """Return the elements along one axis in random order, for each vector of its own."""
    size, rounds = x.size, _rounds(dims.most_of(x.size))
    for i in range(rounds):
        key, used = keys_.pair(key)

        def shuffled(x, used=used):
            return sort_key_val(keys_.raw_bits(used, x.shape, 32), x, axis)[1]

        if not dims.is_dim(size) or i < _rounds(max(2, dims.least_of(size))):
            x = shuffled(x)
        else:  # for sizes that need so many
            most = math.floor(LARGEST_WORD ** (i / 3))
            x = cond(dim_as_value(size) > most, shuffled, lambda x: x, x)
    return x


def _rounds(size):
    """Return how often random bits are drawn to order so many elements.

    Each round has 32 random bits per element; three times those of the size are plenty.
    """
    return math.ceil(3 * math.log(max(1, size)) / math.log(LARGEST_WORD))


@drawing
def choice(
    key: Key,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Draw elements of an array.

    Args:
      key: one key.
      a: an array, or an integer that stands for ``arange(a)``.
      shape: of the draws, which takes the place of `axis` in the result.
      replace: whether the same element may be drawn again.
      p: probabilities of the elements along `axis`, which add up to 1; by default all are equal.
      axis: of `a`.
      mode: of the random numbers with `p` and without replacement, see `gumbel`.

    Returns:
      An array of the dtype of `a`.

    Raises:
      ValueError: more draws without replacement than there are elements, or draws from none.
      ShapeError: `p` has not one probability per element.

    Source: with `p`, the inverse distribution function with replacement, and the Gumbel-top-k
    trick without.

    Example:
      >>> random.choice(random.key(2), jnp.array([10, 20, 30]), (2,), replace=False)
      Array([30, 20], dtype=int32)
      >>> random.choice(random.key(0), 2, (8,), p=jnp.array([0.1, 0.9]))
      Array([0, 0, 1, 1, 1, 1, 1, 1], dtype=int32)
    """
    key, shape = one_key("choice", key)[0], sizes("choice", shape)
    a, is_count = _population("choice", a)
    axis = 0 if is_count else canonical_axis("choice", axis, a.ndim)
    n = a if is_count else a.shape[axis]
    draws = math.prod(shape)
    _check_draws(n, draws, replace)
    if p is None and not replace:
        taken = slice_in_dim(permutation(key, a, axis), 0, draws, axis)
        return reshape(taken, (*taken.shape[:axis], *shape, *taken.shape[axis + 1 :]))
    if p is None:
        index = randint(key, shape, 0, n)
    else:
        index = _weighted_indices(key, n, shape, draws, replace, p, mode)
    return index if is_count else take(a, index, axis, mode="clip")


def _check_draws(n, draws, replace):
    if (draws and not n) or (not replace and draws > n):
        what = "of nothing" if not n else f"different ones of {n} elements"
        raise errors.user_error(
            ValueError,
            f"choice: cannot draw {draws} {what}.",
            fix="draw from more elements, draw fewer, or pass `replace=True`.",
        )


def _weighted_indices(key, n, shape, draws, replace, p, mode):
    p = operand("choice", p)
    if p.shape != (n,):
        raise errors.user_error(
            errors.ShapeError,
            f"choice: p has shape {p.shape}, but there are {n} elements to draw from.",
            fix="give one probability per element along `axis`.",
            anchor="shape",
        )
    p = operand("choice", p, dtypes.to_inexact_dtype(p.dtype))
    if not replace:
        _, index = top_k(standard_gumbel(key, (n,), p.dtype, mode) + log(p), draws)
        return reshape(index, shape)
    cumulated = cumsum(p)
    total = squeeze(slice_in_dim(cumulated, n - 1, n, 0), (0,))
    level = total * (1 - unit(key, shape, p.dtype))
    return searchsorted(cumulated, level)
