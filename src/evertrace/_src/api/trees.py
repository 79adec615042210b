"""The functions of `tree` as users call them: plain objects that hold arrays are nodes.

The functions themselves are in the layer `tree`, which knows registered types only. Here the trees
that they are given are opened before (`jit/opened.py`), outside of strict rules and for callers
that were not written for JAX: to those an object that is not registered is a leaf.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from evertrace._src import config, errors, tree
from evertrace._src.arrays.interop import can_be_written
from evertrace._src.doors import door
from evertrace._src.jit.lifting.code import is_written_for_jax
from evertrace._src.jit.opened import Opened, holding_arrays, is_node

_BY_PATH = ("is_leaf", "is_leaf_takes_path")

F = TypeVar("F", bound=Callable[..., Any])


def _on_objects(position: int, *settings: str, several: bool = False) -> Callable[[F], F]:
    """Return the decorator of a function of trees.

    Args:
      position: of its argument that is a tree.
      *settings: names of those that follow.
      several: whether those that follow are further trees.
    """

    def decorate(fun: F) -> F:
        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            trees = args[position:] if several else args[position : position + 1]
            if (
                config.current().strict
                or is_written_for_jax(sys._getframe(1))  # before a library's tree is walked twice
                or not (trees and _has_objects(trees[0]))
            ):
                return fun(*args, **kwargs)
            more = {**dict(zip(settings, args[position + 1 :], strict=False)), **kwargs}
            opened, more = _opened(trees, more)
            return fun(*args[:position], *opened, **more)

        return cast("F", door(call))

    return decorate


def _opened(trees: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """Return a function's trees with nodes for objects, and its settings.

    The user's `is_leaf` is asked once about each place: its answers are passed on.
    """
    (value, *others), is_leaf = trees, settings.get("is_leaf")
    stopped: set[Any] = set()

    def test(path: Any, x: Any) -> bool:
        if is_leaf is None:
            return False
        verdict = is_leaf(path, x) if settings.get("is_leaf_takes_path") else is_leaf(x)
        if verdict is True:
            stopped.add((path, id(x)))
        return verdict

    pairs, treedef = tree.flatten_with_path(value, test, True)
    nodes = {
        i: node
        for i, (path, x) in enumerate(pairs)
        if _is_node(x) and (path, id(x)) not in stopped and (node := holding_arrays(x)) is not None
    }
    found = [value]
    if nodes:
        found = [tree.unflatten(treedef, [nodes.get(i, x) for i, (_, x) in enumerate(pairs)])]
        others = [_like(treedef, nodes, x, number) for number, x in enumerate(others, 2)]
    if is_leaf is None:
        return [*found, *others], settings
    if settings.get("is_leaf_takes_path"):
        return [*found, *others], {**settings, "is_leaf": lambda p, x: (p, id(x)) in stopped}
    ids = {key for _, key in stopped}
    return [*found, *others], {**settings, "is_leaf": lambda x: id(x) in ids}


def _is_node(x: Any) -> bool:
    """Tell whether a leaf is an object to take apart; one made again would not be written to."""
    return is_node(x) and not can_be_written(type(x))


def _has_objects(value: Any) -> bool:
    try:
        return any(map(_is_node, tree.leaves(value)))
    except (ValueError, RecursionError):  # which `is_leaf` may keep from showing, or the function
        return False  # itself says it


def _like(treedef: tree.PyTreeDef, nodes: dict[int, Opened], other: Any, number: int) -> Any:
    """Return another tree with nodes where the first one has them."""
    try:
        subtrees = treedef.flatten_up_to(other)
        for i, node in nodes.items():
            subtrees[i] = node.with_leaves_of(subtrees[i])
    except ValueError as error:
        raise errors.user_error(
            ValueError,
            f"tree.map: tree {number} differs in structure from the first: {error}",
            fix="make both of the same nodes, and of objects of the same classes.",
            anchor="tree-structure",
        ) from None
    return tree.unflatten(treedef, subtrees)


if TYPE_CHECKING:
    from evertrace._src.tree import all as tree_all
    from evertrace._src.tree import flatten as tree_flatten
    from evertrace._src.tree import flatten_with_path as tree_flatten_with_path
    from evertrace._src.tree import leaves as tree_leaves
    from evertrace._src.tree import leaves_with_path as tree_leaves_with_path
    from evertrace._src.tree import map as tree_map
    from evertrace._src.tree import map_with_path as tree_map_with_path
    from evertrace._src.tree import reduce as tree_reduce
    from evertrace._src.tree import structure as tree_structure
else:
    tree_all = _on_objects(0, "is_leaf")(tree.all)
    tree_flatten = _on_objects(0, "is_leaf")(tree.flatten)
    tree_flatten_with_path = _on_objects(0, *_BY_PATH)(tree.flatten_with_path)
    tree_leaves = _on_objects(0, "is_leaf")(tree.leaves)
    tree_leaves_with_path = _on_objects(0, *_BY_PATH)(tree.leaves_with_path)
    tree_map = _on_objects(1, several=True)(tree.map)
    tree_map_with_path = _on_objects(1, several=True)(tree.map_with_path)
    tree_reduce = _on_objects(1, "initializer", "is_leaf")(tree.reduce)
    tree_structure = _on_objects(0, "is_leaf")(tree.structure)
