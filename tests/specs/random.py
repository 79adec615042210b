"""Rows for keys and bits: agreement of engines and batching; values are tested against JAX."""

import numpy as np

from evertrace._src.lax.bit_generator import rng_bit_generator
from evertrace._src.ops import random as ops
from evertrace._src.ops.bit_generator import RandomAlgorithm, rng_bit_generator_p
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


def state(rng, dtype):
    """Draw the words of one key of four words."""
    return rng.integers(0, 2**32, (4,), np.uint32)


def _key(words, impl="threefry2x32"):
    return ops.random_wrap_p.bind(words, impl=impl)


def _words(key):
    return ops.random_unwrap_p.bind(key)


def _seed(seeds, impl):
    return _words(ops.random_seed_p.bind(seeds, impl=impl))


def _split(words, impl, **params):
    return _words(ops.random_split_p.bind(_key(words, impl), impl=impl, **params))


def _fold_in(words, data, impl):
    return _words(ops.random_fold_in_p.bind(_key(words, impl), data, impl=impl))


def _clone(words):
    return _words(ops.random_clone_p.bind(_key(words)))


def _bits(words, impl, **params):
    return ops.random_bits_p.bind(_key(words, impl), impl=impl, **params)


def _row(name, prims, fun, cases, dtypes=("uint32",), **options):
    return OpSpec(name, prims, fun, None, cases, dtypes=dtypes, ulps=0, grads=(), **options)


STREAMS = (True, False)
FRY = "threefry2x32"
# Where many keys draw from the first, vmap is no loop: `test_rbg.py` has what it is.
RBG = (("rbg", True), ("unsafe_rbg", False))
SPECS = [
    _row(
        "random_seed",
        [ops.random_seed_p],
        _seed,
        [case(shape, impl=impl) for impl in ops.GENERATORS for shape in ((), (3,))],
        ("int32", "uint8"),
    ),
    _row(
        "random_split",
        [ops.random_split_p, ops.random_wrap_p, ops.random_unwrap_p],
        _split,
        [
            case(key_words, shape=s, impl=FRY, partitionable=p)
            for p in STREAMS
            for s in ((3,), (2, 2))
        ],
    ),
    *(
        _row(
            f"random_split_{impl}",
            [],
            _split,
            [
                case(state, shape=s, impl=impl, partitionable=p)
                for p in STREAMS
                for s in ((3,), (2, 2), (0,))
            ],
            vmap=is_loop,
        )
        for impl, is_loop in RBG
    ),
    _row("random_fold_in", [ops.random_fold_in_p], _fold_in, [case(key_words, number, impl=FRY)]),
    *(
        _row(f"random_fold_in_{i}", [], _fold_in, [case(state, number, impl=i)], vmap=is_loop)
        for i, is_loop in RBG
    ),
    _row("random_clone", [ops.random_clone_p], _clone, [case(key_words)]),
    _row(
        "random_bits",
        [ops.random_bits_p],
        _bits,
        [
            case(key_words, bit_width=width, shape=(3,), impl=FRY, partitionable=p)
            for p in STREAMS
            for width in (8, 16, 32)
        ],
    ),
    _row(
        "random_bits_rbg",
        [],
        _bits,
        [
            case(state, bit_width=width, shape=shape, impl="rbg", partitionable=True)
            for width in (8, 16, 32)
            for shape in ((), (0,), (3,), (5, 3))
        ],
        vmap=False,
    ),
    _row(
        "rng_bit_generator",
        [rng_bit_generator_p],
        rng_bit_generator,
        [
            case(state, shape=shape, dtype=f"uint{width}", algorithm=algorithm)
            for algorithm in RandomAlgorithm
            for shape, width in (((), 32), ((7,), 16), ((3, 5), 32), ((4, 3, 3), 8), ((5, 1), 32))
        ],
        vmap=False,
    ),
    _row(
        "threefry2x32",
        [ops.threefry2x32_p],
        ops.threefry2x32_p.bind,
        [case(block, block, block, block)],
    ),
]
