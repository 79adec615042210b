"""Memory stays flat, whatever is repeated, and whatever is made and dropped; see `growth.py`.

Only the script shows what fills caches, which are bounded: classes, shapes, static values.
"""

import pytest

from tests.native import growth

CALLS, MADE = growth.calls(), growth.made()
FILLING = {"arrays", "classes", "eager shapes", "shapes", "static values"}
BYTES = 1 << 16  # what threads of XLA, free lists and tables may take


@pytest.mark.engine
@pytest.mark.parametrize("name", CALLS)
def test_calls_leave_nothing(name):
    blocks, size = growth.growth(CALLS[name], 50, 300)
    assert blocks < 150
    assert size < BYTES


@pytest.mark.engine
@pytest.mark.parametrize("name", [name for name in MADE if name not in FILLING])
def test_what_is_made_and_dropped_leaves_nothing(name):
    blocks, size = growth.growth(growth.numbered(MADE[name]), 50, 200)
    assert blocks < 100
    assert size < BYTES
