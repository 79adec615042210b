"""The last items of a log, and whether anything is in it: read without depending on all of it."""

import collections
import random
import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine

CALLS = 12
LOG = []
BY_NAME = {"loss": []}
Curves = collections.namedtuple("Curves", "loss accuracy")


class State(Record):
    """What the programs use, afresh for each run."""

    shared = ()

    def __init__(self):
        shared = []
        super().__init__(
            n=0, v=1.5, log=[], also=shared, same=shared, numbers=[1.0, 2.0, 3.0],
            arrays=[X / 2, X * 2], history={"loss": [0.5]}, queue=collections.deque([0.5, 1.0]),
            named=Curves([1.0], 2), window=collections.deque([1.0, 2.0], maxlen=2),
            nested=[[1.0]], kept=None,
            by_name=collections.defaultdict(list), seen=set(), objects=[Record(k=0), Record(k=1)],
        )  # fmt: skip
        type(self).shared = []
        LOG.clear()
        BY_NAME["loss"].clear()


def table(*programs):
    return pytest.mark.parametrize("step", programs, ids=lambda f: getattr(f, "__name__", ""))


def program_of(step, change=None, **counts):
    def program(jit):
        s, run = State(), jit(step)
        for i in range(CALLS):
            yield run(s, X), s, list(LOG), list(BY_NAME["loss"]), list(State.shared)
            s.n, s.v = s.n + 1, s.v + 0.25
            if change:
                change(s, i)

    case(**counts)(program)()


# ------------------------------------------------------------------------ one program


def number(s, x):
    y = s.numbers[-1]
    s.numbers.append(y / 2 + s.v)
    return x * y


def of_a_dict(s, x):
    y = s.history["loss"][-1]
    s.history["loss"].append(y + s.v)
    return x * y


def of_a_named_tuple(s, x):
    y = s.named.loss[-1]
    s.named.loss.append(y + 1)
    return x * y if s.named.loss else -x


def of_a_deque(s, x):
    s.queue.append(s.queue[-1] + 1)
    s.queue.appendleft(s.queue[-2])
    return x * s.queue[-1]


def array(s, x):
    s.arrays.append(x * s.arrays[-1] / 2)
    return s.arrays[-1] + s.arrays[-2]


def in_place(s, x):
    s.numbers += [s.numbers[-1] + 0.5]
    return x


def the_second_last(s, x):
    s.numbers.append(s.numbers[-1] - s.numbers[-2] / 2)
    return x * s.numbers[-3]


def between_additions(s, x):
    s.numbers.append(7.0)
    y = s.numbers[-2]
    s.numbers.insert(0, y)
    return x * y * s.numbers[-3]


def a_list_in_it(s, x):
    y = s.nested[-1][-1]
    s.nested[-1].append(y + 1)
    return x * y


def a_list_in_it_in_place(s, x):
    s.nested[-1] += [s.v]
    return x * s.nested[-1][-1]


def a_list_in_it_that_is_added_to(s, x):
    s.nested[-1].append(s.v)
    s.nested.append([2.0])
    return x


def an_object(s, x):
    s.objects[-1].k += 1
    s.objects.append(Record(k=s.n))
    return x * s.objects[-2].k


def stored(s, x):
    s.kept = s.numbers[-1], f"{s.numbers[-1]:.2f}"
    s.numbers.append(s.v)
    return x


def in_a_loop(s, x):
    y, _ = lax.scan(lambda c, _: (c + s.numbers[-1], None), x, None, length=2)
    s.numbers.append(s.v)
    return y


def in_a_branch(s, x):
    y = lax.cond(x[0] > 0, lambda v: v * s.numbers[-1], lambda v: v, x)
    s.numbers.append(s.v)
    return y


def in_a_gradient(s, x):
    def loss(w):
        s.arrays.append(w * s.numbers[-1])
        return s.arrays[-1].sum()

    g = ev.grad(loss)(x)
    s.numbers.append(s.v)
    return g


def seen_by_a_callback(s, x):
    s.numbers.append(s.numbers[-1] + s.v)

    def look(v):
        return np.asarray(v) * np.float32(s.numbers[-1] + len(s.numbers))

    return ev.pure_callback(look, x, x)


def by_two_names(s, x):
    y = s.same[-1] if s.same else 1.0
    s.also.append(s.v)
    return x * y * s.same[-1]


def of_a_global(s, x):
    y = LOG[-1] if LOG else s.v
    LOG.append(y + 1)
    return x * y


def of_a_dict_under_a_global(s, x):
    y = BY_NAME["loss"][-1] if BY_NAME["loss"] else s.v
    BY_NAME["loss"].append(y + 1)
    return x * y


def of_a_class(s, x):
    y = State.shared[-1] if State.shared else 3.0
    State.shared.append(s.v)
    return x * y


def of_a_default_dict(s, x):
    s.by_name["a"].append(s.v)
    return x * s.by_name["a"][-1]


def in_a_function(s, x):
    def last():
        return s.log[-1] if s.log else 0.25

    y = last()
    s.log.append(s.v)
    return x * y


def under_a_local_name(s, x):
    log = s.log
    y = log[-1] if log else 0.25
    log.append(s.v)
    return x * y


def whether_there_is_any(s, x):
    if s.log:
        x = x * 2
    s.log.append(s.v)
    return x * 3 if s.log else x


def whether_there_is_none(s, x):
    if not s.log and not s.by_name["a"]:
        x = x * 2
    s.log.append(s.v)
    s.by_name["a"].append(x)
    return -x if not s.log else x


def whether_there_are_members(s, x):
    if s.seen:
        x = x * 2
    s.seen.add("step")
    return x


def behind_and(s, x):
    y = (s.log and s.log[-1]) or 0.5
    s.log.append(s.v)
    return x * y


