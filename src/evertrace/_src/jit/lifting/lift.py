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
import operator
import re
import struct
import threading
import types
import weakref
from collections.abc import Container
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import is_column
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting import guards, values
from evertrace._src.jit.lifting.classes import Classes
from evertrace._src.jit.lifting.code import is_library_class, is_library_function, is_library_module
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
from evertrace._src.jit.lifting.entered_names import PartialAttributes
from evertrace._src.jit.lifting.functions import Functions
from evertrace._src.jit.lifting.generators import lift_draw, lift_generator
from evertrace._src.jit.lifting.hooks import opaque_error
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostmodules import module_stand_in, stand_in_of
from evertrace._src.jit.lifting.hosttext import HostText
from evertrace._src.jit.lifting.impure import depend_on_settings_of
from evertrace._src.jit.lifting.inplace import Calling
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
    held_by,
    is_structure,
    make_partial,
    own_dict,
    parts_of,
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


# ------------------------------------------------------------------------ callables and paths


def _lift_function(lifter, value, node):
    stand_in = lifter.stand_in(value)
    if stand_in is not None:
        lift_identity(lifter, value, node)
        return lifter.recorder.identity.derived(stand_in, node)
    if lifter.recorder.identity.alias(value, node) is None:
        node.check, node.want = "type", type(value)
        lifter.recorder.identity.remember(value, value, node)
        lifter.functions.reach(value, node)
        if not is_library_function(value):
            lifter.functions.watch_attributes(value, node)
    return value


def _lift_builtin(lifter, value, node):
    """Lift a function in C; a bound one (``items.append``) with the object it is bound to."""
    stand_in = lifter.stand_in(value)
    if stand_in is not None:
        lift_identity(lifter, value, node)
        return lifter.recorder.identity.derived(stand_in, node)
    owner = value.__self__
    if is_generator(type(owner)):
        return lift_draw(lifter, value, node)
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return lift_identity(lifter, value, node)
    node.check, node.want = "value", value
    child = lifter.recorder.graph.node(node, "attribute", "__self__", f"{node.name}.__self__")
    lifter.lift(owner, child)
    return lifter.recorder.identity.derived(value, node)


def _lift_method(lifter, value, node):
    rec = lifter.recorder
    stand_in = lifter.stand_in(value)
    if stand_in is not None:  # `random.random` is a method of a hidden generator
        node.check, node.want = "value", value
        return rec.identity.derived(stand_in, node)
    if is_generator(type(value.__self__)):
        return lift_draw(lifter, value, node)
    node.check, node.want = "type", type(value)
    fun = lifter.lift(
        value.__func__, rec.graph.node(node, "attribute", "__func__", f"{node.name}.__func__")
    )
    owner = lifter.lift(
        value.__self__, rec.graph.node(node, "attribute", "__self__", _owner_name(value, node))
    )
    same = fun is value.__func__ and owner is value.__self__
    return rec.identity.derived(value if same else types.MethodType(fun, owner), node)


def _owner_name(method, node):
    """Name the object of a method: ``self`` if it is the traced function itself."""
    return "self" if node.parent is None else f"{node.name}.__self__"


def _lift_partial(lifter, value, node):
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    node.check, node.want = "type", type(value)
    parts = [
        lifter.lift(getattr(value, a), rec.graph.node(node, "attribute", a, f"{node.name}.{a}"))
        for a in ("func", "args", "keywords")
    ]
    fun, args, keywords = parts
    if (
        fun is value.func
        and args is value.args
        and all(keywords[k] is v for k, v in value.keywords.items())
    ):
        made = value
    else:
        made = make_partial(fun, args, dict(keywords), None)
    rec.identity.remember(value, made, node)
    rec.effects.partials.append((made, node, held_by(made)))
    _lift_attributes_of_partial(lifter, value, made, node)
    return made


def _lift_attributes_of_partial(lifter, value, made, node):
    """Lift what a user has set on a partial, in place or on the one that stands for it."""
    rec = lifter.recorder
    attributes, name = own_dict(value), f"{node.name}.__dict__"
    if attributes is None:
        attributes = {}
        at = rec.graph.node(node, "own_dict", None, name, "identity", None)
    else:
        at = rec.graph.node(node, "own_dict", None, name, "keys", (dict, tuple(attributes)))
    lifted = {
        k: lifter.lift(x, rec.graph.node(at, "key", k, f"{node.name}.{k}"))
        for k, x in attributes.items()
    }
    if made is not value:
        if at.check == "keys":
            namespace_of(made).update(lifted)
        rec.effects.copies.append((made, node, lifted))
    elif id(value) not in rec.identity.by_id:
        rec.identity.enter(PartialAttributes(value, node)).place(lifted)


