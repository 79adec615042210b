"""Calls of jitted functions in C++ that do more than compute: the clock, callbacks, donation."""

import logging
import random
import time

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.usefixtures("needs_native")

X = jnp.array([1.0, 2.0, 3.0])


def test_clock_and_random_numbers_are_read_once_a_call(called_in_python, monkeypatch):
    ticks = iter(range(1, 100))
    monkeypatch.setattr(time, "time", lambda real=time.time: 0.0 * real() + next(ticks))
    f = ev.jit(lambda x: x * random.random())
    random.seed(5)
    found = [f(X) for _ in range(6)]
    random.seed(5)
    wanted = [random.random() for _ in range(6)]
    np.testing.assert_allclose([x[0] for x in found], wanted, rtol=1e-6)
    assert 1 <= len(called_in_python) <= 3


def test_what_follows_from_the_clock_is_made_anew(called_in_python):
    @ev.jit
    def stamp(x):
        now = time.monotonic()
        return {"x": x + 1, "time": now, "twice": 2 * now}

    for _ in range(6):
        before = np.float32(time.monotonic())
        found = stamp(X)
        assert before <= found["time"] <= np.float32(time.monotonic())
        assert found["twice"] == 2 * found["time"]
    assert 1 <= len(called_in_python) <= 3


def test_effects_are_repeated_after_the_changes(called_in_python, caplog):
    log = logging.getLogger("evertrace.tests.rare")

    class Model:
        def __init__(self):
            self.n = 0

        @ev.jit
        def step(self, x, scale):
            self.n += 1
            log.warning("step %d of %s", self.n, scale, extra={"scale": scale})
            return x * scale

    model = Model()
    for i in range(6):
        np.testing.assert_array_equal(model.step(X, i + 0.5), X * (i + 0.5))
    assert [r.getMessage() for r in caplog.records] == [
        f"step {i + 1} of {i + 0.5}" for i in range(6)
    ]
    assert [r.scale for r in caplog.records] == [i + 0.5 for i in range(6)]
    assert 1 <= len(called_in_python) <= 3


def test_an_effect_that_fails_fails_the_call(monkeypatch):
    log = logging.getLogger("evertrace.tests.rare")
    f = ev.jit(lambda x: (log.warning("now"), x + 1)[1])
    for _ in range(4):
        f(X)

    def fail(*args):
        raise OSError("no room for a log")

    monkeypatch.setattr(log, "handle", fail)
    with pytest.raises(OSError, match="no room for a log"):
        f(X)


def test_callbacks_are_called_from_cpp(called_in_python):
    seen = []

    def double(x):
        seen.append(float(x[0]))
        return np.asarray(x) * 2

    f = ev.jit(lambda x: ev.pure_callback(double, x, x) + 1)
    for i in range(6):
        np.testing.assert_array_equal(f(X + i), (X + i) * 2 + 1)
    assert seen == [1.0 + i for i in range(6)]
    assert 1 <= len(called_in_python) <= 3
    assert f.cache_info().misses == 1


def test_a_callback_that_fails_fails_the_call():
    def check(x):
        if x[0] > 3:
            raise ValueError("too much")
        return x

    f = ev.jit(lambda x: ev.pure_callback(check, x, x))
    for _ in range(4):
        f(X)
    with pytest.raises(ValueError, match="too much"):
        f(X + 5)
    np.testing.assert_array_equal(f(X), X)


def test_functions_of_one_code_have_callbacks_of_their_own(called_in_python):
    def make(k):
        return ev.jit(lambda x: ev.pure_callback(lambda y: np.asarray(y) * k, x, x))

    functions = [make(np.float32(k)) for k in range(3)]
    for _ in range(4):
        for k, f in enumerate(functions):
            np.testing.assert_array_equal(f(X), X * k)
    assert len(called_in_python) <= 9


def test_dropped_variants_with_callbacks_are_traced_anew():
    traces = []

    @ev.jit
    def f(x):
        traces.append(1) if isinstance(x, ev.core.Tracer) else None
        return ev.pure_callback(lambda y: np.asarray(y), x, x)

    for _ in range(4):
        f(X)
    f.clear_cache()
    assert f.cache_info().currsize == 0
    f(X)
    assert f.cache_info() == (0, 1, None, 1)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_donated_arrays_are_deleted(engine, called_in_python):
    f = ev.jit(lambda x, y: (x + y, y), donate_argnums=0, engine=engine)
    for i in range(6):
        x, alias = X + i, X * 2
        found, same = f(x, alias)
        np.testing.assert_array_equal(found, X * 3 + i)
        assert same is alias
        assert x.is_deleted()
        assert not alias.is_deleted()
        with pytest.raises(ev.errors.DeletedArrayError, match="deleted or donated"):
            f(x, alias)
    assert len(called_in_python) <= 3 + 6  # of which those that find it deleted


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_donated_memory_that_others_see_is_left_as_it_is(engine):
    f = ev.jit(lambda x, y, k: (x + y, x * k), donate_argnums=(0, 2), engine=engine)
    make = ev.jit(lambda x: x * 2, engine=engine)
    for _ in range(4):
        x = make(X)
        view = np.asarray(x)
        found = f(x, X, 3.0)
        np.testing.assert_array_equal(view, X * 2)
        np.testing.assert_array_equal(found[0], X * 3)
        np.testing.assert_array_equal(found[1], X * 6)
        assert x.is_deleted()
        twice = make(X)
        np.testing.assert_array_equal(f(twice, twice, 3.0)[0], X * 4)
        assert twice.is_deleted()


def test_what_is_donated_to_nothing_is_deleted_too():
    f = ev.jit(lambda x, y: y + 1, donate_argnums=0)
    for _ in range(4):
        x = X * 1
        np.testing.assert_array_equal(f(x, X), X + 1)
        assert x.is_deleted()
