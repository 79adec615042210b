"""An interrupt reaches the user or waits, and leaves the state as before or as after the call."""

import gc
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import interrupts
from evertrace._src.core.tracer import EVAL, Trace, set_trace, state
from evertrace._src.interrupts import uncollected
from evertrace._src.support import collects
from tests.robust.interrupts import (
    Interruption,
    check,
    instructions_of,
    interrupted,
    places_of,
    points_of,
)

main_only = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals are the main one's"
)


def wrong(scenario, calls, points):
    found = {n: check(scenario, n, calls) for n in points}
    return {n: what for n, what in found.items() if what}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize(
    ("scenario", "calls", "number"),
    [
        ("trace and tape", 1, 30),
        ("trace and tape", 2, 15),
        ("trace and XLA", 1, 15),
        ("JAX's rules", 1, 20),
        ("JAX's rules", 2, 10),
        ("eager", 1, 40),
        ("loops", 1, 20),
        ("callback of a tape", 1, 15),
        ("callback of a tape", 2, 15),
        ("callback of XLA", 1, 10),
        ("callback of XLA", 2, 10),
        ("globals", 1, 40),
    ],
)
def test_interrupts_anywhere(scenario, calls, number):
    points = places_of(scenario, calls)
    assert wrong(scenario, calls, random.Random(0).sample([*points], number)) == {}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("scenario", ["callback of a tape", "globals"])
def test_interrupts_while_globals_are_taken_over(scenario):
    # A name that counted before its value was known was deleted from the user's module.
    taken = {"claim", "_enter_globals", "place_one"}
    points = [n for n, place in places_of(scenario).items() if taken & set(place)]
    assert len(points) > 20
    assert wrong(scenario, 1, points) == {}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("calls", [1, 2])
def test_interrupts_where_xla_calls_back(calls):
    # XLA made its own error of one that came before anything of ours could catch it.
    points = [n for n, place in places_of("callback of XLA", calls).items() if "wrapped" in place]
    assert len(points) > 1
    assert wrong("callback of XLA", calls, points) == {}


@pytest.mark.engine
@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("way", ["forgotten", "caught"])
def test_interrupts_while_a_buffer_is_asked_for_come_once(way):
    # NumPy forgets them; `memoryview` does not, and what went on is not raised again.
    make = ev.jit(lambda x: x + 1, engine="xla")

    def ask():
        if way == "forgotten":
            return np.asarray(x)
        try:
            return memoryview(x)
        except KeyboardInterrupt:
            caught.append(True)

    seen = 0
    for n in range(1, 20):
        caught, x = [], make(jnp.ones(3))
        outcome = interrupted(ask, n)
        if any("to_buffer" in place for place in outcome.at.place):
            seen += 1
            assert len(caught) == (way == "caught")
            assert (outcome.raised is None) == (way == "caught")
    assert seen > 2


@pytest.mark.usefixtures("needs_native")
def test_interrupts_of_an_import_leave_the_collector_on():
    # A module is imported while a call is lowered.
    points = [
        n for n, place in places_of("trace and XLA").items() if {"load", "uncollected"} & set(place)
    ]
    assert len(points) > 3
    assert wrong("trace and XLA", 1, points) == {}


@pytest.mark.usefixtures("needs_native")
def test_interrupts_between_changes_that_python_writes():
    # Slots, deques, sets and subclasses of dicts: one that came between two of them left the first.
    scenario, calls = "written in Python", 3
    total = points_of(scenario, calls)
    assert total > 40
    assert wrong(scenario, calls, range(1, total + 1)) == {}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("calls", [3, 4])
def test_interrupts_at_instructions_that_write_changes(calls):
    place = "_src/jit/lifting/writes.py"
    found = instructions_of("written in Python", place, calls)
    assert len(found) > 100
    assert {
        n: what for n in found[::3] if (what := check("written in Python", n, calls, place))
    } == {}


