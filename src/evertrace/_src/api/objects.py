"""Plain objects as differentiated arguments: no base class, no registration.

Where an argument's tree has a leaf that is no array but an object of a Python class, the object is
walked: its attributes, and the lists, dicts, tuples, deques and objects in them. Its floating and
complex arrays are the differentiated leaves, one per identity, so that shared arrays stay shared.

`ObjectTree` takes the place of the treedef:

- `place` puts tracers where the arrays are, in place: the function gets the very objects that it
  was called with. `restore` puts the arrays back wherever the function has left the tracers.
- `unflatten` makes new objects of the same classes and structure, without running `__init__`,
  with other leaves. What is no floating array (integers, Python numbers, strings, functions) is
  in them as it was.
"""

from __future__ import annotations

import collections
import enum
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import flatten_arrays, positional_name
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, aval_of
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting.entered import (
    Attributes,
    Entries,
    Items,
    instance_dict,
    slot_descriptors,
)
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.observe import Place, is_opaque


def flatten_arguments(where, values, name_of=positional_name) -> tuple[list, Any]:
    """Flatten a tree of arrays and plain objects; returns its leaves and its structure.

    Args:
      where: the transformation, for errors.
      values: the tree.
      name_of: function (key path) -> what people call a leaf.

    Returns:
      Arrays and tracers, and a treedef or, where there are objects, an `ObjectTree`.
    """
    leaves, treedef = tree.flatten(values)
    try:
        return [as_array(x, where) for x in leaves], treedef
    except TypeError:
        if config.current().strict or not any(map(is_plain_object, leaves)):
            return flatten_arrays(where, values, name_of)  # which names the leaf that is no array
    return _flatten_objects(where, values, name_of)


def _flatten_objects(where, values, name_of):
    pairs, treedef = tree.flatten_with_path(values)
    graph = ObjectTree(treedef)
    for path, x in pairs:
        if is_plain_object(x):
            if not graph.add_object(x):
                raise errors.user_error(
                    TypeError,
                    f"{where}: argument {name_of(path)}, an object of class {type(x).__name__}, "
                    "holds no arrays of floating-point or complex numbers.",
                    fix="differentiate with respect to an object that holds some (Python numbers "
                    "are not differentiated), or choose other argnums.",
                    anchor="not-an-array",
                )
        else:
            (checked,), _ = flatten_arrays(where, (x,), lambda _, path=path: name_of(path))
            graph.add_array(checked)
    return graph.leaves, graph


def place(structure: Any, leaves: Any) -> Any:
    """Return the arguments with other leaves: a new tree, or the same objects changed in place."""
    if type(structure) is ObjectTree:
        return structure.place(leaves)
    return structure.unflatten(leaves)


def restore(structure):
    """Undo `place`; returns by id of a tracer what it stood for, and the objects."""
    return structure.restore() if type(structure) is ObjectTree else ({}, ())


class _Leaf(NamedTuple):
    """Stands in a template for a differentiated leaf."""

    number: int


