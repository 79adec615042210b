"""`breakpoint()`, `pdb.set_trace()`: pdb, and IPython's debugger, see no lines but the user's."""

import pathlib
import subprocess
import sys

import pytest

import evertrace as ev

SOURCES = pathlib.Path(ev.__file__).parents[1]

PROGRAM = """\
import evertrace as ev, evertrace.numpy as jnp
def inner(x):
    z = x * 3
    return z
def f(x):
    breakpoint()
    w = jnp.cos(x)
    v = inner(w)
    return v
def main():
    a = transform(f)(jnp.ones(3))
    print("done")
main()
"""
LINES = PROGRAM.split("\n")


def stops(tmp_path, commands, transform="ev.jit", before="", stop="breakpoint()", **variables):
    """Return what the debugger prints of a program: the functions and lines that it shows."""
    program = tmp_path / "program.py"
    text = PROGRAM.replace("transform(f)", f"{transform}(f)").replace("breakpoint()", stop)
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\nimport runpy; runpy.run_path({str(program)!r})"],
        input="\n".join(commands), capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(SOURCES), "PATH": "", "NO_COLOR": "1", **variables},
    )  # fmt: skip
    return done.stdout


def at(number):
    return f"-> {LINES[number - 1].strip()}"


@pytest.mark.parametrize("transform", ["ev.jit", "ev.vmap", "ev.checkpoint", "ev.make_jaxpr"])
def test_the_stack_is_the_users(tmp_path, transform):
    shown = stops(tmp_path, ["w", "u", "d", "c"], transform)
    assert str(SOURCES) not in shown
    assert [line for line in shown.split("\n") if "->" in line] == [
        at(7),
        *["-> main()", at(11).replace("transform", transform), at(7)],  # w, below Python's own
        at(11).replace("transform", transform),
        at(7),
    ]


def test_steps_go_from_line_to_line(tmp_path):
    shown = stops(tmp_path, ["s", "s", "s", "s", "s", "s", "s", "s", "c"])
    assert str(SOURCES) not in shown
    assert [line for line in shown.split("\n") if line.startswith("->")] == [
        at(7), at(8), at(2), at(3), at(4), at(4), at(9), at(9), at(12),
    ]  # fmt: skip


def test_next_and_return_leave_for_the_users_caller(tmp_path):
    shown = stops(tmp_path, ["r", "n", "c"])
    assert [line for line in shown.split("\n") if line.startswith("->")] == [at(7), at(9), at(12)]


@pytest.mark.parametrize(
    ("line", "before"),
    [("import pdb; pdb.set_trace()", ""), ("from pdb import set_trace; set_trace()", "import pdb")],
)
def test_pdb_is_opened_as_a_breakpoint(tmp_path, line, before):
    commands = ["w", "s", "s", "s", "s", "s", "s", "s", "u", "c"]
    expected = stops(tmp_path, commands, before=before)
    shown = stops(tmp_path, commands, before=before, stop=line)
    assert shown.replace(line, "breakpoint()") == expected
    assert str(SOURCES) not in shown
    assert at(9) in shown


def test_pdb_says_what_it_is_given(tmp_path):
    line = "import pdb; pdb.set_trace(header='here')"
    assert stops(tmp_path, ["c"], stop=line).startswith("here\n")


def test_all_frames_are_shown_where_that_is_asked_for(tmp_path):
    shown = stops(tmp_path, ["w", "c"], EVERTRACE_TRACEBACK_FILTERING="off")
    assert str(SOURCES) in shown


def test_who_chose_another_debugger_has_it(tmp_path):
    assert stops(tmp_path, [], PYTHONBREAKPOINT="0") == "done\n"
    chosen = 'import sys; sys.breakpointhook = lambda: print("mine")'
    assert stops(tmp_path, [], before=chosen) == "mine\ndone\n"


def test_ipythons_debugger(tmp_path):
    pytest.importorskip("IPython", reason="IPython, of the extra `test`, is missing")
    theirs = "import pdb, IPython.core.debugger as d; pdb.Pdb = d.Pdb"
    shown = stops(tmp_path, ["w", "s", "s", "c"], before=theirs, HOME=str(tmp_path))
    assert "ipdb> " in shown
    assert "jit" not in shown.replace("ev.jit", "")
    assert "----> 8" in shown
