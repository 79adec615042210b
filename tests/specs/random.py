"""Rows for keys and bits: agreement of engines and batching; values are tested against JAX."""

import numpy as np

from evertrace._src.ops import random as ops
from tests.specs.opspec import OpSpec, case


def key_words(rng, dtype):
    """Draw the words of one key."""
    return rng.integers(0, 2**32, (2,), np.uint32)


def number(rng, dtype):
    """Draw what is folded into one key."""
    return rng.integers(0, 2**32, (), np.uint32)


def block(rng, dtype):
    """Draw words to encrypt."""
    return rng.integers(0, 2**32, (3,), np.uint32)


def _key(words):
    return ops.random_wrap_p.bind(words, impl="threefry2x32")


def _words(key):
    return ops.random_unwrap_p.bind(key)


def _seed(seeds):
    return _words(ops.random_seed_p.bind(seeds, impl="threefry2x32"))


def _split(words, **params):
    return _words(ops.random_split_p.bind(_key(words), **params))


def _fold_in(words, data):
    return _words(ops.random_fold_in_p.bind(_key(words), data))


def _clone(words):
    return _words(ops.random_clone_p.bind(_key(words)))


def _bits(words, **params):
    return ops.random_bits_p.bind(_key(words), **params)


def _row(name, prims, fun, cases, dtypes=("uint32",)):
    return OpSpec(name, prims, fun, None, cases, dtypes=dtypes, ulps=0, grads=())


STREAMS = (True, False)
SPECS = [
    _row("random_seed", [ops.random_seed_p], _seed, [case(()), case((3,))], ("int32", "uint8")),
    _row(
        "random_split",
        [ops.random_split_p, ops.random_wrap_p, ops.random_unwrap_p],
        _split,
        [case(key_words, shape=s, partitionable=p) for p in STREAMS for s in ((3,), (2, 2))],
    ),
    _row("random_fold_in", [ops.random_fold_in_p], _fold_in, [case(key_words, number)]),
    _row("random_clone", [ops.random_clone_p], _clone, [case(key_words)]),
    _row(
        "random_bits",
        [ops.random_bits_p],
        _bits,
        [
            case(key_words, bit_width=width, shape=(3,), partitionable=p)
            for p in STREAMS
            for width in (8, 16, 32)
        ],
    ),
    _row(
        "threefry2x32",
        [ops.threefry2x32_p],
        ops.threefry2x32_p.bind,
        [case(block, block, block, block)],
    ),
]
