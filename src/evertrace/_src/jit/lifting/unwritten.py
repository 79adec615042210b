"""What a trace only compares, and code of the user's may set all the same: that is refused.

Attributes of a library's modules and classes, what describes a class or function, a class's bases:
a compiled call would not set them again. What was set is put back, so that nothing has changed.
"""

import operator
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
      settings: pairs (object of a library's, its node) of those whose attributes are settings.
    """

    def __init__(self):
        self.set: set[str] = set()
        self.settings: list[tuple[Any, Any]] = []
        self._noted: dict[tuple[int, str], tuple[Any, str, str, Any]] = {}
        self._spaces: list[tuple[Any, str, dict[str, Any]]] = []
        self._contents: dict[int, tuple[str, Any, Any, Any]] = {}
        self._tables: dict[str, tuple[Any, Any]] = {}

    def note(self, owner, name):
        """Note what a module, class or function has under a name, before the code can set it."""
        key = id(owner), name
        if key not in self._noted:
            path = f"{getattr(owner, '__qualname__', None) or owner.__name__}.{name}"
            self._noted[key] = owner, name, path, _found(owner, name)

    def note_all(self, owner, path=None):
        """Note all that is in a module, class or object of a library's; returns it."""
        self._spaces.append((owner, path or owner.__name__, dict(_space(owner))))
        return owner

    def note_stand_in(self, module):
        """Note all that is in what stands for a module, and that it is not written to."""
        self.note_contents(vars(module), f"the names of {module.__name__}")
        return self.note_all(module)

    def note_contents(self, value, path, cache=None):
        """Note what is in a library's list, set or dict; a cache of it is emptied with it."""
        if type(value) in TABLES and id(value) not in self._contents:
            self._contents[id(value)] = path, value, value.copy(), cache

    def watch(self, owner, node):
        """Depend on the settings of an object of a library's, such as a logger, found at a node."""
        if not any(owner is known for known, _ in self.settings):
            self.note_all(owner, node.name)
            self.settings.append((owner, node))

    def depend_on_table(self, graph, at, name, path, value):
        """Depend on what is in a list, set or dict of a library's, by identity.

        What a trace adds to a dict itself, as an import does, is of no account.

        Args:
          graph: of the trace.
          at: node of the dict that has the container.
          name: its name there.
          path: its name for people.
          value: the container.
        """
        if path not in self._tables:
            node = graph.add(at, "key", name, path)
            # A copy of a set may be in another order.
            entries: Any = dict(value) if type(value) is dict else dict(enumerate(value))
            real = {k: x.real if isinstance(x, Intercept) else x for k, x in entries.items()}
            real = {k: values.weakly(x) for k, x in real.items()}
            node.check, node.want = "table", (type(value), real, frozenset())
            self._tables[path] = node, value

    def depend_on_settings(self, graph, names):
        """Depend on the settings that code mentions.

        Args:
          graph: of the trace.
          names: that it mentions, or None if that can be any.
        """
        for owner, node in self.settings:
            at = None
            for name, value in vars(owner).items():
                contents = values.plain_contents(value)
                is_table = type(value) in TABLES and not name.startswith("_")
                if names is not None and name not in names:
                    continue
                path = f"{node.name}.{name}"
                at = at or graph.node(node, "attribute", "__dict__", f"{node.name}.__dict__")
                if contents is not ABSENT:
                    graph.node(at, "plain", name, path, "value", contents)
                elif is_table:
                    self.depend_on_table(graph, at, name, path, value)

    def close(self):
        """Raise where something was set.

        Raises:
          ImpurityError: naming what.
        """
        for _, _, path, _ in self._changed():
            raise _error(f"sets {path}")
        for path, *_ in self._changed_contents():
            raise _error(f"changes what is in {path}")
        for node, value in self._tables.values():
            kind, entries, _ = node.want
            if kind is dict:
                node.want = kind, entries, frozenset(value.keys() - entries.keys())

    def restore(self):
        """Put back what was set."""
        for owner, name, _, before in self._changed():
            if before is not ABSENT:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
        for _, value, before, cache in self._changed_contents():
            if type(value) is dict:
                for k in [k for k, v in value.items() if not _is_as_before(k, v, before)]:
                    del value[k]
                value.update({k: v for k, v in before.items() if k not in value})
            else:
                value.clear()
                (value.extend if type(value) is list else value.update)(before)
            if cache is not None:
                cache.clear()

    def _changed(self):
        found = [x for x in self._noted.values() if x[1] in self.set]
        for owner, path, names in self._spaces:
            for k in self.set & (names.keys() | _space(owner).keys()):
                found.append((owner, k, f"{path}.{k}", names.get(k, ABSENT)))
        for owner, name, path, before in found:
            before = before.real if isinstance(before, Intercept) else before
            now = _found(owner, name)
            now = now.real if isinstance(now, Intercept) else now
            if not _is_same(now, before) and not (before is ABSENT and _is_lazy(owner, now)):
                yield owner, name, path, before

    def _changed_contents(self):
        for noted in self._contents.values():
            if _are_contents_changed(noted[1], noted[2]):
                yield noted

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self._noted, self._spaces, self._contents, self._tables, self.settings):
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


def _are_contents_changed(now, before):
    """Whether something else is in a library's container, but for what it does of itself."""
    if type(now) is dict:
        is_same = all(_is_as_before(k, v, before) for k, v in now.items())
        return not is_same or not before.keys() <= now.keys()
    items = (map(id, now), map(id, before))
    if type(now) is set:  # a copy of one may be in another order
        items = map(sorted, items)
    return len(now) != len(before) or not (
        operator.eq(*map(list, items))
        or values.plain_contents(now) == values.plain_contents(before) is not ABSENT
    )


def _is_as_before(key, value, before):
    """Whether an entry of a dict was there, or comes of an import."""
    was = before.get(key, ABSENT)
    value, was = [x.real if isinstance(x, Intercept) else x for x in (value, was)]
    if was is ABSENT:
        spec = getattr(value, "__spec__", None) if isinstance(value, types.ModuleType) else None
        return spec is not None and key in (spec.name, spec.name.rpartition(".")[2])
    return _is_same(value, was)


def _is_same(a, b):
    """Whether two values are one object, or one plain value, or tuples of the same objects."""
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        return all([x is y for x, y in zip(a, b, strict=True)])
    is_plain = values.is_value(a) and values.is_value(b)
    return a is b or (is_plain and values.same_value(a, b))


TABLES = frozenset({dict, list, set})
_SLOTS = frozenset({"__bases__", "__name__", "__qualname__"})


def _error(what):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: the function {what}, which a compiled call would not do again; it has been put "
        "back.",
        fix="do it outside of the jitted function, or keep the value in an attribute of your own.",
        anchor="impurity",
    )
