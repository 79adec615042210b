"""Operators of plain numbers that are called as functions, with numbers that change.

In C they know no stand-ins, and say `NotImplemented` of them instead of raising.
"""

import pytest

import evertrace as ev
from tests.contract.compare import Record

add, half = (1).__add__, (0.5).__mul__
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
