"""A process that goes wrong is an error in the others, within five seconds, that names it."""

import re

import pytest

from tests.sharding.faults import FAULTS, LIMIT, PAGE, measure


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_the_others_know_in_time(name):
    seconds, texts = measure(name)
    assert all(re.match(FAULTS[name].says, text) for text in texts), texts
    assert seconds < LIMIT, texts


def test_the_page_has_all_rows():
    rows = re.findall(r"^\| (.*?) \| ([\d.]+) to ([\d.]+) \|", PAGE.read_text(), re.MULTILINE)
    assert [name for name, *_ in rows] == list(FAULTS)
    assert all(float(greatest) < LIMIT for *_, greatest in rows)
