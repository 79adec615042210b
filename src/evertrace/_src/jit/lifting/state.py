"""The state that a function changes while a transformation runs it: snapshots, changes, rewinding.

A transformation takes a snapshot of everything that the recorder has taken over, runs the user's
function, asks what changed since, and puts it back. What was *read* for the first time is no
change: it has only become its lifted value. Nor is a lookup that is kept, see `_with_lookups`.
"""

import functools
import sys
import types
from array import array as buffer
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.core.jaxpr import Var
from evertrace._src.jit.lifting.code import code_of, is_library_class, is_library_function
from evertrace._src.jit.lifting.entered import (
    Attributes,
    CellContents,
    Entered,
    Entries,
    Items,
    Members,
    Memory,
    Position,
    instance_dict,
)
from evertrace._src.jit.lifting.entered_names import Names
from evertrace._src.jit.lifting.hooks import StandIn, parts
from evertrace._src.jit.lifting.host import SCALARS, Host, is_host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.hostprogram import LATE
from evertrace._src.jit.lifting.hosttext import HostText
from evertrace._src.jit.lifting.latetext import LateText
from evertrace._src.jit.lifting.parts import ITERATORS
from evertrace._src.jit.lifting.values import ABSENT


class Slot:
    """One place that holds a value: an attribute, an item, an entry, a cell, a global.

    Args:
      recorder: the trace's recorder.
      entered: the thing that the place is in.
      key: which of its places: a name, a key, an index.
      is_new: whether it is an attribute that the object had only from its class.
    """

    __slots__ = ("entered", "is_new", "key", "recorder")

    def __init__(self, recorder, entered: Entered, key: Any, is_new=False):
        self.recorder, self.entered, self.key, self.is_new = recorder, entered, key, is_new

    @property
    def place(self):
        """What tells slots apart, without asking the user's keys."""
        plain = type(self.key) in (str, int)
        return id(self.entered.obj), self.key if plain else id(self.key)

    @property
    def name(self):
        """What people call it."""
        return self.entered.name_of(self.key)

    def get(self):
        """Return the present value; one that was not read yet is lifted."""
        contents = self.entered.contents()
        if self.is_new and self.key not in contents:
            return getattr(self.entered.obj, self.key)
        value = contents[self.key]
        if type(value) is StandIn and parts(value)[0] is self.entered:
            return self.recorder.lifter.objects.lift_attribute(self.entered, self.key)
        return value

    def set(self, value):
        """Set the value."""
        _assign(self.entered, {self.key: value})

    def mark(self):
        """Return what differs where the place holds another value, or is no longer there."""
        contents = self.entered.contents()
        if isinstance(contents, dict):
            return id(contents.get(self.key, ABSENT))
        return id(contents[self.key]) if self.key < len(contents) else id(ABSENT)


class Contents:
    """All that is in a thing whose length or keys have changed: its places as one.

    Args:
      entered: the thing.
      now, then: its contents, and those before.
    """

    __slots__ = ("entered", "keys", "left", "name")

    def __init__(self, entered, now, then):
        self.entered, self.keys, self.name = entered, None, entered.node.name
        # What stands for the items of a list that are left alone stays where it is.
        self.left = [(i, x) for i, x in enumerate(now) if type(x) is StandIn]
        if isinstance(now, dict):
            self.keys = list(now)
            others = [k for k in now if k not in then] + [k for k in then if k not in now]
            if others:
                self.name = entered.name_of(others[0])

    place = property(lambda self: (id(self.entered.obj), None))

    def get(self):
        """Return the values, in order."""
        now = self.entered.contents()
        if isinstance(now, dict):
            return list(now.values())
        return [x for x in now if type(x) is not StandIn]

    def set(self, values):
        """Set the contents that the thing had when this was made, with other values."""
        if self.keys is not None:
            values = dict(zip(self.keys, values, strict=True))
        for i, x in self.left:
            values = [*values[:i], x, *values[i:]]
        self.entered.put(values)

    def mark(self):
        """Return what differs where the thing has other places."""
        contents = self.entered.contents()
        return [*map(id, contents)] if isinstance(contents, dict) else len(contents)


