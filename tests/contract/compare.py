"""One program in two worlds: as plain Python, and with `jit`. What can be observed must agree.

A case is a generator that is handed its world as `jit` and yields what it observes::

    @case(traces=1)
    def test_counter_counts(jit):
        c = Counter()
        step = jit(c.step)
        for _ in range(3):
            yield step()
        c.n = 0
        yield step(), c

It runs twice. In `Plain`, ``jit(f)`` calls `f`; in `Jitted` it is `ev.jit`. Every observation is
described at once, as far as it can be reached: types, values (floats by bits, arrays to rounding),
attributes and keys in their order, and which places hold one and the same object. The descriptions
must be equal, and the number of traces must be the stated one. What jit returns is arrays, so
`Plain` converts the scalars of a result; what is left in objects is compared as it is.

Transformations of functions with state are asked of the world too (`jit.scan`, `jit.grad`, ...):
plain Python has loops, branches and a copy of the object to differentiate, without evertrace's.

`refused` states that a program which is right as plain Python is an error with `jit`, in words
that say so. What is only promised of `jit` itself (that a call which raises changes nothing, that
nothing is kept alive) is tested by ordinary functions.
"""

import copy
import enum
import functools
import inspect
import re
import sys
import textwrap
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.support.closeness import errors_in_ulps

X = jnp.asarray([1.0, 2.0, 3.0])
"""What most programs are called with."""

ULPS = 16
"""Rounding that compilation may change, in units of the largest element of an array."""


def case(*, traces=None, at_most=None, ulps=ULPS, may_refuse=False):
    """Return a decorator that makes a test of a program.

    Args:
      traces: how often the jitted functions of the program are traced, all together, where the
        specification determines it.
      at_most: a bound on that number, where it does not. Neither: tracing ends in an error.
      ulps: units in the last place, of an array's largest element, that floats may differ by.
      may_refuse: whether an error of evertrace's is right too: the specification asks only that
        nothing is stale.
    """

    def make_test(program):
        def test():
            want = observe(program, Plain())
            world = Jitted()
            try:
                got = observe(program, world)
                count = world.count_traces()
            except ev.errors.EvertraceError:
                if may_refuse:
                    return
                raise
            finally:
                world.clear()
            compare(got, want, ulps)
            if traces is not None:
                assert count == traces, f"{count} traces, must be {traces}"
            if at_most is not None:
                assert count <= at_most, f"{count} traces, must be at most {at_most}"

        return _named_like(test, program)

    return make_test


def refused(error, pattern):
    """Return a decorator that makes a test of a program that only plain Python runs.

    With `jit` it must raise `error`, in a message in which `pattern` is found.
    """

    def make_test(program):
        def test():
            program(Plain())
            world = Jitted()
            try:
                with pytest.raises(error, match=pattern):
                    program(world)
            finally:
                world.clear()

        return _named_like(test, program)

    return make_test


def _named_like(test, program):
    """Give a test the name, place and text of its program, and no parameters (no fixtures)."""
    functools.update_wrapper(test, program)
    test.__signature__ = inspect.Signature()
    return test


def raised(call, *args, **kwargs):
    """Observe the exception that a call must raise: its type and its text."""
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        return type(error).__qualname__, str(error)
    raise AssertionError(f"nothing was raised; the result is {result!r}")


def module(source, name="program", **names):
    """Return a new module of the user's with this source."""
    made = types.ModuleType(name)
    vars(made).update(jnp=jnp, ev=ev, np=np, **names)
    run_in(made, source)
    return made


def run_in(made, source):
    """Execute more source in a module, as one redefines a function in a notebook."""
    exec(compile(textwrap.dedent(source), f"<{made.__name__}>", "exec"), vars(made))


# --------------------------------------------------------------------------------- the worlds


