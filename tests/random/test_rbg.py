"""The generators ``rbg`` and ``unsafe_rbg``: their keys, the kernels under them, both engines."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax, random
from evertrace._src.ops import philox
from evertrace.errors import DTypeError, ShapeError

IMPLS = ("rbg", "unsafe_rbg")
both = pytest.mark.parametrize("impl", IMPLS)


def words(keys):
    """Return the words of keys as an ndarray."""
    return np.asarray(random.key_data(keys))


# ---------------------------------------------------------------- the kernel


def philox_by_the_paper(counter, key):
    """Encrypt one block of four words with Python's integers, round by round."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 % 2**32, (p0 >> 32) ^ c3 ^ k1, p0 % 2**32
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def test_known_answers_of_philox():
    """The vectors of the Random123 library for zeros and for ones."""
    zeros = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox_by_the_paper((0,) * 4, (0,) * 2) == zeros
    assert philox_by_the_paper((2**32 - 1,) * 4, (2**32 - 1,) * 2) == ones
    np.testing.assert_array_equal(philox.words(0, 0, 4), np.array(zeros, np.uint32))
    last = philox.words(2**64 - 1, 2**64 - 1, 4)
    np.testing.assert_array_equal(last, np.array(ones, np.uint32))


@pytest.mark.parametrize("start", [0, 2**32 - 2, 2**64 - 2])
def test_the_counter_carries_into_the_key(start):
    key, count = 2**40 + 5, 18
    expected = []
    for i in range(start, start + 5):
        number = (key << 64) + i
        counter = [number >> 32 * j & 0xFFFFFFFF for j in range(4)]
        expected += philox_by_the_paper(counter, (key % 2**32, key >> 32))
    found = philox.words(key, start, count)
    np.testing.assert_array_equal(found, np.array(expected[:count], np.uint32))


def test_large_draws_are_made_of_the_same_blocks():
    whole = philox.words(7, 3, 6 * philox.PIECE)
    np.testing.assert_array_equal(whole[-8:], philox.words(7, 3 + len(whole) // 4 - 2, 8))


# ---------------------------------------------------------------- keys

NUMBERS = {
    "rbg": {
        "split": [[3625411723, 1954958720] * 2, [195045567, 4062205631] * 2],
        "fold_in": [3583082021, 1947592014] * 2,
    },
    "unsafe_rbg": {
        "split": [
            [3109483441, 1367189518, 2515982561, 3310080778],
            [3848958661, 3271070264, 2639373597, 23941900],
        ],
        "fold_in": [3810769997, 2355009018, 1837142617, 748193193],
    },
}
"""What JAX 0.10.2 makes of ``key(7)`` on the CPU; tests/oracle has many more."""


@both
def test_keys_are_those_of_jax(impl):
    key = random.key(7, impl=impl)
    np.testing.assert_array_equal(words(key), [0, 7, 0, 7])
    np.testing.assert_array_equal(words(random.split(key)), NUMBERS[impl]["split"])
    np.testing.assert_array_equal(words(random.fold_in(key, 5)), NUMBERS[impl]["fold_in"])


@both
def test_a_default_generator_makes_raw_keys_of_its_own(impl):
    with ev.default_prng_impl(impl):
        raw = random.PRNGKey(7)
        assert raw.shape == (4,)
        assert random.key_impl(raw) == impl
        assert random.key_dtype() == random.key(7).dtype == random.key_dtype(impl)
        np.testing.assert_array_equal(random.split(raw), NUMBERS[impl]["split"])
        np.testing.assert_array_equal(random.bits(raw, (3,)), random.bits(random.key(7), (3,)))


def draws(key):
    """Return what a key gives, of all kinds and sizes."""
    return [
        *(random.bits(key, (7,), f"uint{width}") for width in (8, 16)),
        *(random.bits(key, shape) for shape in ((0,), (3, 3))),
        *(random.key_data(random.split(key, n)) for n in (0, 3, (2, 2))),
        random.key_data(random.fold_in(key, 9)),
        random.key_data(random.key(random.bits(key), impl=key.dtype.impl)),
        random.uniform(key, (5,)),
    ]


@both
@pytest.mark.parametrize(("partitionable", "x64"), [(True, True), (False, False)])
@pytest.mark.engine
def test_engines_agree_on_every_bit(impl, partitionable, x64):
    with ev.threefry_partitionable(partitionable), ev.enable_x64(x64):
        key = random.key(42, impl=impl)
        for found, expected in zip(ev.jit(draws)(key), draws(key), strict=True):
            np.testing.assert_array_equal(found, expected)


@both
@pytest.mark.engine
def test_many_keys_draw_as_one(impl):
    keys = random.split(random.key(1, impl=impl), 3)
    one = np.asarray(random.bits(keys[0], (3, 4)))
    np.testing.assert_array_equal(ev.vmap(lambda k: random.bits(k, (4,)))(keys), one)
    np.testing.assert_array_equal(ev.jit(ev.vmap(lambda k: random.bits(k, (4,))))(keys), one)
    assert ev.vmap(lambda k: random.bits(k, (4,)))(keys[:0]).shape == (0, 4)


def test_splitting_many_rbg_keys_splits_each():
    keys = random.split(random.key(1, impl="rbg"), 3)
    made = ev.vmap(random.split)(keys)
    np.testing.assert_array_equal(words(made), [words(random.split(k)) for k in keys])


# ---------------------------------------------------------------- the generator of lax

STATE = np.array([1, 2, 3, 4], np.uint32)


def test_the_state_moves_on_by_blocks():
    state, bits = lax.rng_bit_generator(STATE, (15,))
    np.testing.assert_array_equal(state, [1, 2, 7, 4])
    rest = lax.rng_bit_generator(STATE, (23,))[1][16:]
    np.testing.assert_array_equal(lax.rng_bit_generator(state, (7,))[1], rest)
    assert bits.dtype == np.uint32


def test_a_batch_draws_from_its_first_state():
    states, bits = ev.vmap(lambda k: lax.rng_bit_generator(k, (3,)))(np.stack([STATE, STATE + 9]))
    after, flat = lax.rng_bit_generator(STATE, (2, 3))
    np.testing.assert_array_equal(bits, flat)
    np.testing.assert_array_equal(states, [np.asarray(after), STATE + 9])


WRONG = {
    "few words": (lambda: lax.rng_bit_generator(STATE[:3], ()), ShapeError, r"uint32\[4\]"),
    "signed": (lambda: lax.rng_bit_generator(STATE.astype("i4"), ()), DTypeError, r"i32\[4\]"),
    "floats": (lambda: lax.rng_bit_generator(STATE, (), "float32"), DTypeError, "unsigned"),
    "size": (lambda: lax.rng_bit_generator(STATE, (-1,)), ShapeError, "negative"),
    "words": (lambda: random.wrap_key_data(STATE[:2], impl="rbg"), ShapeError, r"\(4,\)"),
    "mixed": (
        lambda: ev.numpy.stack([random.key(0), random.key(0, impl="rbg")]), TypeError, "key<rbg>",
    ),
    "empty": (
        lambda: ev.vmap(lambda k: lax.rng_bit_generator(k, ()))(np.zeros((0, 4), np.uint32)),
        ShapeError, "no keys",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name):
    wrong, cls, message = WRONG[name]
    with pytest.raises(cls, match=message):
        wrong()