class Buffer:
    """What a NumPy array of the user's holds.

    Args:
      recorder: the trace's recorder.
      array: its stand-in.
    """

    __slots__ = ("array", "recorder")

    def __init__(self, recorder, array):
        self.recorder, self.array = recorder, array

    is_new = False
    place = property(lambda self: (id(self.array), None))
    name = property(lambda self: self.recorder.identity.origin[id(self.array)].name)

    def get(self):
        """Return the present contents, traced."""
        return self.array.image()

    def set(self, value):
        """Set the contents."""
        self.array.current, self.array.written = value, True

    def mark(self):
        """Return what differs where the contents do."""
        return id(self.array.current)


class _Held(NamedTuple):
    """What was in one thing at a snapshot, and what the trace had put there."""

    entered: Entered
    contents: Any
    placed: Any

    def then(self):
        """Return the contents at the snapshot, with what was read since lifted."""
        return self.entered.lifted_since(self.contents, self.placed)


class Snapshot(NamedTuple):
    """What was in everything that a function can change, at one moment.

    Attributes:
      held: per thing, those that the recorder has taken over first.
      taken_over: number of these.
      arrays: triples (stand-in of a NumPy array, its traced value or None, whether it was written).
      effects, steps: number of effects and of steps of the prologue.
    """

    held: list
    taken_over: int
    arrays: list
    effects: int
    steps: int


class Changes(NamedTuple):
    """What differs from a snapshot.

    Attributes:
      slots: places that hold other values.
      reshaped: `Contents` of things that gained or lost places.
      calls: names of impure functions that were called: each call of the program will do so once.
      mark: function whose result differs once a further one is called.
    """

    slots: list
    reshaped: list
    calls: list
    mark: Any

    def __bool__(self):
        return bool(self.slots or self.reshaped or self.calls)


def snapshot(recorder, functions=()):
    """Return a `Snapshot`.

    Args:
      recorder: the trace's recorder.
      functions: those that are going to run; what the trace itself has made is included as far as
        they can reach it.
    """
    held = [
        _Held(e, e.contents(), dict(e.placed) if isinstance(e.placed, dict) else e.placed)
        for e in recorder.identity.entered
    ]
    count = len(held)
    held += [_Held(e, e.entry, e.placed) for e in _local_things(recorder, functions, held)]
    arrays = [(a, a.current, a.written) for a in recorder.effects.arrays]
    return Snapshot(held, count, arrays, len(recorder.effects.calls), len(recorder.prologue.steps))


def changes(recorder, before, asks=False):
    """Return the `Changes` since a snapshot.

    Args:
      recorder: the trace's recorder.
      before: the `Snapshot`.
      asks: whether it matters that a place holds again, or still, the number that it held: what a
        body has changed becomes an array, whatever it is. A call without `jit` looks at the two
        objects, so it is asked of those of each call.
    """
    same = functools.partial(_same_number, recorder) if asks else _same
    called = functools.partial(_impure_calls, recorder, before)
    found = Changes([], [], called(), called)
    _see_stores(recorder, before)
    for entered, then in _all_then(recorder, before):
        now = entered.contents()
        if _same_shape(entered, now, then):
            keys = now if isinstance(now, dict) else range(len(now))
            found.slots.extend(
                [
                    slot
                    for k in keys
                    if not same(now[k], then[k], slot := Slot(recorder, entered, k))
                ]
            )
        elif _gained_defaults(entered, now, then):
            found.slots.extend(
                [
                    slot
                    for k, v in now.items()
                    if (slot := Slot(recorder, entered, k, k not in then)).is_new
                    or not same(v, then[k], slot)
                ]
            )
        else:
            found.reshaped.append(Contents(entered, now, then))
    for array, current, written in _all_arrays(recorder, before):
        if array.written and not (written and array.current is current):
            found.slots.append(Buffer(recorder, array))
    return found


def _see_stores(recorder, before):
    """Lift dicts that were stored into since and not read: which entries are new is to be told."""
    then = {id(held.entered): held.contents for held in before.held}
    for entered in list(recorder.identity.entered):
        if isinstance(entered, Entries) and entered.unread:
            now, earlier = entered.contents(), then.get(id(entered), {})
            if _identities(now) != _identities(earlier):
                recorder.lifter.see(entered.obj)


