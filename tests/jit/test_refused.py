"""Code in C that takes exact numbers only: which are constants then, and how often is traced."""

import json
from datetime import timedelta

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import capture

X = jnp.ones(2)


class Trainer:
    def __init__(self):
        self.k, self.step, self.text = 1, 0, ""

    def log(self, x):
        self.step += 1
        self.text = json.dumps({"k": self.k, "more": [1.5]})
        return x * self.step

    def wait(self, x, n, m):
        longer = [n + 1, 0]
        return x * m * timedelta(seconds=longer[0], hours=0).total_seconds()

    def maybe_log(self, x, verbose):
        self.step += 1
        if verbose:
            self.text = json.dumps(self.step)
        return x * self.step


@pytest.fixture
def traces(monkeypatch):
    """Lists the traces, those that are given up included."""
    made = []

    def counted(*args):
        made.append(args[1])
        return recorded(*args)

    recorded = capture._record
    monkeypatch.setattr(capture, "_record", counted)
    return made


def jitted(method):
    f = ev.jit(method)
    f.clear_cache()
    return f


def run(method, *calls):
    """Call a method on one object, and jitted on another one, with the same results."""
    a, b, f = Trainer(), Trainer(), jitted(method)
    for args in calls:
        np.testing.assert_array_equal(f(b, X, *args), method(a, X, *args))
        assert vars(a) == vars(b)
        assert type(b.step) is int
    return f.cache_info().misses


def test_numbers_that_are_not_refused_stay_free(traces):
    assert run(Trainer.log, *[()] * 8) == 1
    assert len(traces) == 2


def test_what_is_computed_of_an_argument_is_known_by_its_local_name(traces):
    assert run(Trainer.wait, *[(3, m) for m in range(8)]) == 1
    assert len(traces) == 2


def test_the_next_trace_does_not_find_out_again(traces):
    # It is found out in traces 1, 3 and 7, which are begun twice.
    assert run(Trainer.wait, *[(n, n) for n in range(7)]) == 7
    assert len(traces) == 7 + 3


def test_a_call_that_logs_once_costs_no_later_ones(traces):
    assert run(Trainer.maybe_log, (True,), *[(False,)] * 20) <= 3


def test_a_mistake_is_told_in_pythons_words():
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'int' and 'str'"):
        ev.jit(lambda n: n + "a")(3)


def test_without_positions_of_expressions_all_that_is_named_counts(traces, monkeypatch):
    monkeypatch.setattr("evertrace._src.jit.refused._Span.is_inside", lambda self, whole: True)
    assert run(Trainer.log, *[()] * 3) == 3
