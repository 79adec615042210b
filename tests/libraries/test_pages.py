"""What `scripts/pages` makes of pages; JAX's own pages are run by hand."""

import json
import sys

import pytest

from tests.libraries import cells, pages, tables
from tests.libraries.pages import Compared

TICKS = "`" * 3
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["x = 0"]},
            {"cell_type": "code", "source": ["x = 1\n", "x"], "metadata": {}},
            {"cell_type": "code", "source": ["y"], "metadata": {"tags": [cells.RAISES]}},
        ]
    }
)
CELLS = f"{TICKS}{{code-cell}} ipython3\n:id: a\n:tags: [raises-exception]\n\ny\n{TICKS}\n"
HEADED = f"{TICKS}{{code-cell}}\n---\ntags: [raises-exception]\n---\ny\n{TICKS}\n"
SHOWN = f"{TICKS}python\nx = 1\n{TICKS}\n{TICKS}text\nno\n{TICKS}\n{TICKS}\n>>> y\n>>>\n{TICKS}\n"
EXAMPLES = "Say::\n\n  >>> x = 1\n  >>> y\n  Traceback (most recent call last):\n  NameError: no\n"


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (".ipynb", NOTEBOOK, [("x = 1\nx", False), ("y", True)]),
        (".md", CELLS + SHOWN, [("\ny\n", True)]),
        (".md", HEADED, [("y\n", True)]),
        (".md", SHOWN, [("x = 1\n", False), ("y\n", False)]),
        (".rst", EXAMPLES, [("x = 1\n", False), ("y\n", True)]),
        (".rst", ">>> x\n  ... wrong", []),
    ],
)
def test_cells_of_a_page(kind, text, found):
    assert cells.cells_of(text, kind) == found


def test_cells_run_in_one_namespace_and_print_their_last_value():
    sources = [
        "x = 1\n%matplotlib inline\nprint('a')\nx + 1",
        "%%bash\nls",
        "def f():\n  y\nf()",
        "",
    ]
    done = list(cells.run([(source, False) for source in sources], {}))
    assert done == [
        {"index": 0, "error": None, "printed": "a\n2\n"},
        {"index": 2, "error": "NameError: name 'y' is not defined", "printed": ""},
        {"index": 3, "error": None, "printed": ""},
    ]


def test_what_a_process_did_before_its_time_was_over_counts(tmp_path, monkeypatch):
    monkeypatch.setitem(pages.PYTHONS, "jax", sys.executable)
    parts = [("print(1)", False), ("while True: pass", False)]
    # Long enough for an interpreter to begin on a busy machine.
    assert pages.run("jax", parts, tmp_path, 10)[:1] == [
        {"index": 0, "error": None, "printed": "1\n"}
    ]


def test_pages_are_compared_by_what_they_do_on_jax():
    def done(*pairs):
        return [{"index": i, "error": e, "printed": p} for i, (e, p) in enumerate(pairs)]

    parts = [("", False), ("", True), ("", False), ("", True), ("", False), ("", False)]
    error = "TypeError: no"
    there = done(
        (None, "1.0 at 0x1"), (error, ""), (error, ""), (error, ""), (None, "a"), (None, "")
    )
    here = done((None, "1.000001 at 0x2"), ("KeyError: 1", ""), (None, ""), (None, ""), (None, "b"))
    compared = pages.compare("a.md", parts, here, there)
    assert compared == Compared(
        "a.md", 5, 2, {3: f"{pages.DOES_NOT_RAISE}TypeError", 5: "did not come so far"}, [4]
    )


FOUND = [
    Compared("a.md", 4, 1, {0: "TypeError: at 0x12 It was called as f(1)", 1: "NameError: x"}, [2]),
    Compared("b.md", 4, 4, {}, []),
    Compared("c.md", 2, 1, {0: "TypeError: at 0x34\nlong"}, []),
]


def test_rows_of_pages_and_of_causes():
    assert pages.page_rows(FOUND) == [
        ("a.md", "4", "2: 50.0 %", "1"),
        ("c.md", "2", "1: 50.0 %", "1"),
        ("all 3 pages", "10", "7: 70.0 %", "6"),
    ]
    assert pages.cause_rows(FOUND) == [
        ("2", "a.md, c.md", "TypeError: at 0x"),
        ("1", "a.md", pages.LATER),
    ]


def test_of_a_page_that_is_there_twice_the_text_is_run(tmp_path):
    for name in ("a.md", "a.ipynb", "b.ipynb", "c/d.rst", "e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert pages.pages_in(tmp_path) == ["a.md", "b.ipynb", "c/d.rst"]


def test_the_page_has_a_place_for_each_table():
    for begin in (pages.SUMMARY, pages.CAUSES):
        assert tables.rows(begin)
