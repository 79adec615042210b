"""``python -m evertrace report``: what its page says of a program, and what the program notices."""

import html
import os
import subprocess
import sys
from pathlib import Path

import pytest

import evertrace as ev
from evertrace._src.core import monitoring
from evertrace._src.tools import command

SOURCES = Path(ev.__file__).parents[1]

PROGRAM = """
import sys
import evertrace as ev
import evertrace.numpy as jnp

@ev.jit
def double(x):
    return 2 * x

@ev.jit
def branches(x):
    return x if x > 0 else -x

if __name__ == "__main__":
    print("given", sys.argv[1:])
    for n in (3, 4, 4):
        double(jnp.ones(n))
    ev.jit(lambda x: x + 1, strict=True)(1.0)
    try:
        branches(jnp.ones(()))
    except TypeError:
        print("refused")
    {end}
"""


def reported(tmp_path, end="", *arguments):
    """Run a program by the command; returns status, output, errors and the page in plain text."""
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM.replace("{end}", end))
    done = subprocess.run(
        [sys.executable, "-m", "evertrace", "report", str(program), *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    page = (tmp_path / "prog.html").read_text(encoding="utf-8")
    return done.returncode, done.stdout, done.stderr, page


def test_a_page_says_what_was_traced_why_and_what_was_refused(tmp_path):
    status, out, said, page = reported(tmp_path, "sys.exit(3)", "-o", "<b>")
    assert status == 3
    assert out == "given ['-o', '<b>']\nrefused\n"
    assert said == "evertrace report: prog.html\n"
    text = html.unescape(page)
    assert "<b>" not in page
    assert "<tr><th>functions</th><td>3, with 3 programs</td></tr>" in page
    assert "<tr><td>double</td><td>x: f32[3] -> f32[4]</td></tr>" in text
    assert "TracerBoolConversionError: bool (an array as the condition" in text
    assert "program 2: x: f32[3] -> f32[4]" in text
    assert "exit status 3" in text
    assert "http" not in page


def test_a_program_that_fails_is_reported_with_its_traceback(tmp_path):
    status, _, said, page = reported(tmp_path, "1 / 0")
    assert status == 1
    assert said.startswith("Traceback (most recent call last):\n  File ")
    assert "ZeroDivisionError: division by zero\n" in said
    assert "runpy" not in said
    assert "How it ended" in page
    assert "ZeroDivisionError" in page


def test_there_has_to_be_a_program(capsys):
    assert command.main(["report", "no-such-file.py"]) == 2
    assert capsys.readouterr().err == "evertrace report: there is no file no-such-file.py\n"
    with pytest.raises(SystemExit):
        command.main(["report"])
    assert capsys.readouterr().err.endswith("are required: FILE.py\n")


@pytest.mark.parametrize("strict", [False, True])
def test_observers_are_told_of_traces_and_refusals(monkeypatch, strict):
    seen = []
    monkeypatch.setattr(monitoring, "observers", (lambda *told: seen.append(told),))

    def f(x):
        return x + 1

    def g(x):
        return x if x else 0

    ev.jit(f, strict=strict)(1.0)
    with pytest.raises(ev.errors.TracerBoolConversionError):
        ev.jit(g, strict=strict)(ev.numpy.ones(()))
    assert [(fun, what) for fun, what, _ in seen] == [(f, "traced"), (g, "refused")]
    assert seen[0][2]().result
    assert type(seen[1][2]) is ev.errors.TracerBoolConversionError
