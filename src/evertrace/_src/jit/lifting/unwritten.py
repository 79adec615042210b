"""What a trace only compares, and code of the user's may set all the same: that is refused.

Attributes of a library's modules and classes, what describes a class or function, a class's bases:
a compiled call would not set them again. What was set is put back, so that nothing has changed.
"""

import types
from typing import Any

from evertrace._src import errors
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.impure import Intercept
from evertrace._src.jit.lifting.values import ABSENT


class Unwritten:
    """What one trace depends on and may not set.

    Attributes:
      set: the names of attributes that the code sets or deletes.
    """

    def __init__(self):
        self.set: set[str] = set()
        self._noted: dict[tuple[int, str], tuple[Any, str, str, Any]] = {}
        self._spaces: list[tuple[Any, dict[str, Any]]] = []
        self._contents: dict[int, tuple[str, Any, Any]] = {}

    def note(self, owner, name):
        """Note what a module, class or function has under a name, before the code can set it."""
        key = id(owner), name
        if key not in self._noted:
            path = f"{getattr(owner, '__qualname__', None) or owner.__name__}.{name}"
            self._noted[key] = owner, name, path, _found(owner, name)

    def note_all(self, owner):
        """Note all that is in a module or class; returns it."""
        self._spaces.append((owner, dict(_space(owner))))
        return owner

    def note_contents(self, value, path):
        """Note what is in a library's list, set or dict."""
        if type(value) in (list, set, dict) and id(value) not in self._contents:
            self._contents[id(value)] = path, value, value.copy()

    def close(self):
        """Raise where something was set.

        Raises:
          ImpurityError: naming what.
        """
        for _, _, path, _ in self._changed():
            raise _error(f"sets {path}")
        for path, _, _ in self._changed_contents():
            raise _error(f"changes what is in {path}")

    def restore(self):
        """Put back what was set."""
        for owner, name, _, before in self._changed():
            if before is not ABSENT:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
        for _, value, before in self._changed_contents():
            value.clear()
            (value.extend if type(value) is list else value.update)(before)

    def _changed(self):
        found = [x for x in self._noted.values() if x[1] in self.set]
        for owner, names in self._spaces:
            for k in self.set & (names.keys() | _space(owner).keys()):
                found.append((owner, k, f"{owner.__name__}.{k}", names.get(k, ABSENT)))
        for owner, name, path, before in found:
            before = before.real if isinstance(before, Intercept) else before
            now = _found(owner, name)
            now = now.real if isinstance(now, Intercept) else now
            if not _is_same(now, before) and not (before is ABSENT and _is_lazy(owner, now)):
                yield owner, name, path, before

    def _changed_contents(self):
        for path, value, before in self._contents.values():
            if values.plain_contents(value) != values.plain_contents(before):
                yield path, value, before

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self._noted, self._spaces, self._contents):
            kept.clear()


def _found(owner, name):
    """Return what an owner itself has under a name, or ABSENT."""
    if isinstance(owner, types.FunctionType):
        return getattr(owner, name)
    if isinstance(owner, type) and name in _SLOTS:
        return type.__getattribute__(owner, name)
    return _space(owner).get(name, ABSENT)


def _space(owner):
    return type.__getattribute__(owner, "__dict__") if isinstance(owner, type) else vars(owner)


def _is_lazy(owner, now):
    """Whether what a module has now may be there since it was asked for: a library's own doing."""
    return isinstance(now, types.ModuleType) or "__getattr__" in _space(owner)


def _is_same(a, b):
    """Whether two values are one object, or one plain value, or tuples of the same objects."""
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        return all([x is y for x, y in zip(a, b, strict=True)])
    is_plain = values.is_value(a) and values.is_value(b)
    return a is b or (is_plain and values.same_value(a, b))


_SLOTS = frozenset({"__bases__", "__name__", "__qualname__"})


def _error(what):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: the function {what}, which a compiled call would not do again; it has been put "
        "back.",
        fix="do it outside of the jitted function, or keep the value in an attribute of your own.",
        anchor="impurity",
    )
