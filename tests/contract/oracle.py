"""Runs a program in two worlds, with `jit` and without, and finds where they differ.

A *program* is Python text and a list of *events*: calls of its entry points, and changes made
between the calls. Each world is a module of its own. After every event all that the two modules
reach is walked side by side: exact types, values, order of keys, containers, functions with their
cells and defaults, classes, and which objects are one object.

Five differences are deliberate, and modelled here:

* A call that raises under `jit` has changed nothing: plain Python is put back to where it was
  before the call.
* `jit` returns arrays where Python returns scalars. Only what the result alone reaches is
  compared so; what a call leaves in objects keeps its type.
* Arrays agree to floating-point rounding, host scalars to the bit. A program that magnifies the
  rounding of its operations (`sin` of a sum that nearly cancels, some calls later) is run again in
  double precision, where a slight difference has to vanish.
* Two arrays that Python makes anew may be one under `jit`: a constant of the program is made once.
  What is one object in Python is one under `jit`, and of mutable objects neither more nor fewer.
* `jit` may say why it cannot do something. Such a *refusal* is counted, and changes nothing.
"""

import contextlib
import io
import re
import sys
import types
import warnings
from collections import defaultdict, deque
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from evertrace import Array, enable_x64
from evertrace._src.errors import EvertraceError, EvertraceWarning

PRELUDE = """\
import bisect, contextlib, copy, dataclasses, functools, heapq, itertools, math, operator
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from types import SimpleNamespace
import numpy as np
import evertrace.numpy as jnp
from evertrace import checkpoint, grad, jvp, lax, tree, value_and_grad, vmap

Pt = namedtuple("Pt", "y n")

def half(x):
    return x * 0.5
"""
TOLERANCE = 1e-5  # float32 rounds at 6e-8; a program does some hundred operations on an array
SLIGHT = 1e-2  # what rounding may become that a program magnifies; checked in double precision


class Event(NamedTuple):
    """One step of a program: a call of an entry point, or a change made from outside."""

    source: str
    is_call: bool


class Program(NamedTuple):
    """A stateful program: definitions, and what happens to them."""

    source: str
    events: tuple[Event, ...]
    name: str = "program"

    def text(self):
        """Return the program as a file that runs by itself."""
        source = re.sub(r"\n{3,}", "\n\n", self.source)
        steps = "\n".join(event.source for event in self.events)
        return f"from evertrace import jit\n{PRELUDE}\n{source}\n\n# events\n{steps}\n"


class Outcome(NamedTuple):
    """What running a program in two worlds has shown."""

    difference: str = ""  # the first one; nothing where the worlds agree
    calls: int = 0
    raised: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    hits: int = 0
    traces: int = 0
    magnified: bool = False  # the worlds agree in double precision only, but for rounding


class BadProgramError(Exception):
    """The definitions of a program do not run: its generator is wrong, not `jit`."""


# ------------------------------------------------------------------------------------- worlds


class World:
    """A module in which a program runs, with one meaning of `jit`."""

    def __init__(self, program, name, jit):
        """Define the program's functions and objects."""
        self.module = types.ModuleType(name)
        self.names = vars(self.module)
        self._filename = f"<{name}>"
        self._hidden = set(self.names) | {"jit", "__builtins__"}
        self.names["jit"] = jit
        exec(PRELUDE, self.names)
        self._hidden |= set(self.names)
        sys.modules[name] = self.module
        try:
            exec(compile(program.source, self._filename, "exec"), self.names)
        except Exception as error:
            raise BadProgramError(f"{type(error).__name__}: {error}") from error

    def close(self):
        """Forget the module."""
        sys.modules.pop(self.module.__name__, None)

    def run(self, event):
        """Run one event; return what it printed, and the error it raised or None."""
        self.names.pop("result", None)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(event.source, self._filename, "exec"), self.names)
        except Exception as error:
            return printed.getvalue(), error
        return printed.getvalue(), None

    def state(self):
        """Return the program's own globals, without the result of the last event."""
        skip = self._hidden | {"result"}
        return {name: value for name, value in self.names.items() if name not in skip}


class Counter:
    """A `jit` that knows whether a call traced something."""

    def __init__(self, jit):
        """Count for this `jit`."""
        self._jit, self._made = jit, []

    def __call__(self, fun, **options):
        """Jit a function."""
        jitted = self._jit(fun, **options)
        if hasattr(jitted, "cache_info"):
            self._made.append(jitted)
        return jitted

    def misses(self):
        """Return how many variants were traced so far; shared caches may count twice."""
        return sum(jitted.cache_info().misses for jitted in self._made)


def compare(program, jit):
    """Run `program` plainly and with `jit`, and return the `Outcome`."""
    outcome, difference = _run(program, jit)
    if isinstance(difference, SlightDifference):
        with enable_x64():
            exact, difference = _run(program, jit)
        outcome = outcome if difference else exact._replace(magnified=True)
    return outcome


