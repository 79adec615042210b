"""Runs the Python examples of a page: its fenced blocks, in order, in one namespace.

A block with prompts is a doctest, so what it prints is compared; any other block is run as it
stands. Numbers may differ in their last digits, because another processor sums in another order;
everything around them has to match.
"""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```python\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")
RELATIVE_TOLERANCE = 2e-5  # some hundred spacings of float32: other sums, not other mathematics
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """One fenced block, and the line of the page that it starts on."""

    source: str
    line: int


class NumberChecker(doctest.OutputChecker):
    """Compares floating-point numbers by value, and all else as doctest does."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Say whether an output is as wanted."""
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = NUMBER.findall(want), NUMBER.findall(got)
        if len(wanted) != len(found) or not all(map(_close, wanted, found)):
            return False
        return super().check_output(_skeleton(want), _skeleton(got), optionflags)


def _skeleton(text: str) -> str:
    """Return what is left of a text without its numbers, and without the padding they bring."""
    return re.sub(r"\s+", "", NUMBER.sub("#", text))


def _close(want: str, got: str) -> bool:
    return abs(float(want) - float(got)) <= RELATIVE_TOLERANCE * max(abs(float(want)), 1e-3)


def blocks(text: str) -> Iterator[Block]:
    """Find the fenced Python blocks of a page."""
    for match in FENCE.finditer(text):
        yield Block(match["source"], text.count("\n", 0, match.start("source")))


def run_page(page: Path) -> dict[str, Any]:
    """Run the examples of a page; returns the names that they have defined.

    Raises:
      AssertionError: something printed differs; the message is doctest's report of all of it.
      Exception: whatever a block without prompts raises.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(NumberChecker(), verbose=False, optionflags=FLAGS)
    report: list[str] = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if ">>> " in block.source:
            test = doctest.DocTestParser().get_doctest(
                block.source, namespace, page.name, str(page), block.line
            )
            runner.run(test, out=report.append, clear_globs=False)
            namespace = test.globs
        else:
            # Empty lines in front, so that a traceback shows the line of the page.
            exec(compile("\n" * block.line + block.source, page, "exec"), namespace)
    assert not report, "".join(report)
    return namespace
