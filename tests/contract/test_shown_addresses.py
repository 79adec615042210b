"""What shows which object it is (its address in a text, its hash) is this call's object's.

Objects without a text of their own are shown with their address, by whatever makes the text; a
program that was traced for another object like it would say that one's.
"""

import collections
import contextlib
import dataclasses
import functools
import io
import json
import logging
import pprint
import string
import types

import pytest

import evertrace as ev
import evertrace.numpy as jnp


def made(n):
    """Return a function like all that this makes."""

    def inner(x):
        return x + n

    return inner


class Plain:
    """Has no text of its own."""

    def method(self):
        """Do nothing."""


@dataclasses.dataclass(frozen=True)
class Held:
    """Shows, and hashes, what it holds."""

    value: object


Pair = collections.namedtuple("Pair", "a b")


class Around:
    """Has a text around the one that all objects have."""

    def __repr__(self):
        return f"around {super().__repr__()}"


def _renamed():
    function = made(1)
    function.__qualname__ = f"renamed_{next(_numbers)}"
    return function


_numbers = iter(range(10**9))
VALUES = {
    "function": lambda: made(1),
    "renamed function": _renamed,
    "object": Plain,
    "object around": Around,
    "bound method": lambda: Plain().method,
    "partial": lambda: functools.partial(made(1)),
    "list": lambda: [Plain()],
    "tuple": lambda: (made(1),),
    "dict": lambda: {"a": made(1)},
    "deque": lambda: collections.deque([made(1)]),
    "named tuple": lambda: Pair(1, made(1)),
    "dataclass": lambda: Held(made(1)),
    "namespace": lambda: types.SimpleNamespace(f=made(1)),
    "exception": lambda: ValueError(made(1)),
    "staticmethod": lambda: staticmethod(made(1)),
}
HASHABLE = ("function", "object", "bound method", "tuple", "named tuple", "dataclass")
_log = logging.getLogger("evertrace.tests.shown")
_log.propagate = False

WAYS = {
    "repr": lambda h: repr(h),
    "str": lambda h: str(h),
    "ascii": lambda h: ascii(h),
    "format": lambda h: format(h),
    "f-string": lambda h: f"{h} {h!r:>90} {h!s}",
    "percent": lambda h: "%s %r" % (h, h),  # noqa: UP031
    "percent of names": lambda h: "%(a)s" % {"a": h},  # noqa: UP031
    "method": lambda h: "{} {!r}".format(h, h),  # noqa: UP032
    "format_map": lambda h: "{a}".format_map({"a": h}),
    "join": lambda h: ", ".join(map(str, [h])),
    "dunders": lambda h: h.__repr__() + h.__str__(),
    "passed": lambda h: (lambda show: show(h))(repr),
    "pprint": lambda h: pprint.pformat([h]),
    "json": lambda h: json.dumps({"a": h}, default=str) if type(h) not in (list, tuple) else "",
    "template": lambda h: string.Template("$a").substitute(a=h),
    "key": lambda h: {str(h): 1},
    "asked": lambda h: hash(str(h)) % 2,
    "printed": lambda h: print("a", h, [h]),
    "logged": lambda h: _log.warning("it is %s", h),
    "raised": lambda h: {}[repr(h)],
}


def _outcome(call, value):
    """Return what a call returns, raises, prints and logs."""
    printed, logged = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(logged)
    _log.addHandler(handler)
    result = error = None
    try:
        with contextlib.redirect_stdout(printed):
            result = call(value, jnp.ones(2))[0]
            ev.effects_barrier()
    except KeyError as raised:
        error = raised.args
    finally:
        _log.removeHandler(handler)
    return (
        ev.tree.map(lambda x: x if isinstance(x, str) else int(x), result),
        error,
        printed.getvalue(),
        logged.getvalue(),
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES)
def test_texts_show_the_objects_of_the_call(value, way):
    def shown(h, x):
        return WAYS[way](h), x * 2

    jitted, kept = ev.jit(shown), []
    jitted.clear_cache()  # those of the other cases, which are of the same code
    for _ in range(3):
        kept.append(VALUES[value]())
        assert _outcome(jitted, kept[-1]) == _outcome(shown, kept[-1])


@pytest.mark.parametrize("value", HASHABLE)
def test_hashes_are_of_the_objects_of_the_call(value):
    def hashed(h, x):
        return str(hash(h)), x

    jitted, kept = ev.jit(hashed), []
    for _ in range(3):
        kept.append(VALUES[value]())
        assert jitted(kept[-1], jnp.ones(2))[0] == hashed(kept[-1], 0)[0]


def test_a_hash_runs_no_code_of_the_users_over_what_it_holds():
    seen = []

    class Told(tuple):
        def __iter__(self):
            seen.append(len(self))
            return super().__iter__()

    value = Told((made(1), 2))
    assert ev.jit(lambda: str(hash(value)))() == str(hash(value))
    assert seen == []


def test_the_same_object_is_one_program_and_one_that_is_not_shown_as_well():
    h = Plain()
    shown = ev.jit(lambda h, x: (repr(h), x))
    counted = ev.jit(lambda h, x: (repr(type(h)), x))
    for _ in range(3):
        shown(h, jnp.ones(2))
        counted(Plain(), jnp.ones(2))
    assert shown.cache_info().misses == counted.cache_info().misses == 1
