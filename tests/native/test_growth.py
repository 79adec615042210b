"""Memory stays flat, whatever is repeated, and whatever is made and dropped; see `growth.py`.

Only the script shows what fills caches, which are bounded: classes, shapes, static values.
"""

import pytest

import evertrace as ev
from tests.native import growth
from tests.native.test_call import hostile_values

CALLS, MADE = growth.calls(), growth.made()
FILLING = {"arrays", "classes", "eager shapes", "paths", "shapes", "static values"}
TIMES, BLOCKS = 600, 400  # a leak takes a block each time; Python's free lists fill meanwhile
ROUNDS = 3  # a leak shows in each
BYTES = 1 << 16  # what threads of XLA, free lists and tables may take


def check_growth(run):
    """Check that memory is flat in one of some rounds."""
    for _ in range(ROUNDS):
        blocks, size = growth.growth(run, 50, TIMES)
        if blocks < BLOCKS and size < BYTES:
            return
    assert blocks < BLOCKS
    assert size < BYTES


@pytest.mark.engine
@pytest.mark.parametrize("name", CALLS)
def test_calls_leave_nothing(name):
    check_growth(CALLS[name])


@pytest.mark.engine
@pytest.mark.parametrize("name", [name for name in MADE if name not in FILLING])
def test_what_is_made_and_dropped_leaves_nothing(name):
    check_growth(growth.numbered(MADE[name]))


@pytest.mark.usefixtures("needs_native")
def test_matches_of_hostile_values_leave_nothing():
    f = ev.jit(lambda x, m: x + len(m))
    f(growth.X, [1])
    guards, values = f._contract.variants.all()[0].guards.compiled, hostile_values()
    roots = [(f._fun, growth.X, value) for value in values]
    blocks, size = growth.growth(lambda: [guards.match(r) for r in roots], 50, 500)
    assert blocks < 60
    assert size < BYTES


def test_a_leak_is_found():
    kept = []
    with pytest.raises(AssertionError):
        check_growth(lambda: kept.append(object()))
