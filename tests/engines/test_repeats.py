"""What a program computes twice is computed once, unless it is as quickly had again."""

from collections import Counter

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.native import repeats
from tests.support.tapes import tape_of

pytestmark = pytest.mark.usefixtures("needs_native")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 40)).astype("float32")
W = (RNG.normal(size=(40, 30)) / 6).astype("float32")


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


def loss_and_gradient(w, x):
    return loss(w, x), ev.grad(loss)(w, x)


def products(jaxpr):
    return Counter(e.primitive.name for e in jaxpr.eqns)["dot_general"]


def counted(fun, *args):
    """Return how many products a function has, and how many are left."""
    jaxpr = ev.make_jaxpr(fun)(*args).jaxpr
    return products(jaxpr), products(repeats.without(jaxpr))


PROGRAMS = {
    "a loss and its gradient": (loss_and_gradient, 3, 2),
    "the same twice": (lambda w, x: (x @ w + 1) - jnp.sin(x @ w), 2, 1),
    "of what is cheap and the same": (lambda w, x: (x * 2 + 1) @ w - (x * 2 + 1) @ w * 3, 2, 1),
    "of what was copied": (lambda w, x: (x * 1.0) @ w, 1, 1),
    "of copies": (lambda w, x: x.reshape(x.shape) @ w - x @ w, 2, 1),
    "of equal constants": (lambda w, x: (x + jnp.float32(2)) @ w - (x + 2.0) @ w * 3, 2, 1),
    "of three": (lambda w, x: x @ w - jnp.sin(x @ w) + jnp.cos(x @ w), 3, 1),
    "of each other": (lambda w, x: (x @ w).T @ x - (x @ w).T @ x * 3, 4, 2),
    "other operands": (lambda w, x: x @ w - x @ (w + 1), 2, 2),
    "other parameters": (lambda w, x: jnp.dot(x.T, x) - jnp.dot(x.T, x, precision="highest"), 2, 2),
    "zeros of two signs": (lambda w, x: (x * 0.0) @ w - (x * -0.0) @ w, 2, 2),
    "of parts": (lambda w, x: x[:2, :3] @ w[:3] - x[:2, :3] @ w[:3] * 3, 2, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_are_computed_once(name):
    fun, all_, left = PROGRAMS[name]
    assert counted(fun, W, X) == (all_, left)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_xla(name):
    fun, *_ = PROGRAMS[name]
    got, want = ev.jit(fun, engine="native")(W, X), ev.jit(fun, engine="xla")(W, X)
    for g, w in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def kinds(fun, *args):
    """Return how often each primitive is left."""
    return Counter(e.primitive.name for e in repeats.without(ev.make_jaxpr(fun)(*args).jaxpr).eqns)


def test_what_is_elementwise_or_moves_elements_stays_where_it_is_used():
    left = kinds(lambda x: jnp.exp(x).sum(0) @ jnp.exp(x).T + x.T[0] - x.T[1], X)
    assert (left["exp"], left["transpose"]) == (2, 3)
    left = kinds(lambda x: jnp.sort(x, 0) + jnp.sort(x, 0).sum(0) - jnp.sort(x, 0).sum(0), X)
    assert left["sort"] == left["reduce_sum"] == 1


def test_behind_a_barrier_values_are_others():
    """Which is how `checkpoint` computes anew what it is not to keep."""

    def fun(w, x):
        return x @ w - jnp.sin(lax.optimization_barrier(x) @ lax.optimization_barrier(w))

    assert counted(fun, W, X) == (2, 2)


def test_a_result_may_be_returned_twice():
    first, second = ev.jit(lambda w, x: (x @ w, x @ w), engine="native")(W, X)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, X @ W, rtol=1e-4, atol=1e-5)


def test_callbacks_are_called_as_often_as_they_are_written():
    calls = []

    def fun(w, x):
        for _ in range(2):
            ev.debug.callback(lambda v: calls.append(float(v)), (x @ w).sum())
        return x @ w

    ev.jit(fun)(W, X)
    ev.effects_barrier()
    assert len(calls) == 2


def twice(w, x):
    return jnp.tanh(x @ w).sum() - jnp.cos(x @ w).sum()


BODIES = {
    "jit": lambda w, x: ev.jit(twice)(w, x),
    "scan": lambda w, x: lax.scan(lambda t, _: (t + twice(w + t, x), None), 0.0, length=3)[0],
    "fori_loop": lambda w, x: lax.fori_loop(0, 3, lambda i, t: t + twice(w + t, x), 0.0),
    "while_loop": lambda w, x: lax.while_loop(
        lambda t: t < 1e9, lambda t: t + 1e9 + twice(w + t, x), 0.0
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_looked_through(name, monkeypatch):
    given = []
    monkeypatch.setattr(
        repeats, "_without", lambda jaxpr, f=repeats._without: given.append(f(jaxpr)) or given[-1]
    )
    tape_of(lambda w, x: BODIES[name](w, x), W, X)
    assert max(map(products, given)) == 1
