"""Values that are compared, never run: by type and bits, without a user's `__eq__` or `__hash__`.

And what stands for what is not there, and for what is not to be kept alive.
"""

import enum
import math
import re
import struct
import sys
import types
import weakref
from collections import OrderedDict, deque
from typing import Any

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent", "__slots__": ()})()
"""Stands for what is not there."""

PRESENT: Any = type("Present", (), {"__repr__": lambda self: "present", "__slots__": ()})()
"""Stands for what is there, whatever it is."""

DATA: Any = type("Data", (), {"__repr__": lambda self: "data", "__slots__": ()})()
"""Stands for an entry of a class that is no descriptor; its value has a node of its own."""

OWN: dict[type, frozenset[str]] = {}
"""Classes of ours -> names of attributes that nobody changes: only functions in them count."""

# From Python 3.14 on, the closure of what makes a class's annotations holds the namespace itself.
OWN_TO_CLASS = frozenset({
    "__dict__", "__weakref__", "__getattribute__", "__abstractmethods__", "_abc_impl",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__",
})  # fmt: skip
"""What is in the dict of a class for CPython's sake, and hooks."""

OWN_TO_MODULE = frozenset({
    "__name__", "__qualname__", "__doc__", "__package__", "__loader__", "__spec__", "__file__",
    "__cached__", "__path__", "__builtins__", "__warningregistry__", "__annotate__",
    "__conditional_annotations__",
})  # fmt: skip
"""What is in the dict of a module for Python's sake."""


class Weak(weakref.ref):
    """A weak reference of ours, told from those that are users' values."""

    __slots__ = ()


def weakly(value):
    """Return a weak reference where the type allows it, else the value."""
    if isinstance(value, types.ModuleType):
        return value
    try:
        return Weak(value)
    except TypeError:
        return value


def dict_type(mapping) -> Any:
    """Return whose methods read and write a dict without user code: OrderedDict has its own."""
    return OrderedDict if isinstance(mapping, OrderedDict) else dict


def length(value):
    """Return how much is in a container, whatever a subclass's `__len__` says."""
    for base in _SIZED:
        if isinstance(value, base):
            return base.__len__(value)
    return len(value)


_SIZED: tuple[Any, ...] = (tuple, list, dict, set, frozenset, deque)

_HASHED = {int, str, bytes, bool}


def _typed(members):
    return {(type(x), x) for x in members}


_EXACT = (bool, int, str, bytes, type(None), type(Ellipsis), type(NotImplemented))


def same_value(a, b):
    """Whether two immutable values are of one type and, floats by bits, equal."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in _EXACT:
        return a == b
    same = _SAME.get(kind)
    if same is not None:
        return same(a, b)
    if isinstance(a, tuple):
        return _same_tuples(a, b)
    if isinstance(a, enum.Enum) or kind.__module__ not in VALUE_MODULES:
        return False
    return bool(a == b) and repr(a) == repr(b)


def _matched(match):
    return match.string, match.regs, match.lastindex, match.pos, match.endpos


def _same_floats(a, b):
    return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)


def _same_tuples(a, b):
    return len(a) == len(b) and all(map(same_value, a, b))


_SAME = {
    float: _same_floats,
    complex: lambda a, b: _same_floats(a.real, b.real) and _same_floats(a.imag, b.imag),
    frozenset: lambda a, b: len(a) == len(b) and same_members(a, b),
    slice: lambda a, b: _same_tuples((a.start, a.stop, a.step), (b.start, b.stop, b.step)),
    re.Pattern: lambda a, b: a == b and type(a.pattern) is type(b.pattern),
    re.Match: lambda a, b: a.re == b.re and same_value(_matched(a), _matched(b)),
    struct.Struct: lambda a, b: a.format == b.format,
    types.CodeType: lambda a, b: False,  # equal code can be of two modules
    range: lambda a, b: (a.start, a.stop, a.step) == (b.start, b.stop, b.step),
    types.BuiltinFunctionType: lambda a, b: a.__self__ is b.__self__ and a.__name__ == b.__name__,
    types.MethodType: lambda a, b: a.__self__ is b.__self__ and a.__func__ is b.__func__,
}

VALUE_MODULES = frozenset({
    "datetime", "decimal", "fractions", "uuid", "pathlib", "ipaddress", "numpy", "builtins",
    "zoneinfo", "_decimal", "pathlib._local", "_pydatetime", "ml_dtypes",
})  # fmt: skip
"""Modules whose immutable types are compared by `==`."""


def same_key(a, b):
    """Whether a key is the wanted one: by value where that is safe, else by identity."""
    if a is b:
        return True
    if type(b) is Weak:
        return a is b()
    return is_value(a) and same_value(a, b)


def is_value(x):
    """Whether a value is immutable all the way down and compared without user code."""
    kind = type(x)
    if kind in _EXACT or kind in (
        int,
        float,
        complex,
        range,
        re.Pattern,
        struct.Struct,
        types.CodeType,
    ):
        return True
    if kind is slice:
        return is_value(x.start) and is_value(x.stop) and is_value(x.step)
    if kind is re.Match:
        return is_value(x.string)
    if kind is tuple or kind is frozenset:
        return all(map(is_value, x))
    return kind in VALUE_TYPES or (
        kind.__module__ in VALUE_MODULES and issubclass(kind, immutable()) and _note_value(kind)
    )


_IMMUTABLE = (
    ("datetime", "date"), ("datetime", "time"), ("datetime", "timedelta"), ("datetime", "tzinfo"),
    ("decimal", "Decimal"), ("fractions", "Fraction"), ("uuid", "UUID"), ("pathlib", "PurePath"),
    ("ipaddress", "_BaseAddress"), ("ipaddress", "_BaseNetwork"), ("numpy", "dtype"),
)  # fmt: skip


def immutable():
    """Return the bases of the library's immutable types."""
    return loaded_types(_IMMUTABLE)


def loaded_types(names):
    """Return those of some classes, named by module and name, whose modules are loaded."""
    found = [getattr(sys.modules.get(module), name, None) for module, name in names]
    return tuple([cls for cls in found if cls is not None])


VALUE_TYPES: set = set()
"""Immutable types of `VALUE_MODULES` that have been met."""


def _note_value(kind):
    VALUE_TYPES.add(kind)
    return True


def same_members(members, wanted):
    if set(map(type, members)) <= _HASHED:
        return set(map(type, wanted)) <= _HASHED and _typed(members) == _typed(wanted)
    rest = list(wanted)
    for x in members:
        for i, w in enumerate(rest):
            if x is w or same_key(x, w):
                del rest[i]
                break
        else:
            return False
    return True


def plain_contents(value):
    """Return a value, or a container's contents, as something immutable; ABSENT if it is not."""
    kind = type(value)
    if kind in (list, set):
        value = tuple(value) if kind is list else frozenset(value)
    elif kind is dict:
        value = tuple(value.items())
    return value if is_value(value) else ABSENT
