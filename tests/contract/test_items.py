"""Items of lists, tuples and dicts by an index that changes each call: found by each call anew."""

import collections
import gc
import math
import random
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine

CALLS = 12
RATES = (0.1, 0.2, 0.3)
MISSING = float(2**70)


class Own(list):
    """A list with items of its own."""

    def __getitem__(self, i):
        return list.__getitem__(self, i) * 2


def state():
    return Record(
        n=0,
        data=[1.0, 2.0, 3.5, 4.0, 5.0],
        pair=(1, 2, 3),
        by_number={0: 1.0, 1: 2.5, 2: -1.0},
        ordered=collections.OrderedDict([(0, 5), (1, 6), (2, 7)]),
        window=collections.deque([1, 2, 3], maxlen=3),
        names=["mean", "sum", "mean"],
        flags=[True, False, True, True],
        limits=[None, None, 3.0],
        mixed=[1, 2.0, 3 + 1j],
        own=Own([1.0, 2.0, 3.0]),
        marks=[1.5, MISSING, 2.5],
        nans=[1.0, math.nan],
        rows=[[1, 2], [3, 4], [5, 6]],
        objects=[Record(w=X), Record(w=X * 2)],
    )


def table(*programs):
    return pytest.mark.parametrize("step", programs, ids=lambda f: f.__name__)


def program_of(step, **counts):
    def program(jit):
        s, run = state(), jit(step)
        for _ in range(CALLS):
            yield run(s, X), s
            s.n += 1

    case(**counts)(program)()


# ------------------------------------------------------------------------ one program


def of_a_list(s, x):
    return x * s.data[s.n % len(s.data)]


def from_the_end(s, x):
    return x * s.data[-1 - s.n % 5] + s.data[-(s.n % 5) - 1]


def of_a_tuple(s, x):
    return x * s.pair[s.n % 3] + RATES[(s.n + 1) % 3]


def of_a_dict(s, x):
    return x * s.by_number[s.n % 3] * s.ordered[2 - s.n % 3]


def of_a_deque(s, x):
    return x * s.window[s.n % 3]


def of_a_literal(s, x):
    rates = [0.1, 0.2, s.data[0]]
    return x * rates[s.n % 3] * (1, 2, 3)[s.n % 3] + {0: 1.5, 1: s.data[1], 2: 0}[s.n % 3] * 2.0


def of_what_was_changed(s, x):
    data = [2.0 * v for v in s.data]
    data[1] = s.data[2] / 3
    s.window.append(s.n)
    return x * data[s.n % 5] + s.window[s.n % 3]


def computed_with(s, x):
    s.data[0] = s.data[s.n % 4 + 1] ** 2 / (1 + s.pair[s.n % 3])
    s.text = f"{s.data[s.n % 5]:.3f} and {s.names[s.n % 3]!r}"
    return x


def of_texts(s, x):
    s.text = s.names[s.n % 3]
    return x


def in_a_loop(s, x):
    for k in range(3):
        x = x * s.data[(s.n + k) % 5]
    return x, sum(s.data[(s.n * k) % 5] for k in range(3))


def of_an_argument_of_a_helper(s, x):
    return x * helper(s.data, s.n % 5)


def helper(data, i, default=RATES):
    return data[i] + default[i % 3]


@table(
    of_a_list, from_the_end, of_a_tuple, of_a_dict, of_a_deque, of_what_was_changed,
    computed_with, of_texts, in_a_loop, of_an_argument_of_a_helper,
)  # fmt: skip
def test_an_item_at_an_index_that_changes_is_one_program(step):
    program_of(step, traces=1)


@case(traces=1)
def test_a_schedule_as_long_as_the_training(jit):
    s = Record(rates=[0.1 / (k + 1) for k in range(100)], step=0, w=X)

    def step():
        s.w = s.w - s.rates[s.step] * s.w
        s.step += 1

    run = jit(step)
    for _ in range(30):
        yield run(), s


@case(traces=1)
def test_items_that_change_from_outside(jit):
    s, run = state(), jit(of_a_list)
    for k in range(CALLS):
        yield run(s, X), s
        s.n, s.data[k % 5] = 3 * k, k + 0.25