class Jitted:
    """The world of `ev.jit`, which counts traces."""

    def __init__(self):
        self._jitted = []

    def __call__(self, fun, **options):
        jitted = ev.jit(fun, **options)
        self._jitted.append(jitted)
        return jitted

    def count_traces(self):
        """Return the number of traces so far; forgets all variants."""
        count = 0
        for jitted in self._jitted:  # those that share a cache are counted once, being emptied
            count += jitted.cache_info().misses
            jitted.clear_cache()
        return count

    def clear(self):
        """Forget all variants: the same code may run again in another test."""
        self.count_traces()

    scan = staticmethod(lax.scan)
    fori_loop = staticmethod(lax.fori_loop)
    while_loop = staticmethod(lax.while_loop)
    cond = staticmethod(lax.cond)
    switch = staticmethod(lax.switch)
    grad = staticmethod(ev.grad)
    value_and_grad = staticmethod(ev.value_and_grad)
    jvp = staticmethod(ev.jvp)
    vmap = staticmethod(ev.vmap)
    checkpoint = staticmethod(ev.checkpoint)

    @staticmethod
    def vjp_of_ones(fun, *args):
        """Return the value of `fun` and the cotangents of its arguments for a cotangent of 1."""
        value, pull_back = ev.vjp(fun, *args)
        return value, pull_back(jnp.ones_like(value))


class Plain:
    """The world without `jit`: Python's own loops and branches, and copies to differentiate."""

    def __call__(self, fun, **options):
        @functools.wraps(fun, updated=())
        def call(*args, **kwargs):
            return _as_result(fun(*args, **kwargs))

        return call

    def scan(self, body, carry, xs=None, length=None):
        """Loop in Python, and stack what the body puts out."""
        if length is None:
            length = len(ev.tree.leaves(xs)[0])
        outs = []
        for i in range(length):
            carry, out = body(carry, ev.tree.map(lambda x: x[i], xs))  # noqa: B023
            outs.append(out)
        return carry, ev.tree.map(lambda *parts: jnp.stack(parts), *outs)

    def fori_loop(self, start, stop, body, value):
        """Loop in Python."""
        for i in range(start, stop):
            value = body(i, value)
        return value

    def while_loop(self, condition, body, value):
        """Loop in Python."""
        while condition(value):
            value = body(value)
        return value

    def cond(self, condition, if_true, if_false, *args):
        """Branch in Python."""
        return if_true(*args) if condition else if_false(*args)

    def switch(self, index, branches, *args):
        """Branch in Python."""
        return branches[min(max(int(index), 0), len(branches) - 1)](*args)

    def value_and_grad(self, method, has_aux=False):
        """Differentiate a copy of the method's object; the changes are those of a plain call."""

        def call(*args):
            _, grads = ev.value_and_grad(copy.deepcopy(method), has_aux=has_aux)(*args)
            return method(*args), grads

        return call

    def grad(self, method):
        """Differentiate like `value_and_grad`."""
        return lambda *args: self.value_and_grad(method)(*args)[1]

    def vjp_of_ones(self, method, *args):
        """Differentiate like `value_and_grad`."""
        value, pull_back = ev.vjp(copy.deepcopy(method), *args)
        return method(*args), pull_back(jnp.ones_like(value))

    def jvp(self, method, primals, tangents):
        """Differentiate like `value_and_grad`."""
        _, tangent = ev.jvp(copy.deepcopy(method), primals, tangents)
        return method(*primals), tangent

    def vmap(self, fun):
        """Loop in Python over the first axis of every argument."""

        def call(*args):
            outs = [fun(*(x[i] for x in args)) for i in range(len(args[0]))]
            return ev.tree.map(lambda *parts: jnp.stack(parts), *outs)

        return call

    def checkpoint(self, fun):
        """Change nothing: what is kept for the backward pass is no part of the meaning."""
        return fun


