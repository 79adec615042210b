"""Recipes: how a value that a trace has made is made anew at each call.

One small language serves results, write-backs and effects. Its words are classes with a `make`; a
value that was made in the trace and is used twice, or holds itself, has one recipe, which makes it
once per call. `cook` writes recipes, a `Kitchen` holds what they are made from.
"""

import functools
import math
import operator
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.jit.lifting import exceptions, values
from evertrace._src.jit.lifting.entered import (
    instance_dict,
    new_instance,
    slot_descriptors,
)
from evertrace._src.jit.lifting.instancedict import namespace_of, set_namespace


class Kitchen(NamedTuple):
    """What recipes are made from at one call.

    Attributes:
      values: of the nodes; slots: of the prologue; outs: of the program.
      made: recipe -> what it made; (recipe,) -> what a callback was given in its place before.
      later: what is to be done once all is written, or None where nothing is written.
    """

    values: list
    slots: Any
    outs: Sequence[Any]
    made: Any
    later: list[Any] | None = None


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
    """A Python number that is returned, as an array; one that is too large stays a number."""

    slot: int

    def make(self, kitchen):
        """Return the array."""
        return number_as_array(kitchen.slots[self.slot])


def number_as_array(value):
    """Return a Python number as the weakly typed array that it is to our operations."""
    kind = type(value)
    dtype = dtypes.default_dtype(kind)
    aval, least, most = _held(kind, dtype)
    if not value or least <= abs(value) <= most:  # at each call that returns a counter
        return Array(aval, np.asarray(value, dtype))
    if kind is int and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    with np.errstate(all="ignore"):
        array = np.asarray(value, dtype)
    return value if np.isinf(array) and not np.isinf(value) else Array(aval, array)


@functools.cache
def _held(kind, dtype):
    """Return the aval of a Python number's type, and what sizes its dtype surely holds."""
    aval = ShapedArray((), dtype, kind is not bool)
    if kind is float:
        return aval, float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    return aval, (math.inf if kind is complex else 0), (np.iinfo(dtype).max if kind is int else 1)


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
            fresh = self.fresh(kitchen)
            made = kitchen.made.get(self)
            if made is None:  # else what it is made of has needed it, and had it made
                made = kitchen.made[self] = fresh
        return made

    def fresh(self, kitchen) -> Any:
        """Make the object."""
        raise NotImplementedError

    def given(self, kitchen) -> Any:
        """Return the object if a callback of this call has it already, or None."""
        return kitchen.made.get((self,))


class NewTuple(New):
    """A tuple, a named tuple, or an object of another subclass.

    Attributes:
      namespace: the recipes of its attributes, or that of the dict that holds them for others too.
    """

    __slots__ = ("items", "kind", "namespace")

    items: Sequence[Any]
    namespace: Any

    def __init__(self, kind):
        self.kind, self.items, self.namespace = kind, (), None

    def fresh(self, kitchen):
        """Make the tuple."""
        items = [x.make(kitchen) for x in self.items]
        if self.kind is tuple:
            return tuple(items)
        made = kitchen.made.get(self)
        if made is not None:  # an item has needed it, and had it made
            return made
        made = kitchen.made[self] = tuple.__new__(self.kind, items)
        if self.namespace:  # and no slots: Python has none for tuples
            _give_namespace(made, self.namespace, kitchen)
        return made


def _give_attributes(made, recipe, kitchen):
    """Give a container of a user's class what it has in a dict and in slots."""
    if recipe.namespace:
        _give_namespace(made, recipe.namespace, kitchen)
    for descriptor, value in recipe.slots.items():
        descriptor.__set__(made, value.make(kitchen))


def _give_namespace(made, namespace, kitchen):
    """Give an object attributes, or another's dict for them."""
    if isinstance(namespace, dict):
        namespace_of(made).update({k: v.make(kitchen) for k, v in namespace.items()})
    else:
        set_namespace(made, namespace.make(kitchen))


class NewContainer(New):
    """A list, set or deque, or an object of a subclass of one.

    Attributes:
      namespace: the recipes of its attributes, or that of the dict that holds them for others too.
      slots: descriptors of its class -> recipes of what they hold.
    """

    __slots__ = ("base", "extra", "items", "kind", "namespace", "slots")

    base: Any
    namespace: Any
    slots: dict[Any, Any]

    def __init__(self, kind, base, extra):
        self.kind, self.base, self.extra = kind, base, extra
        self.items, self.namespace, self.slots = [], None, {}

    def fresh(self, kitchen):
        """Make the container, then what is in it, which may hold the container."""
        made = self.given(kitchen)
        if made is None:
            made = self.base.__new__(self.kind)
            self.base.__init__(made, *self.extra)
        kitchen.made[self] = made
        self.base.clear(made)
        items = [x.make(kitchen) for x in self.items]
        (self.base.update if self.base is set else self.base.extend)(made, items)
        _give_attributes(made, self, kitchen)
        return made


class NewDict(New):
    """A dict, or an object of a subclass.

    Attributes:
      factory: the recipe of a defaultdict's default factory, or None.
      namespace, slots: as of a `NewContainer`.
    """

    __slots__ = ("base", "entries", "factory", "kind", "namespace", "slots")

    factory: Any
    namespace: Any
    slots: dict[Any, Any]

    def __init__(self, kind, base):
        self.kind, self.base, self.factory = kind, base, None
        self.entries, self.namespace, self.slots = [], None, {}

    def fresh(self, kitchen):
        """Make the dict, then what is in it."""
        made = self.given(kitchen)
        made = self.base.__new__(self.kind) if made is None else made
        kitchen.made[self] = made
        values.dict_type(made).clear(made)
        if self.factory is not None:
            made.default_factory = self.factory.make(kitchen)
        for key, value in self.entries:
            values.dict_type(made).__setitem__(made, key.make(kitchen), value.make(kitchen))
        _give_attributes(made, self, kitchen)
        return made


