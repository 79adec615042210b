"""What a call makes may lead back to itself: there is one of each, as in plain Python.

A value that can only be made of what it holds (a function of its cells, a tuple of its items, an
exception of its arguments) is reached from what it holds, too; whichever is asked for first.
"""

import collections
import functools
import types
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque

import pytest

import evertrace as ev


class Node:
    pass


class Row(list):
    pass


class Table(dict):
    pass


class Pair(tuple):
    pass


Point = collections.namedtuple("Point", "x")


class Failed(Exception):
    pass


def _append(holder, value):
    holder.append(value)


def _put(holder, value):
    holder["k"] = value


def _set(holder, value):
    holder.k = value


def _call_missing(holder, value):
    holder.default_factory = value if callable(value) else (lambda: value)


# What is made empty, and gets a value later.
HOLDERS = {
    "list": (list, _append),
    "subclass of list": (Row, _append),
    "attribute of a list": (Row, _set),
    "dict": (dict, _put),
    "subclass of dict": (Table, _put),
    "OrderedDict": (OrderedDict, _put),
    "deque": (deque, _append),
    "UserList": (UserList, _append),
    "ChainMap": (ChainMap, _put),
    "object": (Node, _set),
    "SimpleNamespace": (types.SimpleNamespace, _set),
    "exception": (Failed, _set),
    "attribute of a function": (lambda: lambda: 0, _set),
    "default_factory": (lambda: defaultdict(int), _call_missing),
}


def _in_cell(holder):
    return lambda: holder


def _in_default(holder):
    def f(x=holder):
        return x

    return f


def _in_keyword(holder):
    def f(*, x=holder):
        return x

    return f


def _pair_of_functions(holder):
    def f():
        return holder, g

    def g():
        return holder, f

    return [f, g]


# What is made of such a holder.
VALUES = {
    "function with a cell": _in_cell,
    "function with a default": _in_default,
    "function with a keyword": _in_keyword,
    "functions that know each other": _pair_of_functions,
    "function in functions": lambda holder: lambda: _in_cell(holder),
    "defaultdict": lambda holder: defaultdict(_in_cell(holder)),
    "wrapper": lambda holder: functools.wraps(_in_default(holder))(_in_cell(holder)),
    "partial": lambda holder: functools.partial(print, holder),
    "method": lambda holder: types.MethodType(lambda self: 1, holder),
    "tuple": lambda holder: (holder,),
    "named tuple": Point,
    "subclass of tuple": lambda holder: Pair((holder,)),
    "exception": Failed,
    "slice": slice,
    "staticmethod": lambda holder: staticmethod(_in_cell(holder)),
    "UserDict": lambda holder: UserDict({1: holder}),
}
WAYS = {
    "the value first": lambda o, holder, value: setattr(o, "kept", [value, holder]),
    "the holder first": lambda o, holder, value: setattr(o, "kept", [holder, value]),
    "as a result": lambda o, holder, value: value,
}


def _aliases(x):
    """Return a line for each thing that is reached: its type, or where it was seen before."""
    lines, seen = [], {}

    def walk(x, path):
        if x is None or isinstance(x, int | str | type):
            return
        if id(x) in seen:
            lines.append(f"{path} is {seen[id(x)][0]}")
            return
        seen[id(x)] = path, x
        lines.append(f"{path}: {type(x).__name__}")
        for name, part in _parts(x):
            walk(part, path + name)

    walk(x, "out")
    return lines


def _parts(x):
    if isinstance(x, list | tuple | deque):
        yield from ((f"[{i}]", item) for i, item in enumerate(x))
    if isinstance(x, dict):
        yield from ((f"[{key!r}]", value) for key, value in x.items())
    for name in (
        *("maps", "data", "default_factory", "__closure__", "__defaults__", "__kwdefaults__"),
        *("cell_contents", "__self__", "__func__", "args", "keywords", "stop", "__wrapped__"),
    ):
        if not isinstance(x, types.BuiltinFunctionType) and hasattr(x, name):
            yield f".{name}", getattr(x, name)
    yield from ((f".{name}", value) for name, value in getattr(x, "__dict__", {}).items())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_there_is_one_of_each(holder, value, way):
    make, give = HOLDERS[holder]

    def step(o):
        held = make()
        made = VALUES[value](held)
        give(held, made)
        return WAYS[way](o, held, made)

    o, o2 = Node(), Node()
    assert _aliases([ev.jit(step)(o), o]) == _aliases([step(o2), o2])
