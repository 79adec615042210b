"""Random trees and hostile objects: the native core does with them what the Python code does."""

import os
import pathlib
import subprocess
import sys

import pytest

import evertrace
from tests.native import hostile

pytestmark = pytest.mark.usefixtures("needs_native")


def start(native, kind, first, count):
    """Start a process that prints a line for each of some seeds."""
    source = pathlib.Path(evertrace.__file__).parents[1]
    environment = {
        **os.environ,
        "EVERTRACE_NATIVE": native,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(source),
    }
    command = [sys.executable, "-X", "faulthandler", hostile.__file__, kind, str(first), str(count)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("trees", 3000), ("calls", 60)])
def test_both_implementations_agree_on_every_seed(kind, count):
    processes = [start(native, kind, 0, count) for native in "01"]
    (python, _), (native, errors) = [p.communicate(timeout=300) for p in processes]
    assert [p.returncode for p in processes] == [0, 0], errors
    assert native.splitlines() == python.splitlines()
    assert native.count("\n") == count


@pytest.mark.parametrize("kind", hostile.CASES)
def test_the_cases_do_what_they_are_for(kind):
    lines = list(hostile.lines(kind, 0, 300 if kind == "trees" else 20))
    failed = [line for line in lines if "Error" in line or "Refusal" in line]
    assert len(lines) // 10 < len(failed) < len(lines) // 1.2