class ObjectTree:
    """The structure of a tree with plain objects, and the places of the leaves in them.

    Attributes:
      leaves: as arrays, in the order in which they were found; empty after `restore`.
      num_leaves: their number.
    """

    def __init__(self, treedef):
        self._treedef = treedef
        self.leaves, self.num_leaves = [], 0
        self._arguments = []  # per leaf of the tree, the object or the `_Leaf`
        self._templates = []  # per leaf of the tree, the copy with `_Leaf`s
        self._numbers = {}  # id of an array in an object -> its number
        self._views = []  # of the objects and of the containers in them
        self._originals, self._keep = {}, []
        self._copier: Any = _Copier(self._leaf_of, self._views.append)

    def add_array(self, x):
        """Add a leaf of the tree that is an array."""
        leaf = self._new_leaf(x)
        self._arguments.append(leaf)
        self._templates.append(leaf)

    def add_object(self, x):
        """Add a leaf of the tree that is an object; returns whether it holds leaves."""
        template = self._copier.copy(x)
        self._arguments.append(x)
        self._templates.append(template)
        return _holds_leaf(template)

    def _new_leaf(self, x):
        self.leaves.append(x)
        self.num_leaves += 1
        return _Leaf(self.num_leaves - 1)

    def _leaf_of(self, x):
        """Return the `_Leaf` of a floating array in an object, None for anything else."""
        if not _is_differentiable(x):
            return None
        number = self._numbers.get(id(x))
        if number is None:
            number = self._numbers[id(x)] = self.num_leaves
            self._keep.append(x)
            return self._new_leaf(as_array(x))
        return _Leaf(number)

    # ------------------------------------------------------------ in place

    def place(self, leaves):
        """Put other leaves in place; returns the tree with the same objects."""
        self._originals.clear()
        for view in self._views:
            contents, changed = view.contents(), False
            for key, value in list(_pairs(contents)):
                placed = self._placed(value, leaves)
                if placed is not value:
                    contents[key], changed = placed, True
                    self._originals[id(placed)] = (value, placed)
            if changed:
                view.put(contents)
        return self._treedef.unflatten(
            [leaves[x.number] if type(x) is _Leaf else x for x in self._arguments]
        )

    def _placed(self, value, leaves):
        number = self._numbers.get(id(value))
        if number is not None:
            return leaves[number]
        if issubclass(type(value), tuple):
            items = [self._placed(x, leaves) for x in tuple.__iter__(value)]
            same = all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True))
            return value if same else tuple.__new__(type(value), items)
        return value

    def restore(self):
        """Put the arrays back, once; returns by id of a tracer what it stood for, and the objects.

        Then the objects are let go: a pullback keeps the structure alone.
        """
        originals, objects = self._originals, self._arguments
        for view in self._views:
            contents, changed = view.contents(), False
            for key, value in list(_pairs(contents)):
                found = originals.get(id(value))
                if found is not None:
                    contents[key], changed = found[0], True
            if changed:
                view.put(contents)
        self.leaves, self._views, self._arguments, self._originals = [], [], [], {}
        self._numbers, self._keep, self._copier = {}, [], None
        return {key: original for key, (original, _) in originals.items()}, objects

    # ------------------------------------------------------------ anew

    def unflatten(self, leaves):
        """Return the tree anew, with other leaves: new objects of the same structure."""
        leaves = list(leaves)
        copier = _Copier(lambda x: leaves[x.number] if type(x) is _Leaf else None, None)
        return self._treedef.unflatten([copier.copy(x) for x in self._templates])

    def flatten_like(self, values):
        """Return what another tree of this structure has in the places of the leaves.

        Raises:
          ValueError: the tree has another structure; the text says where.
        """
        given, treedef = tree.flatten(values)
        if treedef != self._treedef:
            raise ValueError(f"have structure {treedef}, not {self._treedef}")
        found, seen = {}, set()
        for template, x in zip(self._templates, given, strict=True):
            _match(template, x, type(x).__name__, found, seen)
        return [found[i] for i in range(self.num_leaves)]

    def __repr__(self):
        return str(self._treedef.unflatten(self._templates))


# ------------------------------------------------------------------------ what objects hold


def is_plain_object(x):
    """Whether `x` is an object of a Python class with attributes, and nothing known to us."""
    cls = type(x)
    if issubclass(cls, _NOT_PLAIN) or is_opaque(cls):
        return False
    return instance_dict(x) is not None or bool(slot_descriptors(cls))


_CONTAINERS: tuple[Any, ...] = (
    collections.OrderedDict,
    collections.defaultdict,
    dict,
    list,
    collections.deque,
)
_NOT_PLAIN = (
    type, Tracer, np.ndarray, BaseException, enum.Enum, tuple, set, frozenset, int, float, complex,
    str, bytes, *_CONTAINERS,
)  # fmt: skip


def _is_differentiable(x):
    kind = type(x)  # `isinstance` would read `__class__`, which hooks see
    if kind is HostArray or issubclass(kind, (Array, Tracer, np.ndarray, np.inexact)):
        try:
            return is_inexact(aval_of(x))
        except TypeError:
            return False
    return False


def _views_of(x):
    """Return views of the contents of an object or container, none for anything else."""
    found = []
    if issubclass(type(x), (list, collections.deque)):
        found.append(Items(x, Place("")))
    elif issubclass(type(x), dict):
        found.append(Entries(x, Place("")))
    if is_plain_object(x) or (found and instance_dict(x) is not None):
        found.append(Attributes(x, Place("")))
    return found


