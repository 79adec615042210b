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

from typing import Any

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import flatten_arrays, positional_name
from evertrace._src.arrays.interop import as_array
from evertrace._src.jit.graphs import (
    Copier,
    Leaf,
    holds_leaf,
    is_differentiable,
    match,
    pairs_of,
)
from evertrace._src.jit.observe import is_plain_object


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


class ObjectTree:
    """The structure of a tree with plain objects, and the places of the leaves in them.

    Attributes:
      leaves: as arrays, in the order in which they were found; empty after `restore`.
      num_leaves: their number.
    """

    def __init__(self, treedef):
        self._treedef = treedef
        self.leaves, self.num_leaves = [], 0
        self._arguments = []  # per leaf of the tree, the object or the `Leaf`
        self._templates = []  # per leaf of the tree, the copy with `Leaf`s
        self._numbers = {}  # id of an array in an object -> its number
        self._views = []  # of the objects and of the containers in them
        self._originals, self._keep = {}, []
        self._copier: Any = Copier(self._leaf_of, self._views.append)

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
        return holds_leaf(template)

    def _new_leaf(self, x):
        self.leaves.append(x)
        self.num_leaves += 1
        return Leaf(self.num_leaves - 1)

    def _leaf_of(self, x):
        """Return the `Leaf` of a floating array in an object, None for anything else."""
        if not is_differentiable(x):
            return None
        number = self._numbers.get(id(x))
        if number is None:
            number = self._numbers[id(x)] = self.num_leaves
            self._keep.append(x)
            return self._new_leaf(as_array(x))
        return Leaf(number)

    # ------------------------------------------------------------ in place

    def place(self, leaves):
        """Put other leaves in place; returns the tree with the same objects."""
        self._originals.clear()
        for view in self._views:
            contents, changed = view.contents(), False
            for key, value in list(pairs_of(contents)):
                placed = self._placed(value, leaves)
                if placed is not value:
                    contents[key], changed = placed, True
                    self._originals[id(placed)] = (value, placed)
            if changed:
                view.put(contents)
        return self._treedef.unflatten(
            [leaves[x.number] if type(x) is Leaf else x for x in self._arguments]
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
            for key, value in list(pairs_of(contents)):
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
        copier = Copier(lambda x: leaves[x.number] if type(x) is Leaf else None, None)
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
            match(template, x, type(x).__name__, found, seen)
        return [found[i] for i in range(self.num_leaves)]

    def __repr__(self):
        return str(self._treedef.unflatten(self._templates))
