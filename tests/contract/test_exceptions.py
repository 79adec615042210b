"""Exceptions: caught inside they are control flow, leaving a call they leave nothing behind."""

import contextlib

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Description, Record, X, case, compare, module, raised

pytestmark = pytest.mark.engine


class TooLong(Exception):
    """What the programs below raise; it has a value of its own."""

    def __init__(self, n):
        super().__init__(f"{n} is too long")
        self.n = n


def unchanged(*objects):
    """Return a check that what can be reached from the objects is as it is now."""
    before = Description().of(objects)
    return lambda: compare(Description().of(objects), before, ulps=0)


@case(traces=2)
def test_exception_is_caught_inside(jit):
    s = Record(n=0)

    def step(x):
        try:
            s.n += 1
            if s.n > 2:
                raise TooLong(s.n)
        except TooLong as error:
            s.n = -error.n
            return x
        return -x

    step = jit(step)
    for _ in range(6):
        yield step(X), s


@case(traces=1)
def test_changes_before_a_caught_exception_stay(jit):
    s = Record(n=0, items=[])

    def step(x):
        with contextlib.suppress(TooLong):
            s.n += 1
            s.items.append(x)
            raise TooLong(3)
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), s


@case(traces=1)
def test_finally_runs(jit):
    s = Record(depth=0, left=0)

    def step(x):
        s.depth += 1
        try:
            return x * s.depth
        finally:
            s.depth -= 1
            s.left += 1

    step = jit(step)
    for _ in range(3):
        yield step(X), s


@case()
def test_type_and_text_of_the_users_exception(jit):
    def step(x, n):
        if n > 2:
            raise TooLong(n)
        return x

    step = jit(step)
    yield step(X, 1), raised(step, X, 3), step(X, 2), raised(step, X, 5)


@case()
def test_exception_depends_on_a_shape(jit):
    def step(x):
        if x.shape[0] > 3:
            raise TooLong(x.shape[0])
        return x

    step = jit(step)
    yield step(X), raised(step, jnp.ones(4)), step(X)


@case()
def test_cause_and_context_are_kept(jit):
    def step(x):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise TooLong(3) from error

    step = jit(step)
    try:
        step(X)
    except TooLong as error:
        yield repr(error.__cause__), error.n


@case(traces=1)
def test_stop_iteration_inside(jit):
    s = Record(items=[1.0, 2.0])

    def f(x):
        it = iter(s.items)
        total = x
        while True:
            try:
                total = total * next(it)
            except StopIteration:
                return total

    f = jit(f)
    yield f(X)
    s.items[1] = 5.0
    yield f(X)


@case(traces=1)
def test_exception_is_stored(jit):
    s = Record(last=None)

    def step(x):
        try:
            raise TooLong(3)
        except TooLong as error:
            s.n = error.n
        return x

    step = jit(step)
    yield step(X), s


def test_call_that_raises_while_tracing_changes_nothing():
    m = module("calls, total = 0, 1.5")
    s = Record(n=0, w=jnp.ones(3), items=[1], d={"a": 1}, seen={1}, child=Record(k=2))
    cell = 0

    def step(x, fail):
        nonlocal cell
        cell += 1
        m.calls += 1
        s.n += 1
        s.w = s.w * 2
        s.new = 1
        del s.child.k
        s.items.append(x)
        s.items[0] = 10
        s.d["b"] = x
        del s.d["a"]
        s.seen.add(2)
        if fail:
            raise TooLong(s.n)
        return x

    jitted = ev.jit(step)
    check = unchanged(s, vars(m)["calls"])
    with pytest.raises(TooLong, match="1 is too long"):
        jitted(X, True)
    check()
    assert (cell, m.calls) == (0, 0)
    jitted(X, False)
    assert (s.n, cell, m.calls, len(s.items)) == (1, 1, 1, 2)


def test_raise_after_a_hit_changes_nothing():
    s = Record(n=0, w=jnp.ones(3))

    def step(x):
        s.n += 1
        s.w = s.w + x
        if s.n > 2:
            raise TooLong(s.n)
        return x

    jitted = ev.jit(step)
    jitted(X)
    jitted(X)
    check = unchanged(s)
    for _ in range(2):
        with pytest.raises(TooLong, match="3 is too long"):
            jitted(X)
        check()
    s.n = 0
    jitted(X)
    assert s.n == 1


def test_error_of_evertrace_changes_nothing():
    s = Record(n=0, items=[])

    def step(x):
        s.n += 1
        s.items.append(x)
        return x + jnp.ones(7)

    check = unchanged(s)
    with pytest.raises(ev.errors.ShapeError, match="do not broadcast"):
        ev.jit(step)(X)
    check()


def test_branch_on_an_array_changes_nothing():
    s = Record(w=jnp.ones(3))

    def step(x):
        s.w = s.w + x
        return x if s.w.sum() > 0 else -x

    check = unchanged(s)
    with pytest.raises(ev.errors.TracerBoolConversionError, match=r"cond|where"):
        ev.jit(step)(X)
    check()


def test_host_callback_that_raises_while_running_changes_nothing():
    s = Record(n=0, w=jnp.ones(3))

    def check_on_host(x):
        if host_state:
            raise ValueError("the host refused")
        return x

    def step(x):
        s.n += 1
        s.w = ev.pure_callback(check_on_host, ev.ShapeDtypeStruct((3,), "float32"), s.w + x)
        return s.w

    host_state = []
    jitted = ev.jit(step)
    jitted(X)
    host_state.append(1)
    check = unchanged(s)
    with pytest.raises(Exception, match="the host refused"):
        jitted(X)
    check()
    host_state.clear()
    jitted(X)
    assert s.n == 2


def test_keyboard_interrupt_while_tracing_changes_nothing():
    s = Record(n=0)

    def step(x):
        s.n += 1
        if s.n > 1:
            raise KeyboardInterrupt
        return x

    jitted = ev.jit(step)
    jitted(X)
    with pytest.raises(KeyboardInterrupt):
        jitted(X)
    assert s.n == 1
    assert type(s.n) is int
