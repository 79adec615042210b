"""Functions over whole trees: map, reduce, transpose."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from evertrace._src.errors import user_error
from evertrace._src.support import set_module
from evertrace._src.tree.spec import match
from evertrace._src.tree.traversal import (
    IsLeaf,
    flatten,
    flatten_with_path,
    leaves,
    structure,
    unflatten,
)
from evertrace._src.tree.treedef import PyTreeDef

T = TypeVar("T")

_UNSPECIFIED: Any = object()


@set_module("evertrace.tree_util")
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply a function to the leaves of one or several trees.

    Args:
      f: called with a leaf of `tree` and, for each of `rest`, the subtree at the same place.
      tree: any tree.
      *rest: trees of which the structure of `tree` is a prefix.
      is_leaf: where it is true, the subtree of `tree` is taken as a leaf; see `flatten`.

    Returns:
      A tree of the structure of `tree`, of the results.

    Raises:
      ValueError: a tree in `rest` has another structure; names the place.

    Example:
      >>> ev.tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
      {'a': 11, 'b': (22,)}
    """
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return unflatten(treedef, [f(x) for x in first])
    columns = _match_rest("tree.map", treedef, rest)
    return unflatten(treedef, [f(*xs) for xs in zip(first, *columns, strict=True)])


@set_module("evertrace.tree_util")
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to the key paths and the leaves of one or several trees.

    Args:
      f: called with the key path of a leaf, the leaf, and the subtrees of `rest` at that place.
      tree: any tree.
      *rest: trees of which the structure of `tree` is a prefix.
      is_leaf: where it is true, the subtree of `tree` is taken as a leaf.
      is_leaf_takes_path: call `is_leaf` with the path and the subtree.

    Returns:
      A tree of the structure of `tree`, of the results.

    Raises:
      ValueError: a tree in `rest` has another structure; names the place.

    Example:
      >>> show = lambda path, x: f"{ev.tree_util.keystr(path)} = {x}"
      >>> ev.tree.map_with_path(show, {"a": 1, "b": [2]})
      {'a': "['a'] = 1", 'b': ["['b'][0] = 2"]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    if not rest:
        return unflatten(treedef, [f(path, x) for path, x in pairs])
    columns = _match_rest("tree.map_with_path", treedef, rest)
    others = zip(*columns, strict=True)
    results = [f(path, x, *xs) for (path, x), xs in zip(pairs, others, strict=True)]
    return unflatten(treedef, results)


@set_module("evertrace.tree")
def reduce(
    function: Callable[[T, Any], T],
    tree: Any,
    initializer: T = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> T:
    """Fold the leaves from left to right.

    Args:
      function: maps the result so far and a leaf to the next result.
      tree: any tree.
      initializer: the first result; by default the first leaf.
      is_leaf: see `flatten`.

    Returns:
      The last result.

    Raises:
      TypeError: there are no leaves and no `initializer`.

    Example:
      >>> ev.tree.reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)}, 10)
      16
    """
    items = leaves(tree, is_leaf)
    if initializer is not _UNSPECIFIED:
        return functools.reduce(function, items, initializer)
    if not items:
        raise _nothing_to_reduce("tree.reduce", "initializer")
    return functools.reduce(function, items)


@set_module("evertrace.tree")
def reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> T:
    """Combine the leaves pairwise, in a balanced tree of ``log2(number of leaves)`` levels.

    Args:
      operation: an associative function of two values.
      tree: any tree.
      identity: the result for a tree without leaves; not used otherwise.
      is_leaf: see `flatten`.

    Returns:
      The combination of all leaves, which keep their order.

    Raises:
      TypeError: there are no leaves and no `identity`.

    Example:
      >>> ev.tree.reduce_associative(lambda x, y: f"({x}+{y})", ["a", "b", "c", "d"])
      '((a+b)+(c+d))'
    """
    items = leaves(tree, is_leaf)
    if items:
        return _combine(operation, items)
    if identity is _UNSPECIFIED:
        raise _nothing_to_reduce("tree.reduce_associative", "identity")
    return identity


@set_module("evertrace.tree_util")
def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether all leaves of `tree` are true; they are for a tree without leaves.

    Example:
      >>> ev.tree.all({"a": True, "b": [1, 2]}), ev.tree.all([True, (False,)]), ev.tree.all(())
      (True, False, True)
    """
    return all(leaves(tree, is_leaf))


@set_module("evertrace.tree")
def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out: a list of dicts, say, into a dict of lists.

    Args:
      outer_treedef: the structure outside.
      inner_treedef: the structure inside; by default that of the first subtree.
      pytree_to_transpose: a tree of structure ``outer_treedef.compose(inner_treedef)``.

    Returns:
      The tree of the same leaves with structure ``inner_treedef.compose(outer_treedef)``.

    Raises:
      TypeError: the tree has another structure.

    Example:
      >>> examples = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
      >>> outer, inner = ev.tree.structure([0, 0]), ev.tree.structure({"x": 0, "y": 0})
      >>> ev.tree.transpose(outer, inner, examples)
      {'x': [1, 3], 'y': [2, 4]}
    """
    items, treedef = flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = _first_structure(outer_treedef, pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise user_error(
            TypeError,
            f"tree.transpose: expected a tree of structure {expected}, got {treedef}.",
            fix="pass the treedefs of the outer and of the inner trees, in this order.",
            anchor="tree-structure",
        )
    step = inner_treedef.num_leaves
    columns = [outer_treedef.unflatten(items[index::step]) for index in range(step)]
    return inner_treedef.unflatten(columns)


def _match_rest(name: str, treedef: PyTreeDef, rest: Sequence[Any]) -> list[list[Any]]:
    """Return the subtrees of each tree in `rest` at the leaves of `treedef`."""
    return [
        match(treedef.spec, tree, f"{name}: tree {number}") for number, tree in enumerate(rest, 2)
    ]


def _combine(operation: Callable[[T, T], T], items: Sequence[T]) -> T:
    """Combine `items`, of which there is at least one, by halves."""
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    return operation(_combine(operation, items[:middle]), _combine(operation, items[middle:]))


def _nothing_to_reduce(name: str, argument: str) -> TypeError:
    """Return the error for a reduction of nothing without a value to start from."""
    return user_error(
        TypeError,
        f"{name}: the tree has no leaves.",
        fix=f"pass `{argument}`, the result for this case.",
        anchor="tree-structure",
    )


def _first_structure(outer_treedef: PyTreeDef, tree: Any) -> PyTreeDef:
    """Return the structure of the first subtree of `tree` below `outer_treedef`."""
    subtrees = outer_treedef.flatten_up_to(tree)
    if not subtrees:
        raise user_error(
            TypeError,
            f"tree.transpose: {outer_treedef} has no leaves, so the inner structure is unknown.",
            fix="pass inner_treedef.",
            anchor="tree-structure",
        )
    return structure(subtrees[0])
