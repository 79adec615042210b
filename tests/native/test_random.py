"""Random words by the kernel and by plans against the Python path, which says what they mean."""

import functools
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace._src import config, errors, extension, kernels, native
from evertrace._src.engines.eager import planner
from evertrace._src.ops import threefry
from tests.support.closeness import assert_same

pytestmark = pytest.mark.usefixtures("needs_native")

KEYS = np.random.default_rng(0).integers(0, 2**32, (3, 2), np.uint32)
PIECE = 1 << 15


@pytest.mark.parametrize("count", [0, 1, 7, PIECE - 1, PIECE, 2 * PIECE + 5])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_bits_are_those_of_the_python_path(count, width):
    got = threefry.random_bits(KEYS, count, width, True)
    with config.override(native_kernels=False):
        want = threefry.random_bits(KEYS, count, width, True)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1], np.tile(KEYS, (30_000, 1))[::2]])
def test_keys_are_those_of_the_python_path(keys):
    with config.override(native_kernels=False):
        want = threefry.split(keys, 2, True)
    np.testing.assert_array_equal(threefry.split(keys, 2, True), want)


WRONG = [
    (KEYS[0], np.zeros((3, 4), "u4")),
    (KEYS, np.zeros((2, 4), "u4")),
    (KEYS, np.zeros((3, 4), "i4")),
    (KEYS, np.zeros((3, 4, 3), "u4")),
    (KEYS, np.zeros((3, 4, 2), "u8")),
    (KEYS, np.zeros(3, "u4")),
]


@pytest.mark.parametrize(("keys", "out"), WRONG)
def test_wrong_arrays_raise(keys, out):
    with pytest.raises(ValueError, match="random_words"):
        kernels.random_words(keys, out)


# ---------------------------------------------------------------- plans

DRAWS = [
    (random.bits, ((5,),), 0), (random.bits, ((), "uint8"), 0), (random.bits, ((0,),), 0),
    (random.bits, ((3, 2), "uint16"), 0), (random.uniform, ((7,),), 0),
    (random.uniform, ((7,), "float16"), 0), (random.uniform, ((7,), None, -2.0, 3), 0),
    (random.normal, ((100,),), 8), (random.truncated_normal, (-1.0, 2.0, (9,)), 8),
    (random.exponential, ((9,),), 4), (random.gumbel, ((9,),), 4), (random.laplace, ((9,),), 4),
    (random.logistic, ((9,),), 4), (random.cauchy, ((9,),), 16), (random.bernoulli, (0.3, (9,)), 0),
    (random.randint, ((9,), -3, 40), 0), (random.rademacher, ((9,),), 0),
]  # fmt: skip


@pytest.mark.parametrize("make", [random.PRNGKey, random.key])
@pytest.mark.parametrize(("draw", "args", "ulps"), DRAWS)
def test_planned_draws(make, draw, args, ulps):
    draw._forget_plans()
    for seed in (0, 7, 2**31):
        got = draw(make(seed), *args)
        with config.override(native_kernels=False):
            want = draw(make(seed), *args)
        assert got.aval is want.aval
        assert_same(np.asarray(got), np.asarray(want), ulps)
    assert draw._num_plans() == 1


# Calls with each number of plans that they come to.
OF_KEYS = [
    (random.split, [(), (2,), (3,), ((2, 3),), (0,), ((),)], 6),
    (random.fold_in, [(0,), (5,), (2**32 - 1,)], 1),
    (random.fold_in, [(jnp.uint32(7),), (jnp.int32(-1),), (2.5,)], 3),
    (random.clone, [()], 1),
    (random.key_data, [()], 1),
]


@pytest.mark.parametrize("make", [random.PRNGKey, random.key])
@pytest.mark.parametrize(("function", "calls", "plans"), OF_KEYS)
def test_planned_functions_of_keys(make, function, calls, plans):
    function._forget_plans()
    for args in calls:
        for seed in (0, 7, 2**31):
            got = function(make(seed), *args)
            with config.override(native_kernels=False):
                want = function(make(seed), *args)
            assert got.aval is want.aval
            np.testing.assert_array_equal(got._contents(), want._contents())
    assert function._num_plans() == plans


