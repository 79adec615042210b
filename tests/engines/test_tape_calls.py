"""Callbacks of tapes: in their places, as often, and with what XLA calls them."""

import threading

import numpy as np
import pytest

import evertrace as ev
from evertrace import experimental, lax, random
from evertrace import numpy as jnp
from evertrace._src import extension

pytestmark = pytest.mark.usefixtures("needs_native", "rules")


def noted(log, value):
    """Have a program note a value when it comes there."""
    experimental.io_callback(lambda v: log.append(np.asarray(v).tolist()), None, value)


def doubled(x):
    return ev.pure_callback(lambda v: np.asarray(v) * 2, ev.ShapeDtypeStruct(x.shape, x.dtype), x)


def straight(x, log):
    y = doubled(x)
    noted(log, y)
    return y + 1


def counted(x, log):
    def turn(i, c):
        noted(log, i)
        return doubled(c)

    return lax.fori_loop(0, 3, turn, x)


def only_called(x, log):
    def turn(_, i):
        noted(log, i)
        return None, None

    lax.scan(turn, None, jnp.arange(3))
    return x + 1


def asked(x, log):
    def goes_on(c):
        noted(log, c)
        return doubled(c).sum() < 40

    return lax.while_loop(goes_on, lambda c: c + 4, x)


def branch(taken):
    def program(x, log):
        def called(x):
            noted(log, x)
            return doubled(x)

        return lax.cond(x.sum() > (-100 if taken else 100), called, lambda x: x, x)

    return program


def mapped(x, log):
    ev.vmap(lambda v: noted(log, v))(x)
    return ev.vmap(
        lambda v: ev.pure_callback(lambda a: np.asarray(a) + 1, v.aval, v, vmap_method="sequential")
    )(x)


def several(x, log):
    kinds = ev.ShapeDtypeStruct((2,), bool), ev.ShapeDtypeStruct((), jnp.bfloat16)
    a, b = ev.pure_callback(
        lambda v: (np.asarray(v[:2]) > 0, np.asarray(v.sum(), jnp.bfloat16)), kinds, x
    )
    noted(log, a)
    return a, b


def of_nothing(x, log):
    noted(log, x[:0])
    return doubled(x[:0])


PROGRAMS = {
    "one after the other": straight,
    "in a loop": counted,
    "of a loop without results": only_called,
    "in a loop's condition": asked,
    "in the branch that is taken": branch(True),
    "in the other branch": branch(False),
    "of each example": mapped,
    "of several dtypes": several,
    "without elements": of_nothing,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tape_calls_what_xla_calls(name):
    found = {}
    for engine in ("native", "xla"):
        log = []
        called = ev.jit(lambda x, log=log: PROGRAMS[name](x, log), engine=engine)
        outs = [ev.tree.map(np.asarray, called(jnp.arange(3.0) + i)) for i in range(3)]
        found[engine] = [ev.tree.map(np.ndarray.tolist, outs), log]
    assert found["native"] == found["xla"]


def test_a_callback_of_keys():
    seen = []
    called = ev.jit(lambda k: ev.debug.callback(seen.append, k), engine="native")
    called(random.key(7))
    assert (random.key_data(seen[0]) == random.key_data(random.key(7))).all()


class Stop(Exception):
    """What a callback raises; by JAX's rules it is the cause of another error."""


STOPS = Stop, ev.errors.JaxRuntimeError


@pytest.mark.parametrize("is_long", [False, True], ids=["with the GIL", "without it"])
def test_an_exception_ends_the_run_at_once(is_long):
    error, calls = Stop("here"), []

    def raises(i):
        calls.append(int(i))
        if i == 2:
            raise error
        return np.asarray(i)

    def program(x):
        def turn(i, c):
            c = jnp.sin(c) if is_long else c
            return c + ev.pure_callback(raises, ev.ShapeDtypeStruct((), "int32"), i)

        return lax.fori_loop(0, 5, turn, x)

    called = ev.jit(program, engine="native")
    for _ in range(2):
        with pytest.raises(STOPS) as caught:
            called(jnp.ones(100_000 if is_long else 3))
        assert error in (caught.value, caught.value.__cause__)
    assert calls == [0, 1, 2, 0, 1, 2]


def test_a_callback_may_call_the_same_program():
    def again(v):
        return np.asarray(called(v - 1)) if v > 0 else np.asarray(v)

    @ev.jit(engine="native")
    def called(x):
        return ev.pure_callback(again, ev.ShapeDtypeStruct((), "float32"), x) + 1

    assert called(jnp.float32(3)) == 4


def test_another_thread_runs_while_a_callback_waits_for_it():
    begun, ended = threading.Event(), threading.Event()

    def waits(v):
        begun.set()
        assert ended.wait(60)
        return np.asarray(v)

    called = ev.jit(lambda x: ev.pure_callback(waits, x.aval, x), engine="native")
    other = threading.Thread(target=lambda: (begun.wait(60), ended.set()))
    other.start()
    assert called(jnp.float32(2)) == 2
    other.join()


def test_a_tape_that_calls_is_not_queued():
    seen = []

    @ev.jit(engine="native")
    def called(x):
        y = jnp.sin(x)
        ev.debug.callback(lambda v: seen.append(threading.get_ident()), y.sum())
        return y

    before = extension.native.set_queued_from(-1)  # every long run
    try:
        for _ in range(3):
            called(jnp.ones(100_000))
    finally:
        extension.native.set_queued_from(before)
    assert seen == [threading.get_ident()] * 3


def test_checks_for_errors_leave_a_program_to_a_tape():
    def raises(v):
        raise Stop(v)

    @ev.jit
    def root(x):
        failed = lax.cond(x < 0, lambda: ev.pure_callback(raises, ev.typeof(x), x), lambda: x)
        return lax.while_loop(lambda c: c * c < failed, lambda c: c + 1, 0.0)

    assert root(10.0) == 4
    assert "engine     native" in str(root.explain())
    with pytest.raises(STOPS):
        root(-1.0)
