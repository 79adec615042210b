"""Things whose contents a trace takes over: what was in them, what it put there, what is there now.

Each class knows one kind of thing: the attributes of an object, the items of a list, the entries
of a dict, the members of a set, a cell, some names of a namespace. `contents` reads and `put`
writes without running user code, so that state can be compared, rewound and put back.
"""

import array
import collections
import contextlib
import functools
import types
from typing import Any, ClassVar

import numpy as np

from evertrace._src import errors
from evertrace._src.extension import twin
from evertrace._src.jit.lifting import setorder
from evertrace._src.jit.lifting.hooks import left_alone
from evertrace._src.jit.lifting.instancedict import namespace_of, set_namespace
from evertrace._src.jit.lifting.parts import own_dict, position_of
from evertrace._src.jit.lifting.values import (
    ABSENT,
    dict_type,
    is_value,
)


class Entered:
    """One thing that a trace has taken over.

    Attributes:
      obj: the thing; node: how it is reached.
      entry: its contents before the trace.
      placed: its contents as the trace lifted them, to be compared with at the end.
    """

    __slots__ = ("entry", "node", "obj", "placed")

    def __init__(self, obj, node):
        self.obj, self.node = obj, node
        self.entry = self.contents()
        self.placed = self.entry.copy()

    def contents(self) -> Any:
        """Return the present contents as a fresh dict or list."""
        raise NotImplementedError

    def put(self, contents):
        """Replace the contents."""
        raise NotImplementedError

    def holder(self) -> Any:
        """Return the dict that holds the contents, which another thing may have, too, or None."""
        return None

    def name_of(self, key):
        """Return what people call one place in it."""
        return self.node.name

    def place(self, contents):
        """Put lifted contents in place, to be compared with at the end."""
        self.placed = contents
        self.put(contents)

    def restore(self):
        """Put back what was there before the trace."""
        self.put(self.entry)

    def put_back(self, contents, placed):
        """Put back earlier contents, with what has been lifted since `placed` was in place."""
        self.put(self.lifted_since(contents, placed))

    def lifted_since(self, contents, placed):
        """Return earlier contents, with what has been lifted since `placed` was in place."""
        if not isinstance(contents, dict):
            return contents
        late = {k: v for k, v in self.placed.items() if v is not placed.get(k, ABSENT)}
        return contents | late if late else contents

    def changed(self):
        """Whether the contents are no longer what the trace put in place."""
        now, placed = self.contents(), self.placed
        if isinstance(now, dict):
            return list(map(id, now)) != list(map(id, placed)) or any(
                now[k] is not placed[k] for k in now
            )
        return list(map(id, now)) != list(map(id, placed))


def name_of_attribute(self, key):
    """Return what errors call an attribute; the method `name_of` of what has attributes."""
    return f"{self.node.name.removesuffix('.__dict__')}.{key}"


def _name_of_item(self, key):
    shown = repr(key) if type(key) in (str, int) else type(key).__name__  # no user's `__repr__`
    return f"{self.node.name}[{shown}]"


def slot_descriptors(cls):
    """Return the member descriptors of a class's slots by name, outer classes winning.

    What a class has been given in place of one, a property, leaves nothing to be read.
    """
    found = {}
    for namespace, name in _named_slots(cls):
        if name not in found and type(namespace.get(name)) is types.MemberDescriptorType:
            found[name] = namespace[name]
    return found


def _named_slots(cls):
    """Return the slots of a class: pairs of the namespace that defines one and its name."""
    found = []
    for c in cls.__mro__[:-1]:
        namespace = type.__getattribute__(c, "__dict__")
        names = namespace.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name in ("__dict__", "__weakref__"):
                continue
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{c.__name__.lstrip('_')}{name}"
            found.append((namespace, name))
    return found


OUR_BASES: tuple[Any, ...] = tuple({twin(object, "JitBase")} - {object})
"""Types of ours in C whose structs hold only what the attributes say as well."""


class _Template:
    """What an object that was made while tracing is in the end: it has no `__del__`."""


def leave_unfinalized(objects):
    """Keep the finalizers of some objects from running, but for slots, which tie to a class."""
    for x in objects:
        if hasattr(type(x), "__del__"):
            with contextlib.suppress(TypeError):
                object.__setattr__(x, "__class__", _Template)


