"""Key paths: where in a tree a leaf sits, as a tuple of key entries, and how a path is printed."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from evertrace._src.support import set_module

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]


@set_module("evertrace.tree_util")
@dataclass(frozen=True, slots=True)
class SequenceKey:
    """Position in a list or tuple, printed ``[0]``.

    Example:
      >>> from evertrace.tree_util import SequenceKey
      >>> SequenceKey(1), str(SequenceKey(1)), SequenceKey(1).idx
      (SequenceKey(idx=1), '[1]', 1)
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@set_module("evertrace.tree_util")
@dataclass(frozen=True, slots=True)
class DictKey:
    """Key of a mapping, printed ``['name']``.

    Example:
      >>> from evertrace.tree_util import DictKey
      >>> DictKey("w"), str(DictKey("w")), DictKey("w").key
      (DictKey(key='w'), "['w']", 'w')
    """

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@set_module("evertrace.tree_util")
@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """Attribute of a named tuple, a dataclass or a custom node, printed ``.name``.

    Example:
      >>> from evertrace.tree_util import GetAttrKey
      >>> GetAttrKey("w"), str(GetAttrKey("w")), GetAttrKey("w").name
      (GetAttrKey(name='w'), '.w', 'w')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@set_module("evertrace.tree_util")
@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """Position among the children of a custom node that names no keys of its own.

    Example:
      >>> from evertrace.tree_util import FlattenedIndexKey
      >>> FlattenedIndexKey(0), str(FlattenedIndexKey(0)), FlattenedIndexKey(0).key
      (FlattenedIndexKey(key=0), '[<flat index 0>]', 0)
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


@set_module("evertrace.tree_util")
def keystr(keys: KeyPath[Any], *, simple: bool = False, separator: str = "") -> str:
    """Print a key path.

    Args:
      keys: a path, as found in the first half of each pair of `flatten_with_path`.
      simple: print bare names and positions, ``a0`` rather than ``['a'][0]``.
      separator: put between the entries.

    Returns:
      The path as text; empty for the root.

    Example:
      >>> ((path, leaf),) = ev.tree.leaves_with_path({"layers": [{"w": 1}]})
      >>> ev.tree_util.keystr(path), ev.tree_util.keystr(path, simple=True, separator="/")
      ("['layers'][0]['w']", 'layers/0/w')
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    """Return what `key` selects, without the brackets or the dot that say how."""
    match key:
        case SequenceKey(value) | DictKey(value) | GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
        case _:
            return str(key)
