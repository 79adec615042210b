"""Recipes: how a value that a trace has made is made anew at each call.

One small language serves results, write-backs and effects. Its words are classes with a `make`; a
value that was made in the trace and is used twice, or holds itself, has one recipe, which makes it
once per call. `Cook` writes recipes, a `Kitchen` holds what they are made from.
"""

import collections
import contextlib
import enum
import functools
import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer, escaped_tracer_error
from evertrace._src.jit.lifting import guards, values
from evertrace._src.jit.lifting.code import code_of, is_library_function
from evertrace._src.jit.lifting.entered import (
    has_no_hidden_state,
    instance_dict,
    leave_unfinalized,
    new_instance,
    slot_descriptors,
)
from evertrace._src.jit.lifting.hooks import StandIn, opaque_error, parts
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.impure import real_of
from evertrace._src.ops.convert import convert
from evertrace._src.tree import registry


class Kitchen(NamedTuple):
    """What recipes are made from at one call.

    Attributes:
      values: of the nodes; slots: of the prologue; outs: of the program.
      made: recipe -> what it made.
    """

    values: list
    slots: Any
    outs: list
    made: dict


class Out(NamedTuple):
    """An output of the program."""

    position: int

    def make(self, kitchen):
        """Return the array."""
        return kitchen.outs[self.position]


class OutTree(NamedTuple):
    """A tree of all outputs of the program."""

    treedef: Any

    def make(self, kitchen):
        """Return the tree."""
        return self.treedef.unflatten(kitchen.outs)


class Existing(NamedTuple):
    """An object that was there before the call."""

    node: int

    def make(self, kitchen):
        """Return the object."""
        return kitchen.values[self.node]


class Number(NamedTuple):
    """A Python number that the prologue computes."""

    slot: int

    def make(self, kitchen):
        """Return the number."""
        return kitchen.slots[self.slot]


class NumberAsArray(NamedTuple):
    """A Python number that is returned, as an array; one that no dtype holds stays an int."""

    slot: int

    def make(self, kitchen):
        """Return the array."""
        return number_as_array(kitchen.slots[self.slot])


def number_as_array(value):
    """Return a Python number as the weakly typed array that it is to our operations."""
    dtype = dtypes.default_dtype(type(value))
    if type(value) is int and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    with np.errstate(all="ignore"):
        return Array(ShapedArray((), dtype, type(value) is not bool), np.asarray(value, dtype))


class Constant(NamedTuple):
    """A value that every call of the variant shares."""

    value: Any

    def make(self, kitchen):
        """Return the value."""
        return self.value


class New:
    """Base of the recipes of new objects, each made once per call."""

    __slots__ = ()

    def make(self, kitchen):
        """Return the object of this call."""
        made = kitchen.made.get(self)
        if made is None:
            made = self.fresh(kitchen)
            kitchen.made[self] = made
        return made

    def fresh(self, kitchen) -> Any:
        """Make the object."""
        raise NotImplementedError


class NewTuple(New):
    """A tuple or named tuple."""

    __slots__ = ("items", "kind")

    items: Sequence[Any]

    def __init__(self, kind):
        self.kind, self.items = kind, ()

    def fresh(self, kitchen):
        """Make the tuple."""
        items = [x.make(kitchen) for x in self.items]
        return tuple(items) if self.kind is tuple else tuple.__new__(self.kind, items)


class NewContainer(New):
    """A list, set or deque, or an object of a subclass of one."""

    __slots__ = ("base", "extra", "items", "kind", "namespace")

    base: Any
    namespace: dict[str, Any] | None

    def __init__(self, kind, base, extra):
        self.kind, self.base, self.extra = kind, base, extra
        self.items, self.namespace = [], None

    def fresh(self, kitchen):
        """Make the container, then what is in it, which may hold the container."""
        made = self.base.__new__(self.kind)
        self.base.__init__(made, *self.extra)
        kitchen.made[self] = made
        items = [x.make(kitchen) for x in self.items]
        (self.base.update if self.base is set else self.base.extend)(made, items)
        if self.namespace:
            guards.namespace_of(made).update(
                {k: v.make(kitchen) for k, v in self.namespace.items()}
            )
        return made


class NewDict(New):
    """A dict, or an object of a subclass."""

    __slots__ = ("base", "entries", "factory", "kind", "namespace")

    namespace: dict[str, Any] | None

    def __init__(self, kind, base, factory):
        self.kind, self.base, self.factory = kind, base, factory
        self.entries, self.namespace = [], None

    def fresh(self, kitchen):
        """Make the dict, then what is in it."""
        made = self.base.__new__(self.kind)
        if self.base is collections.defaultdict:
            made.default_factory = self.factory
        kitchen.made[self] = made
        for key, value in self.entries:
            values.dict_type(made).__setitem__(made, key.make(kitchen), value.make(kitchen))
        if self.namespace:
            guards.namespace_of(made).update(
                {k: v.make(kitchen) for k, v in self.namespace.items()}
            )
        return made


