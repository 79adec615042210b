"""`PyTreeDef`: the structure of a tree without its leaves, as a hashable value."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from evertrace._src import extension, markup
from evertrace._src.errors import user_error
from evertrace._src.extension import twin
from evertrace._src.lazy import LazyModule
from evertrace._src.support import set_module
from evertrace._src.tree import keys
from evertrace._src.tree import spec as specs
from evertrace._src.tree.registry import KINDS, NAMED_TUPLE, bad_keys, find_kind
from evertrace._src.tree.spec import Spec

treescope_parts: Any = LazyModule("treescope.rendering_parts")


class _Structure:
    """What a treedef holds, and how it is compared and hashed."""

    __slots__ = ("_hash", "num_leaves", "spec")

    _hash: int
    num_leaves: int
    spec: Spec

    def __init__(self, spec: Spec, num_leaves: int):
        self.spec = spec
        self.num_leaves = num_leaves

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not issubclass(type(other), _Structure):  # whatever class it says that it has
            return NotImplemented
        other = cast("_Structure", other)
        if self.num_leaves != other.num_leaves:
            return False
        try:
            return self.spec == other.spec
        except Exception as error:
            raise _incomparable(self, error) from error

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            pass
        try:
            self._hash = hash(self.spec)
        except TypeError as error:
            raise _unhashable(self.spec, error) from error
        return self._hash


if TYPE_CHECKING:
    _StructureBase = _Structure
else:
    _StructureBase = twin(_Structure, "TreeDefBase")


@set_module("evertrace.tree_util")
class PyTreeDef(_StructureBase):
    """Structure of a pytree: node types, their static data, and the places of the leaves.

    Treedefs are immutable, compared by structure, hashed once and can be pickled if the static data
    can. They print as the tree does, with ``*`` for leaves: ``PyTreeDef({'a': *, 'b': (*, *)})``.
    Lists, dicts, deques, sets and dataclasses in the static data are hashed by what they hold at
    that moment. Unlike in JAX, other static data that cannot be hashed is refused by ``hash`` (a
    compiled function cached by data that changes later would be wrong silently).

    Example:
      >>> treedef = ev.tree.structure({"a": 1, "b": (2, 3)})
      >>> treedef.num_leaves, treedef.children(), treedef.unflatten("xyz")
      (3, [PyTreeDef(*), PyTreeDef((*, *))], {'a': 'x', 'b': ('y', 'z')})
    """

    __slots__ = ()

    spec: Spec
    num_leaves: int

    def __hash__(self) -> int:
        try:
            return int(_StructureBase.__hash__(self))
        except TypeError:
            found = specs.hash_of_contents(self.spec)
            if found is None:
                raise
            return found

    @property
    def num_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return specs.count_nodes(self.spec)

    def children(self) -> "list[PyTreeDef]":
        """Return the treedefs of the root's children; none for a leaf."""
        return [] if self.spec is None else [_treedef(c) for c in specs.unpack(self.spec[2])]

    def node_data(self) -> tuple[type, Any] | None:
        """Return the root's type and static data (for a dict, the list of its keys).

        ``None`` for a leaf; for a named tuple the static data is ``None``.
        """
        if self.spec is None:
            return None
        node_type, aux, _ = self.spec
        if node_type is dict:
            return node_type, list(aux)
        return node_type, None if aux is node_type else aux

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: "Iterable[PyTreeDef]"
    ) -> "PyTreeDef":
        """Return the treedef with the given `node_data` and `children` (`registry` is not used)."""
        del registry
        if node_data is None:
            return LEAF
        node_type, aux = node_data
        if node_type is dict:
            aux = tuple(aux)
        elif find_kind(node_type) is NAMED_TUPLE:
            aux = node_type
        return _node(node_type, aux, children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with `leaves`, an iterable of `num_leaves` objects.

        Raises:
          ValueError: there are more or fewer leaves.
        """
        try:
            return build(self, leaves)
        except RecursionError:
            raise specs.too_deep() from None

    def flatten_up_to(self, xs: Any) -> list[Any]:
        """Return the subtrees of `xs` at the leaves of this structure, which must be its prefix.

        Raises:
          ValueError: this is no prefix of the structure of `xs`; names the place.
        """
        return specs.match(self.spec, xs, "PyTreeDef.flatten_up_to: the tree")

    def compose(self, inner: "PyTreeDef") -> "PyTreeDef":
        """Return this structure with each leaf replaced by the structure `inner`."""
        spec = specs.compose(self.spec, inner.spec)
        return PyTreeDef(spec, self.num_leaves * inner.num_leaves)

    def __repr__(self) -> str:
        return f"PyTreeDef({specs.show(self.spec)})"

    _repr_html_ = markup.guarded(lambda self: _as_html(self.spec))

    def __treescope_repr__(self, path: str | None, subtree_renderer: Any) -> Any:
        """Return what treescope shows: the tree itself, with a star for each leaf."""
        try:
            tree = self.unflatten([_Star() for _ in range(self.num_leaves)])
        except Exception:  # a node of the user's that holds no stars
            return NotImplemented
        text = treescope_parts.text
        return treescope_parts.siblings_with_annotations(
            text("PyTreeDef("), subtree_renderer(tree), text(")")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.spec, self.num_leaves)


class _Star:
    """What stands for a leaf where a structure is shown as a tree."""

    def __treescope_repr__(self, path: str | None, subtree_renderer: Any) -> Any:
        return treescope_parts.text("*")


LEAF = PyTreeDef(None, 1)
"""The structure of a single leaf."""


def _treedef(spec: Spec) -> PyTreeDef:
    """Wrap a spec whose leaves have not been counted."""
    return LEAF if spec is None else PyTreeDef(spec, specs.count_leaves(spec))


def _node(node_type: type, aux: Any, children: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of one node above `children`."""
    children = tuple(children)
    spec = (node_type, aux, specs.pack(tuple([child.spec for child in children])))
    return PyTreeDef(spec, sum(child.num_leaves for child in children))


def _build_in_python(treedef: Any, leaves: Iterable[Any]) -> Any:
    if not issubclass(type(treedef), _Structure):
        return treedef.unflatten(leaves)  # of a class that knows more kinds of nodes
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise _wrong_count(treedef, len(leaves))
    return specs.build(treedef.spec, iter(leaves))


build = twin(_build_in_python, "tree_unflatten")
"""Return the tree of a treedef and its leaves; `PyTreeDef.unflatten` without its own errors."""


def _as_html(spec: Spec, key: Any = None) -> str:
    """Return a spec as notebooks show it: each node is folded below its key."""
    name = "" if key is None else f"<b>{markup.escaped(key)}</b>: "
    if spec is None:
        return f"<div>{name}*</div>"
    node_type, aux, children = spec
    below = specs.unpack(children)
    keys_of = aux if node_type is dict else getattr(node_type, "_fields", range(len(below)))
    inner = "".join([_as_html(x, repr(k)) for k, x in zip(keys_of, below, strict=True)])
    count = specs.count_leaves(spec)
    leaves = markup.dim(f"{count} {'leaf' if count == 1 else 'leaves'}")
    head = f"{name}{markup.escaped(node_type.__name__)} {leaves}"
    return markup.folded(head, inner, is_open=count <= _OPEN) if below else f"<div>{head}</div>"


_OPEN = 20  # leaves of a node whose children are shown at once


# --- what goes wrong ----------------------------------------------------------------------------


def _wrong_count(treedef: PyTreeDef, count: int) -> ValueError:
    return user_error(
        ValueError,
        f"tree.unflatten: {treedef} has {treedef.num_leaves} leaves, got {count}.",
        fix="pass one leaf per * of the treedef, in the order of tree.flatten.",
        anchor="tree-structure",
    )


def _incomparable(treedef: _Structure, error: Exception) -> ValueError:
    return user_error(
        ValueError,
        f"PyTreeDef: static data of {treedef} cannot be compared: {error}",
        fix="keep arrays among the children; static data needs a plain == and a hash.",
        anchor="tree-static-data",
    )


def _unhashable(spec: Spec, error: TypeError) -> TypeError:
    """Return the error that names the node whose static data is to blame for one of ``hash``."""
    for node_type, aux, _ in specs.nodes(spec):
        try:
            hash(aux)
        except TypeError:
            return user_error(
                TypeError,
                f"PyTreeDef: the static data {aux!r} of a node of type {node_type.__name__} "
                f"cannot be hashed ({error}).",
                fix="use tuples, strings and other hashable values as static data.",
                anchor="tree-static-data",
            )
    return error


extension.call(
    "set_tree",
    KINDS,
    PyTreeDef,
    LEAF,
    (bad_keys, specs.bad_verdict, specs.incomparable, _wrong_count, _incomparable, _unhashable),
    (
        keys.FIRST_PLACES,
        keys.sequence_keys,
        keys.WORDS,
        keys.dict_key,
        keys.FIELDS,
        keys.field_key,
        NAMED_TUPLE.flatten_with_keys,
    ),
)


# --- parts of treedefs --------------------------------------------------------------------------


def _unpickle(spec: Spec, num_leaves: int) -> PyTreeDef:
    """Restore a pickled treedef, all of whose node types must be registered here too."""
    for node_type, _, _ in specs.nodes(spec):
        if find_kind(node_type) is None:
            raise user_error(
                ValueError,
                f"PyTreeDef: unpickled a node of type {node_type!r}, which is not registered.",
                fix="register the type before the treedef is loaded.",
                anchor="tree-register",
            )
    return LEAF if spec is None else PyTreeDef(spec, num_leaves)


@set_module("evertrace.tree_util")
def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees of the structures `treedefs`.

    Example:
      >>> ev.tree_util.treedef_tuple([ev.tree.structure(1), ev.tree.structure([2, 3])])
      PyTreeDef((*, [*, *]))
    """
    return _node(tuple, None, treedefs)


@set_module("evertrace.tree_util")
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of the root of `treedef`.

    Example:
      >>> treedef = ev.tree.structure({"a": 1, "b": (2, 3)})
      >>> ev.tree_util.treedef_children(treedef)
      [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


@set_module("evertrace.tree_util")
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Tell whether `treedef` is one node, be it a leaf or empty.

    Example:
      >>> [ev.tree_util.treedef_is_leaf(ev.tree.structure(x)) for x in (1, (), (1,))]
      [True, True, False]
    """
    return treedef.num_nodes == 1
