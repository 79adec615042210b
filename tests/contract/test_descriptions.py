"""What describes a function: its names, text, annotations and attributes.

Python's own `wraps` and its kin read them of a user's function without any code of the user's that
says so; and a function that a call makes has all of them.
"""

import contextlib
import functools
import inspect
from functools import wraps as dressed

import pytest

import evertrace as ev


def _wrapper(fun):
    @functools.wraps(fun)
    def wrapper(*args):
        return fun(*args)

    return wrapper


def _under_another_name(fun):
    @dressed(fun)
    def wrapper(*args):
        return fun(*args)

    return wrapper


def _within(fun):
    def inner():
        return functools.update_wrapper(lambda: 1, fun)

    return inner()


COPY = {
    "wraps": _wrapper,
    "wraps by another name": _under_another_name,
    "update_wrapper": lambda fun: functools.update_wrapper(lambda *args: 1, fun),
    "update_wrapper within": _within,
    "of some attributes": lambda fun: functools.update_wrapper(lambda: 1, fun, ("__doc__",), ()),
}


def _make(name, doc, annotations, tag):
    def fun(x, y):
        return 1

    fun.__name__, fun.__qualname__, fun.__doc__ = name, f"Q.{name}", doc
    fun.__annotations__, fun.tag, fun.__module__ = annotations, tag, f"home_of_{name}"
    return fun


def _described(fun):
    tag = getattr(fun, "tag", None)
    return (
        *(fun.__name__, fun.__qualname__, fun.__doc__, fun.__module__, fun.__annotations__),
        tag.item() if isinstance(tag, ev.Array) else tag,
    )


CHANGE = {
    "name": lambda fun: setattr(fun, "__name__", "other"),
    "qualified name": lambda fun: setattr(fun, "__qualname__", "Other.name"),
    "text": lambda fun: setattr(fun, "__doc__", "another"),
    "module": lambda fun: setattr(fun, "__module__", "another"),
    "annotations": lambda fun: setattr(fun, "__annotations__", {"x": float, "y": "int"}),
    "one annotation": lambda fun: fun.__annotations__.update(x=complex),
    "attribute": lambda fun: setattr(fun, "tag", 7),
    "new attribute": lambda fun: setattr(fun, "more", 8),
    "no attribute": lambda fun: delattr(fun, "tag"),
}


@pytest.mark.parametrize("change", CHANGE)
@pytest.mark.parametrize("copy", COPY)
def test_what_is_copied_is_watched(copy, change):
    fun = _make("f", "a text", {"x": int}, 3)
    jitted = ev.jit(lambda: COPY[copy](fun))
    for _ in range(2):
        assert _described(jitted()) == _described(COPY[copy](fun))
        assert vars(jitted()).keys() == vars(COPY[copy](fun)).keys()
        CHANGE[change](fun)
        if change == "no attribute":
            break
    assert _described(jitted()) == _described(COPY[copy](fun))
    assert vars(jitted()).keys() == vars(COPY[copy](fun)).keys()


@pytest.mark.parametrize("copy", COPY)
def test_another_function_has_its_own(copy):
    jitted = ev.jit(COPY[copy])
    for fun in (_make("f", "one", {"x": int}, 3), _make("g", "two", {"y": str}, 4)):
        assert _described(jitted(fun)) == _described(COPY[copy](fun))


def test_other_copies_of_python_are_watched():
    def make(fun):
        return (
            contextlib.contextmanager(fun).__wrapped__ is fun,
            functools.lru_cache(fun).__wrapped__ is fun,
            inspect.getdoc(fun),
        )

    jitted = ev.jit(make)
    for doc in ("one", "two"):
        assert jitted(_make("f", doc, {}, 0)) == (True, True, doc)


def test_a_function_that_is_made_has_all_of_its_own():
    def make(n):
        def fun(x: int, *, y: "str" = "a") -> float:
            """Say something."""
            return n

        fun.__module__ = "elsewhere"
        return fun

    found, expected = ev.jit(make)(1), make(1)
    assert _described(found) == _described(expected)
    assert inspect.signature(found) == inspect.signature(expected)
    found.__annotations__["x"] = str
    assert _described(ev.jit(make)(1)) == _described(expected)


def test_annotations_hold_what_the_call_makes():
    def make(n):
        def fun(x: "a number"):  # noqa: F722 - any object can be one
            return x

        fun.__annotations__["x"] = [n]
        return fun

    jitted = ev.jit(make)
    assert [int(jitted(n).__annotations__["x"][0]) for n in (1, 2)] == [1, 2]
