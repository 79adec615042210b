"""Random words by the kernel and by plans against the Python path, which says what they mean."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace._src import config, errors, native
from evertrace._src.engines.registry import planner
from evertrace._src.ops import threefry
from tests.support.closeness import assert_same

pytestmark = pytest.mark.skipif(not native.is_built(), reason="the extension module was not built")

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
        native.random_words(keys, out)


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


def test_planned_splits():
    random.split._forget_plans()
    for num in (2, (2, 3)):
        for seed in (0, 7):
            typed = random.key_data(random.split(random.key(seed), num))
            np.testing.assert_array_equal(random.split(random.PRNGKey(seed), num), typed)
    assert random.split._num_plans() == 2


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
    two, four = (jnp.zeros(n, "uint32").aval for n in (2, 4))
    slots = ("array", 0, two), ("step", None, four)
    right = ("draw", (1,), (0,), 1, 4, False)
    try:
        for step in (right, (*right[:3], 2, 4, False), (*right[:3], 1, 3, False), (*right[:5], 1)):
            native.set_planner(lambda *_, step=step: ("called", (slots, (step,), 1, four)))
            out = native._native.Function(lambda x: None)(jnp.zeros(2, "uint32"))
            assert (type(out) is ev.Array) == (step is right)
    finally:
        native.set_planner(planner)


@pytest.mark.parametrize("make", [ev.random.key, ev.random.PRNGKey])
@pytest.mark.parametrize("size", [3, 100_000])  # of work for which the GIL is kept, and released
def test_a_tape_takes_keys_at_each_call(make, size):
    draw = ev.jit(lambda key: ev.random.uniform(key, (size,)), engine="native")
    by_xla = ev.jit(lambda key: ev.random.uniform(key, (size,)), engine="xla")
    for seed in (0, 1, 0):
        np.testing.assert_array_equal(draw(make(seed)), by_xla(make(seed)))
