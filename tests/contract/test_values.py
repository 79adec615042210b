"""Every cell of the table of values, and the page that shows it."""

from pathlib import Path

import pytest

from tests.contract.compare import case, refused
from tests.contract.values_columns import PROGRAMS
from tests.contract.values_table import cells, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "values.md"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("row", "column"),
    [pytest.param(row, column, id=f"{row.name}-{column}") for _, row, column in cells()],
)
def test_a_value_is_what_the_table_says(row, column):
    program = PROGRAMS[column](row)
    refusal = row.refused.get(column)
    if refusal is None:
        case()(program)()
    else:  # names the cause, the line and the repair
        refused(refusal.error, rf"(?s){refusal.text}.*\n  at .*\n  Fix: ")(_run(program))()


def _run(program):
    def run(jit):
        for _ in program(jit):
            pass

    return run


def test_the_page_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == page()
