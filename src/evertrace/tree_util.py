"""Pytrees: registration of node types, key paths, treedefs, and the ``tree_`` functions."""

from evertrace._src import lazy, native
from evertrace._src.api.trees import tree_all as tree_all
from evertrace._src.api.trees import tree_flatten as tree_flatten
from evertrace._src.api.trees import tree_flatten_with_path as tree_flatten_with_path
from evertrace._src.api.trees import tree_leaves as tree_leaves
from evertrace._src.api.trees import tree_leaves_with_path as tree_leaves_with_path
from evertrace._src.api.trees import tree_map as tree_map
from evertrace._src.api.trees import tree_map_with_path as tree_map_with_path
from evertrace._src.api.trees import tree_reduce as tree_reduce
from evertrace._src.api.trees import tree_structure as tree_structure
from evertrace._src.tree import DictKey as DictKey
from evertrace._src.tree import FlattenedIndexKey as FlattenedIndexKey
from evertrace._src.tree import GetAttrKey as GetAttrKey
from evertrace._src.tree import KeyEntry as KeyEntry
from evertrace._src.tree import KeyPath as KeyPath
from evertrace._src.tree import Partial as Partial
from evertrace._src.tree import PyTreeDef as PyTreeDef
from evertrace._src.tree import PyTreeRegistry as PyTreeRegistry
from evertrace._src.tree import SequenceKey as SequenceKey
from evertrace._src.tree import all_leaves as all_leaves
from evertrace._src.tree import broadcast as tree_broadcast
from evertrace._src.tree import default_registry as default_registry
from evertrace._src.tree import flatten_one_level as flatten_one_level
from evertrace._src.tree import flatten_one_level_with_keys as flatten_one_level_with_keys
from evertrace._src.tree import is_tree_node as is_tree_node
from evertrace._src.tree import keystr as keystr
from evertrace._src.tree import reduce_associative as tree_reduce_associative
from evertrace._src.tree import register_dataclass as register_dataclass
from evertrace._src.tree import register_pytree_node as register_pytree_node
from evertrace._src.tree import register_pytree_node_class as register_pytree_node_class
from evertrace._src.tree import register_pytree_with_keys as register_pytree_with_keys
from evertrace._src.tree import register_pytree_with_keys_class as register_pytree_with_keys_class
from evertrace._src.tree import register_static as register_static
from evertrace._src.tree import transpose as tree_transpose
from evertrace._src.tree import treedef_children as treedef_children
from evertrace._src.tree import treedef_is_leaf as treedef_is_leaf
from evertrace._src.tree import treedef_tuple as treedef_tuple
from evertrace._src.tree import unflatten as tree_unflatten

lazy.refuse_others(__name__)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

native.rename(globals(), *(name for name in __all__ if name.startswith("tree_")))
