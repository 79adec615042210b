"""Lifting what can be called: functions, methods, partials, functions behind caches.

Functions are entered when they are called; what they hold is lifted, and they are made anew where
that has become something else.
"""

import functools
import operator
import threading
import types

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.jit.lifting.code import is_library_function
from evertrace._src.jit.lifting.drawn import is_generator
from evertrace._src.jit.lifting.entered import instance_dict
from evertrace._src.jit.lifting.entered_names import PartialAttributes
from evertrace._src.jit.lifting.generators import lift_draw
from evertrace._src.jit.lifting.hooks import opaque_error
from evertrace._src.jit.lifting.hostmodules import in_place_of_operator
from evertrace._src.jit.lifting.inplace import Calling
from evertrace._src.jit.lifting.instancedict import namespace_of
from evertrace._src.jit.lifting.leaves import lift_identity
from evertrace._src.jit.lifting.parts import HELD, held_by, make_partial, own_dict, parts_of


def lift_function(lifter, value, node):
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


def lift_builtin(lifter, value, node):
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


def lift_operator(lifter, value, node):
    """Lift an operator of a number or of a type, which in C would know no stand-ins."""
    lift_identity(lifter, value, node)
    made = in_place_of_operator(value)
    return value if made is value else lifter.recorder.identity.derived(made, node)


def lift_method(lifter, value, node):
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


def lift_partial(lifter, value, node):
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


def lift_parts(lifter, value, node):
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


def lift_cached(lifter, value, node):
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


def lift_wrapped(lifter, value, node):
    """Lift a callable of evertrace's own (a jitted function, a custom rule)."""
    lift_identity(lifter, value, node)
    if lifter.recorder.identity.alias(value, node) is None:
        lifter.recorder.identity.remember(value, value, node)
        for name, x in (instance_dict(value) or {}).items():
            if type(x) in (types.FunctionType, types.MethodType, functools.partial):
                lifter.lift(x, lifter.recorder.graph.node(node, "attribute", name, node.name))
    return value
