"""Classes that a trace has reached: their functions, entered when called, and their entries.

A function in a class is reached with it; other entries are lifted where code that was entered
mentions their name.
"""

import abc
import enum
import functools
import sys
import types
from typing import Any

from evertrace._src import errors
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.code import code_of, info_of, is_library_class
from evertrace._src.jit.lifting.entered_names import ClassEntries
from evertrace._src.jit.lifting.guards import names_of_class
from evertrace._src.jit.lifting.parts import own_dict
from evertrace._src.jit.lifting.protocols import Lifting
from evertrace._src.jit.lifting.spaces import DESCRIPTIVE, WHOLE, lift_annotations, nowhere
from evertrace._src.jit.lifting.values import ABSENT, weakly
from evertrace._src.support import WeakKeys

_FUNCTION = types.FunctionType
_LOOKING = WHOLE | {"__subclasses__"}
_of_library: Any = WeakKeys()  # class -> what its methods mention


class Classes:
    """The classes that one trace has reached.

    Args:
      lifter: the trace's lifter.

    Attributes:
      owners: id of a function -> the (class, name) that it is the entry of.
    """

    def __init__(self, lifter: Lifting):
        self.lifter, self.graph = lifter, lifter.recorder.graph
        self.identity = lifter.recorder.identity
        self.owners = {}
        self._reached, self._exact, self._bases = {}, {}, []

    def functions_of(self, is_wanted):
        """Return the functions that users' classes, as far as they were reached, have under names.

        Args:
          is_wanted: function of a name.
        """
        return [
            fun
            for c in self._reached
            if not is_library_class(c)
            for name, entry in type.__getattribute__(c, "__dict__").items()
            if is_wanted(name)
            for fun in functions_in(entry)
        ]

    @staticmethod
    def names_of_library(kind):
        """Return the attributes that methods which a class has from libraries mention."""
        found = _of_library.get(kind)
        if found is None:
            found = frozenset(_mentioned_by(c for c in kind.__mro__ if is_library_class(c)))
            _of_library[kind] = found
        return found

    def reach(self, cls):
        """Have the functions of a user's class entered when they are called."""
        self._exact[cls] = None
        if cls not in values.OWN:
            self.graph.lookups.setdefault(cls, {})
        caches = False
        for c in cls.__mro__[:-1]:
            if c not in self._reached:
                self._reached[c] = None
                if not is_library_class(c):
                    self.lifter.unwritten.note(c, "__bases__")
                    for name, entry in list(type.__getattribute__(c, "__dict__").items()):
                        caches = caches or _caches(entry)
                        for fun in functions_in(entry):
                            self.owners.setdefault(id(fun), []).append((c, name))
                            self.lifter.functions.reach(fun)
                        for part in _objects_in(entry):  # a descriptor may have state of its own
                            at = self.graph.constant_node(part, f"{c.__name__}.{name}")
                            self.lifter.lift(part, at)
        if caches:
            self.lift(cls)  # so that what stands for a cache can be placed

    def found_on_class(self, entered, owner, name, raw, value, uses):
        """Return what reading a class's entry through an instance gives."""
        known: Any = self.identity.by_id.get(id(owner))
        is_data = raw is value and not hasattr(type(raw), "__get__")
        if known is not None and (
            known.entry.get(name, ABSENT) is not raw or (is_data and name in known.claimed)
        ):
            self.lifter.see(value, uses)
            return value  # lifted already, or set by the trace itself
        if is_data:
            return self._lift_entry(owner, name, raw, uses)
        if type(raw) is classmethod:
            self.lift(entered.cls)
        return value

    def lift(self, cls):
        """Note that a class is known as a value: its entries may be read and set directly."""
        if type(cls) is not type and not is_library_class(type(cls)):
            self.lift(type(cls))
        if is_library_class(cls):
            self.lifter.namespaces.watch_library_class(cls)
        for c in cls.__mro__[:-1]:
            if id(c) in self.identity.by_id or is_library_class(c):
                continue
            node = self.graph.constant_node(c, c.__name__)
            entered = self.identity.enter(ClassEntries(c, node))
            entered.placed = dict(entered.entry)
            if isinstance(c, abc.ABCMeta):  # `register` changes what `isinstance` says
                token = abc.get_cache_token()
                self.graph.node(node, "abc_token", None, f"{c.__name__}.register", "value", token)
            names = self.graph.node(node, "class_names", None, f"{c.__name__} has")
            names.check, names.want = "lacks", frozenset()
            self.lifter.spaces.add(
                functools.partial(self._claim_entry, entered), entered.entry, names
            )
            for name, entry in entered.entry.items():
                if _caches(entry):
                    entered.place_one(name, self._without_cache(c, name, entry))
            look_over = functools.partial(self._look_over, entered)
            self.lifter.spaces.add(look_over, _LOOKING, nowhere())
            for name in sorted((_read_by_packages(c) - DESCRIPTIVE) & entered.entry.keys()):
                self._claim_entry(entered, name)
            if isinstance(c, enum.EnumMeta):  # whose own code finds the members: `for mode in Mode`
                for name in c._member_map_:
                    self._claim_entry(entered, name)
        self.reach(cls)

    def _lift_entry(self, owner, name, raw, uses):
        at = self.graph.constant_node(owner, owner.__name__)
        path = f"{owner.__name__}.{name}"
        return self.lifter.lift(raw, self.graph.node(at, "class_entry", name, path), uses)

    def _without_cache(self, owner, name, entry):
        """Lift what calls a function behind a cache in C, which would keep tracers."""
        at = self.graph.constant_node(owner, owner.__name__)
        at = self.graph.node(at, "class_entry", name, f"{owner.__name__}.{name}")
        if type(entry) is _CACHED:
            return self.lifter.lift(entry, at)
        made = []
        for part, value in _parts_of(entry).items():
            inner = self.graph.node(at, "attribute", part, f"{at.name}.{part}")
            made.append(self.lifter.lift(value, inner) if _caches(value) else value)
        return self.identity.remember(entry, type(entry)(*made), at)

    def _claim_entry(self, entered, name):
        if name in DESCRIPTIVE:
            path, value = f"{entered.obj.__name__}.{name}", getattr(entered.obj, name)
            self.lifter.unwritten.note(entered.obj, name)
            if values.is_value(value):
                self.graph.node(entered.node, "attribute", name, path, "value", value)
            return
        if name in entered.claimed:
            self.lifter.see(entered.contents().get(name))
            return
        entered.claimed.add(name)
        raw = entered.entry.get(name, ABSENT)
        if raw is ABSENT and "__annotate_func__" in type.__getattribute__(entered.obj, "__dict__"):
            lift_annotations(self.lifter, entered.obj, entered.node)
        for fun in functions_in(raw):
            if fun.__dict__:
                self.lifter.functions.take(fun, is_asked=True)
        if raw is ABSENT:
            return
        if hasattr(type(raw), "__get__"):  # code may look at it and not call it
            self.graph.depend_on_lookup(entered.obj, name)
            return
        lifted = self._lift_entry(entered.obj, name, raw, self.lifter.spaces.uses_of(name, raw))
        if lifted is not raw:
            entered.place_one(name, lifted)

    def has_given(self, cls, name):
        """Whether the entry of a class under a name was read as a value."""
        known: Any = [self.identity.by_id.get(id(c)) for c in cls.__mro__]
        return any(entered is not None and name in entered.claimed for entered in known)

    def _look_over(self, entered, name):
        """Depend on all that is in a class, and its order: code may go through its `__dict__`.

        Or on its subclasses.
        """
        if name == "__subclasses__":
            subclasses = type.__subclasses__(entered.obj)
            path, keys = f"{entered.node.name}.__subclasses__()", tuple(map(weakly, subclasses))
            node = self.graph.node(entered.node, "subclasses", None, path)
            node.check, node.want = "keys", (dict, keys)
            self._bases.append((entered.obj, subclasses, path))
            for cls in subclasses:
                self.lift(cls)
        if name in WHOLE:
            for each in entered.entry:
                if each not in DESCRIPTIVE:
                    self._claim_entry(entered, each)
                for fun in functions_in(entered.entry[each]):
                    self.lifter.functions.look_up(fun, name)
            self._depend_on_order(entered)

    def _depend_on_order(self, entered):
        path, names = f"the names of {entered.node.name}", names_of_class(entered.first)
        self.graph.node(entered.node, "class_names", "order", path, "order", names)

    def close(self, deleted):
        """Depend on the order of what is in classes where some may have been set anew.

        Args:
          deleted: names of attributes that the code deletes.
        """
        for base, found, path in self._bases:
            if [*map(id, type.__subclasses__(base))] != [*map(id, found)]:
                raise _made_subclass(path)
        for entered in self.identity.entered:
            if type(entered) is ClassEntries:
                is_set_anew = not deleted.isdisjoint(entered.entry.keys() & entered.contents())
                if is_set_anew or entered.moved():
                    self._depend_on_order(entered)

    def depend_on_owner(self, fun):
        """Depend on a function being what its classes have under its name."""
        graph = self.graph
        for owner, name in self.owners.get(id(fun), ()):
            graph.depend_on_lookup(owner, name)
            for cls in self._exact:
                if any(c is owner for c in cls.__mro__):  # a metaclass may define `__eq__`
                    graph.depend_on_lookup(cls, name)

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self._reached, self._exact, self.owners, self._bases):
            kept.clear()


