"""Keys: their two kinds, how they move through arrays and transformations, and their errors."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as enp
from evertrace import lax, random
from evertrace.errors import DTypeError, ShapeError


def words(keys):
    """Return the words of keys as an ndarray."""
    return np.asarray(random.key_data(keys))


KEY = random.key(0)
KEYS = random.split(KEY, 4)
WORDS = words(KEYS)


def test_a_key_looks_like_a_scalar():
    assert repr(KEY) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert (KEY.shape, KEY.ndim, KEY.size, str(KEY.dtype)) == ((), 0, 1, "key<fry>")
    assert KEYS.shape == (4,)
    assert ev.dtypes.issubdtype(KEY.dtype, ev.dtypes.prng_key)


def test_raw_and_typed_keys_are_the_same_words():
    raw = random.PRNGKey(7)
    typed = random.key(7)
    assert raw.dtype == np.uint32
    np.testing.assert_array_equal(raw, words(typed))
    np.testing.assert_array_equal(words(random.wrap_key_data(raw)), raw)
    np.testing.assert_array_equal(random.split(raw), words(random.split(typed)))
    np.testing.assert_array_equal(random.fold_in(raw, 3), words(random.fold_in(typed, 3)))
    np.testing.assert_array_equal(random.normal(raw, (3,)), random.normal(typed, (3,)))
    np.testing.assert_array_equal(random.clone(raw), raw)
    assert random.key_impl(raw) == random.key_impl(typed) == "threefry2x32"
    assert random.key_dtype() == typed.dtype
    assert random.key(7, dtype=typed.dtype).dtype == typed.dtype


@pytest.mark.parametrize("draw", [random.split, random.bits, random.normal])
@pytest.mark.parametrize("key", [KEY, random.PRNGKey(0)], ids=["typed", "raw"])
def test_a_traced_key_gives_the_same(draw, key):
    np.testing.assert_allclose(*map(_as_numbers, (draw(key), ev.jit(draw)(key))), rtol=1e-6)


def _as_numbers(x):
    is_key = ev.dtypes.issubdtype(x.dtype, ev.dtypes.prng_key)
    return words(x) if is_key else np.asarray(x)


def test_jaxprs_print_as_those_of_jax():
    printed = str(ev.make_jaxpr(lambda k: random.bits(random.fold_in(random.split(k)[1], 3)))(KEY))
    assert "b:key<fry>[2] = random_split[shape=(2,)] a" in printed
    assert "e:key<fry>[] = random_fold_in d 3:u32[]" in printed
    assert "f:u32[] = random_bits[bit_width=32 shape=()] e" in printed
    assert "random_seed[impl=fry] a" in str(ev.make_jaxpr(random.key)(3))


MOVES = {
    "index": (lambda k: k[1], lambda w: w[1]),
    "last": (lambda k: k[-1], lambda w: w[-1]),
    "slice": (lambda k: k[1:3], lambda w: w[1:3]),
    "strided": (lambda k: k[::-2], lambda w: w[::-2]),
    "array index": (lambda k: k[np.array([0, 3])], lambda w: w[[0, 3]]),
    "reshape": (lambda k: k.reshape(2, 2), lambda w: w.reshape(2, 2, 2)),
    "transpose": (lambda k: k.reshape(2, 2).T, lambda w: w.reshape(2, 2, 2).swapaxes(0, 1)),
    "broadcast": (lambda k: enp.broadcast_to(k, (3, 4)), lambda w: np.broadcast_to(w, (3, 4, 2))),
    "concatenate": (lambda k: enp.concatenate([k, k]), lambda w: np.concatenate([w, w])),
    "stack": (lambda k: enp.stack([k[0], k[2]]), lambda w: w[[0, 2]]),
    "expand": (lambda k: k[None, :, None], lambda w: w[None, :, None]),
    "choose": (
        lambda k: enp.where(np.array([True, False, True, False]), k, k[::-1]),
        lambda w: np.where(np.array([1, 0, 1, 0], bool)[:, None], w, w[::-1]),
    ),
    "set": (lambda k: k.at[1].set(k[0]), lambda w: w[[0, 0, 2, 3]]),
    "loop": (lambda k: enp.stack(list(k)), lambda w: w),
    "scan": (lambda k: lax.scan(lambda c, x: (x, c), k[0], k)[1], lambda w: w[[0, 0, 1, 2]]),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("how", ["eager", pytest.param("jit", marks=pytest.mark.engine)])
def test_keys_move_like_elements(name, how):
    move, expected = MOVES[name]
    moved = (ev.jit(move) if how == "jit" else move)(KEYS)
    np.testing.assert_array_equal(words(moved), expected(WORDS))


@pytest.mark.engine
def test_traced_index_and_loops():
    np.testing.assert_array_equal(words(ev.jit(lambda k, i: k[i])(KEYS, 2)), WORDS[2])

    def folded(k, n):
        return lax.fori_loop(0, n, lambda i, key: random.fold_in(key, i), k)

    expected = random.fold_in(random.fold_in(KEY, 0), 1)
    np.testing.assert_array_equal(words(ev.jit(folded)(KEY, 2)), words(expected))


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("how", ["eager", pytest.param("jit", marks=pytest.mark.engine)])
def test_vmap_over_keys_is_a_loop_over_keys(partitionable, how):
    def draws(key):
        return (
            random.bits(key, (3,)),
            random.bits(key, (5,), "uint8"),
            random.key_data(random.split(key)),
            random.key_data(random.fold_in(key, 5)),
        )

    with ev.threefry_partitionable(partitionable):
        batched = ev.vmap(draws)
        found = (ev.jit(batched) if how == "jit" else batched)(KEYS)
        looped = zip(*[draws(key) for key in KEYS], strict=True)
        for actual, expected in zip(found, looped, strict=True):
            np.testing.assert_array_equal(actual, np.stack([np.asarray(x) for x in expected]))


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.engine
def test_engines_agree_on_every_bit(partitionable):
    def draws(key):
        shapes = [(), (0,), (1,), (7,), (3, 3), (2, 32)]
        bits = [random.bits(key, s, f"uint{w}") for w in (8, 16, 32) for s in shapes]
        keys = [random.key_data(random.split(key, n)) for n in (0, 1, 3, (2, 2))]
        return [*bits, *keys, random.key_data(random.key(random.bits(key)))]

    with ev.threefry_partitionable(partitionable):
        for actual, expected in zip(ev.jit(draws)(KEY), draws(KEY), strict=True):
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.engine
def test_engines_agree_on_64_bits(partitionable):
    def draws(seed):
        key = random.key(seed)
        return random.key_data(key), random.bits(key, (3,)), random.bits(key, (4,))

    with ev.threefry_partitionable(partitionable), ev.enable_x64(True):
        for actual, expected in zip(ev.jit(draws)(-(2**40)), draws(-(2**40)), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_a_large_draw_is_made_of_the_same_blocks():
    whole = np.asarray(random.bits(KEY, (30_000,)))
    np.testing.assert_array_equal(whole[:11], random.bits(KEY, (11,)))


def test_vmap_over_seeds_and_numbers():
    seeds = ev.vmap(random.key)(np.arange(3))
    np.testing.assert_array_equal(words(seeds), [[0, 0], [0, 1], [0, 2]])
    folded = ev.vmap(random.fold_in, in_axes=(None, 0))(KEY, np.arange(3))
    np.testing.assert_array_equal(words(folded), [words(random.fold_in(KEY, i)) for i in range(3)])


def test_keys_are_compared():
    first = np.arange(4) == 0
    np.testing.assert_array_equal(KEYS[0] == KEYS, first)
    np.testing.assert_array_equal(ev.jit(lambda k, ks: k != ks)(KEYS[0], KEYS), ~first)
    np.testing.assert_array_equal(ev.vmap(lambda k: k == KEYS[0])(KEYS), first)
    np.testing.assert_array_equal(KEYS[None] == KEYS[:, None], np.eye(4, dtype=bool))
    np.testing.assert_array_equal(ev.lax.eq(KEYS, KEYS[0]), first)
    np.testing.assert_array_equal(ev.lax.ne(KEYS, KEYS[0]), ~first)


ERRORS = {
    "add": (lambda: KEY + 1, DTypeError, "key<fry>"),
    "sum": (lambda: KEYS.sum(), DTypeError, "keys are no numbers"),
    "sort": (lambda: enp.sort(KEYS), DTypeError, "keys are no numbers"),
    "sin": (lambda: enp.sin(KEY), DTypeError, "key<fry>"),
    "no key": (lambda: random.normal(3.0), TypeError, "normal: the key must be an array"),
    "floats": (lambda: random.split(enp.ones(2)), DTypeError, r"f32\[2\]"),
    "many": (lambda: random.normal(KEYS), ShapeError, "takes a single key"),
    "raw shape": (lambda: random.wrap_key_data(np.zeros(3, np.uint32)), ShapeError, r"\(2,\)"),
    "seed dtype": (lambda: random.key(1.5), DTypeError, "must be an integer"),
    "seed shape": (lambda: random.key(np.arange(3)), ShapeError, "must be a scalar"),
    "seed size": (lambda: random.key(2**70), OverflowError, "too large"),
    "number": (lambda: random.fold_in(KEY, -1), OverflowError, "too large"),
    "impl": (lambda: random.key(0, impl="mersenne"), ValueError, "mersenne"),
    "bits": (lambda: random.bits(KEY, dtype="int8"), ValueError, "unsigned"),
    "uniform": (lambda: random.uniform(KEY, dtype="int32"), DTypeError, "floating"),
    "size": (lambda: random.normal(KEY, (-1,)), ShapeError, "negative"),
    "shape": (lambda: random.uniform(KEY, (2,), minval=np.ones(3)), ShapeError, r"\(3,\)"),
    "randint": (lambda: random.randint(KEY, (), 0.5j, 2), DTypeError, "minval must be an integer"),
    "order": (lambda: KEY < KEY, DTypeError, "lt: random keys are no numbers"),
    "other generator": (lambda: random.key(0, impl="rbg") == KEY, DTypeError, "no common dtype"),
    "choice": (lambda: random.choice(KEY, 3, (5,), replace=False), ValueError, "5 different"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_is_wrong(name):
    wrong, cls, message = ERRORS[name]
    with pytest.raises(cls, match=message):
        wrong()
