"""The classes of users of which `values_table` has rows."""

import collections
import ctypes
import dataclasses
import enum
import functools
from typing import Any, NamedTuple


class Pair(NamedTuple):
    first: Any
    second: Any = 1


class Named(Pair):
    """A named tuple with a method."""

    def total(self):
        return self.first + self.second


Old = collections.namedtuple("Old", ["first", "second"], defaults=[1])


class Color(enum.Enum):
    TWO = 2
    THREE = 3
    FOUR = 4


class Number(enum.IntEnum):
    TWO = 2
    THREE = 3
    FOUR = 4


class Bits(enum.Flag):
    A = 1
    B = 2
    C = 4


@dataclasses.dataclass
class Data:
    n: Any
    items: list = dataclasses.field(default_factory=list)
    start: dataclasses.InitVar[int] = 0
    _: dataclasses.KW_ONLY
    scale: int = 1

    def __post_init__(self, start):
        self.items.append(start)


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    n: Any


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlotted:
    n: Any


class WithSlots:
    __slots__ = ("__weakref__", "n")

    def __init__(self, n):
        self.n = n


class WithDict:
    def __init__(self, n):
        self.n = n

    def double(self):
        return self.n * 2

    @functools.cached_property
    def cached(self):
        return self.n * 3

    @property
    def plus(self):
        return self.n + 1

    @plus.setter
    def plus(self, value):
        self.n = value - 1

    tripled = functools.partialmethod(lambda self, k: self.n * k, 3)


class Text(str):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Sized(collections.abc.Sequence):
    def __init__(self, n):
        self._items = [n]

    def __getitem__(self, i):
        return self._items[i]

    def __len__(self):
        return len(self._items)


class Table(collections.abc.MutableMapping):
    def __init__(self, n):
        self._entries = {"a": n}

    def __getitem__(self, k):
        return self._entries[k]

    def __setitem__(self, k, v):
        self._entries[k] = v

    def __delitem__(self, k):
        del self._entries[k]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)


class Items(list):
    pass


class Counting:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        self.n = self.n + 1
        return self.n


class Sub(WithDict):
    pass


class Lists(enum.Enum):
    TWO = [2]  # noqa: RUF012
    THREE = [3]  # noqa: RUF012
    FOUR = [4]  # noqa: RUF012


class Meta(type):
    @property
    def size(cls):
        return cls.n


class Failure(Exception):
    def __init__(self, n):
        super().__init__("failed", n)
        self.n = n


class Pixel(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int)]