def _made_subclass(path):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: {path} counts, which the code mentions, and the function makes such a class: a "
        "compiled call would not make it, and how many there are depends on when Python gets rid "
        "of those of other calls.",
        fix="make the class outside of the jitted function, or keep a list of classes of your own.",
        anchor="impurity",
    )


def _read_by_packages(cls):
    """Return what methods of installed packages, in bases and metaclass, may read of a class.

    Their code is not entered, so nothing else tells what it mentions.
    """
    homes = [c for c in (*cls.__mro__, *type(cls).__mro__) if is_library_class(c)]
    return _mentioned_by(
        c for c in homes if c.__module__.partition(".")[0] not in sys.stdlib_module_names
    )


def _mentioned_by(classes):
    """Return the attributes that the functions of some classes mention."""
    return {
        mentioned
        for c in classes
        for name, entry in type.__getattribute__(c, "__dict__").items()
        if name != "__getattribute__"  # the trace's hook
        for fun in functions_in(entry)
        for mentioned in info_of(code_of(fun)).attribute_names
    }


def _caches(entry):
    """Whether what a class has calls a function behind a cache in C."""
    return type(entry) is _CACHED or any(map(_caches, _parts_of(entry).values()))


def _parts_of(entry):
    """Return the attributes that a method of another kind, or a property, is made of."""
    if type(entry) in (staticmethod, classmethod):
        return {"__func__": entry.__func__}
    names = ("fget", "fset", "fdel", "__doc__") if type(entry) is property else ()
    return {name: getattr(entry, name) for name in names}