class NewInstance(New):
    """An object of a Python class, made without running its `__init__`."""

    __slots__ = ("attributes", "base", "cls", "plain", "slots")

    def __init__(self, cls):
        self.cls, self.attributes, self.slots = cls, {}, slot_descriptors(cls)
        self.base: Any = object
        self.plain = None  # what the base makes it of, if that is a number or text

    def fresh(self, kitchen):
        """Make the object, then its attributes."""
        if self.base is not object:  # a number or text with attributes
            made = self.base.__new__(self.cls, self.plain)
        elif issubclass(self.cls, types.SimpleNamespace):
            made = types.SimpleNamespace.__new__(self.cls)
        else:
            made = new_instance(self.cls)
        kitchen.made[self] = made
        namespace = instance_dict(made)
        for name, recipe in self.attributes.items():
            value = recipe.make(kitchen)
            if name in self.slots:
                self.slots[name].__set__(made, value)
            else:
                assert namespace is not None
                namespace[name] = value
        return made


class NewCell(New):
    """A closure's cell."""

    __slots__ = ("contents",)

    contents: Any

    def __init__(self):
        self.contents = None

    def fresh(self, kitchen):
        """Make the cell, then what it holds."""
        made = types.CellType()
        kitchen.made[self] = made
        if self.contents is not None:
            made.cell_contents = self.contents.make(kitchen)
        return made


class NewFunction(New):
    """A function that was defined in the trace."""

    __slots__ = ("attributes", "cells", "defaults", "fun", "kwdefaults")

    cells: tuple[Any, ...]
    defaults: Any
    kwdefaults: Any

    def __init__(self, fun):
        self.fun = fun
        self.cells, self.attributes, self.defaults, self.kwdefaults = (), {}, None, None

    def fresh(self, kitchen):
        """Make the function."""
        fun = self.fun
        cells = tuple([c.make(kitchen) for c in self.cells])
        made = types.FunctionType(fun.code, fun.namespace, fun.name, None, cells or None)
        kitchen.made[self] = made
        made.__qualname__, made.__doc__ = fun.qualname, fun.doc
        made.__defaults__ = self.defaults and self.defaults.make(kitchen)
        made.__kwdefaults__ = self.kwdefaults and self.kwdefaults.make(kitchen)
        made.__dict__.update({k: v.make(kitchen) for k, v in self.attributes.items()})
        return made


class _Definition(NamedTuple):
    code: types.CodeType
    namespace: dict
    name: str
    qualname: str
    doc: Any


class NewCall(New):
    """What a constructor makes of made arguments: a method, a partial, a tree of ours."""

    __slots__ = ("args", "fn", "kwargs")

    args: tuple[Any, ...]

    def __init__(self, fn):
        self.fn, self.args, self.kwargs = fn, (), {}

    def fresh(self, kitchen):
        """Call the constructor."""
        kwargs = {k: v.make(kitchen) for k, v in self.kwargs.items()}
        return self.fn(*[x.make(kitchen) for x in self.args], **kwargs)


_PLAIN_BASES: tuple[Any, ...] = (str, bytes, int, float, complex)
_CONTAINER_BASES: tuple[Any, ...] = (list, set, collections.deque)


