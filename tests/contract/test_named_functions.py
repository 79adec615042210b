"""Functions of Python's as values: compared, looked up in tables, shown, stored and returned.

Some are called through a stand-in while a function is traced, which nobody is to see.
"""

import builtins
import cmath
import decimal
import functools
import inspect
import itertools
import json
import math
import operator
import os
import random
import statistics
import sys
import time
import types

import numpy as np
import pytest

import evertrace as ev
from tests.contract.compare import X

pytestmark = pytest.mark.engine

_MODULES = (builtins, math, cmath, operator, statistics, random, time, os, functools, np)
NAMED = [
    (module, name)
    for module in _MODULES
    for name in sorted(vars(module))
    if not name.startswith("_")
    and callable(getattr(module, name))
    and hasattr(getattr(module, name), "__name__")
    and not (isinstance(getattr(module, name), type) and module is not builtins)
    and type(getattr(module, name)).__module__ not in ("_sitebuiltins", "IPython.core.autocall")
    and not isinstance(getattr(getattr(module, name), "__self__", None), random.Random)
]

PROGRAM = """
def f(x, given):
    kept["as it is"] = {name}
    kept["in a list"] = [{name}, ({name}, 1, ({name},))]
    kept[({name}, "key")] = 1
    kept["in a partial"] = functools.partial({name})
    kept["in a closure"] = lambda: {name}
    text = repr({name}), str({name}), f"{{{name}}}", {name}.__name__, {name}.__module__
    same = (
        {name} is there, there is {name}, {name} == there, there == {name}, {name} != there,
        given is {name}, given == {name}, ({name}, 1) == (there, 1), {name} in [there],
        hash({name}) == hash(there), type({name}) is type(there), callable({name}),
        id({name}) == id(there),
        isinstance({name}, type(there)), isinstance({name}, types.FunctionType),
        {name} is other, {name} == other, {name} in table, {name} in {{there}}, there in {{{name}}},
    )
    numbers = table.get({name}, 0.0), table.get(given, 0.0), {{{name}: 2.0}}.get(there, 0.0)
    kept["text"], kept["same"] = text, same
    return x * numbers[0] + numbers[1] + numbers[2]
"""


def _run(module, name, wrap):
    """Return what two calls of a program give, that names a function in many ways."""
    there = getattr(module, name)
    names = {"kept": {}, "there": there, "other": _run, "table": {there: 3.0}, "types": types}
    names |= {"functools": functools, module.__name__: module}
    path = name if module is builtins else f"{module.__name__}.{name}"
    exec(PROGRAM.format(name=path), names)
    f, found = wrap(names["f"]), []
    for _ in range(2):
        names["kept"].clear()
        found.append((np.asarray(f(X, there)).tolist(), dict(names["kept"])))
    for _, kept in found:
        kept["in a partial"], kept["in a closure"] = (
            kept["in a partial"].func,
            kept["in a closure"](),
        )
    return found


def _objects(x):
    """Return all that is in containers, in order."""
    if isinstance(x, dict):
        return [part for pair in x.items() for part in _objects(pair)]
    return [part for y in x for part in _objects(y)] if isinstance(x, list | tuple) else [x]


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize(("module", "name"), NAMED, ids=[f"{m.__name__}.{n}" for m, n in NAMED])
def test_a_function_that_is_a_value_is_itself(module, name):
    want, got = _run(module, name, lambda f: f), _run(module, name, ev.jit)
    assert got == want
    there = getattr(module, name)
    for mine, its in zip(_objects(want), _objects(got), strict=True):
        assert type(mine) is type(its)
        assert (mine is there) == (its is there)


def test_the_list_has_what_stands_for_others():
    """So that it tests something: these have stand-ins."""
    found = {name for _, name in NAMED}
    assert {"getattr", "vars", "dir", "repr", "id", "hash", "callable", "sum", "sin"} <= found


def test_what_type_gives_is_kept_as_a_type():
    class Kept:
        """Anything."""

    def f(x, kept, o):
        kind = type(o)
        kept.alone, kept.pair, kept.deep = kind, (kind, 1), (1, [(kind, (kind,))])
        kept.table = {(kind, "key"): kind, kind: (type, 1)}
        return x

    kept, f = Kept(), ev.jit(f)
    for o in (Kept, 1, kept, type):
        f(X, kept, o)
        found = [x for x in _objects(list(vars(kept).values())) if isinstance(x, type)]
        assert all(x in (type(o), type) and type(x) is type for x in found)
        assert len(found) == 8


@pytest.mark.parametrize("name", ["getattr", "repr", "sum", "type", "print", "math.sin", "math"])
def test_exceptions_carry_functions_themselves(name):
    names = {"math": math}
    exec(
        f"def f(x):\n"
        f"  error = KeyError({name}, [{name}], ({name}, (1, {name})), {{{name}: 1}})\n"
        f"  error.attribute, error.kind = {name}, type(ValueError)\n"
        f"  raise error from OSError({name})",
        names,
    )
    with pytest.raises(KeyError) as caught:
        ev.jit(names["f"])(X)
    error, there = caught.value, eval(name, names)
    found = _objects([*error.args, error.attribute, *error.__cause__.args])
    assert [x is there for x in found] == [True, True, True, False, True, True, False, True, True]
    assert error.kind is type


def test_signatures_are_those_of_the_functions():
    def f(x):
        shown = [str(inspect.signature(fn)) for fn in (callable, hash, math.sin, sum)]
        return x, shown

    assert ev.jit(f)(X)[1] == f(X)[1]


MODULE = """
def f(x, given):
    import {name} as other
    kept["as it is"], kept["imported"], kept["given"] = {name}, other, given
    kept["in a list"] = [{name}, ({name}, 1)]
    kept[({name}, "key")] = 1
    kept["in a closure"] = (lambda: {name})()
    kept["same"] = (
        {name} is there, {name} is given, other is {name}, {name} == there, given == {name},
        other == there, hash({name}) == hash(there), type({name}) is types.ModuleType,
        isinstance(given, types.ModuleType), {name} in table, given in table, other in [there],
        {name}.__name__, repr({name}) == repr(there), vars({name}) is vars(there),
        dir({name}) == dir(there), {name}.__spec__ is there.__spec__, id({name}) == id(there),
    )
    return x * table.get({name}, 0.0) + table.get(given, 0.0), {name}
"""


@pytest.mark.parametrize("module", [*_MODULES[1:], itertools, json, decimal])
def test_a_module_that_is_a_value_is_itself(module):
    def run(wrap):
        names = {"kept": {}, "there": module, "table": {module: 3.0}, "types": types}
        names[module.__name__.partition(".")[0]] = sys.modules[module.__name__.partition(".")[0]]
        exec(MODULE.format(name=module.__name__), names)
        f, found = wrap(names["f"]), []
        for _ in range(2):
            names["kept"].clear()
            x, returned = f(X, module)
            found += [np.asarray(x).tolist(), returned, dict(names["kept"])]
        return found

    want, got = run(lambda f: f), run(ev.jit)
    assert got == want
    for mine, its in zip(_objects(want), _objects(got), strict=True):
        assert (mine is module) == (its is module)
