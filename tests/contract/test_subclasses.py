"""What a subclass of any type adds: methods, properties and attributes of its class.

Values of built-in types are lifted by what they hold; those of a subclass have a class beside it,
whose entries may be read, called, and changed between calls, and whose functions may read more.
"""

import abc
import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import logging
import pathlib
import random
import threading
import types
import uuid
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")

RATE = 2
VALUE = None
TARGET = np.ones(1)
PAIR = collections.namedtuple("PAIR", "a b")

BASES = {
    "tuple": (tuple, lambda c: c((1, 0.5))),
    "tuple of a text": (tuple, lambda c: c(("a",))),
    "tuple of nothing": (tuple, lambda c: c()),
    "named tuple": (PAIR, lambda c: c(1, 0.5)),
    "named tuple of an array": (PAIR, lambda c: c(1, jnp.ones(2))),
    "list": (list, lambda c: c([1, 0.5])),
    "dict": (dict, lambda c: c(a=1)),
    "set": (set, lambda c: c([1])),
    "frozenset": (frozenset, lambda c: c([1, 0.5])),
    "deque": (collections.deque, lambda c: c([1])),
    "OrderedDict": (collections.OrderedDict, lambda c: c(a=1)),
    "defaultdict": (collections.defaultdict, lambda c: c(int, a=1)),
    "Counter": (collections.Counter, lambda c: c("aab")),
    "ChainMap": (collections.ChainMap, lambda c: c({"a": 1})),
    "UserDict": (collections.UserDict, lambda c: c(a=1)),
    "UserList": (collections.UserList, lambda c: c([1])),
    "UserString": (collections.UserString, lambda c: c("a")),
    "str": (str, lambda c: c("a")),
    "bytes": (bytes, lambda c: c(b"a")),
    "int": (int, lambda c: c(3)),
    "float": (float, lambda c: c(0.5)),
    "complex": (complex, lambda c: c(1j)),
    "date": (datetime.date, lambda c: c(2020, 1, 1)),
    "datetime": (datetime.datetime, lambda c: c(2020, 1, 1)),
    "timedelta": (datetime.timedelta, lambda c: c(1)),
    "Decimal": (decimal.Decimal, lambda c: c(1)),
    "Fraction": (fractions.Fraction, lambda c: c(1, 2)),
    "UUID": (uuid.UUID, lambda c: c(int=1)),
    "path": (pathlib.PurePosixPath, lambda c: c("a")),
    "exception": (ValueError, lambda c: c(1)),
    "namespace": (types.SimpleNamespace, lambda c: c(a=1)),
    "partial": (functools.partial, lambda c: c(max, 1)),
    "array": (array.array, lambda c: c("d", [1.0])),
    "NumPy array": (np.ndarray, lambda c: np.ones(2).view(c)),
    "NumPy number": (np.float64, lambda c: c(0.5)),
    "random": (random.Random, lambda c: c(1)),
    "local": (threading.local, lambda c: c()),
    "event": (threading.Event, lambda c: c()),
    "property": (property, lambda c: c(functools.partial(abs))),
    "static method": (staticmethod, lambda c: c(max)),
    "logger": (logging.Filter, lambda c: c()),
    "buffer": (bytearray, lambda c: c(b"a")),
    "module": (types.ModuleType, lambda c: c("m")),
    "text stream": (io.StringIO, lambda c: c("a")),
    "weak reference": (weakref.ref, lambda c: c(TARGET)),
    "weak set": (weakref.WeakSet, lambda c: c()),
    "abstract class": (abc.ABC, lambda c: c()),
    "member": (enum.Enum, lambda c: c.ONE),
    "metaclass": (type, lambda c: c("Made", (), {})),
    "count": (itertools.count, lambda c: c(1)),
    "object": (object, lambda c: c()),
}  # fmt: skip
REFUSED = (ev.errors.ImpurityError, ev.errors.OpaqueStateError)
"""What says why not, for some bases whose state is hidden."""


