"""`timeit`: what it calls, what it tells, and how two timings compare."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.tools import timing
from evertrace._src.tools.timing import Timing
from tests.docs.docstrings import run_docstring


def test_calls_are_counted_and_the_first_one_is_apart(monkeypatch):
    clock = iter([0.0, 9.0, 9.0, 10.0, 10.0, *[t for n in range(3) for t in (20.0, 21.0 + n)]])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    seen = []

    def f(x, *, y):
        seen.append((x, y))

    found = ev.timeit(f, calls=3)(1, y=2)
    assert seen == [(1, 2)] * 5
    assert (found.name, found.first, found.times) == ("f", 9.0, (1.0, 2.0, 3.0))
    assert (found.count, found.median, found.min, found.spread) == (3, 2.0, 1.0, 1.0)


def test_calls_are_repeated_for_the_seconds_that_are_given():
    assert ev.timeit(jnp.sin, seconds=0)(1.0).count == timing.LEAST
    assert ev.timeit(jnp.sin, seconds=0.02)(1.0).count > timing.LEAST


def test_each_call_is_waited_for(monkeypatch):
    waited = []
    monkeypatch.setattr(timing, "block_until_ready", waited.append)
    ev.timeit(lambda: 5, calls=2, warmup=1)()
    assert waited == [5] * 3


@pytest.mark.parametrize("cls", [timing.Timing, timing.Timing.compare, timing.Comparison])
def test_examples_of_what_timeit_returns(cls):
    run_docstring(cls.__name__, cls)


def test_a_timing_in_words():
    assert repr(Timing("f", 2.5, (1e-3, 2e-3, 4e-3))) == (
        "f: median 2 ms, min 1 ms, spread 1.5 ms (3 calls; the first call took 2.5 s)"
    )
    assert repr(Timing("g", 1e-4, (5e-8,))) == (
        "g: median 50 ns, min 50 ns, spread 0 ns (1 call; the first call took 100 us)"
    )


COMPARED = [
    ((1.0, 1.0, 1.0), (3.0, 3.0, 3.0), "f is 3 times as fast as g (3 to 3)"),
    ((4.0, 4.0, 8.0), (2.0, 2.0, 2.0), "g is 2 times as fast as f (2 to 3)"),
    ((1.0, 2.0, 3.0), (2.0, 2.5, 3.0), "f and g do not clearly differ (0.9 to 1.83 times)"),
]


@pytest.mark.parametrize(("ours", "theirs", "words"), COMPARED)
def test_two_timings_compared(ours, theirs, words):
    found = Timing("f", 1.0, ours).compare(Timing("g", 1.0, theirs))
    assert repr(found) == words
    assert found.is_clear == ("clearly" not in words)


WRONG = [
    (lambda: ev.timeit(3), TypeError, "timeit: "),
    (lambda: ev.timeit(jnp.sin, calls=0), ValueError, "timeit: calls must be at least 1, got 0."),
    (lambda: ev.timeit(jnp.sin, warmup=0), ValueError, "timeit: warmup must be at least 1, got 0."),
    (
        lambda: Timing("f", 1.0, (1.0,)).compare(3),
        TypeError,
        "Timing.compare: another timing is wanted, got int.",
    ),
]


@pytest.mark.parametrize(("call", "cls", "text"), WRONG)
def test_what_cannot_be_timed(call, cls, text):
    with pytest.raises(cls) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert "Fix: " in str(caught.value)
