"""What an object consists of: the pairs of a label and a value that the comparison walks over.

Every type of the language and the standard library whose state no attribute shows has a reader
here; reading changes nothing, and moves no iterator.
"""

import array
import contextvars
import datetime
import decimal
import itertools
import operator
import queue
import random
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from functools import cached_property, lru_cache, partial

import numpy as np

from evertrace import Array

ATOMS = (types.NoneType, bool, int, float, complex, str, bytes)
EMPTY = object()
"""Stands for what a slot or a variable holds that holds nothing."""
_UNSEEN = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__dataclass_fields__",
    "__dataclass_params__", "__slotnames__", "__annotations__", "__annotate_func__",
    "__annotations_cache__", "_abc_impl",
})  # fmt: skip


def unwrap(x):
    """Return the user's function of a jitted one, everything else as it is."""
    while _is_wrapper(x):
        x = x.__wrapped__
    return x


def _is_wrapper(x):
    if type(x) is types.FunctionType:
        made_here = x.__code__.co_filename.startswith("<")  # by the program itself
        return not made_here and hasattr(x, "__wrapped__")
    return type(x).__module__.startswith("evertrace") and hasattr(x, "__wrapped__")


def parts(x):
    """Return what `x` consists of, as pairs of a label and a value, in order."""
    kind = type(x)
    if kind in _LEAVES or isinstance(x, np.generic):
        return []
    if kind in READERS:
        return READERS[kind](x)
    if kind in _CONTAINERS:
        return _contents(x)
    if isinstance(x, type):
        return [(f".{name}", vars(x)[name]) for name in sorted(set(vars(x)) - _UNSEEN)]
    return _value(x) + _attributes(x) + _contents(x)


_CONTAINERS = {dict, list, tuple, set, frozenset}  # which have no attributes
_LEAVES = {*ATOMS, np.ndarray, Array, types.CodeType, types.ModuleType}


def _of_function(x):
    if (x.__module__ or "").startswith("evertrace."):  # whose own caches are nobody's state
        return [(".__qualname__", f"{x.__module__}.{x.__qualname__}")]
    cells = dict(zip(x.__code__.co_freevars, x.__closure__ or (), strict=True))
    return [
        (".__code__", x.__code__),
        (".__defaults__", x.__defaults__),
        (".__kwdefaults__", x.__kwdefaults__),
        *((f" variable {name}", cell) for name, cell in cells.items()),
        *((f".{name}", value) for name, value in vars(x).items()),
    ]


def _of_generator(x):
    if x.gi_frame is None:
        return [(" finished", True)]
    names = [(f" variable {k}", v) for k, v in x.gi_frame.f_locals.items() if k != ".0"]
    return [(".gi_code", x.gi_code), (" instruction", x.gi_frame.f_lasti), *names]


def _reduced(x):
    """Return what copying or pickling an object would take along."""
    if hasattr(x, "__length_hint__") and not x.__length_hint__():
        return [(" left", 0)]  # some say so at their end, others that they go over nothing
    return [(f" reduced {i}", part) for i, part in enumerate(x.__reduce__()[1:])]


def _items(x):
    return [(f"[{key!r}]", value) for key, value in x.items()]


def _attributes_named(*names):
    return lambda x: [(f".{name}", getattr(x, name)) for name in names]


