"""Plain objects and what hangs on them: what counts as one, copies of them, and comparing two.

An object is walked by its attributes, and through the lists, dicts, tuples, deques and objects in
them. Nothing of the user's code is run: `__init__` and `__eq__` are not called, and what is shared
or goes round in a circle stays so in a copy.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting.entered import (
    Attributes,
    Entries,
    Items,
    instance_dict,
)
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.observe import CONTAINERS, Place, is_plain_object
from evertrace._src.tree.keys import DictKey, GetAttrKey, SequenceKey


class Leaf(NamedTuple):
    """Stands in a copy of an object, its template, for a leaf."""

    number: int


def is_differentiable(x):
    kind = type(x)  # `isinstance` would read `__class__`, which hooks see
    if kind is HostArray or issubclass(kind, (Array, Tracer, np.ndarray, np.inexact)):
        try:
            return is_inexact(aval_of(x))
        except TypeError:
            return False
    return False


def views_of(x):
    """Return views of the contents of an object or container, none for anything else."""
    found = []
    if issubclass(type(x), (list, collections.deque)):
        found.append(Items(x, Place("")))
    elif issubclass(type(x), dict):
        found.append(Entries(x, Place("")))
    if is_plain_object(x) or (found and instance_dict(x) is not None):
        found.append(Attributes(x, Place("")))
    return found


def read_all(x):
    """Have a recorder lift all that is in an object or container."""
    recorder = state.recorder
    if recorder is not None:
        entered = recorder.lifter.objects.by_id.get(id(x))
        if entered is not None:
            recorder.lifter.objects.lift_all(entered)
        recorder.lifter.see(x)


def pairs_of(contents):
    return contents.items() if isinstance(contents, dict) else enumerate(contents)


class Copier:
    """Copies objects and containers, with other things in the places of some.

    Args:
      leaf: function (value) -> what is to stand there, or None where it is no leaf.
      note: function that is told the view of each thing that is copied, or None.

    Attributes:
      memo: id of a thing -> its copy.
    """

    def __init__(self, leaf: Callable[[Any], Any], note: Callable[[Any], None] | None):
        self.leaf, self.note = leaf, note
        self.memo: dict[int, Any] = {}
        self._keep = []

    def copy(self, x):
        """Return the copy of a value."""
        if id(x) in self.memo:
            return self.memo[id(x)]
        if type(x) is StandIn:  # of state that cannot be seen
            return x
        leaf = self.leaf(x)
        if leaf is not None or type(x) is Leaf:
            return leaf
        if issubclass(type(x), tuple):
            items = [self.copy(y) for y in tuple.__iter__(x)]
            same = all(a is b for a, b in zip(items, tuple.__iter__(x), strict=True))
            made = x if same else tuple.__new__(type(x), items)
            return self._note(x, made)
        if self.note is not None:
            read_all(x)
        views = views_of(x)
        if not views:
            return x
        made = self._note(x, _empty(x))
        for view in views:
            if self.note is not None:
                self.note(view)
            contents = view.contents()
            _fill(made, view, {k: self.copy(v) for k, v in pairs_of(contents)})
        return made

    def _note(self, x, made):
        self.memo[id(x)] = made
        self._keep.append(x)
        return made


def _empty(x):
    """Return an object of the same class with nothing in it, without running `__init__`."""
    cls = type(x)
    base: Any = next(b for b in (*CONTAINERS, types.SimpleNamespace, object) if issubclass(cls, b))
    try:
        made = base.__new__(cls)
    except TypeError:
        raise errors.user_error(
            TypeError,
            f"an object of {cls.__module__}.{cls.__qualname__} is made by C, which makes none with "
            "traced arrays in their places.",
            fix="pass in the arrays that the table holds, `df['column'].to_numpy()` of a column "
            "or `df.to_numpy()` of all."
            if cls.__module__.startswith("pandas.")
            else "pass in the arrays that it holds.",
            anchor="objects-as-nodes",
        ) from None
    if base is collections.deque:
        base.__init__(made, (), x.maxlen)
    elif base is collections.defaultdict:
        made.default_factory = x.default_factory
    return made


def _fill(made, view, contents):
    """Put contents, as a view read them, into a new object."""
    if isinstance(view, Items):
        base: Any = list if isinstance(made, list) else collections.deque
        base.extend(made, contents.values())
    elif isinstance(view, Entries):
        base = next(b for b in CONTAINERS if isinstance(made, b))
        for key, value in contents.items():
            base.__setitem__(made, key, value)
    else:
        Attributes(made, view.node).put(contents)


def holds_leaf(template):
    found = []
    Copier(lambda x: found.append(x) if type(x) is Leaf else None, None).copy(template)
    return bool(found)


def match(template, x, name, found, seen):
    """Fill `found`, by number, with what is in `x` where the template has leaves."""
    if type(template) is Leaf:
        found.setdefault(template.number, x)
        return
    if id(template) in seen:
        return
    seen.add(id(template))
    if isinstance(template, tuple):
        _check_kind(template, x, name)
        if len(x) != len(template):
            raise ValueError(f"have {len(x)} elements at {name}, not {len(template)}")
        for i, (a, b) in enumerate(zip(template, x, strict=True)):
            match(a, b, f"{name}[{i}]", found, seen)
    elif views := views_of(template):
        _check_kind(template, x, name)
        read_all(x)
        for a, b in zip(views, views_of(x), strict=True):
            ours, theirs = dict(pairs_of(a.contents())), dict(pairs_of(b.contents()))
            for key, value in ours.items():
                path = f"{name}.{key}" if isinstance(a, Attributes) else f"{name}[{key!r}]"
                if key not in theirs:
                    raise ValueError(f"have nothing at {path}")
                match(value, theirs[key], path, found, seen)


def _check_kind(template, x, name):
    if type(x) is not type(template):
        raise ValueError(
            f"have a value of type {type(x).__name__} at {name}, not {type(template).__name__}"
        )


def paths_of(template: Any) -> list[tuple[Any, ...]]:
    """Return the key path to each leaf of a template, by number."""
    found: dict[int, tuple[Any, ...]] = {}
    seen: set[int] = set()

    def walk(x: Any, path: tuple[Any, ...]) -> None:
        if type(x) is Leaf:
            found.setdefault(x.number, path)
        elif id(x) not in seen:
            seen.add(id(x))
            for key, value in _parts(x):
                walk(value, (*path, key))

    walk(template, ())
    return [found[number] for number in range(len(found))]


def _parts(x):
    """Yield pairs (key of a path, value) of what hangs on a value."""
    if issubclass(type(x), tuple):
        yield from ((SequenceKey(i), value) for i, value in enumerate(tuple.__iter__(x)))
        return
    for view in views_of(x):
        key = {Attributes: GetAttrKey, Items: SequenceKey, Entries: DictKey}[type(view)]
        yield from ((key(k), value) for k, value in pairs_of(view.contents()))


def is_same(a: Any, b: Any, seen: set[tuple[int, int]] | None = None) -> bool:
    """Tell whether two templates are copies of objects that differ in their leaves at most.

    Plain values are compared by type and value, all others by identity.
    """
    if a is b:
        return True
    kind, seen = type(a), set() if seen is None else seen
    if kind is not type(b):
        return False
    if kind is Leaf:
        return a == b
    if kind in _BY_VALUE:
        return repr(a) == repr(b)  # NaN, and the sign of zero
    if kind is types.MethodType:
        return a.__func__ is b.__func__ and is_same(a.__self__, b.__self__, seen)
    if (id(a), id(b)) in seen:
        return True
    seen.add((id(a), id(b)))
    ours, theirs = dict(_keyed(a)), dict(_keyed(b))
    return bool(ours or issubclass(kind, CONTAINERS) or is_plain_object(a)) and (
        ours.keys() == theirs.keys() and all(is_same(x, theirs[k], seen) for k, x in ours.items())
    )


def _keyed(x):
    return ((str(type(key)) + repr(key), value) for key, value in _parts(x))


_BY_VALUE = (int, float, complex, bool, str, bytes, range)