def new_instance(cls):
    """Return an instance of a class without hidden state, without running its `__init__`."""
    found = (type.__getattribute__(c, "__dict__").get("__new__") for c in cls.__mro__)
    return next(x for x in found if type(x) is types.BuiltinMethodType)(cls)  # the nearest in C


def has_no_hidden_state(cls):
    """Whether instances hold nothing but a dict and slots: no struct of C code but our own."""
    if issubclass(cls, OUR_BASES):
        return True
    names = {name for _, name in _named_slots(cls)}  # of two of one name, the inner one is hidden
    pointers = len(names) + (cls.__weakrefoffset__ > 0) + (cls.__dictoffset__ > 0)
    return cls.__basicsize__ <= object.__basicsize__ + 8 * pointers


def instance_dict(obj):
    """Return the instance's dict, or None, without running user code, and without making one."""
    if type(obj) is functools.partial:
        return own_dict(obj)
    try:
        found = namespace_of(obj)
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


class InDict(Entered):
    """What is in an object's dict, which may get another one.

    Attributes:
      namespace: the dict before the trace, or None.
    """

    __slots__ = ("namespace",)
    namespace: Any
    slots: Any = types.MappingProxyType({})
    name_of = name_of_attribute

    def __init__(self, obj, node):
        self.namespace = instance_dict(obj)
        super().__init__(obj, node)

    def holder(self):
        """Return the dict."""
        return self.namespace

    def is_replaced(self):
        """Whether another dict holds the attributes now: `__dict__` was assigned."""
        return instance_dict(self.obj) is not self.namespace

    def changed(self):
        """Whether the attributes, or the dict that holds them, are not what was put in place."""
        return self.is_replaced() or super().changed()

    def restore(self):
        """Put back the dict and all attributes."""
        if self.is_replaced():
            set_namespace(self.obj, self.namespace)
        self.put(self.entry)

    def left_in_dict(self):
        """Return what is in the dict from before the trace, and what the trace had put there."""
        return dict(self.namespace), {k: v for k, v in self.placed.items() if k not in self.slots}


class Attributes(InDict):
    """The attributes of an object, in its dict and in its slots.

    Attributes:
      seen: names whose lookup is guarded already.
      hidden: name -> what was lifted of it, where a placeholder is in place again.
    """

    __slots__ = ("cls", "hidden", "seen", "slots")

    def __init__(self, obj, node):
        self.cls = type(obj)
        self.slots = slot_descriptors(self.cls)
        self.seen, self.hidden = set(), {}
        super().__init__(obj, node)

    def contents(self):
        """Return the attributes by name: the dict's in their order, then the slots'."""
        found = dict(instance_dict(self.obj) or {})
        for name, descriptor in self.slots.items():
            if name in found:
                raise _two_attributes(self.name_of(name))
            with contextlib.suppress(AttributeError):
                found[name] = descriptor.__get__(self.obj)
        return found

    def put(self, contents):
        """Set all attributes."""
        namespace = instance_dict(self.obj)
        rest = contents
        if self.slots:
            rest = dict(contents)
            for name, descriptor in self.slots.items():
                if name in rest:
                    descriptor.__set__(self.obj, rest.pop(name))
                else:
                    delete_slot(self.obj, descriptor)
        if namespace is not None:
            replace_entries(namespace, rest)

    def restore(self):
        """Put back the class, the dict and all attributes."""
        if type(self.obj) is not self.cls:
            object.__setattr__(self.obj, "__class__", self.cls)
        super().restore()

    def place_one(self, name, value):
        """Put one lifted attribute in place."""
        self.placed[name] = value
        if name in self.slots:
            self.slots[name].__set__(self.obj, value)
        else:
            namespace = instance_dict(self.obj)
            assert namespace is not None
            namespace[name] = value


def _two_attributes(path):
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: {path} is in the object's `__dict__` and in its slots; they are told apart by name.",
        fix="give one of the two another name, or assign it as an attribute, not by `__dict__`.",
        anchor="opaque-state",
    )


def delete_slot(obj, descriptor):
    """Empty a slot, which may be empty already."""
    with contextlib.suppress(AttributeError):
        descriptor.__delete__(obj)


def replace_entries(namespace, contents):
    """Give a dict other contents, touching its order only where it differs."""
    if list(dict.__iter__(namespace)) != list(contents):
        dict.clear(namespace)
    dict.update(namespace, contents)


