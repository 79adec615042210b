"""What the tests of hostile surroundings share: programs in processes of their own, with limits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import evertrace

SOURCES = Path(evertrace.__file__).parents[1]


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    """A shell that starts the tests in the background has SIGINT ignored."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outside)


@pytest.fixture
def run_python(tmp_path):
    """Run a program in a process of its own; returns what it printed.

    It has to end by itself, well and without a word on stderr, within the time and the memory.
    """

    def run_python(program, *, seconds=60, megabytes=None, expect=0, silent=True, **environment):
        if megabytes is not None:
            limit = f"(resource.RLIMIT_AS, ({megabytes << 20}, {megabytes << 20}))"
            program = f"import resource; resource.setrlimit{limit}\n{program}"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-X", "faulthandler", "-c", program],
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCES),
                "EVERTRACE_COMPILATION_CACHE_DIR": str(tmp_path / "executables"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        if silent:
            assert done.stderr == ""
        return done.stdout.strip()

    return run_python
