"""A slot that holds nothing, found so in every way that Python has, and filled between calls."""

import copy
import inspect
import operator
import pickle

import pytest

from tests.contract.compare import X, case

pytestmark = pytest.mark.engine


class Slim:
    __slots__ = ("k", "v")

    def __init__(self):
        self.v = 1


class Wider(Slim):
    __slots__ = ("other",)


class WithDict(Slim):
    """Has slots and a dict."""


def _caught(read):
    def found(o):
        try:
            return read(o)
        except AttributeError:
            return 5.0

    return found


WAYS = {
    "o.k": _caught(lambda o: o.k),
    "getattr": lambda o: getattr(o, "k", 5.0),
    "hasattr": lambda o: 2.0 if hasattr(o, "k") else 5.0,
    "object.__getattribute__": _caught(lambda o: object.__getattribute__(o, "k")),
    "Slim.k.__get__": _caught(lambda o: Slim.k.__get__(o)),
    "type(o).k.__get__": _caught(lambda o: type(o).k.__get__(o, type(o))),
    "vars(Slim)": _caught(lambda o: vars(Slim)["k"].__get__(o)),
    "attrgetter": _caught(operator.attrgetter("k")),
    "methodcaller": _caught(operator.methodcaller("__getattribute__", "k")),
    "getattr_static": _caught(lambda o: inspect.getattr_static(o, "k").__get__(o)),
    "copy": lambda o: getattr(copy.copy(o), "k", 5.0),
    "deepcopy": lambda o: getattr(copy.deepcopy(o), "k", 5.0),
    "pickle": lambda o: getattr(pickle.loads(pickle.dumps(o)), "k", 5.0),
    "__reduce_ex__": lambda o: o.__reduce_ex__(2)[2][1].get("k", 5.0),
    "match": lambda o: _matched(o),
    "dir": lambda o: 2.0 if "k" in [n for n in dir(o) if hasattr(o, n)] else 5.0,
    "del": _caught(lambda o: o.__delattr__("k") or 2.0),
    "Slim.k.__delete__": _caught(lambda o: Slim.k.__delete__(o) or 2.0),
    "after the descriptor of another": lambda o: Slim.v.__get__(o) * 0.5 + getattr(o, "k", 5.0),
    "after an operator on it": lambda o: (o.v + Slim.v.__get__(o)) * getattr(o, "k", 5.0),
}


def _matched(o):
    match o:
        case Slim(k=found):
            return found
        case _:
            return 5.0


def _read_and_filled(read, cls, within):
    """Return a program that reads an empty slot, which is filled by the call or between two."""

    @case(at_most=5)
    def program(jit):
        o = cls()

        def f(x):
            found = read(o)
            if within:
                o.k = 7.0
            return x * found

        f = jit(f)
        yield f(X), getattr(o, "k", None)
        o.v = 3
        yield f(X), getattr(o, "k", None)
        o.k = 2.0
        yield f(X), getattr(o, "k", None)
        o.k = 4.0
        yield f(X), getattr(o, "k", None)
        if hasattr(o, "k"):
            del o.k
        yield f(X), getattr(o, "k", None)

    return program


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("within", [False, True], ids=["between", "by the call"])
@pytest.mark.parametrize("cls", [Slim, Wider, WithDict])
@pytest.mark.parametrize("way", WAYS)
def test_a_slot_that_was_empty_and_is_filled_is_seen(way, cls, within):
    _read_and_filled(WAYS[way], cls, within)()


class Plain:
    """Has a dict only."""


def _statement(o):
    del o.k


NAMED = {"name": "k"}
DELETIONS = {
    "del": _statement,
    "delattr": lambda o: delattr(o, "k"),
    "delattr of a name": lambda o: delattr(o, NAMED["name"]),
    "o.__delattr__": lambda o: o.__delattr__("k"),
    "object.__delattr__": lambda o: object.__delattr__(o, "k"),
    "Slim.k.__delete__": lambda o: Slim.k.__delete__(o),
    "__dict__.pop": lambda o: o.__dict__.pop("k"),
    "del __dict__": lambda o: o.__dict__.__delitem__("k"),
    "vars": lambda o: vars(o).pop("k"),
}


def _deleted(delete, cls):
    @case(at_most=4)
    def program(jit):
        def f(o):
            try:
                delete(o)
            except (AttributeError, KeyError):
                return 2
            return 1

        f, o = jit(f), cls()
        for filled in (True, False, False, True, False):
            if filled:
                o.k = 1.0
            yield f(o), hasattr(o, "k")

    return program


_IN_DICTS = {"__dict__.pop", "del __dict__", "vars"}


@pytest.mark.parametrize(
    ("way", "cls"),
    [
        *[(way, cls) for way in sorted(DELETIONS.keys() - _IN_DICTS) for cls in (Slim, WithDict)],
        *[(way, Plain) for way in sorted(DELETIONS.keys() - {"Slim.k.__delete__"})],
    ],
)
def test_what_is_deleted_has_to_be_there(way, cls):
    _deleted(DELETIONS[way], cls)()
