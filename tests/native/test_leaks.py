"""Calls leave memory as it was; `leaks.py` makes a million of each kind."""

import pytest

import evertrace as ev
from evertrace._src.extension import native
from tests.native.leaks import COSTLY, KINDS, MOST_BLOCKS, growth
from tests.native.test_call import X, hostile_values

pytestmark = pytest.mark.skipif(native is None, reason="the extension module was not built")


@pytest.mark.parametrize("kind", KINDS)
def test_calls_leave_memory_flat(kind):
    blocks, _ = growth(KINDS[kind], 2000 // COSTLY.get(kind, 1))
    assert blocks < MOST_BLOCKS


def test_matches_of_hostile_values_leave_memory_flat():
    f = ev.jit(lambda x, m: x + len(m))
    f(X, [1])
    guards, values = f._kept()[0].guards.compiled, hostile_values()
    blocks, _ = growth(lambda: [guards.match((f._fun, X, v)) for v in values], 500)
    assert blocks < MOST_BLOCKS
