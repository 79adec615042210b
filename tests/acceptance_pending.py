"""A pytest plugin for the acceptance tests: those on a list are expected to fail, and must.

Used as ``pytest ../shared/acceptance -p tests.acceptance_pending``. A listed test that passes, or
that does not exist, makes the run fail, so that `acceptance_pending.txt` never says more than is
true.
"""

from pathlib import Path

import pytest

LIST = Path(__file__).with_suffix(".txt")


def read_pending(text: str) -> dict[str, str]:
    """Parse lines of ``name: reason``; empty ones and comments do not count."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pending = dict(line.split(": ", 1) for line in lines)
    if len(pending) != len(lines):
        raise pytest.UsageError(f"{LIST.name} names a test twice")
    return pending


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the listed tests to fail."""
    pending = read_pending(LIST.read_text(encoding="utf-8"))
    for item in items:
        reason = pending.pop(getattr(item, "originalname", item.name), None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if pending:
        raise pytest.UsageError(f"{LIST.name} names tests that do not exist: {', '.join(pending)}")
