"""Tree structure as nested tuples: the form in which a treedef is hashed, compared and walked.

A *spec* is ``None`` for a leaf and ``(node type, static data, children)`` for a node. ``children``
is a tuple of specs or, where all children are leaves, their number. That short form is required,
not optional: a structure has one spec, so equality of structures is equality of tuples. Tuples
of tuples are hashed and compared by the interpreter itself, which is what makes a pure Python
treedef cheap enough to be part of a cache key.

Static data for a dict are its sorted keys, for a named tuple its type (see `registry`).
"""

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

from evertrace._src.errors import user_error
from evertrace._src.extension import twin
from evertrace._src.tree.keys import KeyPath, keystr
from evertrace._src.tree.registry import KINDS, NAMED_TUPLE, find_kind, is_named_tuple

Spec: TypeAlias = tuple[Any, Any, Any] | None


class Mismatch(Exception):
    """Two structures differ; which ones and where is worked out by `mismatches`."""


def too_deep() -> RecursionError:
    """Return the error of a tree that has too many levels to be walked."""
    return user_error(
        RecursionError,
        "tree: a tree contains itself, or is nested too deeply.",
        fix="take out the cycle; a tree that is deep without one needs sys.setrecursionlimit.",
        anchor="tree-depth",
    )


def bad_verdict(verdict: Any) -> ValueError:
    """Return the error that an `is_leaf` returned something else than a boolean."""
    return user_error(
        ValueError,
        f"tree: is_leaf returned {verdict!r}, not a bool.",
        fix="return True or False, for example by isinstance.",
        anchor="tree-is-leaf",
    )


def pack(children: tuple[Spec, ...]) -> int | tuple[Spec, ...]:
    """Return the children of a spec in their one valid form."""
    return children if any(children) else len(children)


def unpack(children: int | tuple[Spec, ...]) -> tuple[Spec, ...]:
    """Return the children of a spec as a tuple of specs."""
    return (None,) * children if isinstance(children, int) else children


def count_leaves(spec: Spec) -> int:
    """Return the number of leaves of `spec`."""
    if spec is None:
        return 1
    children = spec[2]
    return children if isinstance(children, int) else sum(map(count_leaves, children))


def count_nodes(spec: Spec) -> int:
    """Return the number of nodes of `spec`, leaves included."""
    if spec is None:
        return 1
    children = spec[2]
    return 1 + (children if isinstance(children, int) else sum(map(count_nodes, children)))


def build(spec: Spec, leaves: Iterator[Any]) -> Any:
    """Build the tree of structure `spec` from as many of `leaves` as it needs."""
    if spec is None:
        return next(leaves)
    node_type, aux, children = spec
    if type(children) is int:
        subtrees = islice(leaves, children)
    else:
        subtrees = [build(child, leaves) for child in children]
    if node_type is dict:  # most nodes are dicts, and this halves the time that they take
        return dict(zip(aux, subtrees))  # noqa: B905 - as many as keys, by construction
    return KINDS.get(node_type, NAMED_TUPLE).unflatten(aux, tuple(subtrees))


def compose(spec: Spec, inner: Spec) -> Spec:
    """Return `spec` with each leaf replaced by `inner`."""
    if spec is None:
        return inner
    node_type, aux, children = spec
    return node_type, aux, pack(tuple([compose(child, inner) for child in unpack(children)]))


