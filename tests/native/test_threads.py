"""Eight threads that call, trace and write state at once get what one gets."""

import threading

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

pytestmark = pytest.mark.engine

THREADS = 8
ROUNDS = 30


class Model:
    def __init__(self, k):
        self.k, self.count, self.w = k, 0, jnp.zeros(3)

    def step(self, x):
        self.count += 1
        self.w = self.w + x * self.k
        return self.w


one = ev.jit(lambda x: x * 2 + 1)
by_xla = ev.jit(lambda x: x * 2 + 1, engine="xla")
step = ev.jit(Model.step)
tree = ev.jit(lambda t: {"sum": t["a"] + t["b"][0], "b": t["b"]})
gradient = ev.jit(ev.grad(lambda x: jnp.sum(x * x * x)))
loop = ev.jit(lambda x: lax.fori_loop(0, 5, lambda i, c: c + i * x, x))


def at_once(work):
    """Run ``work(0), work(1), ...`` in threads that begin together; fails with their errors."""
    begin, errors = threading.Barrier(THREADS), []

    def run(k):
        try:
            begin.wait()
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    if errors:
        raise errors[0]


def same(x, y):
    np.testing.assert_array_equal(x, np.asarray(y, np.float32))


def test_all_kinds_of_calls():
    def work(k):
        x, model = jnp.full(3, float(k)), Model(2.0)
        for i in range(1, ROUNDS + 1):
            same(one(x), np.full(3, 2 * k + 1))
            same(by_xla(x), np.full(3, 2 * k + 1))
            same(step(model, x), np.full(3, 2 * k * i))
            same(tree({"a": x, "b": [x]})["sum"], np.full(3, 2 * k))
            same(gradient(x), np.full(3, 3 * k * k))
            same(loop(x), np.full(3, 11 * k))
            same((x + i)[1:].at[0].set(7.0), [7, k + i])
        assert (type(model.count), model.count) == (int, ROUNDS)

    at_once(work)


def test_one_function_is_traced_for_types_of_its_own_by_each():
    grown = ev.jit(lambda x, items: x * len(items))

    def work(k):
        for size in range(1, 6):
            same(grown(jnp.ones(k + 1), [0.0] * size), np.full(k + 1, size))

    at_once(work)
    assert grown.cache_info().currsize == THREADS  # lengths are read at each call


def test_functions_of_their_own_are_traced_by_each():
    def work(k):
        for i in range(ROUNDS // 3):
            same(ev.jit(lambda x, i=i: jnp.cumsum(x) * k + i)(jnp.ones(3)), np.arange(1, 4) * k + i)

    at_once(work)


def test_one_function_is_first_called_by_all():
    for i in range(5):
        first = ev.jit(lambda x, i=i: x + i)
        at_once(lambda k, first=first, i=i: same(first(jnp.full(2, float(k))), np.full(2, k + i)))
        assert first.cache_info().currsize == 1


def test_one_object_is_written_by_all():
    """Each call is whole: no step is lost between reading and writing state under a lock."""
    model, lock = Model(1.0), threading.Lock()

    def work(k):
        for _ in range(ROUNDS):
            with lock:
                step(model, jnp.ones(3))

    at_once(work)
    assert model.count == THREADS * ROUNDS
    same(model.w, np.full(3, THREADS * ROUNDS))