READERS = {
    types.FunctionType: _of_function,
    types.CellType: lambda x: [(" in a cell", x.cell_contents)] if is_filled(x) else [],
    types.MethodType: _attributes_named("__func__", "__self__"),
    types.GeneratorType: _of_generator,
    types.MappingProxyType: _items,
    partial: _attributes_named("func", "args", "keywords"),
    staticmethod: _attributes_named("__func__"),
    classmethod: _attributes_named("__func__"),
    property: _attributes_named("fget", "fset"),
    cached_property: _attributes_named("func"),  # on 3.11 it has a lock as well
    type(lru_cache(len)): _attributes_named("__wrapped__"),  # what is in it shows nowhere
    slice: _attributes_named("start", "stop", "step"),
    range: _attributes_named("start", "stop", "step"),
    operator.itemgetter: _reduced,
    operator.methodcaller: _reduced,
    operator.attrgetter: _reduced,
    itertools.count: lambda x: [(" state", repr(x))],
    array.array: lambda x: [(".typecode", x.typecode), (" bytes", x.tobytes())],
    bytearray: lambda x: [(" bytes", bytes(x))],
    memoryview: lambda x: [(".format", x.format), (" bytes", x.tobytes())],
    decimal.Decimal: lambda x: [(" text", repr(x))],
    **{
        kind: (lambda x: [(" text", repr(x))])
        for kind in (
            datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone
        )
    },
    random.Random: lambda x: [(" state", hash(x.getstate()))],
    np.random.Generator: lambda x: [(" state", repr(x.bit_generator.state))],
    np.random.RandomState: lambda x: [(" state", x.get_state()[1].tobytes())],
    contextvars.ContextVar: lambda x: [(" value", x.get(EMPTY))],
    threading.local: lambda x: list(vars(x).items()),
    queue.Queue: _attributes_named("queue", "maxsize"),
    queue.LifoQueue: _attributes_named("queue", "maxsize"),
    queue.PriorityQueue: _attributes_named("queue", "maxsize"),
    weakref.ref: lambda x: [(" referent", x())],
    weakref.WeakValueDictionary: _items,
    weakref.WeakKeyDictionary: lambda x: [(" item", part) for item in x.items() for part in item],
    weakref.WeakSet: lambda x: [(" count", len(x))],
    **{
        type(iterator): _reduced
        for iterator in (
            iter([]), iter(()), iter(""), iter(range(0)), iter(range(2**70)), iter({}), iter(set()),
            iter({}.values()), iter({}.items()), reversed([]), reversed(()), zip(), map(abs, ()),
            enumerate(()), filter(None, ()),
        )
    },
    **{
        type(view): (lambda x: [(f"[{i}]", element) for i, element in enumerate(x)])
        for view in ({}.keys(), {}.values(), {}.items())
    },
}  # fmt: skip


def is_filled(cell):
    """Whether a cell holds a value."""
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def slots_of(cls):
    """Return the slots that a class and its bases define, by name."""
    found = {}
    for base in cls.__mro__:
        members = vars(base).items() if "__slots__" in vars(base) else ()
        found |= {k: v for k, v in members if isinstance(v, types.MemberDescriptorType)}
    return found


def slot_of(x, slot):
    """Return what a slot of an object holds, or a mark for nothing."""
    try:
        return slot.__get__(x)
    except AttributeError:
        return EMPTY


def dict_of(x):
    """Return the `__dict__` of an object, an empty one where it has none; no hook sees it."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _value(x):
    """Return the value of what derives from a type of values, and what an exception carries."""
    base = next((atom for atom in ATOMS if isinstance(x, atom)), None)
    if base:
        return [(" value", base(x))]
    if isinstance(x, BaseException):
        return [(".args", x.args), (".__cause__", x.__cause__)]
    return []


def _attributes(x):
    found = [(f".{name}", slot_of(x, slot)) for name, slot in slots_of(type(x)).items()]
    found = [(name, value) for name, value in found if value is not EMPTY]
    return found + [(f".{name}", value) for name, value in dict_of(x).items()]


def _told(x, depth=3):
    """Return a text that tells an element of a set from others in either world."""
    text = repr(x)
    if " at 0x" not in text:
        return text
    inside = [(label, _told(part, depth - 1)) for label, part in parts(x)] if depth else ""
    return f"{text.partition(' at 0x')[0]}{inside}"


def _contents(x):
    if isinstance(x, dict):
        kind = OrderedDict if isinstance(x, OrderedDict) else dict  # which has an order of its own
        found = [(".keys()", tuple(kind.keys(x)))]
        if isinstance(x, defaultdict):
            found.append((".default_factory", x.default_factory))
        return found + [(f"[{key!r}]", value) for key, value in kind.items(x)]
    if isinstance(x, set | frozenset):
        return [(" element", element) for element in sorted(x, key=_told)]
    if isinstance(x, list | tuple | deque):
        found = [(".maxlen", x.maxlen)] if isinstance(x, deque) else []
        return found + [(f"[{i}]", element) for i, element in enumerate(x)]
    return []