def test_planned_keys_of_words():
    random.wrap_key_data._forget_plans()
    for words in (jnp.array([1, 2], "uint32"), jnp.arange(6, dtype="uint32").reshape(3, 2)):
        for _ in range(2):
            keys = random.wrap_key_data(words)
            assert keys.shape == words.shape[:-1]
            assert keys.dtype == random.key_dtype()
            np.testing.assert_array_equal(random.key_data(keys), words)
    assert random.wrap_key_data._num_plans() == 2


def test_numbers_that_do_not_fit_are_refused_each_time():
    key = random.key(0)
    assert random.fold_in(key, 3).shape == ()
    for number in (-1, 2**32, 2**70):
        with pytest.raises(OverflowError):
            random.fold_in(key, number)
    with pytest.raises(errors.ShapeError, match="the number must be a scalar"):
        random.fold_in(key, jnp.zeros(2, "uint32"))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_of_other_generators(impl):
    for _ in range(2):
        keys = random.split(random.key(3, impl=impl), 4)
        assert random.key_data(keys).shape == (4, 4)
        np.testing.assert_array_equal(random.key_data(keys)[2], random.key_data(keys[2]))
        assert random.fold_in(keys[0], 3).dtype == keys.dtype
        assert [random.key_impl(key) for key in keys] == [impl] * 4


def python_path(function, *args):
    """Return what the Python path makes of arguments."""
    with config.override(native_kernels=False):
        return function(*args)


INDICES = [0, -1, slice(1, 3), (1, 2), (slice(None), 1), (..., slice(None, None, -1)), (None, 0)]


@pytest.mark.parametrize("index", INDICES)
def test_parts_of_arrays_of_keys(index):
    keys = random.split(random.key(1), (4, 3))
    for _ in range(2):
        got, want = keys[index], python_path(lambda: keys[index])
        assert got.aval is want.aval
        np.testing.assert_array_equal(random.key_data(got), random.key_data(want))


def test_keys_one_by_one():
    keys = random.split(random.key(1), 3)
    words = random.key_data(keys)
    for key, row in zip(keys, words, strict=True):
        assert key.aval is random.key(0).aval
        np.testing.assert_array_equal(random.key_data(key), row)
    assert len(keys) == 3


def test_the_memory_of_keys_is_that_of_their_words():
    keys = random.split(random.key(1), (2, 3))
    host = keys._contents()
    assert (host.shape, host.dtype, host.flags.writeable) == ((2, 3, 2), np.uint32, False)
    assert keys._contents() is host
    again = pickle.loads(pickle.dumps(keys))
    assert again.aval is keys.aval
    assert again.dtype is keys.dtype
    np.testing.assert_array_equal(again._contents(), host)
    with pytest.raises(errors.DTypeError, match="random keys are no numbers"):
        np.asarray(keys)
    for take in (float, int, bool, jnp.asarray(1.0).__add__):
        with pytest.raises((TypeError, errors.DTypeError)):
            take(keys[0, 0])
    keys.delete()
    with pytest.raises(errors.DeletedArrayError):
        random.bits(keys[0, 0])


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_jitted_functions_return_keys(engine):
    @functools.partial(ev.jit, engine=engine)
    def step(state):
        key, use = random.split(state["key"])
        many = random.split(use, 5)
        looped = ev.lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), use)
        return {"key": key}, (many[1:3], looped, random.normal(use, (2,)))

    state = want = {"key": random.key(5)}
    for _ in range(4):
        state, outs = step(state)
        want, wanted = python_path(step.__wrapped__, want)
        for x, y in zip(ev.tree.leaves((state, outs)), ev.tree.leaves((want, wanted)), strict=True):
            assert x.aval is y.aval
            if x.dtype == np.float32:
                np.testing.assert_allclose(x, y, rtol=1e-6)
            else:
                np.testing.assert_array_equal(random.key_data(x), random.key_data(y))
    assert step.explain().variants[0].engine.startswith(engine)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_keys_are_selected_with_all_their_words(engine, count):
    old, new = random.split(random.key(2), count), random.split(random.key(3), count)
    for which in (np.arange(count) % 3 == 0, np.bool_(True)):
        got = ev.jit(ev.lax.select, engine=engine)(which, old, new)
        pairs = np.broadcast_to(which, count)[:, None]
        want = np.where(pairs, random.key_data(old), random.key_data(new))
        np.testing.assert_array_equal(random.key_data(got), want)


