"""Flattening trees into leaves, with or without their key paths, and building them again.

It is done in C++ where that is built (`src/native/python/tree.cc`); the functions here say what
that does.
"""

from collections.abc import Callable, Iterable
from typing import Any

from evertrace._src import doors, errors
from evertrace._src.extension import twin
from evertrace._src.support import set_module
from evertrace._src.tree.keys import KeyPath
from evertrace._src.tree.registry import KINDS, find_kind
from evertrace._src.tree.spec import Spec, bad_verdict, pack, too_deep
from evertrace._src.tree.treedef import LEAF, PyTreeDef, build

IsLeaf = Callable[[Any], bool]
Stop = Callable[[KeyPath[Any], Any], bool]


@set_module("evertrace.tree")
def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Split a tree into its leaves and its structure.

    Args:
      tree: any object; what is not of a node type is a leaf. ``None`` is a node without children.
      is_leaf: called with each node and leaf, from the root down; where it returns true the
        subtree is taken as one leaf.

    Returns:
      The leaves, in depth-first order (dicts in the order of their sorted keys), and the treedef.

    Raises:
      ValueError: the keys of a dict cannot be sorted.
      RecursionError: the tree contains itself, or is nested too deeply.

    Example:
      >>> leaves, treedef = ev.tree.flatten({"b": (2, None), "a": 1})
      >>> leaves, treedef
      ([1, 2], PyTreeDef({'a': *, 'b': (*, None)}))
    """
    try:
        return _flatten(tree, is_leaf)
    except RecursionError:
        raise too_deep() from None


@set_module("evertrace.tree")
def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build the tree of structure `treedef` with the given `leaves`; the inverse of `flatten`.

    Args:
      treedef: a structure, as `flatten` and `structure` return it.
      leaves: as many objects as `treedef` has leaves.

    Returns:
      The tree.

    Raises:
      ValueError: the number of leaves is wrong.

    Example:
      >>> leaves, treedef = ev.tree.flatten({"a": 1, "b": (2, 3)})
      >>> ev.tree.unflatten(treedef, [10 * x for x in leaves])
      {'a': 10, 'b': (20, 30)}
    """
    try:
        return build(treedef, leaves)
    except RecursionError:
        raise too_deep() from None
    except AttributeError:
        given: Any = treedef
        if isinstance(given, PyTreeDef):
            raise
        raise errors.user_error(
            AttributeError,
            f"unflatten: {doors.shown(treedef)} is no structure of a tree.",
            fix="call it as `tree.unflatten(treedef, leaves)`, the structure first.",
            anchor="tree-structure",
        ) from None


@set_module("evertrace.tree")
def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of `tree`; see `flatten`.

    Example:
      >>> ev.tree.leaves({"b": (2, None, 3), "a": 1})
      [1, 2, 3]
    """
    try:
        return _leaves(tree, is_leaf)
    except RecursionError:
        raise too_deep() from None


@set_module("evertrace.tree")
def structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of `tree`; see `flatten`.

    Example:
      >>> ev.tree.structure({"b": (2, None), "a": 1})
      PyTreeDef({'a': *, 'b': (*, None)})
    """
    try:
        return _structure(tree, is_leaf)
    except RecursionError:
        raise too_deep() from None


