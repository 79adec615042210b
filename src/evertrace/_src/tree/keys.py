"""Key paths: where in a tree a leaf sits, as a tuple of key entries, and how a path is printed."""

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Literal, TypeVar

from evertrace._src.errors import user_error
from evertrace._src.support import set_module

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]
Entry = TypeVar("Entry")


class _Entry:
    """Base of key entries, each of one value that never changes, under a name of its class's own.

    Dataclasses would do, but making one takes a millisecond of each process's start.
    """

    __slots__ = ()
    __match_args__: ClassVar[Any]

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, self.__match_args__[0], value)

    def _value(self) -> Any:
        return getattr(self, self.__match_args__[0])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}: a key cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}: a key cannot be changed")

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return (self._value(),) == (other._value(),)  # tuples look at the identity first

    def __hash__(self) -> int:
        return hash((type(self), self._value()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value(),)


@set_module("evertrace.tree_util")
class SequenceKey(_Entry):
    """Position in a list or tuple, printed ``[0]``.

    Example:
      >>> from evertrace.tree_util import SequenceKey
      >>> SequenceKey(1), str(SequenceKey(1)), SequenceKey(1).idx
      (SequenceKey(idx=1), '[1]', 1)
    """

    __slots__ = ("idx",)
    __match_args__: ClassVar[tuple[Literal["idx"]]] = ("idx",)

    idx: int

    def __init__(self, idx: int) -> None:
        super().__init__(idx)

    def __str__(self) -> str:
        return f"[{self.idx}]"


@set_module("evertrace.tree_util")
class DictKey(_Entry):
    """Key of a mapping, printed ``['name']``.

    Example:
      >>> from evertrace.tree_util import DictKey
      >>> DictKey("w"), str(DictKey("w")), DictKey("w").key
      (DictKey(key='w'), "['w']", 'w')
    """

    __slots__ = ("key",)
    __match_args__: ClassVar[tuple[Literal["key"]]] = ("key",)

    key: Hashable

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@set_module("evertrace.tree_util")
class GetAttrKey(_Entry):
    """Attribute of a named tuple, a dataclass or a custom node, printed ``.name``.

    Example:
      >>> from evertrace.tree_util import GetAttrKey
      >>> GetAttrKey("w"), str(GetAttrKey("w")), GetAttrKey("w").name
      (GetAttrKey(name='w'), '.w', 'w')
    """

    __slots__ = ("name",)
    __match_args__: ClassVar[tuple[Literal["name"]]] = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f".{self.name}"


@set_module("evertrace.tree_util")
class FlattenedIndexKey(_Entry):
    """Position among the children of a custom node that names no keys of its own.

    Example:
      >>> from evertrace.tree_util import FlattenedIndexKey
      >>> FlattenedIndexKey(0), str(FlattenedIndexKey(0)), FlattenedIndexKey(0).key
      (FlattenedIndexKey(key=0), '[<flat index 0>]', 0)
    """

    __slots__ = ("key",)
    __match_args__: ClassVar[tuple[Literal["key"]]] = ("key",)

    key: int

    def __init__(self, key: int) -> None:
        super().__init__(key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


_MANY = 1024

# Keys that are made only once; C++ reads them too.
FIRST_PLACES = tuple([SequenceKey(index) for index in range(_MANY)])
WORDS: dict[str, DictKey] = {}
FIELDS: dict[str, GetAttrKey] = {}


def sequence_keys(count: int) -> tuple[SequenceKey, ...]:
    """Return the keys of that many items in order."""
    if count <= _MANY:
        return FIRST_PLACES[:count]
    return (*FIRST_PLACES, *map(SequenceKey, range(_MANY, count)))


def dict_key(key: Hashable) -> DictKey:
    """Return the key of an item of a mapping."""
    return _kept(WORDS, DictKey, key) if type(key) is str else DictKey(key)


def field_key(name: str) -> GetAttrKey:
    """Return the key of a field of a named tuple."""
    return _kept(FIELDS, GetAttrKey, name) if type(name) is str else GetAttrKey(name)


def _kept(table: dict[str, Entry], make: Callable[[str], Entry], word: str) -> Entry:
    found = table.get(word)
    if found is None:
        if len(table) >= 4 * _MANY:
            table.clear()
        found = table[word] = make(word)
    return found


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
    if hasattr(keys, "dtype"):  # whose rows would be printed one by one
        raise user_error(
            TypeError,
            "keystr: a path is a tuple of keys, not an array.",
            fix="pass a path of `tree.flatten_with_path`.",
            anchor="tree-structure",
        )
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    """Return what `key` selects, without the brackets or the dot that say how."""
    match key:
        case SequenceKey(value) | DictKey(value) | GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
        case _:
            return str(key)