def nodes(spec: Spec) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the nodes of `spec` that are not leaves, each before its children."""
    if spec is not None:
        yield spec
        for child in unpack(spec[2]):
            yield from nodes(child)


def show(spec: Spec) -> str:
    """Print `spec`, leaves as ``*``."""
    if spec is None:
        return "*"
    node_type, aux, children = spec
    parts = [show(child) for child in unpack(children)]
    if node_type is type(None):
        return "None"
    if node_type is tuple:
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if node_type is list:
        return f"[{', '.join(parts)}]"
    if node_type is dict:
        return "{" + ", ".join(f"{key!r}: {s}" for key, s in zip(aux, parts, strict=True)) + "}"
    if aux is node_type:
        return f"CustomNode(namedtuple[{node_type.__name__}], [{', '.join(parts)}])"
    return f"CustomNode({node_type.__name__}[{aux}], [{', '.join(parts)}])"


# --- comparing structures -----------------------------------------------------------------------


def hash_of_contents(value: Any) -> int | None:
    """Return a hash that sees through containers and dataclasses; None if more is in the way."""
    try:
        return hash(value)
    except TypeError:
        pass
    parts: Any = _parts(value)
    if parts is not None:
        return hash_of_contents((type(value), *parts))
    if getattr(value, "shape", None) == ():  # an array of one number, whose == is that number's
        return hash(value.item())
    if type(value) not in _HASHED_BY_CONTENTS:
        return None
    parts = getattr(value, "items", lambda: value)()  # those of a dict are pairs
    hashes = [hash_of_contents(part) for part in parts]
    if None in hashes:
        return None
    return hash(frozenset(hashes) if isinstance(value, set | dict) else tuple(hashes))


# Those that are equal have equal items, in any order if one of them is a plain dict.
_HASHED_BY_CONTENTS = frozenset({tuple, list, set, dict, OrderedDict, defaultdict, deque})


def _parts(value: Any) -> list[Any] | None:
    """Return what a dataclass or a slice compares; slices have a hash from Python 3.12 on."""
    if type(value) is slice:
        return [value.start, value.stop, value.step]
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
        return None
    return [getattr(value, f.name) for f in dataclasses.fields(value) if f.compare]


def same_aux(node_type: type, a: Any, b: Any) -> bool:
    """Compare the static data of two nodes of `node_type`."""
    if a is b:
        return True
    try:
        return bool(a == b)
    except Exception as error:
        raise incomparable(node_type, error) from error


def incomparable(node_type: type, error: Exception) -> ValueError:
    """Return the error that static data cannot be compared."""
    return user_error(
        ValueError,
        f"tree: the static data of {node_type.__name__} cannot be compared: {error}",
        fix="keep arrays among the children; static data must have a plain == and be hashable.",
        anchor="tree-static-data",
    )


def _subtrees_in_python(spec: Spec, tree: Any) -> list[Any] | None:
    out: list[Any] = []
    try:
        _add_subtrees(spec, tree, out)
    except Mismatch:
        return None
    return out


_subtrees = twin(_subtrees_in_python, "tree_match")


def subtrees_at_leaves(spec: Spec, tree: Any) -> list[Any] | None:
    """Return the subtrees of `tree` that sit where `spec` has its leaves.

    ``None`` if `spec` is not a prefix of the structure of `tree`.
    """
    try:
        return _subtrees(spec, tree)
    except RecursionError:
        raise too_deep() from None


def _add_subtrees(spec: Spec, tree: Any, out: list[Any]) -> None:
    """Append to `out` the subtrees of `tree` at the leaves of `spec`, or raise `Mismatch`."""
    if spec is None:
        out.append(tree)
        return
    node_type, aux, children = spec
    if type(tree) is not node_type:
        raise Mismatch
    subtrees, tree_aux = KINDS.get(node_type, NAMED_TUPLE).flatten(tree)
    flat = type(children) is int
    if len(subtrees) != (children if flat else len(children)):
        raise Mismatch
    if not same_aux(node_type, aux, tree_aux):
        raise Mismatch
    if flat:
        out.extend(subtrees)
        return
    for child, subtree in zip(children, subtrees, strict=True):
        _add_subtrees(child, subtree, out)


def leaf_counts(prefix: Spec, full: Spec, out: list[int]) -> None:
    """Append to `out`, for each leaf of `prefix`, the number of leaves of `full` below it.

    Raises:
      Mismatch: `prefix` is not a prefix of `full`.
    """
    if prefix is None:
        out.append(count_leaves(full))
        return
    if full is None or prefix[0] is not full[0] or not same_aux(prefix[0], prefix[1], full[1]):
        raise Mismatch
    prefix_children, full_children = unpack(prefix[2]), unpack(full[2])
    if len(prefix_children) != len(full_children):
        raise Mismatch
    for prefix_child, full_child in zip(prefix_children, full_children, strict=True):
        leaf_counts(prefix_child, full_child, out)


# --- explaining differences ---------------------------------------------------------------------

# One level of a tree: its type, static data, keys (None if unknown) and children, or the type of a
# leaf. A "view" makes it, so that trees and specs are compared by the same code.
Level: TypeAlias = tuple[type, Any, Sequence[Any] | None, Sequence[Any]]
View: TypeAlias = Callable[[Any], Level | type | None]


def tree_view(tree: object) -> Level | type:
    """Return the top level of a tree."""
    kind = find_kind(type(tree))
    if kind is None:
        return type(tree)
    keys, children, aux = kind.flatten_with_keys(tree)
    return type(tree), aux, keys, children


def leaves_view(is_leaf: Callable[[Any], bool] | None) -> View:
    """Return the view of trees in which what satisfies `is_leaf` is a leaf."""
    if is_leaf is None:
        return tree_view

    def view(tree: object) -> Level | type:
        return type(tree) if is_leaf(tree) else tree_view(tree)

    return view


def spec_view(spec: Spec) -> Level | None:
    """Return the top level of a spec."""
    if spec is None:
        return None
    node_type, aux, children = spec
    return node_type, aux, None, unpack(children)


def mismatches(
    prefix: Any, full: Any, prefix_view: View, full_view: View, path: KeyPath[Any] = ()
) -> Iterator[tuple[str, str, str]]:
    """Yield, for each place where `prefix` is no prefix of `full`, the place and what they have."""
    expected, found = prefix_view(prefix), full_view(full)
    if not isinstance(expected, tuple):
        return
    where = f"at {keystr(path)}" if path else "at the root"
    if not isinstance(found, tuple) or expected[0] is not found[0]:
        yield where, _describe(expected), _describe(found)
        return
    if len(expected[3]) != len(found[3]) or not same_aux(expected[0], expected[1], found[1]):
        difference = _key_difference(expected, found)
        yield where, _describe(expected, aux=True), _describe(found, aux=True) + difference
        return
    keys = expected[2] if expected[2] is not None else found[2]
    assert keys is not None, "one of the two views has the keys"
    for key, a, b in zip(keys, expected[3], found[3], strict=True):
        yield from mismatches(a, b, prefix_view, full_view, (*path, key))


def _describe(level: Level | type | None, aux: bool = False) -> str:
    """Describe one level in a few words; with `aux`, say what tells it from others of its type."""
    if level is None:
        return "a leaf"
    if not isinstance(level, tuple):
        return f"a leaf of type {level.__name__}"
    node_type, data, _, children = level
    name = node_type.__name__
    if hasattr(data, "in_words"):
        return str(data.in_words(len(children)))
    if node_type is type(None):
        return "None"
    if node_type in (tuple, list):
        return f"a {name} of length {len(children)}"
    if node_type in (dict, OrderedDict):
        return f"a node of type {name} with keys {list(data)!r}"
    if is_named_tuple(node_type) or not aux:
        return f"a node of type {name}"
    return f"a node of type {name} with {len(children)} children and static data {data!r}"


def _key_difference(expected: Level, found: Level) -> str:
    """Name the keys that only one of two mappings has."""
    if expected[0] is defaultdict:
        a, b = expected[1][1], found[1][1]
    elif expected[0] in (dict, OrderedDict):
        a, b = expected[1], found[1]
    else:
        return ""
    difference = [key for key in a if key not in b] + [key for key in b if key not in a]
    return f" (keys not in both: {difference!r})" if difference else ""


def match(spec: Spec, tree: Any, subject: str) -> list[Any]:
    """Return the subtrees of `tree` at the leaves of `spec`; `subject` names `tree` in errors."""
    found = subtrees_at_leaves(spec, tree)
    if found is not None:
        return found
    where, expected, got = next(mismatches(spec, tree, spec_view, tree_view))
    raise user_error(
        ValueError,
        f"{subject} differs in structure {where}: expected {expected}, got {got}.",
        fix="make both trees of the same nodes, down to the leaves of the first.",
        anchor="tree-structure",
    )
