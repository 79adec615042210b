"""Lifting: what a value that a trace reads becomes inside of it, by its type.

Arrays become inputs of the program, Python numbers host scalars; containers and objects are taken
over in place, tuples are rebuilt; functions are entered when they are called. What cannot be
watched becomes a stand-in that refuses every use.
"""

import array
import collections
import contextvars
import enum
import functools
import gc
import io
import re
import struct
import threading
import types
import weakref
from collections.abc import Container
from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import is_column
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting import guards, values
from evertrace._src.jit.lifting.callables import (
    lift_builtin,
    lift_cached,
    lift_function,
    lift_method,
    lift_operator,
    lift_partial,
    lift_parts,
    lift_wrapped,
)
from evertrace._src.jit.lifting.classes import Classes
from evertrace._src.jit.lifting.code import is_library_class, is_library_module
from evertrace._src.jit.lifting.containers import (
    can_be_left,
    lift_container,
    lift_fields,
    lift_frozenset,
    lift_tuple,
)
from evertrace._src.jit.lifting.containers import see as see_container
from evertrace._src.jit.lifting.drawn import is_generator
from evertrace._src.jit.lifting.entered import (
    ContextValue,
    has_no_hidden_state,
    instance_dict,
    slot_descriptors,
)
from evertrace._src.jit.lifting.functions import Functions
from evertrace._src.jit.lifting.generators import lift_generator
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostmodules import module_stand_in, stand_in_of
from evertrace._src.jit.lifting.hosttext import HostText
from evertrace._src.jit.lifting.impure import depend_on_settings_of
from evertrace._src.jit.lifting.instancedict import namespace_of
from evertrace._src.jit.lifting.latetext import LateText
from evertrace._src.jit.lifting.leaves import (
    lift_array,
    lift_buffer,
    lift_foreign_array,
    lift_host,
    lift_identity,
    lift_ndarray,
    lift_opaque,
    lift_scalar_array,
    lift_tracer,
    lift_value,
)
from evertrace._src.jit.lifting.namespaces import Namespaces
from evertrace._src.jit.lifting.objects import Objects, class_check
from evertrace._src.jit.lifting.parts import (
    HELD,
    is_structure,
)
from evertrace._src.jit.lifting.recorder import Recorder
from evertrace._src.jit.lifting.spaces import Spaces
from evertrace._src.jit.lifting.unwritten import Unwritten
from evertrace._src.jit.lifting.uses import Use
from evertrace._src.support import WeakKeys
from evertrace._src.tree import registry


class Lifter:
    """Lifts what one trace reads.

    Args:
      recorder: the trace's recorder.
      eager: classes whose attributes are lifted at once.
      constants: names of Python numbers that are guarded by value instead of being host scalars.

    Attributes:
      partly: id of a container or tuple of which not all is read -> it, and its uses so far.
      impure: function (value) -> the stand-in of an impure function, or None.
      unwritten: what the trace depends on and may not set.
      opened: the `Plan` of a trace for open sizes, or None.
    """

    opened: Any = None

    impure: Any = staticmethod(lambda value: None)

    def __init__(self, recorder: Recorder, eager=(), constants: Container[str] = ()):
        self.recorder, self.constants, self.eager = recorder, constants, eager
        self.partly: dict[int, tuple[Any, frozenset[Use]]] = {}
        self._leaves = True
        recorder.lifter = self
        self.spaces, self.unwritten = Spaces(self), Unwritten()
        self.functions, self.classes = Functions(self), Classes(self)
        self.namespaces, self.objects = Namespaces(self), Objects(self, eager)

    def lift(self, value, node, uses=None):
        """Return what `value`, found at `node`, is inside of the trace.

        Args:
          value: the value.
          node: its path; the check that the value asks for is set on it.
          uses: what is done with a container (see `uses`); None if all of it is read.
        """
        kind = type(value)
        if uses is not None and self._leaves and can_be_left(kind) and kind not in self.eager:
            if kind is tuple or not issubclass(kind, tuple):
                handler = lift_tuple if kind is tuple else lift_container
                return handler(self, value, node, uses)
            return _lift_immutable_subclass(lift_tuple, self, value, node, uses)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, value, node)
        return _lift_other(self, value, node)

    def see(self, value, uses=None):
        """Note what is done with a value besides: it may be a container that was left alone."""
        if id(value) in self.partly:
            see_container(self, value, uses)

    def see_all(self):
        """Leave nothing alone from now on: code looks where no read shows."""
        self._leaves = False
        for value, _ in list(self.partly.values()):
            self.see(value)

    def stand_in(self, value):
        """Return what stands for an impure or a mathematical function, or None."""
        found = self.impure(value)
        return stand_in_of(value) if found is None else found

    def release(self):
        """Let go of all that the trace has kept alive."""
        self.objects.by_id.clear()
        for part in (self.functions, self.classes, self.namespaces, self.spaces, self.unwritten):
            part.release()
        del self.functions, self.classes, self.namespaces, self.objects, self.spaces

    def restore(self):
        """Put everything back as it was before the trace."""
        self.recorder.restore()
        self.functions.restore()
        self.unwritten.restore()
        self.objects.hooks.remove()  # last: until then other threads read by them what was there


