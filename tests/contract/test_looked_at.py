"""Functions, classes and the like that code looks at and does not call, wherever they are kept."""

import functools
import inspect
import operator
import types

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import X

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning"),
]


def one(*_):
    return 1


class Plain:
    pass


ENTRIES = {
    "function": one,
    "builtin function": len,
    "class": Plain,
    "partial": functools.partial(one, 1),
    "method of a list": [].append,
    "jnp.sin": jnp.sin,
    "object": object(),
    "module": types,
    "property": property(one),
    "staticmethod": staticmethod(one),
    "classmethod": classmethod(one),
}
QUESTIONS = {
    "its type": lambda v, e: type(v) is type(e),
    "whether it is None": lambda v, e: v is None,
    "whether it can be called": lambda v, e: callable(v),
    "whether it is what it was": lambda v, e: v is e,
    "whether it is a number": lambda v, e: isinstance(v, float),
    "its truth": lambda v, e: bool(v),
    "its name": lambda v, e: getattr(v, "__name__", "none") == "one",
}


class Kept:
    """An object, class, module, function and containers that keep something."""

    def __init__(self):
        self.obj, self.module, self.items, self.entries = Plain(), types.ModuleType("m"), [0], {}
        self.cls = type("Owner", (), {})
        self.instance = self.cls()
        self.fun = lambda kept=None: kept
        cell = None

        def keep(value):
            nonlocal cell
            cell = value

        self.places = {
            "attribute": (functools.partial(setattr, self.obj, "x"), lambda: self.obj.x),
            "module": (functools.partial(setattr, self.module, "x"), lambda: self.module.x),
            "list": (functools.partial(self.items.__setitem__, 0), lambda: self.items[0]),
            "dict": (functools.partial(self.entries.__setitem__, "x"), lambda: self.entries["x"]),
            "class": (functools.partial(setattr, self.cls, "x"), lambda: self.cls.x),
            "class by its object": (
                functools.partial(setattr, self.cls, "x"),
                lambda: type(self.instance).x,
            ),
            "class by getattr": (
                functools.partial(setattr, self.cls, "x"),
                lambda: getattr(self.cls, "x", 3),
            ),
            "class by vars": (
                functools.partial(setattr, self.cls, "x"),
                lambda: vars(self.cls).get("x"),
            ),
            "class by inspect": (
                functools.partial(setattr, self.cls, "x"),
                lambda: inspect.getattr_static(self.instance, "x"),
            ),
            "default": (
                lambda value: setattr(self.fun, "__defaults__", (value,)),
                lambda: self.fun(),
            ),
            "function": (functools.partial(setattr, self.fun, "x"), lambda: self.fun.x),
            "cell": (keep, lambda: cell),
        }


PLACES = list(Kept().places)


def answers(wrap, place, entry, question):
    """Return what a function answers for an entry, for what comes in its place, and again."""
    put, read = Kept().places[place]
    put(entry)
    fun = wrap(lambda x: x * (1 if question(read(), entry) else 4))
    found = []
    for value in (entry, 4.5, entry, None, entry):
        put(value)
        found.append(float(fun(X)[0]))
    return found


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ENTRIES)
def test_what_is_looked_at_is_watched(name, place):
    for asked, question in QUESTIONS.items():
        want = answers(lambda f: f, place, ENTRIES[name], question)
        assert answers(ev.jit, place, ENTRIES[name], question) == want, asked


# ----------------------------------------------------- attributes that are read past the class


class Slots:
    __slots__ = ("w",)
    base = 1


class Falling:
    base = 1

    def __getattr__(self, name):
        return 7


class Own:
    base = 1

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Meta(type):
    pass


class OfMeta(metaclass=Meta):
    base = 1


class Base:
    base = 1


_look_up = object.__getattribute__


def _missing(obj):
    try:
        return object.__getattribute__(obj, "none")
    except AttributeError:
        return 3


READS = {
    "obj.base": lambda obj: obj.base,
    "object.__getattribute__": lambda obj: object.__getattribute__(obj, "base"),
    "object.__getattribute__ by another name": lambda obj: _look_up(obj, "base"),
    "type(obj).__getattribute__": lambda obj: type(obj).__getattribute__(obj, "base"),
    "obj.__getattribute__": lambda obj: obj.__getattribute__("base"),
    "super().__getattribute__": lambda obj: super(type(obj), obj).__getattribute__("base"),
    "getattr": lambda obj: getattr(obj, "base", 5),
    "attrgetter": lambda obj: operator.attrgetter("base")(obj),
    "what is not there": _missing,
}


def values_read(wrap, kind, read, is_argument):
    """Return what is read before and after an attribute of the object, or class, is changed."""
    cls = type(kind.__name__, (kind,), {"__slots__": ()} if kind is Slots else {})
    obj, found = cls(), []
    fun = wrap((lambda x, obj: x * read(obj)) if is_argument else (lambda x: x * read(obj)))

    def call():
        found.append(float(fun(X, *[obj] * is_argument)[0]))

    call()
    for owner in (cls, obj):
        for name in ("base", "none"):
            try:
                setattr(owner, name, 4)
            except AttributeError:
                continue
            call()
            delattr(owner, name)
            call()
    return found


@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("kind", [Base, Slots, Falling, Own, OfMeta])
@pytest.mark.parametrize("name", READS)
def test_attributes_read_past_the_class_are_watched(name, kind, is_argument):
    want = values_read(lambda f: f, kind, READS[name], is_argument)
    assert values_read(ev.jit, kind, READS[name], is_argument) == want
