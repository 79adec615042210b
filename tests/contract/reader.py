"""A thread that reads attributes while a call runs: it has to see values of before or after."""

import contextlib
import functools
import sys
import threading
from collections import deque

import numpy as np

from evertrace import Array
from tests.contract.parts import ATOMS, EMPTY, dict_of, parts, slot_of, slots_of, unwrap
from tests.contract.walk import Difference


class Reader:
    """Reads the attributes of a world's objects beside its calls."""

    def __init__(self, world, source=""):
        """Read in this world, while it runs a program of this text."""
        self._world, self._seen, self._before, self._after = world, {}, {}, {}
        self._stop = threading.Event()
        # Callbacks run amid a call, and see what it has changed so far: so does this thread then.
        self._sees_steps = "callback" in source
        # What plain Python deletes and sets again is missing for a moment there, too.
        self._sees_gaps = any(word in source for word in ("del ", "delattr(", ".pop("))

    @contextlib.contextmanager
    def reading(self):
        """Read from another thread while the block runs."""
        self._places = list(_places(self._world))
        self._before = self._values()
        interval = sys.getswitchinterval()
        thread = threading.Thread(target=self._read, daemon=True)
        sys.setswitchinterval(1e-5)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
            sys.setswitchinterval(interval)
            self._after = self._values()

    def _values(self):
        return {(i, name): _value(x, name) for i, (x, name) in enumerate(self._places)}

    def _read(self):
        while not self._stop.is_set():
            for i, (x, name) in enumerate(self._places):
                found = getattr(x, name, EMPTY)
                key = (i, name)
                if found is not self._before[key]:
                    self._seen.setdefault((key, id(found)), found)

    def difference(self):
        """Return the `Difference` that the thread has seen, or None."""
        for (key, _), found in self._seen.items():
            x, name = self._places[key[0]][0], key[1]
            is_step = self._sees_steps and _is_plain(found)
            is_gap = self._sees_gaps and _is_told_without(x, name, found)
            if found is not self._after[key] and not is_step and not is_gap:
                place = f"{type(x).__name__}.{name}"
                shown = (
                    "nothing"
                    if found is EMPTY
                    else f"a {type(found).__module__}.{type(found).__name__}"
                )
                return Difference(f"another thread read {place} and saw {shown}")
        return None


def _is_told_without(x, name, found):
    """Whether a value is what an object without such an attribute gives: mostly nothing."""
    if found is getattr(type(x), name, EMPTY):
        return True
    hook = next((vars(c)["__getattr__"] for c in type(x).__mro__ if "__getattr__" in vars(c)), None)
    if hook is None:  # not that of a metaclass, as enumerations have one
        return False
    with contextlib.suppress(AttributeError):
        told = hook(x, name)
        return found is told or (_is_plain(found) and repr(found) == repr(told))
    return False


def _is_plain(x):
    """Whether a value is data of the user's all through, with nothing of a trace in it."""
    if type(x) in (list, tuple, set, frozenset, deque):
        return all(map(_is_plain, x))
    if type(x) is dict:
        return all(map(_is_plain, (*x, *x.values())))
    return type(x) in (Array, *ATOMS) or issubclass(type(x), np.generic)


def _value(x, name):
    slot = slots_of(type(x)).get(name)
    return slot_of(x, slot) if slot else dict_of(x).get(name, EMPTY)


def _places(world):
    """Yield the objects of the world's own classes, with the names of their attributes."""
    seen, todo = set(), [world.state()]
    while todo:
        x = unwrap(todo.pop())
        if id(x) in seen:
            continue
        seen.add(id(x))
        todo += [part for _, part in parts(x)]
        has_hook = type(x).__getattribute__ is object.__getattribute__  # see `lifting/elsewhere.py`
        if type(x).__module__ == world.module.__name__ and has_hook:
            for name in (*slots_of(type(x)), *dict_of(x)):
                if _value(x, name) is not EMPTY and not _computed(x, name):
                    yield x, name


def _computed(x, name):
    """Whether to read it runs code: it may change the object, or give what is not in it."""
    return isinstance(getattr(type(x), name, None), functools.cached_property | property)