class Cook:
    """Writes the recipes of one trace.

    Args:
      recorder: the trace's recorder.

    Attributes:
      outs: operands that the program has to return.
      slots: prologue slots that recipes use; used: indices of nodes.
      donated: positions of the roots whose arrays the program takes over.
    """

    donated = frozenset()

    def __init__(self, recorder):
        self.recorder = recorder
        self.outs, self.slots, self.used = [], set(), set()
        self._out_index, self._new, self._keep = {}, {}, []

    def result(self, value):
        """Return the recipe of something returned: Python scalars in new trees become arrays."""
        return self._recipe(value, "result", True)

    def close(self):
        """End the use of what the trace has made: plain Python would not have made it twice."""
        leave_unfinalized(self._keep)

    def state(self, value, where, like=None):
        """Return the recipe of something left in a container or attribute.

        Args:
          value: the value.
          where: its place, for errors.
          like: what was there at entry; an array's weak type is kept where dtypes agree.
        """
        if type(like) is Array and isinstance(value, Tracer):
            old, new = like.aval, value.aval
            if (old.shape, old.dtype) == (new.shape, new.dtype) and old is not new:
                value = convert(value, old.dtype, old.weak_type)
        return self._recipe(value, where, False)

    def call(self, fn, *args):
        """Return the recipe of a call of a function with made arguments."""
        recipe = NewCall(fn)
        recipe.args = args
        return recipe

    def existing(self, node):
        """Return the recipe of what is at a node."""
        self.used.add(node.index)
        return Existing(node.index)

    def out(self, value, where):
        """Return the recipe of a traced value."""
        if isinstance(value, Tracer):
            self._check_own(value, where)
        index = self._out_index.get(id(value))
        if index is None:
            index = self._out_index[id(value)] = len(self.outs)
            self.outs.append(value)
            self._keep.append(value)
        return Out(index)

    def _check_own(self, value, where):
        if value._trace is not self.recorder.root:
            raise escaped_tracer_error(value, f"jit: {where}")

    def _recipe(self, value, where, is_result):
        value = real_of(value)
        kind = type(value)
        if kind is Host:
            self.slots.add(value.slot)
            return NumberAsArray(value.slot) if is_result else Number(value.slot)
        if is_result and isinstance(value, (np.ndarray, np.generic)) and kind is not HostArray:
            return self._result_of_numpy(value)
        if is_result and kind is HostArray:
            return self.out(as_operand(value), where)  # what jit returns is arrays
        origin = self.recorder.origin.get(id(value))
        if origin is not None and not (self.donated and is_under(origin, self.donated)):
            return self.existing(origin)
        if kind is StandIn:
            return self._of_stand_in(value)
        if kind is HostArray:
            return self._new.get(id(value)) or self._write_hostarray(value, where)
        if isinstance(value, Tracer):
            return self.out(value, where)
        if kind in (int, float, complex, bool):
            return Constant(number_as_array(value)) if is_result else Constant(value)
        known = self.recorder.known.get(id(value))
        if known is not None and known.obj is value:
            return self.existing(known.node)
        if kind is Array or _is_constant(value):
            return Constant(value)
        made = self._new.get(id(value))
        if made is None:
            made = self._write(value, where, is_result)
        return made

    def _result_of_numpy(self, value):
        """Return the recipe of an array that NumPy has made in the trace: jit returns ours."""
        try:
            return Constant(as_array(value))
        except TypeError:  # of strings, dates, objects
            return Constant(value)

    def _of_stand_in(self, value):
        owner, name = parts(value)
        if owner is None:
            raise object.__getattribute__(value, "error")()
        node = self.recorder.lifter.objects.attribute_node(owner, name)
        return self.existing(node)

    def _note(self, value, recipe):
        self._new[id(value)] = recipe
        self._keep.append(value)
        return recipe

    def _write(self, value, where, is_result):
        kind = type(value)

        def write(x, place):
            return self._recipe(x, place, is_result)

        if isinstance(value, tuple):
            items = [write(x, f"{where}[{i}]") for i, x in enumerate(tuple.__iter__(value))]
            if all(type(x) is Constant and type(x.value) is not Array for x in items):
                return Constant(value)
            recipe = self._note(value, NewTuple(kind))
            recipe.items = items
            return recipe
        for base in _CONTAINER_BASES:
            if isinstance(value, base):
                extra = ((), value.maxlen) if base is collections.deque else ()
                recipe = self._note(value, NewContainer(kind, base, extra))
                recipe.items = [write(x, f"{where}[...]") for x in base.__iter__(value)]
                return self._with_namespace(recipe, value, where)
        if isinstance(value, dict):
            return self._write_dict(value, where, write)
        if kind in _WRITERS:
            return _WRITERS[kind](self, value, where)
        if kind.__module__.startswith("evertrace.") and not issubclass(kind, Cell):
            is_tree = kind in registry.KINDS
            return self._write_tree(value, where, write) if is_tree else Constant(value)
        if isinstance(value, np.ndarray):
            recipe = self._note(value, NewCall(np.array))
            recipe.args = (Constant(value.copy()),)
            return recipe
        is_python = kind.__flags__ & (1 << 9) or isinstance(value, types.SimpleNamespace)
        if is_python and not isinstance(value, (type, BaseException)):
            return self._write_instance(value, where)
        return self._constant_or_refuse(value, where)

    def _with_namespace(self, recipe, value, where):
        namespace = instance_dict(value)
        if namespace:
            recipe.namespace = {k: self.state(v, f"{where}.{k}") for k, v in namespace.items()}
        return recipe

    def _write_dict(self, value, where, write):
        kind = type(value)
        base = next(
            b for b in (collections.defaultdict, collections.OrderedDict, dict)
            if isinstance(value, b)
        )  # fmt: skip
        recipe = self._note(value, NewDict(kind, base, getattr(value, "default_factory", None)))
        recipe.entries = [
            (self.state(k, f"a key of {where}"), write(dict.__getitem__(value, k), f"{where}[...]"))
            for k in values.dict_type(value).__iter__(value)
        ]  # fmt: skip
        return self._with_namespace(recipe, value, where)

    def _write_tree(self, value, where, write):
        tree_kind = registry.KINDS[type(value)]
        children, aux = tree_kind.flatten(value)
        recipe = self._note(value, NewCall(_unflattened(tree_kind.unflatten, aux)))
        recipe.args = tuple([write(x, f"{where}[{i}]") for i, x in enumerate(children)])
        return recipe

    def _write_instance(self, value, where):
        base = next((b for b in _PLAIN_BASES if isinstance(value, b)), None)
        is_namespace = isinstance(value, types.SimpleNamespace)
        if base is None and not is_namespace and not has_no_hidden_state(type(value)):
            raise opaque_error(value, where)
        recipe = self._note(value, NewInstance(type(value)))
        if base is not None:
            recipe.base, recipe.plain = base, base(value)
        attributes = dict(instance_dict(value) or {})
        for name, descriptor in recipe.slots.items():
            with contextlib.suppress(AttributeError):
                attributes[name] = descriptor.__get__(value)
        for name, x in attributes.items():
            recipe.attributes[name] = self.state(x, f"{where}.{name}")
        return recipe

    def _write_function(self, value, where):
        home = sys.modules.get(value.__module__)
        if is_library_function(value) and getattr(home, value.__name__, None) is value:
            return Constant(value)
        definition = _Definition(
            code_of(value), value.__globals__, value.__name__, value.__qualname__, value.__doc__
        )
        recipe = self._note(value, NewFunction(definition))
        name = value.__name__
        recipe.cells = tuple(self._recipe(c, f"{where}: {name}", False)
                             for c in value.__closure__ or ())  # fmt: skip
        if value.__defaults__:
            recipe.defaults = self.state(value.__defaults__, f"{where}: {name}.__defaults__")
        if value.__kwdefaults__:
            recipe.kwdefaults = self.state(value.__kwdefaults__, f"{where}: {name}.__kwdefaults__")
        recipe.attributes = {k: self.state(v, f"{where}.{k}") for k, v in value.__dict__.items()}
        return recipe

    def _write_cell(self, value, where):
        entered = self.recorder.by_id.get(id(value))
        if entered is not None:
            return self.existing(entered.node)
        recipe = self._note(value, NewCell())
        with contextlib.suppress(ValueError):
            recipe.contents = self.state(value.cell_contents, where)
        return recipe

    def _write_method(self, value, where):
        recipe = self._note(value, NewCall(types.MethodType))
        recipe.args = (self.state(value.__func__, where), self.state(value.__self__, where))
        return recipe

    def _write_partial(self, value, where):
        recipe = self._note(value, NewCall(functools.partial))
        recipe.args = tuple(self.state(x, where) for x in (value.func, *value.args))
        recipe.kwargs = {k: self.state(v, where) for k, v in value.keywords.items()}
        return recipe

    def _write_weakref(self, value, where):
        if value() is None:
            return Constant(value)
        recipe = self._note(value, NewCall(weakref.ref))
        recipe.args = tuple(self.state(x, where) for x in (value(), value.__callback__))
        return recipe

    def _write_hostarray(self, value, where):
        """Return the recipe of an array of NumPy's that the trace has made, or a view of one."""
        fn, base = value.rebuild()
        recipe = self._note(value, NewCall(fn))
        recipe.args = (self._recipe(base, where, False),)
        return recipe

    def _constant_or_refuse(self, value, where):
        kind = type(value)
        if isinstance(value, (type, BaseException)) or kind.__module__.startswith(
            ("evertrace.", "jaxlib")
        ):
            return Constant(value)
        if callable(value) and not hasattr(value, "__next__"):
            return Constant(value)
        raise opaque_error(value, where)


def is_under(node, roots):
    """Whether a node is reached from one of some roots of the call."""
    while node.parent is not None:
        node = node.parent
    return node.kind == "root" and node.key in roots


def _unflattened(unflatten, aux):
    def make(*children):
        return unflatten(aux, children)

    return make


def _is_constant(value):
    return values.is_value(value) or isinstance(
        value,
        (
            types.ModuleType, types.BuiltinFunctionType, type, np.generic, np.dtype, Literal,
            enum.Enum,
        ),
    )  # fmt: skip


_WRITERS: dict[type, Any] = {
    types.FunctionType: Cook._write_function, types.CellType: Cook._write_cell,
    types.MethodType: Cook._write_method, functools.partial: Cook._write_partial,
    weakref.ref: Cook._write_weakref, HostArray: Cook._write_hostarray,
}  # fmt: skip
