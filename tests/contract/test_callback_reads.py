"""A pure callback reads what callbacks before it have changed, and nothing that later ones do."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine

F32 = ev.ShapeDtypeStruct((3,), jnp.float32)

SHOW = {
    "io": lambda note, x: io_callback(note, None, x),
    "ordered io": lambda note, x: io_callback(note, None, x, ordered=True),
    "debug": ev.debug.callback,
    "ordered debug": lambda note, x: ev.debug.callback(note, x, ordered=True),
}


def of_a_global():
    m = module("""
        n = 0

        def note(v):
            global n
            n += 1

        def seen(v):
            return np.asarray(v) * n
    """)
    return m.note, m.seen


def of_a_cell():
    n = 0

    def note(v):
        nonlocal n
        n += 1

    return note, lambda v: np.asarray(v) * n


def of_a_class():
    class Counts:
        n = 0

    def note(v):
        Counts.n += 1

    return note, lambda v: np.asarray(v) * Counts.n


def of_an_object():
    s = Record(n=0)

    def note(v):
        s.n += 1

    return note, lambda v: np.asarray(v) * s.n


def of_a_list():
    log = []
    return lambda v: log.append(v), lambda v: np.asarray(v) * len(log)


def pure(seen, x):
    return ev.pure_callback(seen, F32, x)


def after(show, seen, x, jit):
    show(x)
    return pure(seen, x)


def before(show, seen, x, jit):
    y = pure(seen, x)
    show(x)
    return y


def around(show, seen, x, jit):
    y = pure(seen, x)
    show(x)
    z = pure(seen, x)
    show(y)
    return y, z, pure(seen, x)


def behind_a_loop(show, seen, x, jit):
    def body(i, c):
        show(x)
        return c + 1

    y = jit.fori_loop(0, 3, body, x)
    return y, pure(seen, x)


def in_a_loop(show, seen, x, jit):
    show(x)

    def body(c, z):
        y = pure(seen, c)
        return c + 1, y

    c, ys = jit.scan(body, x, x)
    show(c)
    return c, ys, pure(seen, x)


def both_in_a_loop(show, seen, x, jit):
    def body(c, z):
        y = pure(seen, x)
        show(x)
        return c + y + pure(seen, x), z

    return jit.scan(body, x, x)


def in_a_branch(show, seen, x, jit):
    show(x)
    y = jit.cond(x[0] > 0, lambda c: pure(seen, c), lambda c: c, x)
    show(x)
    return y, pure(seen, x)


def behind_a_branch(show, seen, x, jit):
    def shown(c):
        show(c)
        return c

    y = jit.cond(x[0] > 0, shown, lambda c: c, x)
    return y, pure(seen, x)


def in_a_jitted_function(show, seen, x, jit):
    show(x)
    y = jit(lambda c: pure(seen, c) + 1)(x)
    show(x)
    return y, jit(lambda c: pure(seen, c) + 2)(x)


FORMS = (
    after, before, around, behind_a_loop, in_a_loop, both_in_a_loop, in_a_branch, behind_a_branch,
    in_a_jitted_function,
)  # fmt: skip


def compared(form, how, state):
    @case()
    def program(jit):
        note, seen = state()
        f = jit(lambda x: form(lambda y: SHOW[how](note, y), seen, x, jit))
        for _ in range(3):
            yield f(X)

    program()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", SHOW)
def test_a_pure_callback_has_its_place_among_those_with_effects(form, how):
    compared(form, how, of_a_global)


@pytest.mark.parametrize("state", [of_a_cell, of_a_class, of_an_object, of_a_list])
def test_whatever_a_callback_has_changed_a_pure_one_reads_changed(state):
    compared(around, "io", state)


def test_a_program_without_effects_puts_pure_callbacks_in_no_order_by_jaxs_rules():
    f = ev.jit(lambda x: ev.pure_callback(lambda v: np.asarray(v), F32, x), strict=True)
    assert "token" not in f.lower(X).as_text()


def test_a_function_of_numpys_is_pure_wherever_it_is_called():
    f = ev.jit(lambda x: ev.pure_callback(np.sin, F32, x))
    assert "token" not in f.lower(X).as_text()