def _run(program, jit):
    """Return the `Outcome` of one run, and the `Difference` that it has seen or None."""
    counter = Counter(jit)
    worlds = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvertraceWarning)
            worlds.append(World(program, f"{program.name}_plain", lambda fun, **_: fun))
            try:
                worlds.append(World(program, f"{program.name}_jit", counter))
            except BadProgramError as error:
                difference = Difference(f"only with jit, the definitions raise {error}")
                return Outcome(str(difference)), difference
            return _compare(program.events, *worlds, counter)
    finally:
        for world in worlds:
            world.close()


def _compare(events, plain, jitted, counter):
    calls, hits, raised, refused, traces, where = 0, 0, [], [], 0, ""
    difference = _difference_of_states(plain, jitted)
    for i, event in enumerate(events):
        if difference:
            break
        misses = counter.misses()
        found = jitted.run(event)
        traced = counter.misses() > misses
        before = Snapshot(plain.names) if event.is_call and found[1] else None
        expected = plain.run(event)
        if before and is_refusal(found[1]) and not is_refusal(expected[1]):
            refused.append(one_line(found[1]))
        else:
            difference = _difference_of_outcomes(expected, found)
            raised += [one_line(found[1])] if before else []
        if before:
            before.restore()
        calls, traces = calls + event.is_call, traces + traced
        hits += event.is_call and not traced and not before
        difference = difference or _difference_of_states(plain, jitted)
        if difference:
            where = f"event {i + 1}, {event.source.splitlines()[0]!r}: "
    text = f"{where}{difference}" if difference else ""
    outcome = Outcome(text, calls, tuple(raised), tuple(refused), hits, traces)
    return outcome, difference


def is_refusal(error):
    """Whether an error says clearly why `jit` cannot do something."""
    return isinstance(error, EvertraceError) or (
        isinstance(error, TypeError) and ".at[" in str(error)
    )


def one_line(error):
    """Return an error's class and the first line of its text."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _difference_of_outcomes(expected, found):
    (printed, error), (printed_too, error_too) = expected, found
    if error is None and error_too is None:
        if printed != printed_too:
            return Difference(f"printed {printed_too!r}, not {printed!r}")
    elif _text(error) != _text(error_too):
        return Difference(f"raised {error_too!r}, not {error!r}")
    return None


def _text(error):
    """Return what has to agree of an error: of evertrace's own the first words."""
    ours = is_refusal(error) or "\n  at <" in str(error)
    return " ".join(one_line(error).split()[:5]) if ours else f"{type(error).__name__}: {error}"


def _difference_of_states(plain, jitted):
    walk = Comparison((plain.module.__name__, jitted.module.__name__))
    try:
        walk.same(plain.state(), jitted.state(), "")
        if "result" in plain.names or "result" in jitted.names:
            walk.lenient = True
            walk.same(plain.names.get("result"), jitted.names.get("result"), "result")
    except Difference as difference:
        return difference
    return None


# ----------------------------------------------------------------------------- parts of objects

_ATOMS = (types.NoneType, bool, int, float, complex, str, bytes, range, slice)
_UNSEEN = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__dataclass_fields__",
    "__dataclass_params__", "__slotnames__", "__annotations__", "__annotate_func__",
    "__annotations_cache__",
})  # fmt: skip


def unwrap(x):
    """Return the user's function of a jitted one, everything else as it is."""
    while _is_wrapper(x):
        x = x.__wrapped__
    return x


def _is_wrapper(x):
    ours = type(x) is types.FunctionType or type(x).__module__.startswith("evertrace")
    return ours and hasattr(x, "__wrapped__")


def parts(x):
    """Return what `x` consists of, as pairs of a label and a value, in order."""
    kind = type(x)
    if kind in _LEAVES or isinstance(x, np.generic):
        return []
    if kind in _PARTS:
        return _PARTS[kind](x)
    if isinstance(x, type):
        return [(f".{name}", vars(x)[name]) for name in sorted(set(vars(x)) - _UNSEEN)]
    return _attributes(x) + _contents(x)


_LEAVES = {*_ATOMS, np.ndarray, Array, types.CodeType, types.ModuleType}


def _parts_of_function(x):
    if x.__module__.startswith("evertrace."):  # whose own caches are nobody's state
        return [(".__qualname__", f"{x.__module__}.{x.__qualname__}")]
    cells = dict(zip(x.__code__.co_freevars, x.__closure__ or (), strict=True))
    return [
        (".__code__", x.__code__),
        (".__defaults__", x.__defaults__),
        (".__kwdefaults__", x.__kwdefaults__),
        *((f" variable {name}", cell) for name, cell in cells.items()),
        *((f".{name}", value) for name, value in vars(x).items() if name != "__wrapped__"),
    ]