def _identities(entries):
    return [*map(id, entries), *map(id, entries.values())]


def rewind(recorder, before):
    """Put everything back as it was at a snapshot; what was read since stays lifted."""
    for entered, then in _all_then(recorder, before):
        now = entered.contents()
        if not _same_shape(entered, now, then):
            entered.put(then)
            continue
        keys = now if isinstance(now, dict) else range(len(now))
        differing = {k: then[k] for k in keys if now[k] is not then[k]}
        if differing:
            _assign(entered, differing)
    for array, current, written in _all_arrays(recorder, before):
        if array.written:
            array.current, array.written = current, written


def _impure_calls(recorder, before):
    """Return names of the calls that were noted since: effects, clock readings, draws."""
    prologue = recorder.prologue
    draws = [step.out for step in prologue.steps[before.steps :] if step.kind is LATE]
    return [
        *[getattr(fn, "__name__", str(fn)) for fn, *_ in recorder.effects.calls[before.effects :]],
        *[prologue.late_names[slot] for slot in draws],
    ]


def _all_then(recorder, before):
    """Yield everything that is taken over, with what it held at a snapshot."""
    for held in before.held:
        yield held.entered, _with_lookups(held.entered, held.then())
    for entered in recorder.identity.entered[before.taken_over :]:
        yield entered, _with_lookups(entered, entered.placed)  # as it was lifted


def _with_lookups(entered, then):
    """Return what a thing held, with what it has looked up since and kept to find it sooner.

    Modules and objects whose missing attributes `__getattr__` finds often keep them. What is found
    under its name in some module is the same for every turn and branch, and whether it is kept
    makes no difference to who reads it. So it may stay.
    """
    if isinstance(entered, Names):
        looks_up = "__getattr__" in entered.obj
    elif isinstance(entered, Attributes) and hasattr(entered.cls, "__getattr__"):
        looks_up = True
    else:
        return then
    gained = {k: v for k, v in entered.contents().items() if k not in then}
    kept = {k: v for k, v in gained.items() if _is_importable(v, looks_up)}
    return then | kept if kept else then


def _is_importable(value, looked_up):
    """Whether a value is a module or, where it was `looked_up`, what one holds under its name."""
    if isinstance(value, types.ModuleType):
        return True
    if not looked_up or not is_library_class(type(value)):  # asking others may run user code
        return False
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if type(name) is not str or type(module) is not str or module not in sys.modules:
        return False
    return sys.modules[module].__dict__.get(name) is value


def _all_arrays(recorder, before):
    yield from before.arrays
    for array in recorder.effects.arrays[len(before.arrays) :]:
        yield array, None, False


def _same_shape(entered, now, then):
    """Whether a thing has the places that it had."""
    if isinstance(now, dict) or isinstance(entered, Members):
        return list(map(id, now)) == list(map(id, then))
    return len(now) == len(then)


def _gained_defaults(entered, now, then):
    """Whether an object has only gained attributes that it had from its class before."""
    if not isinstance(entered, Attributes) or [k for k in now if k in then] != list(then):
        return False
    namespaces = [type.__getattribute__(c, "__dict__") for c in entered.cls.__mro__]
    found = [next((d[k] for d in namespaces if k in d), ABSENT) for k in now if k not in then]
    return not any(raw is ABSENT or hasattr(type(raw), "__get__") for raw in found)


_EQUAL = (str, bytes, tree.PyTreeDef)
"""Types of which equal values are the same to whoever reads them."""


def _same(now, then, slot):
    return now is then or (type(now) is type(then) and type(now) in _EQUAL and now == then)


def _same_number(recorder, now, then, slot):
    """Return what `_same` does; of numbers, as a demand where another call may differ."""
    if type(then) is StandIn and type(now) in SCALARS:  # set before it was read
        slot.set(then)
        then = slot.get()
        slot.set(now)
    if is_host(now) or is_host(then):
        return recorder.questions.same(now, then)
    return _same(now, then, slot)