def _read_all(x):
    """Have a recorder lift all that is in an object or container."""
    recorder = state.recorder
    if recorder is not None:
        entered = recorder.lifter.objects.by_id.get(id(x))
        if entered is not None:
            recorder.lifter.objects.lift_all(entered)
        recorder.lifter.see(x)


def _pairs(contents):
    return contents.items() if isinstance(contents, dict) else enumerate(contents)


class _Copier:
    """Copies objects and containers, with other things in the places of some.

    Args:
      leaf: function (value) -> what is to stand there, or None where it is no leaf.
      note: function that is told the view of each thing that is copied, or None.

    Attributes:
      memo: id of a thing -> its copy.
    """

    def __init__(self, leaf: Callable[[Any], Any], note: Callable[[Any], None] | None):
        self.leaf, self.note = leaf, note
        self.memo: dict[int, Any] = {}
        self._keep = []

    def copy(self, x):
        """Return the copy of a value."""
        if id(x) in self.memo:
            return self.memo[id(x)]
        if type(x) is StandIn:  # of state that cannot be seen
            return x
        leaf = self.leaf(x)
        if leaf is not None or type(x) is _Leaf:
            return leaf
        if issubclass(type(x), tuple):
            items = [self.copy(y) for y in tuple.__iter__(x)]
            same = all(a is b for a, b in zip(items, tuple.__iter__(x), strict=True))
            made = x if same else tuple.__new__(type(x), items)
            return self._note(x, made)
        if self.note is not None:
            _read_all(x)
        views = _views_of(x)
        if not views:
            return x
        made = self._note(x, _empty(x))
        for view in views:
            if self.note is not None:
                self.note(view)
            contents = view.contents()
            _fill(made, view, {k: self.copy(v) for k, v in _pairs(contents)})
        return made

    def _note(self, x, made):
        self.memo[id(x)] = made
        self._keep.append(x)
        return made


def _empty(x):
    """Return an object of the same class with nothing in it, without running `__init__`."""
    cls = type(x)
    base: Any = next(b for b in (*_CONTAINERS, types.SimpleNamespace, object) if issubclass(cls, b))
    made = base.__new__(cls)
    if base is collections.deque:
        base.__init__(made, (), x.maxlen)
    elif base is collections.defaultdict:
        made.default_factory = x.default_factory
    return made


def _fill(made, view, contents):
    """Put contents, as a view read them, into a new object."""
    if isinstance(view, Items):
        base: Any = list if isinstance(made, list) else collections.deque
        base.extend(made, contents.values())
    elif isinstance(view, Entries):
        base = next(b for b in _CONTAINERS if isinstance(made, b))
        for key, value in contents.items():
            base.__setitem__(made, key, value)
    else:
        Attributes(made, view.node).put(contents)


def _holds_leaf(template):
    found = []
    _Copier(lambda x: found.append(x) if type(x) is _Leaf else None, None).copy(template)
    return bool(found)


def _match(template, x, name, found, seen):
    """Fill `found`, by number, with what is in `x` where the template has leaves."""
    if type(template) is _Leaf:
        found.setdefault(template.number, x)
        return
    if id(template) in seen:
        return
    seen.add(id(template))
    if isinstance(template, tuple):
        _check_kind(template, x, name)
        if len(x) != len(template):
            raise ValueError(f"have {len(x)} elements at {name}, not {len(template)}")
        for i, (a, b) in enumerate(zip(template, x, strict=True)):
            _match(a, b, f"{name}[{i}]", found, seen)
    elif views := _views_of(template):
        _check_kind(template, x, name)
        _read_all(x)
        for a, b in zip(views, _views_of(x), strict=True):
            ours, theirs = dict(_pairs(a.contents())), dict(_pairs(b.contents()))
            for key, value in ours.items():
                path = f"{name}.{key}" if isinstance(a, Attributes) else f"{name}[{key!r}]"
                if key not in theirs:
                    raise ValueError(f"have nothing at {path}")
                _match(value, theirs[key], path, found, seen)


def _check_kind(template, x, name):
    if type(x) is not type(template):
        raise ValueError(
            f"have a value of type {type(x).__name__} at {name}, not {type(template).__name__}"
        )
