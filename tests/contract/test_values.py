"""Every cell of the table of values, and the page that shows it."""

import functools
import itertools
import operator
import types
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
from tests.contract.compare import Record, X, case, refused
from tests.contract.values_columns import PROGRAMS
from tests.contract.values_table import cells, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "values.md"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("row", "column"),
    [pytest.param(row, column, id=f"{row.name}-{column}") for _, row, column in cells()],
)
def test_a_value_is_what_the_table_says(row, column):
    program = PROGRAMS[column](row)
    refusal = row.refused.get(column)
    if refusal is None:
        case()(program)()
    else:  # names the cause, the line and the repair
        refused(refusal.error, rf"(?s){refusal.text}.*\n  at .*\n  Fix: ")(_run(program))()


def _run(program):
    def run(jit):
        for _ in program(jit):
            pass

    return run


def test_the_page_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == page()


# ------------------------------------------------------------------------ beside the table


@case(traces=2)
def test_a_slice_that_is_not_looked_into_is_one_program(jit):
    o = Record(window=slice(0, 1), n=0)

    def step(x):
        o.n = o.n + 1
        o.other = slice(o.n, None)
        return x, o.window

    step = jit(step)
    for n in range(4):
        o.window = slice(n, n + 1)
        yield step(X), o, o.other.start
    o.window = slice(None)
    yield step(X), o


@case(traces=2)
def test_one_tuple_or_two_equal_ones(jit):
    o = Record(a=(1, 2.0), b=[])

    def step(x):
        return x if o.a is o.b else x * 2

    step = jit(step)
    o.b = o.a
    yield step(X)
    o.b = (o.a[0], o.a[1])
    yield step(X)
    o.a = o.b
    yield step(X)


@case(traces=2)
def test_one_partial_is_one_object_by_both_paths(jit):
    o = Record(f=functools.partial(operator.mul, 3))
    o.g = o.f

    def step(x):
        return x if o.f is o.g else o.g(x)

    step = jit(step)
    yield step(X)
    o.g = functools.partial(operator.mul, 2)
    yield step(X)


@case()
def test_what_is_made_in_a_cycle_is_one_object(jit):
    o = Record(kept=None)

    def step(n):
        o.kept = functools.partial(operator.mul, n)
        o.kept.me = o.kept
        owner = Record(n=n)
        owner.call = types.MethodType(lambda self: self.n, owner)
        o.call = owner.call
        return n

    step = jit(step)
    for n in (2, 3):
        yield step(n)
        yield o.kept.me is o.kept, o.kept(2), o.call.__self__.call is o.call, o.call()


@case()
def test_what_is_set_in_a_function_is_left_behind(jit):
    def add(x, n=1):
        return x + n

    def step(x, n):
        before = add(x)
        add.__defaults__ = (n,)
        return before, add(x)

    step = jit(step)
    for n in (2, 3, 3):
        yield step(X, n), add.__defaults__
    add.__defaults__ = (7,)
    yield step(X, 4), add.__defaults__


@case()
def test_a_function_behind_a_cache_keeps_its_methods(jit):
    @functools.lru_cache(maxsize=4)
    def scale(n):
        return n * 2

    def step(x, n):
        scale.cache_clear()
        return x * scale(n) * scale.cache_parameters()["maxsize"]

    step = jit(step)
    scale(5)
    for n in (2, 3):
        yield step(X, n)
    yield scale.cache_info().misses <= 1


@refused(ev.errors.OpaqueStateError, r"(?s)scale\.cache_info\(\) is a .*lru_cache.*Fix: ")
def test_what_a_cache_counts_is_not_seen(jit):
    @functools.lru_cache
    def scale(n):
        return n * 2

    jit(lambda x: x * scale(2) * scale.cache_info().maxsize)(X)


@refused(ev.errors.ImpurityError, r"(?s)scale, a function behind functools.lru_cache, cha.*Fix: ")
def test_a_function_behind_a_cache_only_computes(jit):
    o = Record(calls=0)

    @functools.lru_cache
    def scale(n):
        o.calls += 1
        return n * 2

    jit(lambda x: x * scale(2))(X)


@pytest.mark.parametrize(
    "read",
    [
        lambda cls: cls.__dict__["n"],
        lambda cls: vars(cls)["n"],
        lambda cls: [k for k in vars(cls) if k[0] != "_"].index("n") + cls.n,
        lambda cls: len(dir(cls)) + cls.__dict__["n"],
    ],
)
def test_what_goes_through_a_class_sees_all_of_it(read):
    @case()
    def program(jit):
        class Settings:
            n = 2
            m = 1

        step = jit(lambda x: x * read(Settings))
        yield step(X)
        Settings.n = 3
        yield step(X)
        del Settings.n
        Settings.k, Settings.n = 0, 3
        yield step(X)
        Settings.other = 1
        yield step(X)

    program()


@refused(
    ev.errors.ImpurityError, r"(?s)memory, which is written to, shares memory with view.*Fix: "
)
def test_a_buffer_that_an_array_shows_is_not_written_to(jit):
    memory = bytearray(8)
    view = np.frombuffer(memory, np.float32)

    def step(x):
        memory[0] = 1
        return x + view[0]

    jit(step)(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1.0, 2.0, 3.0]),
        lambda: map(float, (1, 2, 3)),
        lambda: (float(i) for i in range(5)),
        lambda: itertools.count(1.0),
        lambda: itertools.cycle([1.0, 2.0]),
    ],
)
def test_a_body_does_not_move_an_iterator(make):
    @refused(TypeError, r"(?s)the body changes steps, which holds a position.*Fix: ")
    def program(jit):
        def loop(x):
            steps = make()
            return jit.fori_loop(0, 3, lambda _, c: c + next(steps), x)

        jit(loop)(X)

    program()


@refused(TypeError, r"(?s)the body changes counts, which holds a bytes.*Fix: ")
def test_a_body_does_not_write_to_a_buffer(jit):
    counts = bytearray(1)

    def body(_, c):
        counts[0] += 1
        return c + 1

    jit(lambda x: jit.fori_loop(0, 3, body, x))(X)


def test_a_call_that_fails_leaves_a_buffer_as_it_was():
    memory = bytearray(b"ab")

    @ev.jit
    def step(x):
        memory[0] = 0
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        step(X)
    assert memory == b"ab"
