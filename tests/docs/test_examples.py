"""Every example in the README and the documentation runs and prints what it says."""

import html
import re
from pathlib import Path

import pytest

import evertrace as ev
from tests.docs.examples import NumberChecker, blocks, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if any(blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.engine
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run_as_printed(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # an example may write files
    try:
        run_page(page)
    finally:
        ev.config.update("simulated_devices", None)  # an example may have asked for some


def test_each_recipe_of_the_cookbook_has_a_picture():
    page = ROOT / "docs" / "guides" / "cookbook.md"
    sections = page.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) == 8
    for section in sections:
        (picture,) = re.findall(r"^!\[.+\]\((.+)\)$", section, re.MULTILINE)
        assert (page.parent / picture).read_text(encoding="utf-8").count("<") > 30


def test_a_picture_below_a_table_of_benchmarks_shows_its_rows():
    page = ROOT / "docs" / "guides" / "benchmarks.md"
    found = re.findall(
        r"((?:^\|.*\n)+)\n!\[.+\]\((.+)\)$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(found) == 2
    for table, picture in found:
        shown = html.unescape((page.parent / picture).read_text(encoding="utf-8"))
        _, _, *rows = table.splitlines()
        for row in rows:
            assert row.split("|")[1].strip(" `") in shown


@pytest.mark.parametrize(
    ("want", "got", "agree"),
    [
        ("Array([1.0000001, 2.], dtype=float32)", "Array([1.0000002, 2.], dtype=float32)", True),
        ("[1. 2.]", "[0.9999999 2.       ]", True),
        ("1.5", "1.6", False),
        ("Array(1., dtype=float32)", "Array(1., dtype=float64)", False),
        ("[1. 2.]", "[1. 2. 3.]", False),
        ("3", "4", False),
    ],
)
def test_numbers_agree_by_value_and_text_by_letter(want, got, agree):
    assert NumberChecker().check_output(want + "\n", got + "\n", 0) is agree


def test_a_page_fails_where_an_output_differs(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\n```\ntext\n```python\n>>> x + 1\n4\n```\n")
    with pytest.raises(AssertionError, match=r"(?s)line 6, in page\.md.*Got:\n +3"):
        run_page(page)
    page.write_text(
        "```python\nx = 2\n```\n```python\n>>> x + 1\n3\n>>> x = 5\n```\n"
        "```python\nassert x == 5\n```\n"
    )
    run_page(page)


def test_an_exception_shows_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page)
    assert caught.traceback[-1].lineno + 1 == 4