# ------------------------------------------------------------------------ classes and paths


def _lift_class(lifter, value, node):
    depend_on_settings_of(value)
    lift_identity(lifter, value, node)
    lifter.classes.lift(value)
    if issubclass(value, enum.Enum):
        lifter.recorder.effects.members.reach(value)
    if issubclass(value, enum.Enum) and not is_library_class(value):
        for name, member in value._member_map_.items():  # library code finds them there
            attributes = instance_dict(member) or {}
            if not all(values.is_value(x) for k, x in attributes.items() if k != "__objclass__"):
                path = f"{node.name}.{name}"
                lifter.lift(member, lifter.recorder.graph.constant_node(member, path))
    return value


def _lift_module(lifter, value, node):
    lift_identity(lifter, value, node)
    stand_in = module_stand_in(value)
    if stand_in is not None:
        lifter.namespaces.watch_library_module(value, node)
        return lifter.recorder.identity.derived(lifter.unwritten.note_stand_in(stand_in), node)
    if not is_library_module(value.__name__):
        lifter.namespaces.lift(value, node)
    elif not value.__name__.startswith("evertrace"):
        lifter.namespaces.watch_library_module(value, node)
    return value


def _lift_reference(lifter, value, node):
    node.check, node.want = "type", type(value)
    lifter.lift(value(), lifter.recorder.graph.node(node, "deref", None, f"{node.name}()"))
    return value


def _lift_view(lifter, value, node):
    """Lift a view of a mapping: it shows what is lifted in place there."""
    mapping = guards.viewed(value)
    if type(mapping) is dict and "__module__" in mapping:  # that of a class
        return lift_opaque(lifter, value, node)
    node.check, node.want = "type", type(value)
    if lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        lifter.lift(mapping, lifter.recorder.graph.node(node, "viewed", None, node.name))
    return value


def _lift_context(lifter, value, node):
    lift_identity(lifter, value, node)
    if id(value) in lifter.recorder.identity.by_id:
        return value
    child = lifter.recorder.graph.node(node, "context", None, f"{node.name}.get()")
    entered = lifter.recorder.identity.enter(ContextValue(value, child))
    if entered.entry:
        entered.place({"": lifter.lift(entered.entry[""], child)})
        return value
    child.check, child.want = "identity", values.ABSENT
    if len(gc.get_referents(value)) > 1:  # its default, which may be a list or an object
        lifter.lift(
            guards.viewed(value), lifter.recorder.graph.node(node, "viewed", None, child.name)
        )
    return value


# ------------------------------------------------------------------------ everything else


def _lift_other(lifter, value, node):
    """Lift a value whose exact type has no handler; what is found for the type is remembered."""
    kind = type(value)
    handler = _found.get(kind)
    if handler is None:
        handler = _found[kind] = lift_generator if is_generator(kind) else _handler_for(kind)
    return handler(lifter, value, node)


_found = WeakKeys()


def _handler_for(kind):
    """Return how values of a type are lifted."""
    module = str(kind.__module__)
    for bases, handler in _by_base():
        if issubclass(kind, bases):
            is_plain = handler in _AS_IT_IS and not is_library_class(kind)
            return functools.partial(_lift_with_class, handler) if is_plain else handler
    if module.startswith(("evertrace.", "jaxlib")):
        return _lift_library
    if is_structure(kind):
        return lift_parts
    for base, handler in _BASES:
        if issubclass(kind, base):
            is_rebuilt = base in (tuple, frozenset)
            lift = _lift_immutable_subclass if is_rebuilt else _lift_subclass
            return functools.partial(lift, handler)
    for base in (str, bytes, int, float, complex):
        if issubclass(kind, base):
            return functools.partial(_lift_number_or_text, base)
    if issubclass(kind, BaseException):
        return _lift_exception
    if kind is object:
        return lift_identity
    if (issubclass(kind, _EXPOSED) or has_no_hidden_state(kind)) and not is_column(kind):
        return _lift_object
    return lift_foreign_array if hasattr(kind, "__array__") else lift_opaque