def _assign(entered, values):
    """Set some places of a thing, the others as they are."""
    if isinstance(entered, Items):
        base: Any = list if isinstance(entered.obj, list) else deque
        for i, value in values.items():
            base.__setitem__(entered.obj, i, value)
        return
    contents = entered.contents()
    contents.update(values)
    entered.put(contents)


# ------------------------------------------------------------------------ what the trace has made


class _Local(NamedTuple):
    """Stands for the node of a thing that the trace has made: nothing leads there from outside."""

    name: str


def _local_things(recorder, functions, held):
    """Return the things that some functions can reach and the recorder has not taken over."""
    found, seen = [], set()
    todo = [(fun, "") for fun in functions]
    for entered, contents, placed in held:
        if contents is not placed:
            todo += _values(entered, contents, placed)
    while todo:
        value, name = todo.pop()
        key = id(value)
        if key in seen or key in recorder.identity.by_id or key in recorder.identity.known:
            continue
        seen.add(key)
        thing, reached = _look_into(value, name)
        todo += reached
        if thing is not None:
            found.append(thing)
            todo += _values(thing, thing.entry)
    return found


def _values(entered, contents, placed=()):
    """Return pairs (value, name) of what is in a thing and was not put there by lifting."""
    lifted = {*map(id, placed.values() if isinstance(placed, dict) else placed)}
    pairs = contents.items() if isinstance(contents, dict) else enumerate(contents)
    return [
        (value, entered.name_of(key))
        for key, value in pairs
        if type(value) not in _LEAVES and id(value) not in lifted
    ]


def _memory(array, node):
    """Return the `Memory` of an array that can be written to and is not large."""
    kept = array.flags.writeable and not array.dtype.hasobject and array.nbytes <= _MAX_BYTES
    return Memory(array, node) if kept else None


def _look_into(value, name):
    """Return the thing that a value is to a trace, or None, and pairs (value, name) behind it."""
    kind, node = type(value), _Local(name)
    if kind is types.FunctionType:
        return None, _behind_function(value)
    if kind is types.MethodType:
        owner = value.__self__
        return None, [(value.__func__, name), (owner, name or type(owner).__name__)]
    if kind is functools.partial:
        behind = (value.func, *value.args, *value.keywords.values())
        return None, [(x, name) for x in behind]
    if issubclass(kind, tuple):
        return None, [(x, f"{name}[{i}]") for i, x in enumerate(tuple.__iter__(value))]
    for base, thing in _THINGS:
        if issubclass(kind, base):
            return thing(value, node), []
    if not kind.__flags__ & _HEAP or issubclass(kind, (type, types.ModuleType)):
        return None, []
    package = kind.__module__.partition(".")[0]
    # A jitted function, a custom rule: the function in it.
    if package == "evertrace" and not issubclass(kind, Cell):
        behind = (instance_dict(value) or {}).values()
        return None, [(x, name) for x in behind if type(x) in _CALLABLES]
    if package in sys.stdlib_module_names:
        return None, []
    return Attributes(value, node), []


def _behind_function(fun):
    """Return pairs (value, name) of what a function's closure and defaults lead to."""
    cells = zip(code_of(fun).co_freevars, fun.__closure__ or (), strict=True)
    if not is_library_function(fun):
        defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
        return [(cell, name) for name, cell in cells] + [(x, fun.__name__) for x in defaults]
    # What a library keeps for itself is its own; what it calls may be the user's.
    behind = [(x, name) for name, cell in cells for x in CellContents(cell, None).entry.values()]
    return [(x, name) for x, name in behind if not issubclass(type(x), _CONTAINERS)]


_MAX_BYTES = 1 << 20
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_LEAVES = frozenset({
    Host, HostText, LateText, HostArray, StandIn, Array, Var, bool, int, float, complex, str, bytes,
    type(None),
})  # fmt: skip
_CALLABLES = (types.FunctionType, types.MethodType, functools.partial)
_CONTAINERS = (list, deque, dict, set)
_THINGS: tuple[tuple[Any, Any], ...] = (
    (types.CellType, CellContents), (list, Items), (deque, Items), (dict, Entries),
    (set, Members), (types.SimpleNamespace, Attributes), (np.ndarray, _memory),
    (ITERATORS, Position), (bytearray, Memory), (buffer, Memory),
)  # fmt: skip
