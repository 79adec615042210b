"""Random programs give on the fused engine what they give on the host engine; see `drawing`."""

import pytest

from tests.engines.fused.drawing import MORE, difference

LONG = 50197
"""A program with a kernel that is just as long as it may be."""

UNREAD = 8000011
"""A program with a kernel of an operation of which a result is read by nobody."""

JOINED = 30000160
"""A program that joins parts of an array of a few elements in the turns of a loop."""


@pytest.mark.parametrize("seed", [*range(16), *range(MORE, MORE + 16), LONG, UNREAD, JOINED])
def test_a_random_program_is_as_on_the_host(seed):
    assert difference(seed)[0] is None


def test_random_programs_have_kernels():
    assert sum([difference(seed)[1] for seed in range(3)]) >= 3
