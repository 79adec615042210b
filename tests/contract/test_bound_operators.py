"""Operators of plain numbers, or of their types, that are called with numbers that change.

In C they know no stand-ins, and say `NotImplemented` of them instead of raising.
"""

import functools
from functools import reduce
from itertools import accumulate, starmap

import numpy as np
import pytest

import evertrace as ev
from tests.contract.compare import Record

add, half = (1).__add__, (0.5).__mul__
subtract = int.__sub__
kept = Record(subtract=(3).__sub__)

WAYS = {
    "written": lambda n: [(1).__add__(n), (7).__sub__(n), (2).__pow__(n), (9).__divmod__(n)],
    "reflected": lambda n: [(1).__rsub__(n), (2).__rpow__(n), (5).__rfloordiv__(n)],
    "compared": lambda n: [(2).__eq__(n), (2).__lt__(n), (2.5).__ge__(n), True.__ne__(n)],
    "of bits": lambda n: [(6).__and__(n), (6).__xor__(n), (1).__lshift__(n), (True).__or__(n)],
    "of floats": lambda n: [(0.5).__add__(n), (7.5).__mod__(n), (1j).__mul__(n)],
    "global": lambda n: [add(n), half(n)],
    "attribute": lambda n: [kept.subtract(n)],
    "in a loop": lambda n: [f(n) for f in ((1).__add__, (2).__eq__)],
    "map": lambda n: list(map((1).__add__, [n, 4])),
    "filter": lambda n: list(filter((2).__eq__, [n, 2, 4])),
    "of a type": lambda n: [int.__add__(1, n), float.__rmod__(2.5, n * 1.0), subtract(5, n)],
    "of the class": lambda n: [(1).__class__.__pow__(2, n), bool.__and__(True, n > 2)],
    "getattr": lambda n: [
        getattr(x, name)(3, n) for x, name in ((int, "__mul__"), (int, "__add__"))
    ],
    "getattr of one": lambda n: [getattr(x, "__add__")(n) for x in (1, 2.5)],  # noqa: B009
    "reduce": lambda n: [reduce(int.__add__, [1, n]), functools.reduce(int.__mul__, [2, n], 5)],
    "starmap": lambda n: list(starmap(int.__add__, [(1, n)])) + list(starmap(subtract, [(7, n)])),
    "accumulate": lambda n: list(accumulate([2, n, n], (int.__mul__))),
    "attribute to map": lambda n: (
        list(map(kept.subtract, [n, 1])) + sorted([n, 1], key=(5).__sub__)
    ),
    "kept": lambda n: [subtract is int.__sub__, {int.__add__: 4}[int.__add__] - n],
    "not implemented": lambda n: [(n + 1).__add__("a") is NotImplemented, (2).__eq__("a")],
}


@pytest.mark.parametrize("way", WAYS)
def test_operators_of_numbers_take_numbers_that_change(way):
    s = Record(n=0)
    for jitted, given in (
        (ev.jit(lambda: WAYS[way](s.n)), lambda: ()),
        (ev.jit(WAYS[way]), lambda: (s.n,)),
    ):
        for s.n in (2, 2, 3):
            assert _shown(jitted(*given())) == _shown(WAYS[way](s.n))


def _shown(results):
    """Return results, numbers and arrays of them as one type."""
    return [x if x is NotImplemented else complex(x) for x in ev.tree.leaves(results)]


def test_a_function_that_is_set_while_it_is_traced_is_the_one_that_is_called():
    source = """
def f(n):
    global fn
    first = fn(n, 1)
    fn = other
    return [first, fn(n, 1)]
"""
    for first, other in ((int.__add__, int.__sub__), (np.add, np.subtract), (max, min)):
        names = {"fn": first, "other": other}
        exec(source, names)
        jitted = ev.jit(names["f"])
        for _ in range(2):
            names["fn"] = first
            assert _shown(jitted(3)) == [first(3, 1), other(3, 1)]
            assert names["fn"] is other
            assert _shown(jitted(3)) == [other(3, 1), other(3, 1)]