class NewInstance(New):
    """An object of a Python class, made without running its `__init__`.

    Attributes:
      base: the type in C that makes it, of `args`: that of a number or text.
      namespace: the recipe of the dict of its attributes where others have it, too, or None.
    """

    __slots__ = ("args", "attributes", "base", "cls", "namespace", "slots")

    args: tuple[Any, ...]

    def __init__(self, cls):
        self.cls, self.attributes, self.slots = cls, {}, slot_descriptors(cls)
        self.base: Any = object
        self.args = ()
        self.namespace: Any = None

    def fresh(self, kitchen):
        """Make the object, then its attributes."""
        made = self.given(kitchen)
        if made is not None:
            pass
        elif self.base is not object:
            args = [x.make(kitchen) for x in self.args]
            made = self.base.__new__(self.cls, *args)
        elif issubclass(self.cls, types.SimpleNamespace):
            made = types.SimpleNamespace.__new__(self.cls)
        else:
            made = new_instance(self.cls)
        kitchen.made[self] = made
        if self.namespace is not None:
            _give_namespace(made, self.namespace, kitchen)
        namespace = instance_dict(made)
        for name, recipe in self.attributes.items():
            value = recipe.make(kitchen)
            if name in self.slots:
                self.slots[name].__set__(made, value)
            elif namespace is None:
                object.__setattr__(made, name, value)
            else:
                namespace[name] = value
        return made


class NewException(New):
    """An exception that was raised or made in the trace; a new one has no traceback."""

    __slots__ = ("cls", "fields", "links")

    def __init__(self, cls):
        self.cls, self.fields, self.links = cls, {}, {}

    def fresh(self, kitchen):
        """Make the exception, then what it carries and leads to, which may lead back to it."""
        args = self.fields["field", "args"].make(kitchen)
        made = kitchen.made.get(self)
        if made is not None:  # an argument has needed it, and had it made
            return made
        made = self.given(kitchen)
        made = exceptions.new_exception(self.cls, args) if made is None else made
        kitchen.made[self] = made
        for place, recipe in self.fields.items():
            exceptions.set_field(made, place, recipe.make(kitchen))
        for name, recipe in self.links.items():
            setattr(made, name, recipe.make(kitchen))
        return made


class NewCell(New):
    """A closure's cell."""

    __slots__ = ("contents",)

    contents: Any

    def __init__(self):
        self.contents = None

    def fresh(self, kitchen):
        """Make the cell, then what it holds."""
        made = self.given(kitchen) or types.CellType()
        kitchen.made[self] = made
        if self.contents is not None:
            made.cell_contents = self.contents.make(kitchen)
        return made


class NewFunction(New):
    """A function that was defined in the trace."""

    __slots__ = ("annotations", "attributes", "cells", "defaults", "fun", "kwdefaults")

    annotations: dict[str, Any]  # attribute -> what it is: they, or the function that gives them
    cells: tuple[Any, ...]
    defaults: Any
    kwdefaults: Any

    def __init__(self, fun):
        self.fun, self.annotations = fun, {}
        self.cells, self.attributes, self.defaults, self.kwdefaults = (), {}, None, None

    def fresh(self, kitchen):
        """Make the function."""
        fun = self.fun
        cells = tuple([c.make(kitchen) for c in self.cells])
        made = kitchen.made.get(self)
        if made is not None:  # what its cells hold has needed it, and had it made
            return made
        made = self.given(kitchen)
        if made is None or not all(map(operator.is_, cells, made.__closure__ or ())):
            made = types.FunctionType(fun.code, fun.namespace, fun.name, None, cells or None)
        kitchen.made[self] = made
        made.__qualname__, made.__doc__, made.__module__ = fun.qualname, fun.doc, fun.module
        made.__defaults__ = self.defaults and self.defaults.make(kitchen)
        made.__kwdefaults__ = self.kwdefaults and self.kwdefaults.make(kitchen)
        for name, recipe in self.annotations.items():
            setattr(made, name, recipe.make(kitchen))
        made.__dict__.update({k: v.make(kitchen) for k, v in self.attributes.items()})
        return made


class Definition(NamedTuple):
    """What of a function is the same at each call."""

    code: types.CodeType
    namespace: dict
    name: str
    qualname: str
    doc: Any
    module: Any


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


class NewArray(NewCall):
    """An array that the trace has made: a copy for each call, which may delete or donate it."""

    __slots__ = ()

    def __init__(self, array):
        super().__init__(Array.__deepcopy__)
        self.args = Constant(array), Constant(None)


class NewIterator(NewCall):
    """An iterator, moved once the call has written: the list that it goes over may grow."""

    __slots__ = ()

    def fresh(self, kitchen):
        """Make the iterator."""
        make, args, *states = [x.make(kitchen) for x in self.args]
        made = make(*args)
        for x in states:
            if kitchen.later is None:
                made.__setstate__(x)
            else:
                kitchen.later.append(functools.partial(made.__setstate__, x))
        return made