def _lift_immutable(lifter, value, node):
    values.VALUE_TYPES.add(type(value))
    depend_on_settings_of(type(value))
    lift_value(lifter, value, node)
    return _with_attributes(lifter, value, node)


def _lift_member(lifter, value, node):
    """Lift a member of an enumeration, of which there is one."""
    lifter.recorder.effects.members.reach(type(value))
    lift_identity(lifter, value, node)
    return _with_attributes(lifter, value, node)


def _with_attributes(lifter, value, node):
    """Take over the attributes that a value may have beside what it is."""
    if _has_attributes(value) and lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        _enter_beside(lifter, value, node)
    return value


def _lift_lock(lifter, value, node):
    """Lift a lock; it has to be at the end as it was."""
    rec = lifter.recorder
    if rec.identity.alias(value, node) is None:
        rec.identity.remember(value, value, node)
        rec.effects.locks.append((value, node, value.locked()))
    return lift_identity(lifter, value, node)


def _lift_cell(lifter, value, node):
    """Lift a closure's cell that is a value itself."""
    node.check, node.want = "type", types.CellType
    if lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        entered = lifter.recorder.identity.by_id.get(id(value))
        if entered is None:
            lifter.functions.enter_cell(value, node, node.name)
        else:
            lifter.see(entered.contents().get(""))
    return value


def _lift_number_or_text(base, lifter, value, node):
    """Lift an instance of a subclass of a number or a string: its value, and its attributes."""
    if _has_attributes(value):
        _lift_object(lifter, value, node)
    lifter.recorder.questions.note(value, node)
    node.check, node.want = "subclass", (weakref.ref(type(value)), base, base(value))
    return value


def _lift_exception(lifter, value, node):
    """Lift an exception: its attributes, what it was raised with, and those that it groups."""
    if lifter.recorder.identity.known.get(id(value)) is not None:
        return _lift_object(lifter, value, node)
    _lift_object(lifter, value, node)
    lift_fields(lifter, value, node, BaseException)
    if isinstance(value, BaseExceptionGroup):
        name = f"{node.name}.exceptions"
        child = lifter.recorder.graph.node(node, "attribute", "exceptions", name)
        lifter.lift(value.exceptions, child)
    return value


def _lift_object(lifter, value, node):
    if lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        lifter.objects.enter(value, node)
    return value


def _lift_subclass(handler, lifter, value, node):
    """Lift an instance of a subclass of a container: its contents, and its attributes."""
    lifted = handler(lifter, value, node)
    entered = lifter.recorder.identity.by_id.get(id(value))
    if id(value) not in lifter.objects.by_id and _has_attributes(value):
        _enter_beside(lifter, value, node)
        lifter.recorder.identity.by_id[id(value)] = entered
    return lifted


def _lift_immutable_subclass(handler, lifter, value, node, *uses):
    """Lift an instance of a subclass of what is rebuilt if what is in it was lifted."""
    identity, attributes = lifter.recorder.identity, instance_dict(value)
    found = None if attributes is None else identity.alias(value, node)
    if found is not None:
        return found.lifted
    lifted = handler(lifter, value, node, *uses)
    if attributes is not None:
        identity.remember(value, lifted, node)
        if lifted is not value:
            namespace_of(lifted).update(attributes)
    if id(lifted) not in lifter.objects.by_id and _has_attributes(value):
        _enter_beside(lifter, lifted, node)
    return lifted


def _lift_with_class(handler, lifter, value, node):
    """Lift an instance of a user's subclass of what is a value by itself: its attributes, too."""
    if handler is lift_scalar_array:  # in whose place a number without its class would stand
        handler = lift_value
    handler(lifter, value, node)
    if id(value) not in lifter.objects.by_id:
        _enter_beside(lifter, value, node)
    return value


def _has_attributes(value):
    """Whether a value has more than what it holds: attributes, or a class that users can change."""
    kind = type(value)
    return (
        not is_library_class(kind)
        or instance_dict(value) is not None
        or bool(slot_descriptors(kind))
    )


def _enter_beside(lifter, value, node):
    """Take over the attributes of what has been lifted for its contents already."""
    check, want = node.check, node.want
    lifter.objects.enter(value, node)
    node.check, node.want = check, want