_PARTS = {
    types.FunctionType: _parts_of_function,
    types.CellType: lambda x: [(" in a cell", x.cell_contents)] if is_filled(x) else [],
    types.MethodType: lambda x: [(".__func__", x.__func__), (".__self__", x.__self__)],
    partial: lambda x: [(".func", x.func), (".args", x.args), (".keywords", x.keywords)],
    staticmethod: lambda x: [(".__func__", x.__func__)],
    classmethod: lambda x: [(".__func__", x.__func__)],
    property: lambda x: [(".fget", x.fget), (".fset", x.fset)],
    cached_property: lambda x: [(".func", x.func)],  # on 3.11 it has a lock as well
}


def is_filled(cell):
    """Whether a cell holds a value."""
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


@lru_cache(maxsize=64)
def slots_of(cls):
    """Return the slots that a class and its bases define, by name."""
    found = {}
    for base in cls.__mro__:
        members = vars(base).items() if "__slots__" in vars(base) else ()
        found |= {k: v for k, v in members if isinstance(v, types.MemberDescriptorType)}
    return found


def dict_of(x):
    """Return the `__dict__` of an object, an empty one where it has none; no hook sees it."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _attributes(x):
    found = [(f".{name}", slot_of(x, slot)) for name, slot in slots_of(type(x)).items()]
    found = [(name, value) for name, value in found if value is not _EMPTY]
    return found + [(f".{name}", value) for name, value in dict_of(x).items()]


def _contents(x):
    if isinstance(x, dict):
        found = [(".keys()", tuple(dict.keys(x)))]
        if isinstance(x, defaultdict):
            found.append((".default_factory", x.default_factory))
        return found + [(f"[{key!r}]", value) for key, value in dict.items(x)]
    if isinstance(x, set | frozenset):
        return [(" element", element) for element in sorted(x, key=repr)]
    if isinstance(x, list | tuple | deque):
        found = [(".maxlen", x.maxlen)] if isinstance(x, deque) else []
        return found + [(f"[{i}]", element) for i, element in enumerate(x)]
    return []


# --------------------------------------------------------------------------------- comparison


class Difference(Exception):
    """Where two worlds differ, and how."""


class SlightDifference(Difference):
    """Values that differ by so little that it may be rounding."""


class Comparison:
    """Walks two worlds side by side, and raises `Difference` at the first one."""

    def __init__(self, modules, lenient=False):
        """Compare objects of two modules of these names, as results if `lenient`."""
        self.lenient = lenient
        self._modules = modules
        self._there, self._back, self._alive = {}, {}, []  # those seen, by id of the other one

    def same(self, a, b, path):
        """Compare two values that `path` leads to."""
        if a is b and not isinstance(a, np.ndarray | list | dict | set | deque):
            return  # a value, or of another module
        a, b = unwrap(a), unwrap(b)
        scalar = isinstance(a, Array | float | int | np.ndarray)
        if self.lenient and scalar and isinstance(b, Array):
            self._same_values(np.asarray(a), np.asarray(b), path)
        else:
            self._same_types(a, b, path)
            self._same_object(a, b, path)

    def _same_types(self, a, b, path):
        mine, its = type(a), type(b)
        ours = (mine.__module__, its.__module__) == self._modules
        if not (ours and mine.__qualname__ == its.__qualname__) and mine is not its:
            raise Difference(f"{path} is a {its.__name__}, not a {mine.__name__}: {b!r}, not {a!r}")

    def _same_object(self, a, b, path):
        if isinstance(a, _ATOMS):
            if not same_atoms(a, b):
                raise Difference(f"{path} is {b!r}, not {a!r}")
        elif isinstance(a, types.CodeType):
            if a != b:
                raise Difference(f"{path} is the code of {b.co_name}, not of {a.co_name}")
        elif isinstance(a, np.generic):
            self._same_arrays(np.asarray(a), np.asarray(b), path)
        elif not self._is_known(a, b, path):
            self._same_parts(a, b, path)

    def _is_known(self, a, b, path):
        """Note that two objects are one; whether they were noted already."""
        if isinstance(a, tuple | frozenset):
            return False  # immutable: whether two are one depends on the interpreter
        known = self._there.get(id(a))
        if known is None:
            if id(b) in self._back and not isinstance(a, Array):
                raise Difference(f"{path} is an object that it is not in plain Python")
            self._there[id(a)], self._back[id(b)] = b, a
            self._alive.append((a, b))
        elif known is not b:
            raise Difference(f"{path} is not the object that it is in plain Python")
        return known is not None

    def _same_parts(self, a, b, path):
        if isinstance(a, np.ndarray | Array):
            self._same_arrays(np.asarray(a), np.asarray(b), path)
            return
        if isinstance(a, type) and (a.__module__, b.__module__) != self._modules:
            self._same_constants(a, b, path)
            return
        mine, its = parts(a), parts(b)
        names, names_too = [label for label, _ in mine], [label for label, _ in its]
        if names != names_too:
            raise Difference(f"{path} consists of {names_too}, not of {names}")
        if not mine and not isinstance(a, list | tuple | dict | set | deque | frozenset):
            self._same_constants(a, b, path)
        for (label, value), (_, value_too) in zip(mine, its, strict=True):
            self.same(value, value_too, path + label)

    def _same_constants(self, a, b, path):
        """Compare what has no parts: builtins, foreign types, modules, objects without state."""
        ours = self._modules[0] in (type(a).__module__, getattr(a, "__module__", ""))
        descriptor = hasattr(type(a), "__get__")  # of a class's members: one for each class
        if a is not b and not ours and not descriptor and not isinstance(a, types.CellType):
            raise Difference(f"{path} is {b!r}, not {a!r}")

    def _same_arrays(self, a, b, path):
        if a.dtype != b.dtype:
            raise Difference(f"{path} has dtype {b.dtype}, not {a.dtype}")
        self._same_values(a, b, path)

    def _same_values(self, a, b, path):
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            what = f"{b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}"
            raise Difference(f"{path} is {what}")
        close = a.tobytes() == b.tobytes() if a.dtype == b.dtype else np.array_equal(a, b)
        inexact = a.dtype.kind in "fc"
        if not close and not (inexact and _near(a, b, TOLERANCE)):
            kind = SlightDifference if inexact and _near(a, b, SLIGHT) else Difference
            raise kind(f"{path} is {b.tolist()}, not {a.tolist()}")


def _near(a, b, tolerance):
    return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def same_atoms(a, b):
    """Compare immutable Python values of one type, floats to the bit and by the sign of zero."""
    if isinstance(a, float):
        return repr(a) == repr(b)
    return a == b


# ---------------------------------------------------------------------------------- snapshots


class Snapshot:
    """The state of everything that a module's globals reach, to be put back in place."""

    def __init__(self, names):
        """Note the present state, without the result of an earlier call."""
        names.pop("result", None)
        self._undo, self._alive = [], []
        seen, todo = {id(names["__builtins__"]), id(names["jit"])}, [names]
        while todo:
            x = unwrap(todo.pop())
            if id(x) not in seen and not _is_foreign(x, names):
                seen.add(id(x))
                self._alive.append(x)
                todo += [value for _, value in parts(x)]
                self._undo += _undo_of(x)

    def restore(self):
        """Put everything back."""
        for undo in self._undo:
            undo()


