"""Plain objects as nodes of trees: the one rule of loops, branches, `vmap` and `tree`.

A tree may hold objects of classes that nobody has registered. `opened` puts an `Opened` node in the
place of each: its children are the arrays in the object and in what hangs on it, its static data a
template of all the rest. To build the treedef again makes new objects of the same classes, without
running `__init__`. So whoever flattens the opened tree of what comes in, and of what the user's
function returns, needs to know nothing of objects.

Python's numbers in an object stay as they are unless `kinds` says that they are leaves: what a
loop changes from turn to turn cannot stay a number.

An object that a loop's body returns itself is another matter: it is changed in place, like one that
the body closes over. `held` puts a `Held` node in its place, which has no children.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from evertrace._src import config, errors, source, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.graphs import (
    Copier,
    Leaf,
    is_same,
    match,
    pairs_of,
    paths_of,
)
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.observe import is_plain_object
from evertrace._src.tree.registry import NodeKind, add_kind


class Template:
    """An object without its leaves, as the static data of a node.

    Args:
      made: a copy of the object, with a `Leaf` in the place of each leaf.
    """

    def __init__(self, made: Any):
        self.made = made

    def build(self, leaves: Iterable[Any]) -> Any:
        """Return a new object with other leaves."""
        row = list(leaves)
        return Copier(lambda x: row[x.number] if type(x) is Leaf else None, None).copy(self.made)

    def __eq__(self, other: object) -> bool:
        return type(other) is Template and is_same(self.made, other.made)

    def __hash__(self) -> int:
        return hash(type(self.made))

    def in_words(self, count: int) -> str:
        """Say what it is, for errors."""
        return f"the object {self!r} of {count} arrays"

    def __repr__(self) -> str:
        kept = [f"{k}={v!r}" for k, v in _static(self.made)]
        return f"{type(self.made).__name__}({', '.join(kept)})"


def _static(made):
    """Return the pairs of names and plain values that a template's own attributes have."""
    contents = getattr(made, "__dict__", {})
    return [(k, v) for k, v in contents.items() if type(v) in (int, float, complex, bool, str)]


class Opened:
    """A node that stands for an object in a tree.

    Args:
      x: the object.
      kinds: types of what is a leaf besides arrays, such as those of Python's numbers.
    """

    __slots__ = ("leaves", "template")

    def __init__(self, x: Any, kinds: tuple[type, ...] = ()):
        self.leaves: list[Any] = []
        copier = Copier(functools.partial(self._leaf, kinds), lambda view: None)
        self.template = Template(copier.copy(x))

    def leaves_of(self, other: Any) -> list[Any]:
        """Return what another object has in the places of the leaves.

        Raises:
          ValueError: it is of another class or lacks some; the text says where.
        """
        found: dict[int, Any] = {}
        match(self.template.made, other, type(other).__name__, found, set())
        return [found[i] for i in range(len(self.leaves))]

    def with_leaves_of(self, other: Any) -> Opened:
        """Return this node with what another object has in the places of the leaves."""
        made: Opened = object.__new__(Opened)
        made.leaves, made.template = self.leaves_of(other), self.template
        return made

    def _leaf(self, kinds: tuple[type, ...], x: Any) -> Leaf | None:
        if not (is_array(x) or type(x) in kinds):
            return None
        self.leaves.append(x)
        return Leaf(len(self.leaves) - 1)


class Held:
    """A node that stands for an object that is itself in the tree."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class _Same:
    """An object as static data: the same is equal."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def in_words(self, _count: int) -> str:
        """Say what it is, for errors."""
        return f"the very object {self!r}"

    def __repr__(self) -> str:
        return type(self.value).__name__


_NUMBERS = (int, float, complex, Host)

add_kind(
    Opened,
    NodeKind(
        lambda node: (tuple(node.leaves), node.template),
        lambda template, leaves: template.build(leaves),
        lambda node: (
            [_Path(path) for path in paths_of(node.template.made)],
            tuple(node.leaves),
            node.template,
        ),
    ),
)
add_kind(
    Held,
    NodeKind(
        lambda node: ((), _Same(node.value)),
        lambda same, _: same.value,
        lambda node: ((), (), _Same(node.value)),
    ),
)


class _Path(tuple[Any, ...]):
    """The path to a leaf of an object, as one key; it prints as its keys do."""

    __slots__ = ()

    def __str__(self) -> str:
        return "".join(map(str, self))


