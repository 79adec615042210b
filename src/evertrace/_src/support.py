"""Small helpers that every layer uses: splitting of lists, bounded caches, public names."""

import contextlib
import functools
import gc
import importlib
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

MOST_DIMENSIONS = 64
"""Of an array: as many as NumPy's can have, which results are handed out as."""

MOST_LISTED = MOST_DIMENSIONS
"""Entries of a tuple that a message shows."""

_all_caches: "weakref.WeakSet[Cache[Any, Any]]" = weakref.WeakSet()


def unzip2(pairs: Iterable[tuple[A, B]]) -> tuple[list[A], list[B]]:
    """Split pairs into the list of the firsts and the list of the seconds."""
    firsts: list[A] = []
    seconds: list[B] = []
    for first, second in pairs:
        firsts.append(first)
        seconds.append(second)
    return firsts, seconds


def partition(mask: Sequence[bool], xs: Sequence[T]) -> tuple[list[T], list[T]]:
    """Split `xs` into those whose entry in `mask` is false and those where it is true."""
    assert len(mask) == len(xs), (len(mask), len(xs))
    out: tuple[list[T], list[T]] = ([], [])
    for chosen, x in zip(mask, xs, strict=True):
        out[bool(chosen)].append(x)
    return out


def merge(mask: Sequence[bool], unchosen: Iterable[T], chosen: Iterable[T]) -> list[T]:
    """Undo `partition`: put both lists back in the order of `mask`."""
    sources = iter(unchosen), iter(chosen)
    merged = [next(sources[bool(b)]) for b in mask]
    assert not any(list(rest) for rest in sources), "merge: more values than places in the mask"
    return merged


def listed(values: Iterable[Any]) -> str:
    """Return the text of the sizes or axes that a user gave, as a tuple: of many the first ones.

    There may be millions, as where an array is taken for a tuple of its rows.
    """
    first = tuple(itertools.islice(values, MOST_LISTED + 1))
    text = str(first[:MOST_LISTED])
    return text if len(first) <= MOST_LISTED else f"{text[:-1]}, ...)"


def insist(function: Callable[[], None]) -> None:
    """Call a function that can be called twice, again where memory was short for a moment."""
    try:
        function()
    except MemoryError:
        function()


def in_child(function: Callable[[], None]) -> None:
    """Have a function called in each forked child, which has one thread: that which forked."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def forkable(lock: Any) -> Any:
    """Return a lock, which forked children find open if another thread held it."""

    def renew() -> None:
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()

    in_child(renew)
    return lock


class WeakKeys(Generic[V]):
    """Values by keys that are held weakly, and compared by identity.

    What `weakref.WeakKeyDictionary` does, without Python code where a key dies: an interrupt that
    comes then would be lost, as nobody gets what the callback of a weak reference raises.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, V]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __setitem__(self, key: Any, value: V) -> None:
        self._entries[id(key)] = self._entry(key, value)

    def _entry(self, key: Any, value: V) -> tuple[Any, V]:
        return weakref.ref(key, functools.partial(self._entries.pop, id(key))), value

    def get(self, key: Any, default: Any = None) -> V:
        """Return the value of a key, or another where it has none."""
        found = self._entries.get(id(key))
        return default if found is None else found[1]

    def setdefault(self, key: Any, value: V) -> V:
        """Return the value of a key, which is `value` if it had none."""
        found = self._entries.get(id(key))
        return (found or self._entries.setdefault(id(key), self._entry(key, value)))[1]

    def values(self) -> list[V]:
        """Return all values."""
        return [value for _, value in [*self._entries.values()]]


class cached_property(Generic[T]):
    """What `functools.cached_property` is, without its lock, which all instances share before 3.12.

    A child that is forked while another thread holds a lock waits for it for ever. Two threads may
    compute the value at once; that of the first is kept.
    """

    def __init__(self, function: Callable[[Any], T]):
        """Make the property of what `function` returns for an object."""
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, objtype: type | None = None) -> Any:
        if obj is None:
            return self
        return vars(obj).setdefault(self.name, self.function(obj))


_pausing: list[int] = []  # the threads of the contexts of `uncollected` that turned it off


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from running: no finalizer runs, and what grows is not walked."""
    if not gc.isenabled():
        yield
        return
    thread = threading.get_ident()
    _pausing.append(thread)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _pausing.remove(thread)


def collects() -> bool:
    """Whether the garbage collector is on, but for `uncollected`."""
    return bool(_pausing) or gc.isenabled()


def _collect_again() -> None:
    """Turn the collector on, in a forked child, that a thread has turned off which is not there."""
    kept = [thread for thread in _pausing if thread == threading.get_ident()]
    if _pausing and not kept:
        gc.enable()
    _pausing[:] = kept


in_child(_collect_again)


def _no_door(obj: Any) -> Any:
    return obj


door: Callable[[Any], Any] = _no_door
"""What public functions are put behind: `doors`, which is above this, puts its own here."""


def set_module(name: str) -> Callable[[T], T]:
    """Decorate a public class or function: show it as a member of the public module `name`."""

    def decorate(obj: T) -> T:
        obj.__module__ = name
        return door(obj)

    return decorate


def close_matches(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known words that resemble `word`, for messages of errors."""
    difflib = importlib.import_module("difflib")  # takes milliseconds, for errors only
    return difflib.get_close_matches(word, list(known))


@functools.cache
def machine_memory() -> int:
    """Return the bytes that this process can have at most: memory and swap, or its group's share.

    Where nobody says, more than any machine has.
    """
    found = [1 << 62]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + _swap())
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        path = f"/sys/fs/cgroup/{file}"
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as limit:
            found.append(int(limit.read()))  # not where it says "max"
    return min(x for x in found if x > 0)


def _swap() -> int:
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as facts:
        words = facts.read().partition("SwapTotal:")[2].split(maxsplit=1)
        return int(words[0]) * 1024 if words else 0
    return 0


class Cache(Generic[K, V]):
    """A bounded mapping that counts hits and misses and that `clear_all` can empty.

    The oldest entry is dropped when the cache is full. A lookup on the hot path may read `data`
    itself, at the price of not being counted.
    """

    __slots__ = ("__weakref__", "data", "hits", "max_size", "misses", "name")

    def __init__(self, name: str, max_size: int = 4096):
        """Make an empty cache of at most `max_size` entries."""
        assert max_size > 0
        self.name = name
        self.max_size = max_size
        self.data: dict[K, V] = {}
        self.hits = 0
        self.misses = 0
        _all_caches.add(self)

    def get(self, key: K, default: Any = None) -> Any:
        """Return the entry of `key`, or `default`, and count which of the two it was."""
        try:
            value = self.data[key]
        except KeyError:
            self.misses += 1
            return default
        self.hits += 1
        return value

    def put(self, key: K, value: V) -> V:
        """Store `value`, dropping the oldest entry if the cache is full, and return it."""
        data = self.data
        if len(data) >= self.max_size and key not in data:
            data.pop(next(iter(data)))
        data[key] = value
        return value

    def clear(self) -> None:
        """Forget the entries and the counts."""
        self.data.clear()
        self.hits = self.misses = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.data)

    def __repr__(self) -> str:
        """Show the name, the fill and the counts."""
        counts = f"{len(self.data)}/{self.max_size} entries, {self.hits} hits, {self.misses} misses"
        return f"Cache({self.name}: {counts})"


def all_caches() -> list[Cache[Any, Any]]:
    """Return every living cache, by name."""
    return sorted(_all_caches, key=lambda cache: cache.name)


def clear_all() -> None:
    """Empty every cache of the process."""
    for cache in all_caches():
        cache.clear()
