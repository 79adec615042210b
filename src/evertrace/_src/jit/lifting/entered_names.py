"""Names that a trace takes over: of modules, of classes, and the attributes of functions.

Their order counts as well: a name that is deleted and set again comes last.
"""

import collections
import itertools
import operator

from evertrace._src.jit.lifting.entered import Entered, InDict, name_of_attribute, replace_entries
from evertrace._src.jit.lifting.guards import viewed
from evertrace._src.jit.lifting.parts import held_by, own_dict
from evertrace._src.jit.lifting.values import ABSENT, OWN_TO_CLASS, OWN_TO_MODULE


class Ordered(Entered):
    """Names of a module or class, which has more of them than count, in an order that shows.

    Attributes:
      first: all names before the trace, in order.
    """

    __slots__ = ("first",)

    def __init__(self, obj, node):
        super().__init__(obj, node)
        self.first = self.order()

    def order(self):
        """Return all names, in order."""
        raise NotImplementedError

    def put_behind(self, names):
        """Put some names behind all others, so that no other thread finds them missing."""
        raise NotImplementedError

    def changed(self):
        """Whether the names stand for something else, or stand elsewhere."""
        return super().changed() or bool(self.moved())

    def moved(self):
        """Return the names that stand behind such as stood behind them before the trace."""
        return _from_where_they_differ(self.order(), self.first)

    def restore(self):
        """Put back what the names stood for, and their order."""
        self.put(self.entry)
        self.put_behind(_from_where_they_differ(self.first, self.order()))


def _from_where_they_differ(names, others):
    """Return those of some names that are among others, from the first on that is not in order.

    Those that Python gives a class or module stay where they are.
    """
    common = {k for k in {*names} & {*others} if not k.startswith("__")}
    names, others = ([k for k in x if k in common] for x in (names, others))
    at = next((i for i, (a, b) in enumerate(zip(names, others, strict=True)) if a != b), len(names))
    return names[at:]


class Names(Ordered):
    """Some names of a namespace (a function's globals, a module): those that were asked for.

    Attributes:
      names: the names.
      whole: whether all names count, because code may reach any of them; what is there and was
        not claimed before is deleted in the end.
    """

    __slots__ = ("names", "whole")

    def __init__(self, namespace, node):
        self.names, self.whole = {}, False
        super().__init__(namespace, node)

    def name_of(self, key):
        """Return what people call one of the names: an attribute of a module, or a global."""
        path = self.node.name
        in_module = path and not path.endswith("__globals__")
        return name_of_attribute(self, key) if in_module else f"global {key}"

    def all_names(self):
        """Return the names that count, and are there or were asked for."""
        if not self.whole:
            return list(self.names)
        others = [k for k in self.obj if k not in self.names and k not in OWN_TO_MODULE]
        return [*self.names, *others]

    def contents(self):
        """Return what the names stand for; those that are not there are left out."""
        return {n: self.obj[n] for n in self.all_names() if n in self.obj}

    def claim(self, name):
        """Watch one more name; returns its value or ABSENT."""
        value = self.obj.get(name, ABSENT)
        if value is not ABSENT:
            self.entry[name] = value
            self.placed = self.placed | {name: value}
        self.names[name] = None  # last: a name that counts and is not among the entries is deleted
        return value

    def place_one(self, name, value):
        """Put one lifted value in place."""
        self.placed[name] = value
        self.obj[name] = value

    def order(self):
        """Return all names, in order."""
        return list(self.obj)

    def put_behind(self, names):
        """Put some names behind all others, so that no other thread finds them missing."""
        moved = map(self.obj.__setitem__, names, map(self.obj.pop, names))
        collections.deque(moved, maxlen=0)  # without bytecode between `pop` and `__setitem__`

    def put(self, contents):
        """Set or delete the names."""
        for name in self.all_names():
            if name in contents:
                if self.obj.get(name, ABSENT) is not contents[name]:
                    self.obj[name] = contents[name]
            else:
                self.obj.pop(name, None)


class FunctionAttributes(InDict):
    """The attributes that a user has set on a function.

    Attributes:
      claimed: those that were lifted, once: the code may have set them since.
    """

    __slots__ = ("claimed",)

    def __init__(self, obj, node):
        self.claimed = set()
        super().__init__(obj, node)

    def contents(self):
        """Return the attributes."""
        return dict(self.obj.__dict__)

    def put(self, contents):
        """Set all attributes."""
        replace_entries(self.obj.__dict__, contents)

    def place_one(self, name, value):
        """Put one lifted attribute in place."""
        self.placed[name] = self.namespace[name] = value


class PartialAttributes(InDict):
    """The attributes that a user has set on a `functools.partial`, which may have no dict yet."""

    __slots__ = ()

    def contents(self):
        """Return the attributes."""
        return dict(own_dict(self.obj) or {})

    def is_replaced(self):
        """Whether another dict holds the attributes now: `__dict__` was assigned."""
        return self.namespace is not None and super().is_replaced()

    def put(self, contents):
        """Set all attributes."""
        if contents or own_dict(self.obj):
            replace_entries(self.obj.__dict__, contents)

    def place_one(self, name, value):
        """Put one lifted attribute in place."""
        self.placed[name] = self.namespace[name] = value

    def restore(self):
        """Put back the dict, or that there is none, and all attributes."""
        if own_dict(self.obj) is not self.namespace:
            self.obj.__setstate__((*held_by(self.obj), self.namespace))
        self.put(self.entry)


class ClassEntries(Ordered):
    """The namespace of a class.

    Attributes:
      claimed: the names of entries that were lifted, once: the code may have set them since.
    """

    __slots__ = ("claimed",)
    name_of = name_of_attribute

    def __init__(self, obj, node):
        self.claimed = set()
        super().__init__(obj, node)

    def order(self):
        """Return all names, in order, but for those that hooks and CPython make."""
        namespace = type.__getattribute__(self.obj, "__dict__")
        return [k for k in list(namespace) if k not in OWN_TO_CLASS]

    def put_behind(self, names):
        """Put some names behind all others, so that no other thread finds them missing."""
        cls, namespace = itertools.repeat(self.obj), type.__getattribute__(self.obj, "__dict__")
        deleted = zip([namespace[k] for k in names], map(type.__delattr__, cls, names), strict=True)
        moved = map(type.__setattr__, cls, names, map(operator.itemgetter(0), deleted))
        collections.deque(moved, maxlen=0)  # without bytecode between the two

    def contents(self):
        """Return the entries, without those that hooks and CPython make."""
        return {
            k: v
            for k, v in type.__getattribute__(self.obj, "__dict__").items()
            if k not in OWN_TO_CLASS
        }

    def place_one(self, name, value):
        """Put one lifted value in place."""
        self.placed[name] = value
        type.__setattr__(self.obj, name, value)

    def put(self, contents):
        """Set and delete what differs."""
        now = self.contents()
        for name in now.keys() - contents.keys():
            type.__delattr__(self.obj, name)
        for name, value in contents.items():
            if now.get(name, ABSENT) is not value:
                type.__setattr__(self.obj, name, value)
        if list(self.contents()) != list(contents):  # one was deleted and set again
            own = viewed(type.__getattribute__(self.obj, "__dict__"))
            for name in contents:
                own[name] = own.pop(name)