@pytest.mark.parametrize("draw", ["gamma", "beta", "t", "poisson", "dirichlet"])
def test_draws_that_go_on_until_they_fit_are_tapes(draw):
    args = {"beta": (2.0, 3.0), "dirichlet": (jnp.ones(3),)}.get(draw, (2.5,))
    f = ev.jit(functools.partial(getattr(random, draw), shape=(5,)))
    got = f(random.key(0), *args)
    np.testing.assert_allclose(got, f.__wrapped__(random.key(0), *args), rtol=2e-5)
    assert f.explain().variants[0].engine.startswith("native")


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_donated_keys_are_deleted(engine):
    f = ev.jit(
        lambda keys: ev.vmap(random.fold_in)(keys, jnp.arange(3)), donate_argnums=0, engine=engine
    )
    for _ in range(4):
        keys = random.split(random.key(2), 3)
        want = [random.key_data(random.fold_in(key, i)) for i, key in enumerate(keys)]
        np.testing.assert_array_equal(random.key_data(f(keys)), jnp.stack(want))
        assert keys.is_deleted()


def test_plans_are_those_of_the_options():
    key = random.PRNGKey(0)
    new = random.bits(key, (5,))
    for _ in range(2):
        with ev.threefry_partitionable(False):
            old = random.bits(key, (5,))
        assert not np.array_equal(old, new)
        np.testing.assert_array_equal(random.bits(key, (5,)), new)
    with ev.legacy_prng_key("error"), pytest.raises(ValueError, match="raw uint32"):
        random.bits(key, (5,))


def test_usual_mistakes_raise_each_time():
    for _ in range(2):
        with pytest.raises(errors.ShapeError, match="takes a single key, got an array"):
            random.normal(random.split(random.key(0)))
        with pytest.raises(errors.DTypeError, match="must be an array of random keys"):
            random.normal(jnp.zeros(2))


def test_steps_of_draws_are_checked():
    """Of a step that does not fit no plan is made: the function's own result is returned."""
    x, four = jnp.zeros(2, "uint32"), jnp.zeros(4, "uint32").aval
    two = x.aval
    floats = jnp.zeros(4)
    keys = random.split(random.key(0)).aval, random.key(0).aval
    slots = ("array", 0, two), ("step", None, four)
    right = ("draw", (1,), (0,), 1, 4, False)
    try:
        for step in (right, (*right[:3], 2, 4, False), (*right[:3], 1, 3, False), (*right[:5], 1)):
            native.set_planner(
                lambda *_, step=step: ("called", (slots, (step,), ((1, four),), None))
            )
            out = extension.native.Function(lambda x: None)(x)
            assert (type(out) is ev.Array) == (step is right)
        for aval in (two, floats.aval, *keys):
            native.set_planner(
                lambda *_, aval=aval: ("called", (slots, (right,), ((1, aval),), None))
            )
            out = extension.native.Function(lambda x: None)(x)
            assert (type(out) is ev.Array) == (aval.size * aval.dtype.itemsize == 16)
    finally:
        native.set_planner(planner)


@pytest.mark.parametrize("make", [ev.random.key, ev.random.PRNGKey])
@pytest.mark.parametrize("size", [3, 100_000])  # of work for which the GIL is kept, and released
def test_a_tape_takes_keys_at_each_call(make, size):
    draw = ev.jit(lambda key: ev.random.uniform(key, (size,)), engine="native")
    by_xla = ev.jit(lambda key: ev.random.uniform(key, (size,)), engine="xla")
    for seed in (0, 1, 0):
        np.testing.assert_array_equal(draw(make(seed)), by_xla(make(seed)))