@case(traces=1)
def test_at_an_index_that_is_drawn(jit):
    s = state()

    def step(x):
        s.last = s.data[random.randrange(5)]
        return x

    run = jit(step)
    for k in range(CALLS):
        random.seed(k)
        yield run(X), s


# ------------------------------------------------------------------------ demands


def a_type_of_two(s, x):
    return x * s.mixed[s.n % 3].real


def a_literal_of_two_types(s, x):
    return of_a_literal(s, x)


def whether(s, x):
    return x * 2 if s.flags[s.n % 4] else x


def none_or_a_number(s, x):
    limit = s.limits[s.n % 3]
    return x if limit is None else jnp.minimum(x, limit)


def identity(s, x):
    return x if s.marks[s.n % 3] is MISSING else -x


def what_a_text_says(s, x):
    return getattr(jnp, s.names[s.n % 3])(x)


def what_is_greater(s, x):
    return x if s.data[s.n % 5] > 2.5 else -x


@pytest.mark.parametrize(
    ("step", "count"),
    [
        (a_type_of_two, 3), (a_literal_of_two_types, 2), (whether, 2), (none_or_a_number, 2),
        (identity, 2), (what_a_text_says, 2), (what_is_greater, 2),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_what_an_item_decides_is_a_demand(step, count):
    program_of(step, traces=count)


def of_a_class_of_its_own(s, x):
    return x * s.own[s.n % 3]


def a_nan(s, x):
    return x * (0.0 if s.nans[s.n % 2] in (math.nan,) else 1.0)


def a_list(s, x):
    return x * s.rows[s.n % 3][1]


def an_object(s, x):
    return x * s.objects[s.n % 2].w


@pytest.mark.parametrize(
    ("step", "count"), [(of_a_class_of_its_own, 3), (a_nan, 2), (a_list, 3), (an_object, 2)],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_what_cannot_be_found_by_a_call_is_a_program_for_each_index(step, count):
    program_of(step, traces=count)


def test_the_reason_of_such_a_program_is_said():
    s, run = state(), ev.jit(a_list)
    with ev.explain_retraces():
        for _ in range(3):
            run(s, X)
            s.n += 1
    assert "s.n % 3: 0 -> 1" in str(run.explain())


# ------------------------------------------------------------------------ errors


def past_the_end(s, x):
    return x * s.data[s.n + 1]


def before_the_start(s, x):
    return x * s.pair[-1 - s.n]


def no_such_key(s, x):
    return x * s.by_number[s.n]


def past_the_end_of_a_deque(s, x):
    return x * s.window[s.n + 1]


def caught(s, x):
    try:
        return x * s.data[s.n]
    except IndexError:
        return -x


@table(past_the_end, before_the_start, no_such_key, past_the_end_of_a_deque)
def test_an_item_that_is_not_there(step):
    def program(jit):
        s, run = state(), jit(step)
        for n in (0, 1, 7, 0, 8):
            s.n = n
            yield raised(run, s, X) if n > 5 else run(s, X)

    case(at_most=3)(program)()


@case(traces=2)
def test_an_error_that_is_caught(jit):
    s, run = state(), jit(caught)
    for n in (0, 1, 9, 4, -1, 5):
        s.n = n
        yield run(s, X)


@case(traces=2)
def test_the_very_object_is_found(jit):
    """An item is stored as the object that was in the list, of whatever identity."""
    s = state()

    def step(x):
        s.kept = s.marks[s.n % 3]
        return x

    run = jit(step)
    for _ in range(3):
        run(X)
        yield s, s.kept is s.marks[s.n % 3]
        s.n += 1
    s.marks[0] = 1
    run(X)
    yield s, s.kept is s.marks[s.n % 3]


# ------------------------------------------------------------------------------- of arrays


def layers():
    return [X * i for i in range(5)]


def at_an_index(s, x):
    return x * s.items[s.n]


def counted(s, x):
    y = x * s.items[s.n % 5]
    s.n += 1
    return y


def from_the_end(s, x):
    return x * s.items[-s.n]


def differentiated(s, x):
    return ev.grad(lambda y: (y * s.items[s.n]).sum())(x)


def batched(s, x):
    return ev.vmap(lambda v: v * s.items[s.n])(x)


def in_a_loop(s, x):
    return lax.scan(lambda c, z: (c * s.items[s.n], z), x, x)


def called_back(s, x):
    y = s.items[s.n]
    return ev.pure_callback(lambda v: np.asarray(v) * np.asarray(y), x, x)


def two(s, x):
    return x * s.items[s.n] + s.items[s.n] * s.items[4 - s.n]


@pytest.mark.parametrize("kind", [list, tuple, collections.deque])
@pytest.mark.parametrize(
    "read",
    [at_an_index, counted, from_the_end, differentiated, batched, in_a_loop, called_back, two],
)
def test_an_array_of_a_sequence_is_one_program_at_any_index(read, kind):
    @case(traces=1)
    def compared(jit):
        s = Record(items=kind(layers()), n=0)
        f = jit(lambda x: read(s, x))
        for i in range(7):
            s.n = i % 5
            yield f(X), s.n
        s.items = kind([X + i for i in range(5)])
        yield f(X)

    compared()


@case(traces=1)
def test_an_array_that_is_found_by_an_index_is_returned_and_kept_as_itself(jit):
    s = Record(items=layers(), n=0, best=None)

    def f(x):
        s.best = s.items[s.n]
        return s.items[s.n], x

    f = jit(f)
    for i in range(5):
        s.n = i
        found, _ = f(X)
        yield found is s.items[i], s.best is found, s


@pytest.mark.parametrize("other", ["best", "items[m]"])
def test_an_array_that_is_found_by_an_index_may_be_another_by_its_path(other):
    @case()
    def compared(jit):
        s = Record(items=layers(), n=0, m=2)
        s.best = s.items[2]

        def f(x):
            same = s.best if other == "best" else s.items[s.m]
            return x if s.items[s.n] is same else -x

        f = jit(f)
        for i in range(5):
            s.n = i
            yield f(X)
        s.best, s.m = s.items[4], 4
        yield f(X)

    compared()


@case(traces=4)  # a shape, another, other dtype, an index out of bounds
def test_arrays_of_several_types_at_an_index(jit):
    s = Record(items=[X, X[:2], X[:2] * 2, jnp.arange(3)], n=0)

    def f(x):
        try:
            return x.sum() * s.items[s.n]
        except IndexError:
            return x

    f = jit(f)
    for i in (0, 1, 2, 3, 4, 5, 0, 1):
        s.n = i
        yield f(X)


@case()
def test_an_array_at_an_index_of_a_list_that_is_given_away(jit):
    f = jit(lambda x, n, items: (x * items[n], items[n] + 1), donate_argnums=2)
    for n in (0, 1, 2, 1):
        yield f(X, n, layers())


@case()
def test_an_array_that_is_written_at_an_index(jit):
    s = Record(items=layers(), n=0)

    def f(x):
        s.items[s.n] = x + s.items[s.n]
        return s.items[s.n]

    f = jit(f)
    for i in range(7):
        s.n = i % 5
        yield f(X), s


def test_a_program_keeps_no_array_that_it_was_traced_with():
    s = Record(items=layers(), n=0)
    f = ev.jit(lambda x: x * s.items[s.n])
    f(X)
    gone = [weakref.ref(x) for x in s.items]
    s.items = [X, X]
    f(X)
    gc.collect()
    assert [ref() for ref in gone] == [None] * 5


def test_an_item_may_be_what_operators_return_that_know_no_operand():
    items, s = [NotImplemented, 2], Record(n=0)
    jitted = ev.jit(lambda: (items[s.n], (1).__add__(0.5) is items[s.n]))
    for s.n in (0, 1, 0):
        assert jitted() == (items[s.n], s.n == 0)


def test_a_comparison_between_operators_is_asked_in_a_long_function():
    far = "".join([f"        far = math.name{i} + math.other * {i}.125\n" for i in range(200)])
    source = f"""
def f(n):
    if kept is int.__add__:
        return n + 1
    if n > 10**9:
{far}
    return n
"""
    names = {"kept": int.__add__, "math": None}
    exec(source, names)
    jitted = ev.jit(names["f"])
    assert jitted(1) == 2
    names["kept"] = int.__sub__
    assert jitted(1) == 1