class Container(Entered):
    """What is in a container, which may be left alone: nothing reads it, and it is only added to.

    Attributes:
      unread: whether it is left alone, but for some last items. It then holds what the trace adds.
      left: what the trace has put in place of contents that it left alone, each time.
      length: the host's number that says how much was in it at the start of a call, if somebody
        has asked before it was read.
    """

    __slots__ = ("left", "length", "unread")
    _adding: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, obj, node):
        self.unread = False
        self.left: list[Any] = []
        self.length: Any = None
        super().__init__(obj, node)

    def adds(self, end):
        """Whether a method or operator, as in `uses.Use`, adds to it and tells nothing of it."""
        return end in self._adding

    def leave(self, last=()):
        """Leave the contents alone, but for some last items, as they were lifted."""
        self.unread, self.placed = True, self.nothing(last)
        self.left.append(self.placed)

    def nothing(self, last=()) -> Any:
        """Return what is put in place of contents that are left alone but for the last items."""
        return [*last]

    def as_before(self):
        """Return a container that holds what was in it before the trace."""
        return self.entry

    def with_added(self, contents, left):
        """Return the contents, lifted by now, with what was added while they were left alone.

        Args:
          contents: what was in the container then.
          left: what the trace had put in place.
        """
        return [*self.placed, *contents]

    def lifted_since(self, contents, placed):
        """Return earlier contents, with what has been lifted since `placed` was in place."""
        then = list(map(id, placed))
        was_left = any(list(map(id, left)) == then for left in self.left)
        if not was_left or list(map(id, self.placed)) == then:
            return super().lifted_since(contents, placed)
        return self.with_added(contents, placed)


class Items(Container):
    """The items of a list or deque."""

    __slots__ = ()
    name_of = _name_of_item

    def adds(self, end):
        """Whether it adds; before what was there only where something shows where that is."""
        return end in _AT_THE_END or (end in _AT_THE_START and self._is_marked())

    def _is_marked(self):
        """Whether one thing that refuses every use stands for items that are left alone.

        Not in a deque of a largest length, which forgets items where others are added; nor in what
        other threads reach by no attribute of an object: they would see it.
        """
        node = self.node
        while node is not None and node.kind not in _REACHED_BY_ALL:
            node = node.parent
        return node is None and getattr(self.obj, "maxlen", None) is None

    def nothing(self, last=()):
        """Return what stands for all items that are left alone, and the last ones."""
        return [left_alone(type(self.obj)), *last] if self._is_marked() else [*last]

    def with_added(self, contents, left):
        """Return the items, which stand where one thing stood for all of them."""
        before, behind = added_to(contents, left)
        return [*before, *self.placed, *behind]

    def as_before(self):
        """Return a container that holds the items from before the trace."""
        return _base(self.obj)(self.entry)

    def contents(self):
        """Return the items."""
        return [*_base(self.obj).__iter__(self.obj)]

    def put(self, contents):
        """Replace all items."""
        base = _base(self.obj)
        base.clear(self.obj)
        base.extend(self.obj, contents)


def added_to(contents, left):
    """Return what was added before and behind a list that was left alone.

    Args:
      contents: what is in it.
      left: what the trace has put in place: what stands for all items, if anything does, and the
        last ones, if they are read.
    """
    at = next((i for i, x in enumerate(contents) if left and x is left[0]), 0)
    return contents[:at], contents[at + len(left) :]


_AT_THE_END = frozenset({"append", "extend", "+="})
_AT_THE_START = frozenset({"insert", "appendleft", "extendleft"})
_REACHED_BY_ALL = frozenset({"class_entry", "get", "contents"})


class Entries(Container):
    """The entries of a dict."""

    __slots__ = ()
    name_of = _name_of_item
    _adding = frozenset({"[]=", "update", "|="})

    def holder(self):
        """Return the dict itself."""
        return self.obj

    def nothing(self, last=()):
        """Return no entries."""
        return {}

    def with_added(self, contents, left):
        """Return the entries, those that were set last where they were."""
        return self.placed | contents

    def contents(self):
        """Return the entries."""
        keys = dict_type(self.obj).__iter__(self.obj)
        return {k: dict.__getitem__(self.obj, k) for k in keys}

    def put(self, contents):
        """Replace all entries."""
        kind = dict_type(self.obj)
        if list(map(id, kind.__iter__(self.obj))) != list(map(id, contents)):
            kind.clear(self.obj)
        for k, v in contents.items():
            kind.__setitem__(self.obj, k, v)


