"""debug_key_reuse: which programs use a key twice, eagerly and compiled."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace.errors import KeyReuseError


def as_it_is(fun):
    """Leave a function uncompiled."""
    return fun


both = pytest.mark.parametrize("run", [as_it_is, ev.jit], ids=["eager", "jit"])


def rejected(key):
    """Draw in a loop with a key for each turn."""

    def turn(state):
        key, _ = state
        key, used = random.split(key)
        return key, random.normal(used)

    return lax.while_loop(lambda state: state[1] < 1.0, turn, (key, 0.0))[1]


REUSED = {
    "two draws": lambda key: random.normal(key) + random.uniform(key),
    "draw after split": lambda key: (random.split(key), random.normal(key)),
    "split twice": lambda key: (random.split(key), random.split(key)),
    "element of keys": lambda key: [random.normal(random.split(key)[0])] * 0
    + [random.normal(k) for k in [random.split(random.clone(key))[0]] * 2],
    "loop": lambda key: lax.fori_loop(0, 3, lambda i, x: x + random.normal(key), 0.0),
    "jitted twice": lambda key: ev.jit(random.normal)(key) + ev.jit(random.normal)(key),
    "cond and draw": lambda key: lax.cond(
        jnp.array(True), lambda: random.normal(key), lambda: 0.0
    ) + random.normal(key),
}  # fmt: skip

USED_ONCE = {
    "split": lambda key: [random.normal(k) for k in random.split(key, 3)],
    "fold_in": lambda key: [random.normal(random.fold_in(key, i)) for i in range(3)],
    "clone": lambda key: random.normal(key) + random.normal(random.clone(key)),
    "loop": rejected,
    "batched loop": lambda key: ev.vmap(rejected)(random.split(key, 8)),
    "scan over keys": lambda key: lax.scan(
        lambda c, k: (c + random.normal(k), None), 0.0, random.split(key, 5)
    ),
    "grad": lambda key: ev.grad(lambda w: w * random.normal(key))(2.0),
    "checkpoint": lambda key: ev.grad(ev.checkpoint(lambda w, k: jnp.sin(w * random.normal(k))))(
        2.0, key
    ),
    "vmap of one key": lambda key: ev.vmap(lambda x: random.normal(key) * x)(jnp.ones(3)),
    "words": lambda key: (random.key_data(key), random.normal(key)),
}  # fmt: skip

SAMPLERS = {
    "gamma": (2.0, (3,)), "poisson": (3.0, (4,)), "binomial": (10, 0.3, (3,)),
    "permutation": (5,), "choice": (5, (3,)), "categorical": (jnp.ones(3),),
    "beta": (2.0, 3.0, (3,)), "dirichlet": (jnp.ones(3),), "randint": ((3,), 0, 10),
    "multinomial": (10, jnp.ones(3) / 3), "orthogonal": (3,), "t": (3.0, (2,)),
    "truncated_normal": (-1.0, 1.0, (3,)), "ball": (3,),
}  # fmt: skip


@pytest.fixture(autouse=True)
def checking():
    with ev.debug_key_reuse():
        yield


@both
@pytest.mark.parametrize("name", REUSED)
def test_reuse_is_found(run, name):
    with pytest.raises(KeyReuseError, match="the random key was consumed before, by random_"):
        run(REUSED[name])(random.key(0))


@both
@pytest.mark.parametrize("name", USED_ONCE)
def test_use_once_passes(run, name):
    run(USED_ONCE[name])(random.key(0))


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_use_their_key_once(name):
    key = random.key(7)
    getattr(random, name)(key, *SAMPLERS[name])
    with pytest.raises(KeyReuseError):
        getattr(random, name)(key, *SAMPLERS[name])


@pytest.mark.quotes_lines
def test_message_names_both_lines():
    def f(key):
        x = random.normal(key)  # first
        return x + random.normal(key)  # second

    for run in (as_it_is, ev.jit):
        with pytest.raises(KeyReuseError) as raised:
            run(f)(random.key(0))
        what, where, *_ = str(raised.value).splitlines()
        assert "# first" in what
        assert "# second" in where


def test_calls_with_one_key_and_with_seeds_of_their_own():
    key, draw = random.key(0), ev.jit(random.normal)
    draw(key)
    with pytest.raises(KeyReuseError):
        draw(key)
    seeded = ev.jit(lambda: random.normal(random.key(1)))
    assert seeded() == seeded()


def test_off_by_default():
    with ev.debug_key_reuse(False):
        key = random.key(0)
        assert random.normal(key) == random.normal(key)
