"""Tree prefixes: one leaf that stands for a whole subtree, as in the ``in_axes`` of vmap.

A tree is a prefix of another if replacing some of its leaves by subtrees gives the other.
"""

from typing import Any

from evertrace._src.errors import user_error
from evertrace._src.support import set_module
from evertrace._src.tree.spec import (
    Mismatch,
    leaf_counts,
    leaves_view,
    mismatches,
    spec_view,
    subtrees_at_leaves,
    tree_view,
)
from evertrace._src.tree.traversal import IsLeaf, flatten, structure
from evertrace._src.tree.treedef import PyTreeDef


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None, name: str = "prefix tree"
) -> list[ValueError]:
    """Return an error for each place where `prefix_tree`, called `name`, is no prefix."""
    view = leaves_view(is_leaf)
    return [
        _prefix_error(name, *difference)
        for difference in mismatches(prefix_tree, full_tree, view, tree_view)
    ]


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None, name: str = "prefix tree"
) -> list[Any]:
    """Return, for each leaf of `full_tree`, the leaf of `prefix_tree` at or above its place.

    Raises:
      ValueError: `prefix_tree` is no prefix; names the place.
    """
    prefix_leaves, prefix_def = flatten(prefix_tree, is_leaf)
    subtrees = subtrees_at_leaves(prefix_def.spec, full_tree)
    if subtrees is None:
        raise prefix_errors(prefix_tree, full_tree, is_leaf, name)[0]
    counts = [structure(subtree).num_leaves for subtree in subtrees]
    return _repeat(prefix_leaves, counts)


@set_module("evertrace.tree")
def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Expand a prefix to the structure of a full tree.

    Args:
      prefix_tree: a tree prefix of `full_tree`.
      full_tree: gives the structure.
      is_leaf: where it is true, the subtree of `prefix_tree` is taken as a leaf.

    Returns:
      A tree of the structure of `full_tree` whose leaves are those of `prefix_tree`, each repeated
      over the subtree in its place.

    Raises:
      ValueError: `prefix_tree` is no prefix of `full_tree`; names the place.

    Example:
      >>> ev.tree.broadcast({"a": 0, "b": 1}, {"a": [7, 8], "b": (9,)})
      {'a': [0, 0], 'b': (1,)}
    """
    expanded = broadcast_prefix(prefix_tree, full_tree, is_leaf, "tree.broadcast: prefix_tree")
    return structure(full_tree).unflatten(expanded)


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """Return, for each leaf of `treedef`, its axis: the leaf of the prefix `axis_tree` for it.

    ``None`` in `axis_tree` is an axis like others, "not mapped". Errors call `axis_tree` by `name`.

    Raises:
      ValueError: `axis_tree` is no prefix of `treedef`; names the place.
    """
    axes, axis_def = flatten(axis_tree, _is_none)
    counts: list[int] = []
    try:
        leaf_counts(axis_def.spec, treedef.spec, counts)
    except Mismatch:
        view = leaves_view(_is_none)
        difference = next(mismatches(axis_tree, treedef.spec, view, spec_view))
        raise _prefix_error(name, *difference) from None
    return _repeat(axes, counts)


def _repeat(items: list[Any], counts: list[int]) -> list[Any]:
    """Return each of `items` as often as `counts` says."""
    return [item for item, count in zip(items, counts, strict=True) for _ in range(count)]


def _is_none(tree: Any) -> bool:
    return tree is None


def _prefix_error(name: str, where: str, has: str, other: str) -> ValueError:
    """Return the error that `name` has something at a place where the full tree has another."""
    return user_error(
        ValueError,
        f"{name} is not a tree prefix of the value {where}: it has {has}, the value {other}.",
        fix="give one leaf for the whole subtree, or the same nodes as the value has.",
        anchor="tree-prefix",
    )
