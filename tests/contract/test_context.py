"""Context variables: their values, defaults and absence are read; what is set is left set."""

import contextlib
from contextvars import ContextVar

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, refused

pytestmark = pytest.mark.engine


@case(traces=3)
def test_text_is_set_anew_at_each_call(jit):
    name = ContextVar("name")
    name.set("a")

    def step(x):
        name.set(name.get() + "b")
        return x * len(name.get())

    step = jit(step)
    for _ in range(3):
        yield step(X), name.get()


@case(traces=2)
def test_number_is_set_where_there_was_no_value(jit):
    count = ContextVar("count")

    def step(x):
        count.set(count.get(0) + 1)
        return x * count.get()

    step = jit(step)
    for _ in range(3):
        yield step(X), count.get("unset")


@case(traces=3)
def test_array_takes_the_place_of_a_default(jit):
    last = ContextVar("last", default=None)

    def step(x):
        last.set(x if last.get() is None else last.get() + x)
        return last.get()

    step = jit(step)
    for _ in range(3):
        yield step(X), last.get()


@case(traces=1)
def test_object_is_changed_and_replaced(jit):
    held = ContextVar("held")
    held.set(Record(k=1))

    def step(x):
        held.get().k += 1
        held.set(Record(k=held.get().k * 2))
        return x * held.get().k

    step = jit(step)
    for _ in range(3):
        yield step(X), held.get()


@case(traces=2)
def test_list_that_is_the_default(jit):
    stack = ContextVar("stack", default=[])  # noqa: B039
    stack.get().append(1)
    step = jit(lambda x: (stack.get().append(2), x * sum(stack.get()))[1])
    for _ in range(2):
        yield step(X), stack.get()


@case(traces=2)
def test_flag_is_reset(jit):
    training = ContextVar("training", default=True)

    @contextlib.contextmanager
    def evaluating():
        token = training.set(False)
        try:
            yield
        finally:
            training.reset(token)

    def layer(x):
        return x * 2 if training.get() else x

    def step(x):
        before = layer(x)
        with evaluating():
            inside = layer(x)
        return before, inside, layer(x)

    step = jit(step)
    yield step(X), training.get()
    with evaluating():
        yield step(X), training.get()
    yield step(X), training.get()


@case(traces=1)
def test_value_is_carried_by_a_scan(jit):
    total = ContextVar("total")
    total.set(jnp.zeros(()))

    def body(c, x):
        total.set(total.get() + x)
        return c, total.get()

    step = jit(lambda x: jit.scan(body, jnp.zeros(()), x)[1])
    for _ in range(2):
        yield step(X), total.get()


@pytest.mark.parametrize("wrong", [lambda x: x @ jnp.ones((7, 7)), lambda x: 1 // 0])
def test_a_call_that_raises_sets_nothing(wrong):
    number, unset = ContextVar("number"), ContextVar("unset")
    number.set(3)

    def step(x):
        number.set(number.get() + 1)
        unset.set(x)
        return wrong(x)

    with pytest.raises((ValueError, ZeroDivisionError)):
        ev.jit(step)(X)
    assert (number.get(), unset.get("unset")) == (3, "unset")


@refused(TypeError, r"scan: the body adds to or removes from last.get\(\)")
def test_value_appears_in_a_loop(jit):
    last = ContextVar("last")

    def body(c, x):
        last.set(x)
        return c, x

    jit(lambda x: jit.scan(body, jnp.zeros(()), x))(X)
