"""Pytrees: nested containers as arguments and results.

A tree is flattened into its leaves and a treedef, which is its structure as a value, and built
again from the two. `keys` says where a leaf is, `registry` which types are nodes, `spec` how a
structure is stored and compared; `treedef` wraps that for users. `traversal`, `mapping` and
`prefix` are the functions on trees.
"""

from evertrace._src.tree.default import PyTreeRegistry, default_registry
from evertrace._src.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from evertrace._src.tree.mapping import reduce, reduce_associative, transpose
from evertrace._src.tree.mapping import tree_all as all
from evertrace._src.tree.mapping import tree_map as map
from evertrace._src.tree.mapping import tree_map_with_path as map_with_path
from evertrace._src.tree.partial import Partial
from evertrace._src.tree.prefix import (
    broadcast,
    broadcast_prefix,
    flatten_axes,
    prefix_errors,
)
from evertrace._src.tree.record import register_dataclass, static
from evertrace._src.tree.registry import (
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from evertrace._src.tree.traversal import (
    all_leaves,
    flatten,
    flatten_with_path,
    leaves,
    leaves_with_path,
    structure,
    unflatten,
)
from evertrace._src.tree.treedef import (
    LEAF,
    PyTreeDef,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

__all__ = [
    "LEAF",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all",
    "all_leaves",
    "broadcast",
    "broadcast_prefix",
    "default_registry",
    "flatten",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "prefix_errors",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]
