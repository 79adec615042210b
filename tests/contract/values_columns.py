"""The columns of the table of values: what a program can do with a value that holds a number.

A `Row` is a kind of value (`values_table` has them all), with functions that make a value around a
number, read that number, and change the value in place. `PROGRAMS` has a program for each column,
which `test_values` runs as plain Python and jitted.
"""

import gc
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import evertrace.numpy as jnp
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostarray import HostArray
from tests.contract.compare import Record, module

COLUMNS = {
    "read": "as an argument, an attribute, in a closure, as a global",
    "guarded": "another value, or the same one changed between the calls, gives the new result",
    "changed": "a change that the function makes is left behind",
    "stored": "one that the function makes is left behind in an attribute",
    "returned": "one that was there is returned as itself, one that is made exactly",
}


class Refusal(NamedTuple):
    """Why a cell is refused: the class of the error, and a text found in it."""

    error: type
    text: str


class Row(NamedTuple):
    """One kind of value.

    Attributes:
      name: of the kind.
      make: function of a number, which returns a value that holds it.
      read: function of a value, which returns what a program needs of it.
      change: function of a value and a number, which changes the value; None: it cannot change.
      others: makers of values that differ in what the type's behaviour depends on besides.
      arrays: whether it may as well hold an array.
      refused: column -> `Refusal`.
      show: function of a value, which returns what is observed of it; else itself and `read` of it.
    """

    name: str
    make: Callable[[Any], Any]
    read: Callable[[Any], Any]
    change: Callable[[Any, Any], None] | None = None
    others: tuple[Callable[[Any], Any], ...] = ()
    arrays: bool = False
    refused: dict[str, Refusal] = {}  # noqa: RUF012
    show: Callable[[Any], Any] | None = None

    def seen(self, value):
        """Return what is observed of a value from outside."""
        return self.show(value) if self.show else (type(value), self.read(value))


X = jnp.asarray([1.0, 2.0, 3.0])

# ------------------------------------------------------------------------ the columns


def _read(row):
    """Read it by each path, with other numbers in it."""

    def program(jit):
        by_argument = jit(lambda v, x: x * row.read(v))
        for n in (2, 2, 3, 2):
            yield by_argument(row.make(n), X)
        o = Record(value=row.make(2))
        by_attribute = jit(lambda x: x * row.read(o.value))
        home = module("def by_global(x):\n    return x * read(VALUE)\n", read=row.read)
        by_global = jit(home.by_global)
        for n in (2, 3, 2):
            o.value = row.make(n)
            yield by_attribute(X)
            v = row.make(n)
            yield jit(lambda x: x * row.read(v))(X)  # noqa: B023
            home.VALUE = row.make(n)
            yield by_global(X)

    return program


def _guarded(row):
    """Change it between the calls, and replace it by others."""

    def program(jit):
        o = Record(value=row.make(2))
        step = jit(lambda x: x * row.read(o.value))
        yield step(X)
        if row.change:
            for n in (3, 3, 4, 2):
                row.change(o.value, n)
                yield step(X)
        for make in (row.make, *row.others):
            for n in (3, 2):
                o.value = make(n)
                yield step(X)

    return program


def _changed(row):
    """Change it inside."""

    def program(jit):
        def step(v, n, x):
            row.change(v, n)
            return x * row.read(v)

        step = jit(step)
        for make in (row.make, *row.others):
            v = make(2)
            for n in (3, 3, 4):
                yield step(v, n, X)
                yield row.seen(v)

    return program


def _stored(row):
    """Make it inside, of a number and of an array."""

    def program(jit):
        o = Record(n=2, kept=None)

        def step(x):
            o.kept = row.make(o.n)
            return x

        def step_of_array(x):
            o.kept = row.make(x[0])
            return x

        step, step_of_array = jit(step), jit(step_of_array)
        earlier = []
        for n in (2, 2, 3, 4):
            o.n = n
            yield step(X)
            has_no_stand_in(o.kept)
            yield row.seen(o.kept)
            earlier.append(o.kept)
        if row.change:
            yield len({id(v) for v in earlier})
        if row.arrays:
            for i in range(3):
                yield step_of_array(X + i)
                has_no_stand_in(o.kept)
                yield row.seen(o.kept)

    return program


def _returned(row):
    """Return it, and return one that is made inside."""

    def program(jit):
        back = jit(lambda v: v)
        for n in (2, 3):
            v = row.make(n)
            yield back(v) is v or type(v) in TREES or hasattr(v, "_fields")
        make = jit(lambda n: row.make(n))
        for n in (2, 3, 3, 4):
            made = make(n)
            has_no_stand_in(made)
            yield row.seen(made)
        if row.arrays:
            for i in range(2):
                made = make(X[0] + i)
                has_no_stand_in(made)
                yield row.seen(made)

    return program


TREES = (bool, int, float, complex, tuple, list, dict, OrderedDict, defaultdict)
"""Types whose values `jit` may return as arrays, or as trees of arrays."""

PROGRAMS = {
    "read": _read, "guarded": _guarded, "changed": _changed, "stored": _stored,
    "returned": _returned,
}  # fmt: skip


_OF_A_TRACE = (Tracer, Host, HostArray, StandIn)


def has_no_stand_in(value):
    """Fail if anything that stands for a value in a trace is reachable from a value."""
    seen, todo = {}, [value]
    while todo:
        x = todo.pop()
        if id(x) in seen or isinstance(x, type | types.ModuleType):
            continue
        seen[id(x)] = x
        home = type(x).__module__
        inside = issubclass(type(x), _OF_A_TRACE) or home.startswith("evertrace._src.jit.lifting")
        assert not inside, f"{type(x).__qualname__} in {type(value).__qualname__}"
        if type(x) is types.FunctionType:
            todo += [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
        elif not home.startswith("evertrace") and type(x) is not types.BuiltinFunctionType:
            todo += gc.get_referents(x)