_CACHED = type(functools.lru_cache(int))


def functions_in(entry):
    """Return the Python functions in an entry of a class: its own, a property's, a wrapper's."""
    kind = type(entry)
    if kind is _FUNCTION:
        inner = (entry.__wrapped__,) if "__wrapped__" in entry.__dict__ else ()
        return [entry, *[f for x in inner for f in functions_in(x)]]
    if kind in (staticmethod, classmethod):
        parts = (entry.__func__,)
    elif kind is property:
        parts = (entry.fget, entry.fset, entry.fdel)
    elif kind in (functools.cached_property, functools.partialmethod):
        parts = (entry.func,)
    elif kind is functools.singledispatchmethod:
        parts = tuple(entry.dispatcher.registry.values())
    else:
        own = own_dict(entry) if kind is functools.partial else getattr(entry, "__dict__", None)
        parts = ((own or {}).get("__wrapped__"),)
    return [fun for x in parts if x is not None for fun in functions_in(x)]


def _objects_in(entry):
    """Return what an entry of a class calls that has state: users' objects, a registry."""
    if type(entry) is functools.singledispatchmethod:
        return [entry.dispatcher]  # whose closure holds it
    parts = (entry.fget, entry.fset, entry.fdel) if type(entry) is property else (entry,)
    return [
        x
        for x in parts
        if hasattr(type(x), "__get__" if x is entry else "__call__")
        and not isinstance(x, type)
        and not is_library_class(type(x))
    ]
