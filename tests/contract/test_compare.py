"""The comparison sees what a wrong `jit` does: each world here is wrong in one way."""

import copy
import functools

import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Description, Plain, Record, X, case, compare, observe, raised
from tests.contract.parts import EMPTY
from tests.contract.reader import Reader


def program(jit):
    """Read, change and alias some state, with a change from outside."""
    s = Record(n=0, w=jnp.ones(3), items=[1], twin=None)
    s.twin = s.items

    def step(x):
        s.n += 1
        s.w = s.w + x * s.n
        s.items.append(s.n)
        return s.n

    step = jit(step)
    items = s.items
    for _ in range(2):
        yield step(X), s
    s.n = 10
    yield step(X), s, s.items is items


class Stale(Plain):
    """Gives the first result for ever."""

    def __call__(self, fun, **options):
        call = super().__call__(fun)
        first = functools.cache(lambda: call(X))
        return lambda x: first()


class Forgetful(Plain):
    """Changes nothing."""

    def __call__(self, fun, **options):
        call = super().__call__(fun)
        s = fun.__closure__[0].cell_contents

        def forgetful(*args):
            before = dict(vars(s), items=copy.copy(s.items))
            result = call(*args)
            vars(s).update(before)
            return result

        return forgetful


class After(Plain):
    """Does one thing too much to the state after each call."""

    def __init__(self, spoil):
        self._spoil = spoil

    def __call__(self, fun, **options):
        call = super().__call__(fun)

        def spoiling(*args):
            result = call(*args)
            self._spoil(fun.__closure__[0].cell_contents)
            return result

        return spoiling


def numbers_become_arrays(s):
    s.n = jnp.asarray(s.n)


def numbers_become_floats(s):
    s.n = float(s.n)


def list_is_copied(s):
    s.items = list(s.items)


def arrays_change_their_type(s):
    s.w = s.w.astype(jnp.float16)


def arrays_are_slightly_off(s):
    s.w = s.w * (1 + 1e-5)


def attribute_is_added(s):
    s.leftover = None


def attributes_change_their_order(s):
    s.n = vars(s).pop("n")


WRONG = [
    numbers_become_arrays, numbers_become_floats, list_is_copied, arrays_change_their_type,
    arrays_are_slightly_off, attribute_is_added, attributes_change_their_order,
]  # fmt: skip


def differ(world):
    """Whether the comparison finds that a world is not the plain one."""
    try:
        compare(observe(program, world), observe(program, Plain()))
    except AssertionError:
        return True
    return False


def test_the_same_world_twice_agrees():
    assert not differ(Plain())


def test_a_stale_result_is_seen():
    assert differ(Stale())


def test_forgotten_changes_are_seen():
    assert differ(Forgetful())


@pytest.mark.parametrize("spoil", WRONG)
def test_spoilt_state_is_seen(spoil):
    assert differ(After(spoil))


def test_result_of_another_kind_is_seen():
    with pytest.raises(AssertionError, match="observation"):
        compare(Description().of(1), Description().of(jnp.asarray(1)))
    with pytest.raises(AssertionError, match="observation"):
        compare(Description().of(0.0), Description().of(-0.0))
    with pytest.raises(AssertionError, match="observation"):
        compare(Description().of((1, 2)), Description().of((1,)))


def test_nothing_raised_is_seen():
    with pytest.raises(AssertionError, match="nothing was raised"):
        raised(lambda: 1)


@case(traces=1)
def one_trace_only(jit):
    f = jit(lambda x: x + 1)
    yield f(X), f(X[:2])


def test_traces_are_counted():
    with pytest.raises(AssertionError, match="2 traces, must be 1"):
        one_trace_only()


def test_what_another_thread_may_see_while_callbacks_run():
    """What the call has changed so far, a list too; nothing of a trace in it."""
    place = Record(a=[])
    for found, is_seen in (([1, {"k": X}], False), ([object()], True), (object(), True)):
        reader = Reader(None, "io_callback")
        reader._places, reader._before, reader._after = [(place, "a")], {}, {(0, "a"): place.a}
        reader._seen = {((0, "a"), id(found)): found}
        assert (reader.difference() is not None) == is_seen


class Hooked:
    __slots__ = ("k",)

    def __getattr__(self, name):
        if name == "k":
            return [0.25]
        raise AttributeError(name)


def test_what_another_thread_may_see_while_an_attribute_is_deleted():
    """What the class says of it, anew each time; nothing else."""
    place = Hooked()
    for source, found, is_seen in (
        ("del x.k", [0.25], False),
        ("x.k = 1", [0.25], True),
        ("del x.k", [object()], True),
        ("del x.k", 0.25, True),
    ):
        reader = Reader(None, source)
        reader._places, reader._before, reader._after = [(place, "k")], {}, {(0, "k"): EMPTY}
        reader._seen = {((0, "k"), id(found)): found}
        assert (reader.difference() is not None) == is_seen