def values_of_and_and_or(s, x):
    s.kept = (
        s.log and s.numbers,
        s.also or s.by_name["a"] or s.queue,
        s.log and s.log[-1],
        LOG or None,
    )
    s.numbers.append(s.v)
    LOG.append(s.v)
    return x * len(s.kept[1])


def before_or(s, x):
    y = 0.5 if s.by_name["a"] or s.log else 0.25
    s.log.append(y)
    return x * y


@table(
    number, of_a_dict, of_a_named_tuple, of_a_deque, array, in_place, the_second_last,
    between_additions, a_list_in_it, a_list_in_it_in_place, a_list_in_it_that_is_added_to,
    an_object, stored, in_a_loop, in_a_branch, in_a_gradient, seen_by_a_callback,
)  # fmt: skip
def test_the_last_items_of_what_grows_are_one_program(step):
    program_of(step, at_most=1)


@table(
    by_two_names, of_a_global, of_a_dict_under_a_global, of_a_class, of_a_default_dict,
    in_a_function, under_a_local_name, whether_there_is_any, whether_there_is_none,
    whether_there_are_members, behind_and, before_or,
)  # fmt: skip
def test_whether_there_is_any_item_is_two_programs(step):
    program_of(step, traces=2)


# ------------------------------------------------------------------------ changed from outside


def change(s, i):
    """Change each log from outside, in each of the ways that a later call has to see."""
    if i == 3:
        s.numbers.append(9)
        s.log.append(3)
        s.queue.append(2.5)
    if i == 5:
        s.numbers[:] = [4.0, 5.0, 6.0]
        s.arrays[:] = [X * 3, X * 4]
        s.nested[:] = [[1.0, 2.0]]
    if i == 7:
        for log in (s.log, s.also, LOG, BY_NAME["loss"], State.shared):
            log.clear()
        s.history["loss"] = [2.0]
        s.by_name = collections.defaultdict(list)
    if i == 8:
        s.numbers[-1] = s.numbers[0] + 0.125
        s.objects[-1] = Record(k=7)


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@table(
    number, of_a_dict, of_a_named_tuple, of_a_deque, array, in_place, the_second_last,
    between_additions, a_list_in_it, a_list_in_it_in_place, a_list_in_it_that_is_added_to,
    an_object, stored, in_a_loop, in_a_branch, in_a_gradient, seen_by_a_callback, by_two_names,
    of_a_global, of_a_dict_under_a_global, of_a_class, of_a_default_dict, in_a_function,
    under_a_local_name, whether_there_is_any, whether_there_is_none, behind_and, before_or,
)  # fmt: skip
def test_what_was_changed_from_outside_is_seen(step):
    program_of(step, change, at_most=5)


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
def test_values_of_and_and_or_are_what_they_are():
    program_of(values_of_and_and_or, change)


# ------------------------------------------------------------------------ all of it is read


def an_item_is_set(s, x):
    s.numbers[-1] = s.v
    s.numbers.append(1.0)
    return x


def an_item_is_changed(s, x):
    s.numbers[-1] += s.v
    return x * s.numbers[-1]


def read_later(s, x):
    y = s.numbers[-1]
    s.numbers.append(1.0)
    s.numbers.insert(0, s.v)
    return x * y * s.numbers[0] * sum(s.numbers)


def kept(s, x):
    y = s.numbers[-1]
    s.numbers.append(y / 2)
    s.kept = s.numbers, s.numbers[1]
    return x * y


def in_the_window(s, x):
    s.window.append(s.window[-1] + 1)
    return x * s.window[-1] if s.window else x


def one_or_the_other(s, x):
    y = s.log and s.log[-1]
    z = s.log or s.numbers
    s.log.append(s.v)
    s.kept = y
    return x * z[-1]


def taken_out(s, x):
    while s.numbers:
        x = x * s.numbers.pop()
    s.numbers.extend([s.v, 2.0])
    return x


def is_it_the_same(s, x):
    a, b = s.numbers[-1], s.numbers[-1]
    s.numbers.append(a)
    return x if a is b and s.numbers[-2] is a else -x


def far_behind(s, x):
    s.numbers.extend([s.v] * 3)
    return x * s.numbers[-5]


def not_there(s, x):
    try:
        y = s.log[-2]
    except IndexError:
        y = 0.25
    s.log.append(s.v)
    return x * y


@table(
    an_item_is_set, an_item_is_changed, read_later, kept, in_the_window, one_or_the_other,
    taken_out, is_it_the_same, far_behind, not_there,
)  # fmt: skip
@pytest.mark.parametrize("changes", [None, change], ids=["alone", "changed from outside"])
def test_what_is_read_otherwise_is_right(step, changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.errors.RetraceWarning)
        program_of(step, changes, at_most=CALLS)


def test_what_is_drawn_anew_at_each_call_is_added_to_a_log():
    def step(log, x):
        log.append(random.choice(["a", "b", "c"]))
        log.insert(0, random.choice(["d", "e"]))
        log.append(1)
        return x

    run = ev.jit(step)
    got, want = [], []
    for seed in range(CALLS):
        for f, log in ((step, want), (run, got)):
            random.seed(seed)
            f(log, X)
        assert got == want
    assert run.cache_info().misses == 1


def test_a_condition_of_a_container_that_was_given():
    def step(log, x):
        y = log[-1] if log else 1.0
        log.append(jnp.sum(x) * y)
        return x

    run, log = ev.jit(step), []
    for _ in range(CALLS):
        run(log, X)
    assert run.cache_info().misses <= 3
    want = []
    for _ in range(CALLS):
        step(want, X)
    np.testing.assert_array_equal(np.stack(log), np.stack(want))