class Members(Container):
    """The members of a set; they are never replaced."""

    __slots__ = ()
    _adding = frozenset({"add", "update", "|="})

    def as_before(self):
        """Return a set of the members from before the trace, a list where code would hash them."""
        return set(self.entry) if all(map(is_value, self.entry)) else self.entry

    def contents(self):
        """Return the members."""
        return list(set.__iter__(self.obj))

    def put(self, contents):
        """Replace the members."""
        if not setorder.is_in_order(self.obj, contents):
            setorder.refill(self.obj, contents)


class CellContents(Entered):
    """What a closure's cell holds."""

    __slots__ = ()

    def contents(self):
        """Return the contents under one key; an empty cell has none."""
        try:
            return {"": self.obj.cell_contents}
        except ValueError:
            return {}

    def put(self, contents):
        """Set or empty the cell."""
        if contents:
            self.obj.cell_contents = contents[""]
        else:
            with contextlib.suppress(ValueError):
                del self.obj.cell_contents


class Fields(Entered):
    """What an object of a C type holds beside what it contains: a default factory.

    Args:
      obj, node: as of all things.
      fields: the descriptors of what it holds, by name.
    """

    __slots__ = ("fields",)
    name_of = name_of_attribute

    def __init__(self, obj, node, fields):
        self.fields = fields
        super().__init__(obj, node)

    def contents(self):
        """Return what it holds by name."""
        return {name: field.__get__(self.obj) for name, field in self.fields.items()}

    def put(self, contents):
        """Set what differs."""
        for name, field in self.fields.items():
            if field.__get__(self.obj) is not contents[name]:
                field.__set__(self.obj, contents[name])


FIELDS: dict[type, dict[str, Any]] = {
    BaseException: {name: BaseException.__dict__[name] for name in ("args", "__cause__")},
    collections.defaultdict: {"default_factory": vars(collections.defaultdict)["default_factory"]},
    types.FunctionType: {
        name: types.FunctionType.__dict__[name] for name in ("__defaults__", "__kwdefaults__")
    },
}
"""What objects of C types hold that decides what they do, and that can be set."""


class Memory(Entered):
    """The bytes of a buffer: a `bytearray`, an `array.array`, a `memoryview`, a NumPy array."""

    __slots__ = ("last",)

    def __init__(self, obj, node):
        self.last = None
        super().__init__(obj, node)

    def contents(self):
        """Return the bytes under one key: the same object for as long as they are the same."""
        now = bytes(self.obj)
        if now != self.last:
            self.last = now
        return {"": self.last}

    def put(self, contents):
        """Write to the buffer."""
        if self.contents()[""] is not contents[""]:
            write_memory(self.obj, contents[""])


class position(str):
    """Where an iterator stands, in words."""

    __slots__ = ()


class Position(Entered):
    """Where an iterator stands that the trace has made: to be compared, it cannot be put back."""

    __slots__ = ("last",)

    def __init__(self, obj, node):
        self.last = None
        super().__init__(obj, node)

    def contents(self):
        """Return the position under one key: the same object for as long as it is the same."""
        now = position(position_of(self.obj))
        if now != self.last:
            self.last = now
        return {"": self.last}

    def put(self, contents):
        """Leave it: whoever has moved it in a body that runs again is told."""


def write_memory(buffer, data):
    """Give a buffer other bytes; a `bytearray` or an `array.array` may change its length."""
    if type(buffer) is bytearray:
        buffer[:] = data
    elif type(buffer) is array.array and len(buffer) * buffer.itemsize != len(data):
        del buffer[:]
        buffer.frombytes(data)
    else:
        memory = np.asarray(buffer)
        if memory.flags.writeable:
            memory[...] = np.frombuffer(data, memory.dtype).reshape(memory.shape)


def _base(obj):
    """Return `list` or `deque`: whose methods work on the items without user code."""
    return next(c for c in type(obj).__mro__ if c.__module__ in ("builtins", "collections"))


class ContextValue(Entered):
    """What a context variable holds in this context, a copy that is dropped after the trace."""

    __slots__ = ()

    def contents(self):
        """Return the value under one key."""
        value = self.obj.get(ABSENT)
        return {} if value is ABSENT else {"": value}

    def put(self, contents):
        """Set the variable; nothing can take its value away again, so no loop may first set it."""
        if contents:
            self.obj.set(contents[""])

    def restore(self):
        """Do nothing: outside of the trace's context the variable was never set."""
