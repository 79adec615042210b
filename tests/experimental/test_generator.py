"""A generator with a state: its numbers are those of the keys, under every transformation."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace.experimental.random import stateful_rng


def _keys(seed):
    base, count = random.key(seed), 0
    while True:
        yield random.fold_in(base, count)
        count += 1


DRAWS = {
    "random": (lambda r: r.random(3), lambda k: random.uniform(k, (3,))),
    "uniform": (lambda r: r.uniform(1, 3, (2, 2)), lambda k: random.uniform(k, (2, 2), None, 1, 3)),
    "uniform of bounds": (
        lambda r: r.uniform(jnp.zeros(2), jnp.ones((3, 1))),
        lambda k: random.uniform(k, (3, 2)),
    ),
    "normal": (lambda r: r.normal(1, 2, 3), lambda k: 1 + 2 * random.normal(k, (3,))),
    "integers": (lambda r: r.integers(2, 7, 5), lambda k: random.randint(k, (5,), 2, 7)),
    "integers below": (lambda r: r.integers(7, size=5), lambda k: random.randint(k, (5,), 0, 7)),
    "float16": (
        lambda r: r.random(3, jnp.float16), lambda k: random.uniform(k, (3,), jnp.float16)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_the_keys(name):
    draw, want = DRAWS[name]
    rng, keys = stateful_rng(3), _keys(3)
    for _ in range(2):
        found, wanted = draw(rng), want(next(keys))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_jitted_functions_move_it_on():
    rng, keys = stateful_rng(5), _keys(5)
    draw = ev.jit(lambda: rng.uniform())
    found = [float(draw()) for _ in range(3)]
    np.testing.assert_allclose(found, [random.uniform(next(keys)) for _ in range(3)], rtol=1e-6)
    assert rng._counter[...] == 3


def test_split_for_vmap_and_spawn():
    one, other = stateful_rng(1), stateful_rng(1)
    rows = ev.vmap(lambda rng, x: x + rng.uniform())(one.split(3), jnp.zeros(3))
    singles = [child.uniform() for child in other.spawn(3)]
    np.testing.assert_allclose(rows, singles, rtol=1e-6)
    assert len({float(x) for x in rows}) == 3
    assert other.spawn(0) == []


def test_keys_of_a_shape_and_other_generators():
    assert stateful_rng(1, impl="rbg").key((2, 3)).shape == (2, 3)
    assert stateful_rng(1, impl="rbg").key().dtype == random.key(0, impl="rbg").dtype


def test_a_seed_of_the_system():
    assert stateful_rng().random(8).tolist() != stateful_rng().random(8).tolist()
    with pytest.raises(TypeError, match="without a seed, the one that is drawn"):
        ev.jit(lambda: stateful_rng().uniform())()