@pytest.mark.usefixtures("needs_native")
def test_interrupts_while_a_call_is_learned():
    # The end of a first call is C++ that asks Python how calls like it are recognised.
    total = points_of("trace and tape")
    assert wrong("trace and tape", 1, range(total - 90, total, 4)) == {}


@pytest.mark.usefixtures("needs_native")
def test_interrupts_of_the_restoring_itself_wait():
    # Each of these would leave placeholders in the user's objects.
    total = points_of("trace and tape")
    found = {n: check("trace and tape", n) for n in range(total // 2, total, total // 80)}
    assert not any(found.values())
    assert len(found) > 30


# ------------------------------------------------------------------------ waiting


@pytest.fixture(params=["watched", "asked"])
def handlers(request, monkeypatch):
    """How it is known which handlers there are."""
    if request.param == "asked":
        monkeypatch.setattr(interrupts, "_is_watched", False)
        monkeypatch.setattr(interrupts, "_changes", interrupts._unknown)
        monkeypatch.setattr(interrupts, "_set_handler", signal.signal)
    elif not interrupts._is_watched:
        pytest.skip("handlers are watched by the C++")


@main_only
@pytest.mark.usefixtures("handlers")
def test_what_is_held_is_raised_at_the_end():
    seen = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (where it is raised is what is shown)
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
            seen.append("first")
            signal.raise_signal(signal.SIGINT)
            seen.append("second")
        seen.append("never")
    assert seen == ["first", "second"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_only
@pytest.mark.usefixtures("handlers")
def test_what_is_held_is_let_through_inside():
    seen = []

    def put_back(waiting):
        signal.raise_signal(signal.SIGINT)
        seen.append("waits")
        try:
            with interrupts.let_through(waiting):
                seen.append("never")
        finally:
            seen.append("put back")

    with pytest.raises(KeyboardInterrupt), interrupts.held() as waiting:
        put_back(waiting)
    assert seen == ["waits", "put back"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_only
@pytest.mark.usefixtures("handlers")
def test_all_handlers_of_the_user_wait_and_are_put_back():
    seen = []
    handlers = {signal.SIGUSR1: seen.append, signal.SIGTERM: lambda *args: seen.append("term")}
    handlers[signal.SIGUSR1] = lambda *args: seen.append("usr1")
    before = {s: signal.signal(s, h) for s, h in handlers.items()}
    try:
        with interrupts.held():
            for signum in handlers:
                os.kill(os.getpid(), signum)
            for _ in range(1000):
                pass
            assert seen == []
        for _ in range(1000):
            pass
        assert sorted(seen) == ["term", "usr1"]
        assert {s: signal.getsignal(s) for s in handlers} == handlers
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@main_only
@pytest.mark.usefixtures("handlers")
def test_a_handler_that_is_set_while_others_wait_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        with interrupts.held():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@main_only
@pytest.mark.usefixtures("handlers")
def test_what_is_held_twice_is_raised_at_the_outer_end():
    seen = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (where it is raised is what is shown)
        with interrupts.held():
            with interrupts.held():
                signal.raise_signal(signal.SIGINT)
                seen.append("inner")
            seen.append("outer")
        seen.append("never")
    assert seen == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_only
@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("way", [0, 1], ids=["signal", "_signal"])
def test_handlers_are_asked_for_only_where_one_was_set(way, monkeypatch):
    asked = []

    def getsignal(signum, ask=interrupts._signal.getsignal):
        asked.append(signum)
        return ask(signum)

    def hold():
        asked.clear()
        with interrupts.held():
            signal.raise_signal(signal.SIGUSR1)
            assert seen == []
        return len(asked)

    set_handler = (signal.signal, interrupts._signal.signal)[way]
    seen, before = [], set_handler(signal.SIGUSR1, lambda *_: seen.append("first"))
    try:
        monkeypatch.setattr(interrupts._signal, "getsignal", getsignal)
        counts = [hold()]
        seen.clear()
        counts.append(hold())
        assert counts == [len(signal.valid_signals()), 0]
        assert seen == ["first"]
        seen.clear()
        set_handler(signal.SIGUSR1, lambda *_: seen.append("second"))
        assert hold() == len(signal.valid_signals())
        assert seen == ["second"]
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGUSR1, before)


def test_other_threads_hold_nothing():
    found = []

    def run():
        with interrupts.held():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


# ------------------------------------------------------------------------ for the time of a block


BLOCKS = {
    "trace": (lambda: set_trace(Trace(None)), lambda: state.trace is EVAL),
    "options": (ev.enable_x64, lambda: jnp.ones(1).dtype == "float32"),
    "collector": (uncollected, lambda: collects() and gc.isenabled()),
}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("name", BLOCKS)
def test_nothing_comes_between_a_block_and_its_ends(name):
    make, is_as_before = BLOCKS[name]

    def use():
        with make():
            pass

    for n in range(1, 60):
        outcome = interrupted(use, n)
        assert is_as_before(), outcome.at.place
        if not outcome.at.place:
            break
        assert type(outcome.raised) is KeyboardInterrupt
    assert n < 59


@pytest.mark.parametrize("kind", ["native", "Python"])
def test_attributes_in_force(kind):
    made = interrupts._InForce if kind == "Python" else interrupts.InForce

    class Thing:
        a, b = 1, 2

    class Counting(made):
        count = 0

        def values(self):
            Counting.count += 1
            return Counting.count, "b"

    thing = Thing()
    with made(thing, ("a", "b"), (3, 4)) as given:
        assert (given, thing.a, thing.b) == (3, 3, 4)
        block = Counting(thing, ("a", "b"))
        with block as given, block:  # the same one may be entered again inside
            assert (given, thing.a, thing.b) == (None, 2, "b")
        assert (thing.a, thing.b) == (3, 4)
        with pytest.raises(ZeroDivisionError), made(thing, ("a",), (5,)):
            _ = 1 / 0
        assert thing.a == 3
    assert (thing.a, thing.b) == (1, 2)
    with pytest.raises(AttributeError):
        made(thing, ("missing",), (1,)).__enter__()


# ------------------------------------------------------------------------ real signals


def test_timers_of_the_user_interrupt_long_traces():
    class Late(Exception):
        pass

    def late(*_):
        raise Late

    @ev.jit
    def f(x):
        while True:
            x = jnp.sin(x)

    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Late):
            f(jnp.ones(3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ev.jit(lambda x: x + 1)(1.0) == 2


@pytest.mark.usefixtures("needs_native")
def test_interrupts_in_the_collectors_callbacks_are_raised(run_python):
    # XLA's garbage is let go of by a callback of Python's collector, which can raise nothing.
    found = run_python("""
import gc, signal, sys
import evertrace as ev, evertrace.numpy as jnp
ev.jit(lambda x: x + 1, engine="xla")(jnp.ones(3)).block_until_ready()
calls = []
def profile(frame, event, argument):
    if event == "call":
        calls.append(frame.f_code.co_name)
sys.setprofile(profile)
gc.collect()
sys.setprofile(None)
print(calls)
""")
    assert found == "[]"


@pytest.mark.usefixtures("needs_native")  # else XLA's garbage takes a function in Python
def test_weak_references_of_programs_call_nothing_in_python(run_python):
    found = run_python("""
import gc, sys
import evertrace as ev, evertrace.numpy as jnp
def cell():
    names = {"jnp": jnp}
    exec("def f(x): return jnp.sin(x)", names)
    ev.jit(names["f"])(jnp.ones(3))
    return names["f"].__code__
kept = [cell()]
gc.collect()
calls = []
def profile(frame, event, argument):
    if event == "call" and "evertrace" in frame.f_code.co_filename:
        calls.append(frame.f_code.co_name)
sys.setprofile(profile)
kept.clear()
gc.collect()
sys.setprofile(None)
print(calls)
""")
    assert found == "[]"


def test_an_interruption_counts_points():
    outcome = interrupted(lambda: time.time(), 0)
    assert outcome.raised is None
    assert outcome.at.seen == 2  # the lambda, and what it has called
    assert Interruption(1).place == []