def subclass(base, has_slots):
    has_slots = has_slots and base is not property  # which keeps its text in the dict

    def method(self):
        return RATE

    entries = {
        "__module__": __name__,
        "K": 3,
        "m": method,
        "of_class": lambda self: self.K,
        "p": property(method),
        "c": classmethod(lambda cls: cls.K + RATE),
        "s": staticmethod(lambda: RATE),
        "__matmul__": lambda self, other: RATE,
        "__call__": method,
    }
    if base is enum.Enum:
        entries.update(ONE=1, K=enum.nonmember(3))
    if has_slots:
        entries["__slots__"] = ()
    return types.new_class(
        "C", (base,), {}, lambda ns: [ns.__setitem__(*x) for x in entries.items()]
    )


def other_entries(cls):
    cls.m = cls.of_class = cls.__call__ = lambda self: 70
    cls.p = property(lambda self: 71)
    cls.s = staticmethod(lambda: 72)
    cls.__matmul__ = lambda self, other: 73


def other_rate(cls):
    global RATE
    RATE = 5


CHANGES = {
    "a global": (other_rate, "method property class-method static-method call operator bound"),
    "an attribute": (lambda cls: setattr(cls, "K", 7), "attribute read-by-method class-method"),
    "all": (other_entries, "method property static-method call operator bound of-type"),
    "one more": (lambda cls: setattr(cls, "extra", 1), "is-there"),
    "one less": (lambda cls: delattr(cls, "m"), "method lookup"),
    "no call": (lambda cls: delattr(cls, "__call__"), "is-callable"),
}

USES = {
    "method": lambda v: v.m(),
    "bound": lambda v: (lambda f: f())(v.m),
    "property": lambda v: v.p,
    "class-method": lambda v: v.c(),
    "static-method": lambda v: v.s(),
    "call": lambda v: v(),
    "operator": lambda v: v @ 1,
    "attribute": lambda v: v.K,
    "of-type": lambda v: type(v).m(v),
    "read-by-method": lambda v: v.of_class(),
    "is-there": lambda v: hasattr(v, "extra"),
    "is-callable": lambda v: callable(v),
    "lookup": lambda v: getattr(v, "m", None) is None,
}

PLACES = {
    "attribute": (lambda v: types.SimpleNamespace(v=v), lambda o: o.v),
    "argument": (lambda v: v, lambda o: o),
    "list": (lambda v: [v], lambda o: o[0]),
    "tuple": (lambda v: (v, 0.5), lambda o: o[0]),
    "dict": (lambda v: {"v": v}, lambda o: o["v"]),
    "global": (lambda v: globals().__setitem__("VALUE", v), lambda o: VALUE),
}


def outcome(fun, x):
    try:
        found = fun(x)
    except REFUSED:
        return REFUSED
    except Exception as error:
        return type(error)
    return found.item() if isinstance(found, ev.Array) else found


def check(name, has_slots, place, change, use):
    """Compare calls before and after a change with plain ones."""
    global RATE
    RATE = 2
    base, make = BASES[name]
    cls = subclass(base, has_slots)
    put, get = PLACES[place]
    held = put(make(cls))

    def fun(x):
        return USES[use](get(x))

    jitted = ev.jit(fun)
    got = outcome(jitted, held)
    if got is REFUSED:
        return
    assert got == outcome(fun, held)
    CHANGES[change][0](cls)
    assert outcome(jitted, held) == outcome(fun, held), (place, change, use)


@pytest.mark.parametrize("has_slots", [False, True], ids=["with-a-dict", "without"])
@pytest.mark.parametrize("name", BASES)
def test_what_a_subclass_adds(name, has_slots):
    for change, (_, uses) in CHANGES.items():
        for use in uses.split():
            check(name, has_slots, "attribute", change, use)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", BASES)
def test_a_subclass_anywhere(name, place):
    check(name, False, place, "a global", "method")
    check(name, False, place, "all", "method")
    check(name, True, place, "an attribute", "read-by-method")
