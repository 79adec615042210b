"""Exceptions as objects: what they carry, without running the user's code."""

import contextlib
import types

from evertrace._src.jit.lifting.entered import instance_dict, slot_descriptors

LINKS = ("__cause__", "__context__")
"""The attributes by which exceptions lead to others."""


def fields_of(error):
    """Return what an exception carries, by place: its arguments, fields of C, slots, attributes."""
    found = {("field", "args"): error.args}
    for name, descriptor in _descriptors(type(error)).items():
        with contextlib.suppress(AttributeError, TypeError):
            found["field", name] = descriptor.__get__(error)
    for name, value in (instance_dict(error) or {}).items():
        found["attribute", name] = value
    return found


def set_field(error, place, value):
    """Set what is at a place of an exception; a few fields of C cannot be."""
    kind, name = place
    if kind == "attribute":
        namespace = instance_dict(error)
        assert namespace is not None
        namespace[name] = value
    elif name == "args":
        error.args = value
    else:
        with contextlib.suppress(AttributeError, TypeError):
            _descriptors(type(error))[name].__set__(error, value)


def new_exception(cls, args):
    """Return an exception of a class, without running code of the user's."""
    base = next(c for c in cls.__mro__ if not c.__flags__ & _HEAP)
    made = base.__new__(cls, *args)
    with contextlib.suppress(Exception):  # arguments that only the user's `__init__` knows
        base.__init__(made, *args)
    return made


def linked(error):
    """Return an exception and all that it leads to: causes, contexts, members of groups."""
    found, todo = {}, [error]
    while todo:
        x = todo.pop()
        if x is not None and id(x) not in found:
            found[id(x)] = x
            todo += [x.__cause__, x.__context__]
            todo += x.exceptions if isinstance(x, BaseExceptionGroup) else ()
    return list(found.values())


def _descriptors(cls):
    """Return the fields of a class of exceptions: those that C defines, and slots."""
    found = dict(slot_descriptors(cls))
    for c in cls.__mro__:
        if issubclass(c, BaseException) and not c.__flags__ & _HEAP:
            for name, x in vars(c).items():
                if type(x) in _FIELDS and not name.startswith("__") and name != "args":
                    found.setdefault(name, x)
    return found


_FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_HEAP = 1 << 9  # a class that Python code has made
