"""Random bits within kernels are those of every other engine, of each shape and width."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.engines.fused.rules import is_held
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import jaxpr_of, to_numpy

KEY = random.key(3)
KEYS = random.split(random.key(4), 15).reshape(3, 5)


def numbers(*shape):
    return lambda key: random.uniform(key, shape)


def of_each(fun):
    return lambda keys: ev.vmap(ev.vmap(fun))(keys)


PROGRAMS = {
    **{f"{n} bits": (lambda key, n=n: random.bits(key, (n,)) ^ 7, KEY) for n in (1, 15, 16, 99)},
    **{
        f"bits of {dtype}": (lambda key, d=dtype: random.bits(key, (7, 33), d) ^ 3, KEY)
        for dtype in ("uint8", "uint16", "uint32")
    },
    "numbers": (numbers(1000), KEY),
    "numbers in three dimensions": (numbers(3, 5, 70), KEY),
    "numbers, transposed": (lambda key: random.uniform(key, (30, 40)).T + 1, KEY),
    "one number of each key": (of_each(numbers()), KEYS),
    "numbers of each key": (of_each(numbers(2, 9)), KEYS),
    "of each key, keys last": (lambda keys: of_each(numbers(4))(keys).T, KEYS),
    "events": (lambda key: random.bernoulli(key, 0.3, (500,)), KEY),
    "dropped": (lambda key: jnp.where(random.bernoulli(key, 0.5, (9, 99)), 2.0, 0.0), KEY),
    "the largest of rows": (lambda key: random.uniform(key, (50, 200)).max(1), KEY),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_the_same(name):
    fun, key = PROGRAMS[name]
    jaxpr, _ = jaxpr_of(fun, key)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    assert tape.counts()["functions"] >= 1
    assert np.array_equal(to_numpy(tape.run([key])[0]), np.asarray(fun(key)))


def test_keys_that_a_loop_hands_on():
    def draws(key):
        def turn(k, _):
            return random.fold_in(k, 1), random.uniform(k, (900,)) + 1

        return lax.scan(turn, key, length=4)[1]

    got = ev.jit(draws, engine="fused")(KEY)
    assert np.array_equal(np.asarray(got), np.asarray(draws(KEY)))


def test_other_generators_are_left_to_the_tape():
    with ev.threefry_partitionable(False):
        jaxpr, _ = jaxpr_of(lambda key: random.uniform(key, (99,)) + 1, KEY)
        assert jaxpr.eqns[0].primitive.name == "random_bits"
        assert not is_held(jaxpr.eqns[0])
