"""What garbage collection may do in the middle of a call: finalizers delete or take arrays."""

import gc

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import kernels
from evertrace.errors import DeletedArrayError

pytestmark = pytest.mark.usefixtures("needs_native")

X = np.arange(6000, dtype=np.float32)


def both(x):
    """Return two results: one that took the memory of `x` would spoil the other."""
    return x + 1, x[::-1] - x


donating = ev.jit(both, donate_argnums=0)

# What is done to an array, and what results.
CALLS = {
    "jitted": (ev.jit(both), both(X)),
    "donating": (donating, both(X)),
    "operator": (lambda x: (x * 2,), (X * 2,)),
    "some elements": (lambda x: (x[1:6000:7],), (X[1::7],)),
    "a shared part": (lambda x: (x[500:],), (X[500:],)),
    "a view": (lambda x: (jnp.reshape(x, (60, 100)),), (X.reshape(60, 100),)),
    "update": (lambda x: (x.at[1].set(7)[:3],), (np.array([0, 7, 2], np.float32),)),
}


class Finalizer:
    """Does something when it is collected as part of a cycle, and never before."""

    def __init__(self, action):
        self.action, self.cycle = action, self

    def __del__(self):
        self.action()


@pytest.fixture
def collections():
    """Let nothing be collected until the test says so."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.collect()


def collected_after(allocations, action, call):
    """Call while the action is run by the collection after so many allocations, at the latest then.

    Python 3.11 collects in the middle of an allocation, later ones between instructions alone.
    """
    gc.set_threshold(0)
    gc.collect()
    kernels.release_memory()  # kept arrays would spare the allocations
    Finalizer(action)
    gc.set_threshold(allocations)
    try:
        return call()
    finally:
        gc.set_threshold(0)


def compiled(fun):
    """Return a function that has been called so often that nothing is left to prepare."""
    for _ in range(4):
        fun(jnp.asarray(X) * 1)
    return fun


def same(got, wants):
    for result, want in zip(got, wants, strict=True):
        np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("allocations", range(1, 7))
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("collections")
def test_an_argument_that_is_deleted(name, allocations):
    fun, wants = CALLS[name]
    compiled(fun)
    x = jnp.asarray(X) * 1
    try:
        got = collected_after(allocations, x.delete, lambda: fun(x))
    except DeletedArrayError:
        return
    same(got, wants)


@pytest.mark.parametrize("allocations", range(1, 7))
@pytest.mark.usefixtures("collections")
def test_a_donated_argument_that_is_viewed(allocations):
    compiled(donating)
    x, views = jnp.asarray(X) * 1, []

    def view():
        if not x.is_deleted():
            views.append(np.asarray(x))

    got = collected_after(allocations, view, lambda: donating(x))
    same(got, both(X))
    same(views, [X] * len(views))
