"""debug.breakpoint: the commands of its prompt; and the other small functions of `debug`."""

import io
import logging
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import debug


def as_it_is(fun):
    """Leave a function uncompiled."""
    return fun


both = pytest.mark.parametrize("run", [as_it_is, ev.jit], ids=["eager", "jit"])


def inner(x):
    y = x * 2
    debug.breakpoint()
    return y


def outer(x):
    scale = "text"
    return inner(x + 1), scale


@pytest.fixture
def session(monkeypatch, capsys):
    """Return a function from commands to the lines that the prompt prints."""

    def run_commands(commands, run=as_it_is):
        monkeypatch.setattr("sys.stdin", io.StringIO(commands))
        run(lambda x: outer(x)[0])(jnp.arange(2.0))
        return capsys.readouterr().out.replace("(evdb) ", "").splitlines()

    return run_commands


COMMANDS = {
    "p y": "Array([2., 4.], dtype=float32)",
    "y.shape": "(2,)",
    "pp {'a': 1}": "{'a': 1}",
    "jnp.sum(y).item()": "6.0",
    "a": "x = Array([1., 2.], dtype=float32)",
    "u\np scale": "'text'",
    "p nothing": "*** NameError: name 'nothing' is not defined",
    "1 +": "*** SyntaxError: invalid syntax (<string>, line 1)",
    "d": "*** this is the newest frame",
    "up\ndown\np x": "Array([1., 2.], dtype=float32)",
    "\np 1": "1",
}


@both
@pytest.mark.parametrize("commands", COMMANDS)
def test_commands(session, run, commands):
    assert COMMANDS[commands] in session(f"{commands}\nc\n", run)


def test_place_frames_and_lines(session):
    lines = session("w\nl\nc\n")
    assert " in inner" in lines[0]
    assert any(line.startswith("->") and " in inner" in line for line in lines)
    assert any(line.startswith("   ") and " in outer" in line for line in lines)
    assert any("->     debug.breakpoint(" in line for line in lines)


def test_variables_that_are_no_trees_are_shown_as_they_are():
    ring, unordered, out = [1], {1: 2, "a": 3}, io.StringIO()
    ring.append(ring)
    debug.breakpoint(stdin=io.StringIO("p ring\np unordered\nc\n"), stdout=out)
    assert "[1, [...]]" in out.getvalue()
    assert str(unordered) in out.getvalue()


def test_quit_and_end_of_input(session):
    with pytest.raises(KeyboardInterrupt, match="stopped by the command q"):
        session("q\n")
    assert " in inner" in session("")[0]


def test_once_per_example():
    out = io.StringIO()

    def f(x):
        debug.breakpoint(stdin=io.StringIO("p x\nc\n"), stdout=out, num_frames=1)

    ev.vmap(f)(jnp.arange(3.0))
    assert out.getvalue().count("in f") == 3


@both
def test_log(run, caplog):
    with caplog.at_level(logging.INFO, "evertrace.debug"):
        run(lambda x: debug.log("x = {x}", x=x))(jnp.arange(2))
    assert [r.getMessage() for r in caplog.records] == ["x = [0 1]"]


def test_log_checks_its_format():
    with pytest.raises(ValueError, match=r"debug\.log: \{y\} in 'x = \{y\}' is not given"):
        debug.log("x = {y}", x=1)
    with pytest.raises(TypeError, match=r"debug\.log: the format must be a string, got NoneType"):
        debug.log()


@both
def test_inspect_array_sharding(run):
    seen = []
    run(lambda x: debug.inspect_array_sharding(x, callback=seen.append))(jnp.ones(3))
    assert [s.device_set for s in seen] == [set(ev.devices()[:1])]


@both
def test_inspect_array_sharding_with_a_function_of_nothing(run):
    with pytest.raises(TypeError, match=r"<lambda> cannot be called with what it was given") as e:
        run(lambda x: debug.inspect_array_sharding(x, callback=lambda: 1))(jnp.ones(3))
    assert "inspect_array_sharding" in str(e.value)
    assert "\n  at " in str(e.value)


class Grid:
    """A sharding of eight by eight elements over four devices."""

    def devices_indices_map(self, shape):
        devices = ev.devices("cpu")[0]
        fake = [type("D", (), {"id": i, "platform": devices.platform})() for i in range(4)]
        halves = (slice(0, 4), slice(4, 8))
        return {fake[2 * i + j]: (halves[i], halves[j]) for i in range(2) for j in range(2)}


def test_visualize_sharding(capsys):
    debug.visualize_sharding((8, 8), Grid())
    assert capsys.readouterr().out.splitlines() == [
        "┌───────┬───────┐",
        "│ CPU 0 │ CPU 1 │",
        "├───────┼───────┤",
        "│ CPU 2 │ CPU 3 │",
        "└───────┴───────┘",
    ]
    ev.jit(debug.visualize_array_sharding)(np.ones(3))
    assert "│ CPU 0 │" in capsys.readouterr().out


def test_effects_are_those_of_debug_callbacks():
    jaxpr = ev.make_jaxpr(lambda x: debug.print("{}", x))(1.0)
    assert {type(e) for e in jaxpr.effects} == {debug.DebugEffect}
    jaxpr = ev.make_jaxpr(lambda x: debug.print("{}", x, ordered=True))(1.0)
    assert {type(e) for e in jaxpr.effects} == {debug.OrderedDebugEffect}


# ---------------------------------------------------------------- Python's debugger


PROGRAM = """
import evertrace as ev, evertrace.numpy as jnp

@ev.jit
def f(x):
    y = x * 2
    breakpoint()
    return y + 1

print(f(jnp.arange(2.0)), f(jnp.arange(2.0)))
"""


def test_pythons_breakpoint_stops_in_a_jitted_function_while_it_is_traced(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        input="p y.shape\nc\n",  # a second stop would find no commands, and end the program
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(ev.__file__).parents[1])},
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[1:] == [
        "-> return y + 1",
        "(Pdb) (2,)",
        "(Pdb) [1. 3.] [1. 3.]",
    ]


def stepped_through(x):
    y = x + 1
    return y * 2


def test_a_debugger_sees_each_line_of_a_function_in_a_jitted_one_once_and_in_order():
    first, seen = stepped_through.__code__.co_firstlineno, []

    def trace(frame, event, arg):
        if frame.f_code.co_name == "stepped_through" and event == "line":
            seen.append((frame.f_lineno - first, [*frame.f_locals]))
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        ev.jit(lambda x: stepped_through(x))(jnp.ones(2))
    finally:
        sys.settrace(previous)
    assert [x for x in seen if x[0]] == [(1, ["x"]), (2, ["x", "y"])]
