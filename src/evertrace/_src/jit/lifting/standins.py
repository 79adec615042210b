"""What stands, in user code during a trace, for builtins that would show what stands for values.

`id`, `hash` and `repr` show an object's identity, and `type` the class of what stands for another.
"""

import sys
import threading
import types
from typing import Any

from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import Var
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.hooks import StandIn, error_of
from evertrace._src.jit.lifting.host import is_host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.hosttext import repr_of
from evertrace._src.jit.lifting.inplace import (
    Calling,
    InPlace,
    ModuleInPlace,
    function_of,
    replaces,
)
from evertrace._src.jit.lifting.items import item
from evertrace._src.jit.lifting.latetext import LateText
from evertrace._src.jit.lifting.lengths import kept_if, length, truth


def identity_stand_ins(recorder):
    """Return what stands for the builtins that show an object's identity."""

    def on_thread():
        return threading.get_ident() == recorder.thread

    def depends(x):
        if on_thread():
            recorder.identity.depend_on(x)

    def id_(x, /):
        x = function_of(x)
        depends(x)
        return recorder.questions.id_of(x) if on_thread() else id(x)

    def hash_(x, /):
        x = function_of(x)
        for part in _hashed(x):
            depends(part)
        return hash(x)

    def callable_(x, /):
        if type(x) is StandIn:
            raise error_of(x)
        return callable(x)

    called = {id: id_, hash: hash_, repr: repr_of, callable: callable_}
    return {fn.__name__: Calling(fn, made) for fn, made in called.items()}


def _hashed(x):
    """Yield what a value's hash says the identity of, itself or what it holds."""
    kind: Any = type(x)
    base = next((b for b in (tuple, frozenset) if kind.__hash__ is b.__hash__), None)
    if base is not None:
        for item in base.__iter__(x):  # no code of the user's, which hashing does not run
            yield from _hashed(item)
    elif kind is types.MethodType:
        yield from (x.__self__, x.__func__)
    elif kind.__hash__ is object.__hash__:
        yield x


def _class_of_traced(x, shown):
    """Return what ``x.__class__`` is: a traced array's is that of arrays."""
    return Array if type(x) is Var and not x._trace.closed else shown


class _TypeOfTypes(type):
    """Makes `type_stand_in` answer as `type` does, but for what stands for another object."""

    def __call__(cls, *args, **kwargs):
        if cls is not type_stand_in:  # a metaclass of the user's that was derived from it
            return super().__call__(*args, **kwargs)
        if len(args) == 3:  # a class made in the caller's module
            name, bases, namespace = args
            namespace = {"__module__": sys._getframe(1).f_globals["__name__"], **namespace}
            return type(name, bases, namespace, **kwargs)
        kind = type(*args, **kwargs)
        if is_host(args[0]) or kind in (HostArray, LateText, StandIn):
            return args[0].__class__
        if kind is Var and not args[0]._trace.closed:
            return Array
        if issubclass(kind, InPlace):
            return type(args[0].real)
        if kind is ModuleInPlace:
            return types.ModuleType
        if kind in (type, _TypeOfTypes):
            return cls
        if state.recorder is not None:  # the class is a value now
            state.recorder.lifter.classes.lift(kind)
        return kind

    def __instancecheck__(cls, x):
        return isinstance(x, type) if cls is type_stand_in else super().__instancecheck__(x)

    def __subclasscheck__(cls, kind):
        if cls is type_stand_in:
            return issubclass(kind, type)
        return super().__subclasscheck__(kind)

    def __eq__(cls, other):
        return other is cls or (cls is type_stand_in and other is type)

    def __hash__(cls):
        return hash(type) if cls is type_stand_in else super().__hash__()

    def __repr__(cls):
        return repr(type) if cls is type_stand_in else super().__repr__()


class type_stand_in(type, metaclass=_TypeOfTypes):
    """What the name `type` means in user code during a trace."""


type_stand_in.__name__ = type_stand_in.__qualname__ = "type"
type_stand_in.__module__ = "builtins"
asking.shown_class = _class_of_traced
asking.conversions["len"] = length
replaces(length, len)
replaces(type_stand_in, type)
asking.items = item
asking.truth, asking.kept_if = truth, kept_if