def _as_result(value):
    """Return a result as jit gives it: scalars, and NumPy arrays that ours can hold, as arrays."""
    kind = type(value)
    if kind in (dict, OrderedDict, defaultdict):
        parts = {k: _as_result(v) for k, v in value.items()}
        if all(parts[k] is value[k] for k in value):
            return value
        made = value.copy()
        made.update(parts)
        return made
    if kind is list or (isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_make"))):
        parts = [_as_result(v) for v in value]
        if all(x is y for x, y in zip(parts, value, strict=True)):
            return value  # the very object
        return kind._make(parts) if hasattr(kind, "_make") else kind(parts)
    if kind is int and value.bit_length() > 63:
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        made = jnp.asarray(value)
        return made if made.dtype == value.dtype else value
    return jnp.asarray(value) if kind in (bool, int, float, complex) else value


# ------------------------------------------------------------------------------- observations


def observe(program, world):
    """Run a program in a world; returns the description of each of its observations."""
    return [Description().of(seen) for seen in program(world)]


class Description:
    """What one observation looks like: nested tuples of strings, numbers and ndarrays.

    An object that is reached again is described as the number of its first place.
    """

    def __init__(self):
        self._seen = {}

    def of(self, x):
        """Describe a value and what can be reached from it."""
        kind = type(x)
        if x is None or kind in (bool, int, float, complex, str, bytes, range, slice):
            return kind.__name__, repr(x)
        if kind is tuple:  # no identity that matters
            return ("tuple", *map(self.of, x))
        if isinstance(x, np.generic):
            return f"generic {x.dtype}", repr(x)
        if isinstance(x, type | types.FunctionType | types.BuiltinFunctionType):
            return "named", x.__qualname__
        if isinstance(x, types.ModuleType):
            return "module", x.__name__
        if isinstance(x, enum.Enum):
            return "enum", str(x)
        if isinstance(x, types.MethodType):
            return "method", x.__func__.__qualname__, self.of(x.__self__)
        if isinstance(x, weakref.ref):
            return "weakref", self.of(x())
        if id(x) in self._seen:
            return "again", self._seen[id(x)][0]
        self._seen[id(x)] = len(self._seen), x
        return self._of_new(x)

    def _of_new(self, x):
        kind = type(x)
        if kind is ev.Array:
            return f"array {x.dtype}", x.shape, _numbers(x)
        if isinstance(x, np.ndarray):
            return f"ndarray {x.dtype}", x.shape, x.flags.writeable, np.array(x)
        parts = [kind.__qualname__]
        if isinstance(x, deque):
            parts.append(x.maxlen)
        if isinstance(x, dict):
            parts.append(tuple((self.of(k), self.of(v)) for k, v in x.items()))
        elif isinstance(x, set | frozenset):
            parts.append(tuple(sorted((self.of(e) for e in x), key=repr)))
        elif isinstance(x, list | tuple | deque):
            parts.append(tuple(map(self.of, x)))
        state = dict(getattr(x, "__dict__", {})) | _slots(x)
        parts.append(tuple((name, self.of(value)) for name, value in state.items()))
        return tuple(parts)


def _slots(x):
    """Return the contents of an object's slots."""
    names = [n for c in type(x).__mro__ for n in _names_of(c.__dict__.get("__slots__", ()))]
    return {n: getattr(x, n) for n in sorted(names) if hasattr(x, n)}


def _names_of(slots):
    names = (slots,) if isinstance(slots, str) else slots
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def _numbers(x):
    if jnp.issubdtype(x.dtype, ev.dtypes.prng_key):
        x = ev.random.key_data(x)
    return np.asarray(x)


def compare(got, want, ulps=ULPS, place="observation"):
    """Fail at the first place where two descriptions differ."""
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        for i, (g, w) in enumerate(zip(got, want, strict=False)):
            compare(g, w, ulps, f"{place}.{_label(w, i)}")
        assert len(got) == len(want), f"{place}: got {got!r}, want {want!r}"
    elif isinstance(want, np.ndarray) and isinstance(got, np.ndarray):
        assert got.dtype == want.dtype, f"{place}: got {got.dtype}, want {want.dtype}"
        if want.dtype.kind in "fc":
            same = errors_in_ulps(got, want, "array") <= ulps
        else:
            same = got == want
        assert np.all(same), f"{place}: got {got!r}, want {want!r}"
    else:
        assert type(got) is type(want), f"{place}: got {got!r}, want {want!r}"
        assert got == want, f"{place}: got {got!r}, want {want!r}"


def _label(part, i):
    """Name a part of a description: an attribute by its name, else by its position."""
    named = isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)
    return part[0] if named and re.fullmatch(r"\w+", part[0]) else str(i)


# ------------------------------------------------------------------------------------ helpers


def in_thread(call, *args):
    """Run a call on a thread of its own and return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call(*args)))
    thread.start()
    thread.join()
    (result,) = results
    return result


class Record:
    """A plain object with the given attributes, of which one that is not read is not watched."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class imported:
    """Make a module importable by its name while the context lasts."""

    def __init__(self, made):
        self._module = made

    def __enter__(self):
        sys.modules[self._module.__name__] = self._module
        return self._module

    def __exit__(self, *exc):
        del sys.modules[self._module.__name__]
