"""Keys of the generators ``rbg`` and ``unsafe_rbg``, which draw bits with XLA's own generator.

A key is four words, which are a state of `bit_generator`. It is made of two threefry keys, equal
ones at first; under ``rbg`` each of them is split and folded into as such, under ``unsafe_rbg`` new
keys are drawn like any bits, which is quick and of no proven quality. Many keys draw as one: all
bits come from the first of them, as in JAX.

The functions are those of `threefry` for keys ``[n, 4]``.
"""

import numpy as np

from evertrace._src.ops import threefry
from evertrace._src.ops.bit_generator import generate

STRIDE = 10
"""Of the keys that ``unsafe_rbg`` draws, the part that it uses."""


def _draw(keys, shape, dtype):
    """Return bits ``[n, *shape]`` from the first key."""
    shape = (len(keys), *shape)
    return generate(keys[0], shape, np.dtype(dtype))[1] if len(keys) else np.empty(shape, dtype)


def random_bits(keys, count, bit_width, partitionable):
    """Return random bits of each key, ``[n, count]``."""
    return _draw(keys, (count,), f"u{bit_width // 8}")


def seed(seeds):
    """Return the keys ``[..., 4]`` of integers: those of threefry, twice."""
    return np.concatenate([threefry.seed(seeds)] * 2, axis=-1)


def split(keys, num, partitionable):
    """Return `num` new keys of each key, ``[n, num, 4]``."""
    n = len(keys)
    halves = threefry.split(keys.reshape(2 * n, 2), num, partitionable)
    return halves.reshape(n, 2, num, 2).swapaxes(1, 2).reshape(n, num, 4)


def fold_in(keys, data):
    """Return one key for each key and each uint32 number."""
    return threefry.fold_in(keys.reshape(-1, 2), np.repeat(data, 2)).reshape(-1, 4)


def unsafe_split(keys, num, partitionable):
    """Return `num` new keys of each key, drawn from the first."""
    return _draw(keys, (STRIDE * num, 4), np.uint32)[:, ::STRIDE]


def unsafe_fold_in(keys, data):
    """Return each key, changed in the bits that are drawn from the first number as a seed."""
    return keys ^ _draw(seed(data), (STRIDE, 4), np.uint32)[:, -1]