def _lift_parts(lifter, value, node):
    """Lift what never changes by what it holds; it is made anew where that was lifted."""
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    kind = HELD[type(value)]
    node.check, node.want = "type", type(value)
    held, record = parts_of(value), rec.graph.node
    if kind.names:
        nodes = [record(node, "attribute", a, f"{node.name}.{a}") for a in kind.names]
    else:
        at = record(node, "parts", None, node.name, "length", (tuple, len(held)))
        nodes = [record(at, "index", i, f"{node.name}[{i}]") for i in range(len(held))]
    lifted = [lifter.lift(x, at) for x, at in zip(held, nodes, strict=True)]
    same = all(a is b for a, b in zip(lifted, held, strict=True))
    return rec.identity.remember(value, value if same else kind.make(*lifted), node)


def _lift_cached(lifter, value, node):
    """Lift a function behind a cache in C, which would keep tracers, to the function itself."""
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    child = rec.graph.node(node, "attribute", "__wrapped__", f"{node.name}.__wrapped__")
    lift_identity(lifter, value, node)
    fun = lifter.lift(value.__wrapped__, child)

    def run(*args, **kwargs):
        if threading.get_ident() != rec.thread:
            return value(*args, **kwargs)
        for x in (*args, *kwargs.values()):
            _refuse_unhashable(x)
        before = rec.snapshot(fun)
        result = fun(*args, **kwargs)
        if rec.changes(before):
            raise _cache_error(node)
        return result

    def cache_info():
        raise opaque_error(value, f"{node.name}.cache_info()")

    clear = operator.methodcaller("cache_clear")
    made = _Cached(value, run)
    vars(made).update(
        __wrapped__=fun,
        cache_info=cache_info,
        cache_clear=lambda: rec.effect(clear, (value,), {}),
    )
    return rec.identity.remember(value, made, node)


class _Cached(Calling):
    """Stands for a function behind a cache."""

    def __get__(self, obj, kind=None):
        return self if obj is None else types.MethodType(self, obj)


def _refuse_unhashable(x):
    """Raise Python's error for what no cache can look up; nothing is demanded of what stands in."""
    if type(x) is tuple:
        for item in x:
            _refuse_unhashable(item)
    elif type(x).__hash__ is None or isinstance(x, (Array, np.ndarray)):
        hash(x)


def _cache_error(node):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: {node.name}, a function behind functools.lru_cache, changes something or has an "
        f"effect; plain Python would do so only when the cache has no answer yet.",
        fix="call the function without a cache (`__wrapped__`), or cache one that only computes.",
        anchor="impurity",
    )


def _lift_wrapped(lifter, value, node):
    """Lift a callable of evertrace's own (a jitted function, a custom rule)."""
    lift_identity(lifter, value, node)
    if lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        for name, x in (instance_dict(value) or {}).items():
            if type(x) in (types.FunctionType, types.MethodType, functools.partial):
                lifter.lift(x, lifter.recorder.graph.node(node, "attribute", name, node.name))
    return value


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
        return _lift_parts
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
        return _lift_wrapped(lifter, value, node)
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
    **dict.fromkeys(HELD, _lift_parts),
    **dict.fromkeys((int, float, complex), lift_host),
    **dict.fromkeys(
        (
            types.MethodDescriptorType, types.WrapperDescriptorType,
            types.MethodWrapperType, types.GetSetDescriptorType, types.MemberDescriptorType,
            types.ClassMethodDescriptorType,
        ),
        lift_identity,
    ),
    types.BuiltinFunctionType: _lift_builtin,
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
    types.FunctionType: _lift_function,
    types.MethodType: _lift_method,
    functools.partial: _lift_partial,
    type(functools.lru_cache(int)): _lift_cached,
    types.ModuleType: _lift_module,
    type: _lift_class,
    **dict.fromkeys((weakref.ref, weakref.KeyedRef, weakref.WeakMethod), _lift_reference),
    **dict.fromkeys(_VIEWS, _lift_view),
    contextvars.ContextVar: _lift_context,
    types.CellType: _lift_cell,
    **dict.fromkeys((Host, HostText, LateText), lambda lifter, value, node: value),
}  # fmt: skip