def is_array(x: Any) -> bool:
    """Tell whether a value is a leaf in whatever holds it: no number of Python's."""
    kind = type(x)  # `isinstance` would read `__class__`, which hooks see
    if kind in (Array, Literal, HostArray) or issubclass(kind, (Array, Tracer)):
        return True
    if not issubclass(kind, (np.ndarray, np.generic)):
        return False
    try:
        aval_of(x)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------ trees


def is_node(x: Any) -> bool:
    """Tell whether a leaf is an object to take apart; a mutable array is the place that it is."""
    return is_plain_object(x) and not issubclass(type(x), Cell)


def has_objects(value: Any) -> bool:
    """Tell whether a tree has leaves that are plain objects, and these are nodes."""
    return not config.current().strict and any(map(is_node, tree.leaves(value)))


def opened(value: Any, kinds: tuple[type, ...] = ()) -> Any:
    """Return the tree with an `Opened` node in the place of each plain object."""
    return _replaced(value, lambda x: Opened(x, kinds))


def held(value: Any) -> Any:
    """Return the tree with a `Held` node in the place of each plain object."""
    return _replaced(value, Held)


def opened_with_numbers(value: Any) -> Any:
    """Return the tree with nodes for objects, whose Python numbers are leaves."""
    return opened(value, _NUMBERS)


OBJECT_NODES = (held, opened, opened_with_numbers)
"""What becomes of objects that a body returns, in the order in which it is tried."""


def holding_arrays(x: Any) -> Opened | None:
    """Return the node that stands for an object, or None if no arrays are in it."""
    made = Opened(x)
    return made if made.leaves else None


def _replaced(value: Any, node: Callable[[Any], Any]) -> Any:
    if config.current().strict or issubclass(type(value), (Array, Tracer)):
        return value
    leaves, treedef = tree.flatten(value)
    is_object = [is_node(x) for x in leaves]
    if not any(is_object):
        return value
    nodes = [node(x) if found else x for x, found in zip(leaves, is_object, strict=True)]
    return tree.unflatten(treedef, nodes)


# ------------------------------------------------------------------------ what functions change


def keeping(where: str, fun: Callable[..., Any], made: Any) -> Callable[..., Any]:
    """Return a function that loses no change to the objects in `made`, which it is given.

    Raises:
      TypeError: it changes one and does not return it: the object was made for this call, so nobody
        would see the change.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        noted = _noted(made)
        result = fun(*args, **kwargs)
        if noted:
            _check_returned(where, noted, result, functools.partial(fun, *args, **kwargs))
        return result

    return call


def _noted(values: Any) -> list[tuple[Any, Any]]:
    """Return the views of all objects in some values and of what hangs on them, with contents."""
    objects = [x for x in tree.leaves(values) if is_node(x)]
    if not objects or config.current().strict:
        return []
    views: list[Any] = []
    copier = Copier(lambda x: x if is_array(x) else None, views.append)
    for x in objects:
        copier.copy(x)
    return [(view, view.contents()) for view in views]


def _check_returned(
    where: str, noted: list[tuple[Any, Any]], result: Any, again: Callable[[], Any]
) -> None:
    """Raise if one of the noted views has changed and is not in a result.

    `again` calls the function once more, for the line that changes it.
    """
    returned = None
    for view, before in noted:
        now = view.contents()
        if _is_unchanged(before, now):
            continue
        if returned is None:
            returned = {id(v.obj) for v, _ in _noted(result)}
        if id(view.obj) not in returned:
            key = next(iter(_changed_keys(before, now)), None)
            place = f"{type(view.obj).__name__}{view.name_of(key)}"
            raise errors.user_error(
                TypeError,
                f"{where}: the function changes {place} of an object that was made for this call "
                "of it, and does not return that object: the change would be lost.",
                fix="return the object, too, or let the function close over the object instead "
                "of taking it as an argument.",
                anchor="objects-as-nodes",
                src=source.line_that_changes(functools.partial(_held_at, view, key), again),
            )


def _held_at(view: Any, key: Any) -> int:
    return id(dict(pairs_of(view.contents())).get(key))


def _changed_keys(before: Any, now: Any) -> Iterable[Any]:
    ours, theirs = dict(pairs_of(before)), dict(pairs_of(now))
    missing = object()
    return (
        key for key in (*theirs, *ours) if ours.get(key, missing) is not theirs.get(key, missing)
    )


def _is_unchanged(before: Any, now: Any) -> bool:
    return len(before) == len(now) and next(iter(_changed_keys(before, now)), _NONE) is _NONE


_NONE = object()
