"""`default_registry`: the table of node types as an object, for programs that ask it directly."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from evertrace._src.support import set_module
from evertrace._src.tree import record, registry, traversal
from evertrace._src.tree.treedef import PyTreeDef


@set_module("evertrace.tree_util")
class PyTreeRegistry:
    """The registered node types. There is one registry; its methods are the functions.

    Example:
      >>> registry = ev.tree_util.default_registry
      >>> registry.flatten_one_level({"a": (1, 2)}), registry.flatten_one_level(3)
      ((((1, 2),), ('a',)), None)
    """

    def register_node(
        self,
        nodetype: type,
        to_iterable: Callable[[Any], Any],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], Any] | None = None,
    ) -> None:
        """Call `register_pytree_node`."""
        registry.register_pytree_node(nodetype, to_iterable, from_iterable, to_iterable_with_keys)

    def register_dataclass_node(
        self, nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None:
        """Call `register_dataclass`."""
        record.register_dataclass(nodetype, data_fields, meta_fields)

    def is_node(self, typ: type) -> bool:
        """Call `is_tree_node`."""
        return registry.is_tree_node(typ)

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """Call `flatten`."""
        return traversal.flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
        """Call `flatten_with_path`."""
        return traversal.flatten_with_path(tree, leaf_predicate)

    def flatten_one_level(self, tree: object) -> tuple[Iterable[Any], Hashable] | None:
        """Take one node apart; ``None`` for a leaf."""
        kind = registry.find_kind(type(tree))
        return None if kind is None else kind.flatten(tree)

    def flatten_one_level_with_keys(
        self, tree: object
    ) -> tuple[Iterable[tuple[Any, Any]], Hashable] | None:
        """Take one node apart, with its keys; ``None`` for a leaf."""
        kind = registry.find_kind(type(tree))
        return None if kind is None else registry.flatten_one_level_with_keys(tree)


default_registry: PyTreeRegistry = PyTreeRegistry()
