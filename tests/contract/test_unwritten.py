"""What a call may not set: attributes of libraries, what describes classes and functions."""

import builtins
import collections
import json
import math
import string
import sys
import warnings

import pytest

import evertrace as ev
from evertrace.errors import ImpurityError
from tests.contract.compare import X, case

pytestmark = pytest.mark.engine


class Left:
    """What is set here is put back."""


class Right:
    pass


class Below(Left):
    pass


def helper():
    """Help."""


def _set_of_a_module(x):
    string.late = 3
    return x * string.late


def _set_again_of_a_module(x):
    json.late += 1
    return x * json.late


def _set_by_name(x):
    setattr(string, "late", 1)  # noqa: B010 - the call is what is tested
    return x


def _set_of_math(x):
    math.late = 3
    return x * math.late


def _set_of_a_class(x):
    collections.Counter.late = 2
    return x * collections.Counter.late


def _set_of_builtins(x):
    builtins.late = 2
    return x


def _deleted(x):
    del json.late
    return x


def _replaced(x):
    json.dumps = repr
    return x


def _appended(x):
    sys.path.append("late")
    return x


def _class_is_named(x):
    Left.__name__ += "2"
    return x * len(Left.__name__)


def _class_is_described(x):
    Left.__doc__ = "other"
    return x


def _function_is_named(x):
    helper.__name__ = "other"
    return x * len(helper.__name__)


def _class_gets_bases(x):
    Below.__bases__ = (Right,)
    return x


SETS = {
    "string.late": _set_of_a_module, "json.late": _set_again_of_a_module,
    "string.late, by name": _set_by_name, "math.late": _set_of_math,
    "Counter.late": _set_of_a_class, "builtins.late": _set_of_builtins,
    "json.late, deleted": _deleted, "json.dumps": _replaced, "Left.__name__": _class_is_named,
    "Left.__doc__": _class_is_described, "helper.__name__": _function_is_named,
    "Below.__bases__": _class_gets_bases,
}  # fmt: skip


def _state():
    spaces = (string, json, math, collections.Counter, builtins, Left, helper, Below)
    found = [getattr(x, "late", None) for x in spaces]
    return (
        found,
        json.dumps,
        Left.__name__,
        Left.__doc__,
        helper.__name__,
        Below.__bases__,
        [*sys.path],
    )


@pytest.mark.parametrize("what", SETS)
def test_what_is_set_is_named_and_put_back(what, monkeypatch):
    monkeypatch.setattr(json, "late", 1, raising=False)
    before = _state()
    path = what.partition(",")[0].replace(".", r"\.")
    for _ in range(2):
        with pytest.raises(
            ImpurityError, match=rf"sets {path}, which a compiled call[^$]*Fix: do it"
        ):
            ev.jit(SETS[what])(X)
        assert _state() == before


def test_what_is_changed_in_a_list_of_a_library_is_named_and_put_back():
    before = _state()
    with pytest.raises(ImpurityError, match=r"changes what is in sys\.path"):
        ev.jit(_appended)(X)
    assert _state() == before


def test_it_is_put_back_where_the_call_raises():
    def step(x):
        json.dumps = repr
        Left.__name__ = "other"
        raise ValueError("no")

    before = _state()
    with pytest.raises(ValueError, match="no"):
        ev.jit(step)(X)
    assert _state() == before


@case(traces=1)
def test_what_is_set_and_set_back_is_no_change(jit):
    def step(x):
        there = json.dumps
        json.dumps = lambda value: "four"
        try:
            n = len(json.dumps(x))
        finally:
            json.dumps = there
        return x * n

    step = jit(step)
    for _ in range(2):
        yield step(X), json.dumps([1])


def _filtered(x):
    warnings.simplefilter("ignore", DeprecationWarning)
    return x


def _filtered_by_message(x):
    warnings.filterwarnings("ignore", "late")
    return x


@pytest.mark.parametrize("step", [_filtered, _filtered_by_message])
def test_filters_of_warnings_are_not_set(step):
    before = [*warnings.filters]
    with pytest.raises(ImpurityError, match=r"warnings\.[^$]*Fix: do it outside, or within `with"):
        ev.jit(step)(X)
    assert warnings.filters == before


@case(traces=1)
def test_filters_of_warnings_that_are_put_back(jit):
    def step(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("late", stacklevel=2)
            except UserWarning:
                x = x * 2
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), [*warnings.filters]


class Member:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


def _reordered_when_copied():
    """Return a set whose copy shows its members in another order: its table is smaller."""
    members = set(map(Member, range(40)))
    for x in list(members):
        if x.number not in (2, 33):
            members.discard(x)
    assert list(members) != list(members.copy())
    return members


def test_a_set_of_a_library_is_not_taken_for_changed(monkeypatch):
    monkeypatch.setattr(string, "members", _reordered_when_copied(), raising=False)
    f = ev.jit(lambda x: x * len(vars(string)["members"]) + bool(dir(string)))
    for _ in range(2):
        assert (f(X) == X * len(string.members) + 1).all()
