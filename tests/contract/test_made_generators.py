"""Generators that a call makes and does not begin: each call gives one of its own, as Python does.

What has not begun is a function and arguments; a frame that stopped halfway is not made again.
"""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.errors import OpaqueStateError


def scaled(n, *more, by=2, **named):
    for i in range(n):
        yield i * by + sum(more) + sum(named.values())


def spaced(a, b=7, c=9):
    yield from (a, b, c)


class Bag:
    def __init__(self, items):
        self.items, self.kept = items, None

    def each(self):
        yield from self.items


def _nested(bag):
    factor = bag.items[0] * 3

    def generate(m=bag.items[1]):
        for x in bag.items:
            yield x * factor * m

    return generate()


def _grows(bag):
    found = (x + 1 for x in bag.items)
    bag.items.append(9)
    return found


def _with_an_array(bag):
    x = jnp.arange(3.0) * bag.items[0]
    return (x + item for item in bag.items)


def _kept(bag):
    bag.kept = (x * 2 for x in bag.items)
    return bag.kept


MAKE = {
    "expression": lambda bag: (x * 2 for x in bag.items),
    "expression in an expression": lambda bag: (
        (x, y) for x in bag.items for y in bag.items if x < y
    ),
    "global function": lambda bag: scaled(bag.items[1], bag.items[0], by=7, other=5),
    "with defaults": lambda bag: scaled(bag.items[1]),
    "one default between": lambda bag: spaced(1, c=bag.items[0]),
    "method": lambda bag: bag.each(),
    "nested function": _nested,
    "of a list that grows": _grows,
    "with an array": _with_an_array,
    "kept, too": _kept,
    "of a generator": lambda bag: (x + 1 for x in scaled(bag.items[0])),
}


@pytest.mark.parametrize("name", MAKE)
def test_it_yields_what_it_yields_in_python(name):
    make, jitted = MAKE[name], ev.jit(MAKE[name])
    for items in ([1, 2, 3], [4, 5, 6]):
        bag, bag2 = Bag(list(items)), Bag(list(items))
        found, expected = jitted(bag), make(bag2)
        assert type(found) is type(expected)
        assert (found is bag.kept) == (expected is bag2.kept)
        assert str(list(found)) == str(list(expected))
    assert jitted.cache_info().misses == 1


def test_each_call_has_one_of_its_own():
    make = ev.jit(lambda items: (x for x in items))
    first, second = make([1, 2]), make([1, 2])
    assert next(first) == 1
    assert list(second) == [1, 2]
    assert list(first) == [2]


def test_it_runs_late_as_in_python():
    bag = Bag([1, 2])
    found = ev.jit(lambda bag: bag.each())(bag)
    bag.items = [5]
    assert list(found) == [5]


def test_its_function_is_guarded():
    make = ev.jit(lambda: scaled(2))
    global scaled
    before = scaled
    try:
        assert list(make()) == [0, 2]
        scaled = lambda n: iter([n])  # noqa: E731
        assert list(make()) == [2]
    finally:
        scaled = before


def test_its_defaults_are_those_of_the_call():
    make = ev.jit(lambda: spaced(1))
    assert list(make()) == [1, 7, 9]
    spaced.__defaults__ = 5, 6
    try:
        assert list(make()) == [1, 5, 6]
    finally:
        spaced.__defaults__ = 7, 9


def test_one_that_has_begun_is_refused():
    def make(bag):
        found = (x for x in bag.items)
        next(found)
        return found

    with pytest.raises(OpaqueStateError, match="result is a generator that the function has made"):
        ev.jit(make)(Bag([1, 2]))