@set_module("evertrace.tree")
def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath[Any], Any]], PyTreeDef]:
    """Split a tree into its leaves, each with its key path, and its structure.

    Args:
      tree: any object.
      is_leaf: as for `flatten`.
      is_leaf_takes_path: call `is_leaf` with the path of the subtree and the subtree.

    Returns:
      The ``(path, leaf)`` pairs and the treedef. A path is a tuple of `SequenceKey`, `DictKey`,
      `GetAttrKey`, `FlattenedIndexKey` and of the keys that custom nodes define.

    Example:
      >>> pairs, treedef = ev.tree.flatten_with_path({"a": 1, "b": [2, 3]})
      >>> [(ev.tree_util.keystr(path), leaf) for path, leaf in pairs]
      [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    try:
        return _flatten_with_path(tree, is_leaf, bool(is_leaf_takes_path))
    except RecursionError:
        raise too_deep() from None


@set_module("evertrace.tree")
def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath[Any], Any]]:
    """Return the leaves of `tree`, each with its key path; see `flatten_with_path`.

    Example:
      >>> ev.tree.leaves_with_path({"a": [1]})
      [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@set_module("evertrace.tree_util")
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether all objects in `iterable` are leaves, of themselves or by `is_leaf`.

    Example:
      >>> ev.tree_util.all_leaves([1, "text"]), ev.tree_util.all_leaves([1, (2,)])
      (True, False)
    """
    if is_leaf is None:
        root: Any = structure(tuple(iterable)).spec
        return type(root[2]) is int  # the form in which all children are leaves
    return all(structure(item, is_leaf) is LEAF for item in iterable)


def _flatten_in_python(tree: object, is_leaf: IsLeaf | None) -> tuple[list[Any], PyTreeDef]:
    out: list[Any] = []
    spec = _walk(tree, out, is_leaf)
    return out, LEAF if spec is None else PyTreeDef(spec, len(out))


def _leaves_in_python(tree: object, is_leaf: IsLeaf | None) -> list[Any]:
    return _flatten_in_python(tree, is_leaf)[0]


def _structure_in_python(tree: object, is_leaf: IsLeaf | None) -> PyTreeDef:
    return _flatten_in_python(tree, is_leaf)[1]


def _flatten_with_path_in_python(
    tree: object, is_leaf: Callable[..., bool] | None, takes_path: bool
) -> tuple[list[tuple[KeyPath[Any], Any]], PyTreeDef]:
    stop = _stop_with_path(is_leaf, takes_path)
    pairs: list[tuple[KeyPath[Any], Any]] = []
    spec = _walk_with_path((), tree, pairs, stop)
    return pairs, LEAF if spec is None else PyTreeDef(spec, len(pairs))


_flatten_with_path = twin(_flatten_with_path_in_python, "tree_flatten_with_path")
_flatten = twin(_flatten_in_python, "tree_flatten")
_leaves = twin(_leaves_in_python, "tree_leaves")
_structure = twin(_structure_in_python, "tree_structure")


def _walk(tree: object, out: list[Any], is_leaf: IsLeaf | None) -> Spec:
    """Append the leaves of `tree` to `out` and return its spec."""
    node_type = type(tree)
    stops = is_leaf is not None and _holds(is_leaf(tree))
    kind = None if stops else find_kind(node_type)
    if kind is None:
        out.append(tree)
        return None
    children, aux = kind.flatten(tree)
    if is_leaf is None and not any(map(_may_be_node, map(type, children))):
        out.extend(children)
        return node_type, aux, len(children)
    return node_type, aux, pack(tuple([_walk(child, out, is_leaf) for child in children]))


def _may_be_node(node_type: type) -> bool:
    return node_type in KINDS or issubclass(node_type, tuple)


def _walk_with_path(path: KeyPath[Any], tree: object, out: list[Any], stop: Stop | None) -> Spec:
    """Do the same, appending ``(path, leaf)`` pairs."""
    stops = stop is not None and _holds(stop(path, tree))
    kind = None if stops else find_kind(type(tree))
    if kind is None:
        out.append((path, tree))
        return None
    keys, children, aux = kind.flatten_with_keys(tree)
    specs = [
        _walk_with_path((*path, key), child, out, stop)
        for key, child in zip(keys, children, strict=True)
    ]
    return type(tree), aux, pack(tuple(specs))


def _stop_with_path(is_leaf: Callable[..., bool] | None, takes_path: bool) -> Stop | None:
    """Return `is_leaf` as a function of a path and a subtree."""
    if is_leaf is None or takes_path:
        return is_leaf
    return lambda path, subtree: is_leaf(subtree)


def _holds(verdict: Any) -> bool:
    """Return the verdict of an `is_leaf`, which has to be a boolean (no array, no tracer)."""
    if verdict is True or verdict is False or verdict is None:
        return bool(verdict)
    raise bad_verdict(verdict)