def _lift_library(lifter, value, node):
    """Lift an object of evertrace's own: a callable, a tree, or a constant."""
    kind = type(value)
    if kind in registry.KINDS:
        return _lift_tree(lifter, value, node)
    if callable(value):
        return lift_wrapped(lifter, value, node)
    if isinstance(value, tuple) and any(map(callable, value)):  # of the user's functions
        return _lift_immutable_subclass(lift_tuple, lifter, value, node)
    return lift_identity(lifter, value, node)


def _lift_tree(lifter, value, node):
    """Lift a registered tree of evertrace's own by its children."""
    rec = lifter.recorder
    node.check, node.want = class_check(type(value))
    tree_kind = registry.KINDS[type(value)]
    flatten, unflatten = tree_kind.flatten, tree_kind.unflatten
    children, aux = flatten(value)
    rec.graph.node(node, "aux", flatten, f"{node.name}: static part", "equal", aux)
    lifted = [
        lifter.lift(x, rec.graph.node(node, "child", (flatten, i), f"{node.name}[{i}]"))
        for i, x in enumerate(children)
    ]
    return rec.identity.derived(unflatten(aux, lifted), node)


def _lift_logger(lifter, value, node):
    """Lift a logger or a handler of logs, whose settings are not set in the trace."""
    lifter.unwritten.watch(value, node)
    return lift_identity(lifter, value, node)


def _by_base():
    """Return how values are lifted by the bases of their classes, the first that fits."""
    return (
        (Tracer, lift_tracer),
        (Cell, _lift_object),
        (types.ModuleType, _lift_module),  # one that loads when it is used
        (type, _lift_class),
        ((io.BytesIO, io.StringIO), lift_opaque),
        (enum.Enum, _lift_member),
        (type(threading.Lock()), _lift_lock),
        (values.loaded_types((("logging", "Filterer"),)), _lift_logger),
        (
            (
                io.FileIO,
                io.TextIOWrapper,
                io.BufferedIOBase,
                np.ufunc,
                type(np.sum),
                type(threading.RLock()),
                property,
                staticmethod,
                classmethod,
                types.CodeType,
                types.UnionType,
            ),
            lift_identity,
        ),
        (values.immutable(), _lift_immutable),
        (np.generic, lift_scalar_array),
        (np.memmap, lift_foreign_array),
        (np.ndarray, lift_opaque),  # other subclasses have attributes and methods of their own
    )


_AS_IT_IS = frozenset({lift_identity, lift_scalar_array, _lift_logger, _lift_module})
_EXPOSED = (types.SimpleNamespace, threading.local)  # hidden state that is nothing but a dict
_BASES = (
    (tuple, lift_tuple), (frozenset, lift_frozenset),
    *[(base, lift_container) for base in (list, dict, set, collections.deque)],
)  # fmt: skip
_VIEWS = (
    types.MappingProxyType,
    *(type(v) for d in ({}, collections.OrderedDict()) for v in (d.keys(), d.values(), d.items())),
)
_HANDLERS: dict[type, Any] = {
    **dict.fromkeys(
        (
            bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, re.Pattern,
            re.Match, struct.Struct,
        ),
        lift_value,
    ),
    **dict.fromkeys(HELD, lift_parts),
    **dict.fromkeys((int, float, complex), lift_host),
    **dict.fromkeys(
        (
            types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
            types.ClassMethodDescriptorType,
        ),
        lift_identity,
    ),
    **dict.fromkeys((types.WrapperDescriptorType, types.MethodWrapperType), lift_operator),
    types.BuiltinFunctionType: lift_builtin,
    **dict.fromkeys((bytearray, array.array, memoryview), lift_buffer),
    Array: lift_array,
    np.ndarray: lift_ndarray,
    tuple: lift_tuple,
    **dict.fromkeys(
        (
            list, set, dict, collections.deque, collections.defaultdict, collections.OrderedDict,
        ),
        lift_container,
    ),
    frozenset: lift_frozenset,
    types.FunctionType: lift_function,
    types.MethodType: lift_method,
    functools.partial: lift_partial,
    type(functools.lru_cache(int)): lift_cached,
    types.ModuleType: _lift_module,
    type: _lift_class,
    **dict.fromkeys((weakref.ref, weakref.KeyedRef, weakref.WeakMethod), _lift_reference),
    **dict.fromkeys(_VIEWS, _lift_view),
    contextvars.ContextVar: _lift_context,
    types.CellType: _lift_cell,
    **dict.fromkeys((Host, HostText, LateText), lambda lifter, value, node: value),
}  # fmt: skip
