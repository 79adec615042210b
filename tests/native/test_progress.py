"""The build of the C++ shows on the terminal how far it is, and passes on what it prints."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "src" / "native" / "progress.py"
BUILD = "print('[1/12] one'); print('[ 2/12] two'); print('a warning'); raise SystemExit(3)"
COMMAND = [sys.executable, str(PROGRAM), sys.executable, "-c", BUILD]
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
PRINTED = "[1/12] one\n[ 2/12] two\na warning\n"


def test_without_a_terminal_the_output_and_the_status_are_passed_on():
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, start_new_session=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, PRINTED, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_the_last_step_on_one_line(tmp_path):
    log = tmp_path / "log"
    # As pip does, which shows nothing of what is printed.
    inside = f"{shlex.join(COMMAND)} > {shlex.quote(str(log))}"
    done = subprocess.run(
        [sys.executable, "-c", TERMINAL, "sh", "-c", inside],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 3
    assert log.read_text(encoding="utf-8") == PRINTED
    steps = "\r  compiling evertrace's C++: 1 of 12 \x1b[K\r  compiling evertrace's C++: 2 of 12 "
    assert done.stdout.decode() == steps + "\x1b[K\r\x1b[K"