def _is_foreign(x, names):
    """Whether no program changes `x`: values, and what other modules define."""
    if isinstance(x, types.FunctionType):
        return x.__globals__ is not names
    if isinstance(x, type):
        return x.__module__ != names["__name__"]
    return isinstance(x, (types.ModuleType, *_ATOMS))


def _undo_of(x):
    """Return functions that put back an object's own state, not that of its parts."""
    undo = []
    if isinstance(x, types.FunctionType):
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            undo.append(partial(setattr, x, name, getattr(x, name)))
    elif isinstance(x, types.CellType) and is_filled(x):
        undo.append(partial(setattr, x, "cell_contents", x.cell_contents))
    elif isinstance(x, type):
        undo.append(partial(_restore_class, x, dict(vars(x))))
    elif isinstance(x, np.ndarray):
        undo.append(partial(np.copyto, x, x.copy()))
    elif isinstance(x, list):
        undo.append(partial(list.__setitem__, x, slice(None), list(x)))
    elif isinstance(x, dict | set | deque):
        undo.append(partial(_refill, x, x.copy()))
    if isinstance(x, type):
        return undo
    undo += [
        partial(_restore_slot, x, slot, slot_of(x, slot)) for slot in slots_of(type(x)).values()
    ]
    own = dict_of(x)
    return [*undo, partial(_refill, own, dict(own))]


_EMPTY = object()


def slot_of(x, slot):
    """Return what a slot of an object holds, or a mark for nothing."""
    try:
        return slot.__get__(x)
    except AttributeError:
        return _EMPTY


def _restore_slot(x, slot, value):
    if value is not _EMPTY:
        slot.__set__(x, value)
    elif slot_of(x, slot) is not _EMPTY:
        slot.__delete__(x)


def _refill(container, contents):
    container.clear()
    (container.extend if isinstance(container, deque) else container.update)(contents)


def _restore_class(cls, contents):
    for name in set(vars(cls)) - set(contents):
        delattr(cls, name)
    for name, value in contents.items():
        if vars(cls).get(name, _EMPTY) is not value:
            setattr(cls, name, value)
