"""Objects of Python classes: their attributes become lifted values when they are read."""

import enum
import sys
import types

from evertrace._src.jit.lifting import asking, guards
from evertrace._src.jit.lifting.code import CLASSES, is_library_code
from evertrace._src.jit.lifting.containers import can_be_left
from evertrace._src.jit.lifting.entered import Attributes, instance_dict
from evertrace._src.jit.lifting.hooks import Hooks, StandIn, parts, placeholder
from evertrace._src.jit.lifting.protocols import Lifting
from evertrace._src.jit.lifting.spaces import nowhere
from evertrace._src.jit.lifting.uses import (
    Field,
    is_called,
    reads_of_attribute,
    uses_of_attribute,
)
from evertrace._src.jit.lifting.values import ABSENT, OWN, PRESENT, is_value, weakly

_WHOLE = frozenset({
    "__dict__", "__reduce_ex__", "__reduce__", "__getstate__", "__copy__", "__deepcopy__",
    "__dir__",
})  # fmt: skip
_HERE = __file__.removesuffix("objects.py")


class Objects:
    """The objects that one trace has taken over, by id, and the hooks on their classes.

    Args:
      lifter: the trace's lifter.
      eager: classes whose attributes are lifted at once.
    """

    def __init__(self, lifter: Lifting, eager):
        self.lifter, self.eager = lifter, eager
        self.graph, self.identity = lifter.recorder.graph, lifter.recorder.identity
        self.by_id = {}
        self.hooks = Hooks(
            self.read, self.missing, self.read_of_made, self.by_id, self.identity.by_id
        )
        self.of_made = set()  # classes of objects that the trace has made
        self._shown = False  # whether code looks through the classes of objects
        self.lifter.spaces.add(self._show, (CLASSES,), nowhere())
        self.afters = lifter.recorder.callbacks.afters

    def enter(self, obj, node):
        """Take over an object: every attribute is a placeholder until it is read."""
        cls = type(obj)
        node.check, node.want = class_check(cls)
        entered = self.identity.enter(Attributes(obj, node))
        self.lifter.classes.reach(cls)
        hooked = self.hooks.add(cls, only_others=cls in self.eager)
        if self._shown or not (hooked or cls in self.eager):
            self.lifter.classes.lift(cls)
        self.by_id[id(obj)] = entered  # first: other threads then read what was there
        entered.place({name: placeholder(entered, name) for name in entered.entry})
        if not hooked:
            self.lift_all(entered)
        return obj

    def _show(self, name):
        """Take over the classes of all objects: code goes through what is in them unseen."""
        if name == CLASSES and not self._shown:
            self._shown = True
            for entered in list(self.by_id.values()):
                self.lifter.classes.lift(entered.cls)

    # ------------------------------------------------------------ reads

    def read(self, entered, name, value):
        """Return what a read of an attribute gives; called by the hook."""
        kind = type(value)
        if self.afters:
            self._note_read(entered, name, value)
        if name in OWN.get(entered.cls, ()):
            return self._read_own(entered, name, value)
        if kind is StandIn and isinstance(parts(value)[0], Attributes):
            owner, own_name = parts(value)
            self.guard_lookup(owner, own_name)
            uses = _uses(name) if can_be_left(type(owner.entry[own_name])) else None
            value = self.lift_attribute(owner, own_name, uses)
            if self.afters:
                self._note_read(owner, own_name, value)
            return _to_be_used(value, name)
        if name in entered.seen and not _is_of_class(entered, name, value):
            if id(value) in self.lifter.partly:
                self.lifter.see(value, _uses(name))
            return _to_be_used(value, name)
        if name in _WHOLE:
            self.lift_all(entered)
            return object.__getattribute__(entered.obj, name)
        if name == "__class__":
            if _is_users(sys._getframe(2)):  # `isinstance` asks for it too
                self.lifter.classes.lift(value)
            return value
        found = self.guard_lookup(entered, name)
        if found is None or name in (instance_dict(entered.obj) or ()):
            return value
        owner, raw = found
        self._absent(entered, name)
        uses = _uses(name) if can_be_left(kind) else None
        if kind in (types.FunctionType, types.MethodType):
            self._take(value, name)
        found = self.lifter.classes.found_on_class(entered, owner, name, raw, value, uses)
        return _to_be_used(found, name)

    def _take(self, function, name):
        """Depend on the attributes of a function or method that is read and not called."""
        frame = sys._getframe(3)  # of who asked the hook that asked `read`
        if not is_called(frame.f_code, frame.f_lasti, name):
            reads = reads_of_attribute(frame.f_code, frame.f_lasti, name)
            is_asked = any(use.steps and type(use.steps[0]) is Field for use in reads)
            self.lifter.functions.take(function, is_asked)

    def _note_read(self, entered, name, value):
        """Note that an attribute is read after a callback was bound, and what is done with it."""
        self.afters[-1].reads.add((entered, name))
        frame = sys._getframe(3)  # of who asked the hook that asked `read`
        uses = reads_of_attribute(frame.f_code, frame.f_lasti, name)
        self.lifter.recorder.callbacks.read_of(value, uses)

    def _read_own(self, entered, name, value):
        """Return what a read of an attribute of ours gives, which may be a user's function."""
        if type(value) is not StandIn:
            return value
        if callable(entered.entry[name]):
            return self.lift_attribute(entered, name)
        entered.place_one(name, entered.entry[name])
        return entered.entry[name]

    def missing(self, entered, name):
        """Note that an attribute is not there; called by the hook."""
        if self.afters:
            self.afters[-1].reads.add((entered, name))
        self.guard_lookup(entered, name)
        self._absent(entered, name)

    def read_of_made(self, obj):
        """Note that user code reads an object of the trace's own: its class is as good as a value.

        Mostly it is one already, for somebody called it; but not that of a copy.
        """
        cls = type(obj)
        if cls not in self.of_made and _is_users(sys._getframe(2)):
            self.of_made.add(cls)
            self.lifter.classes.lift(cls)

    def lift_attribute(self, entered, name, uses=None):
        """Lift one attribute and put it in place."""
        value, node = entered.entry[name], self.attribute_node(entered, name)
        if name == "_value_" and isinstance(entered.obj, enum.Enum) and is_value(value):
            node.check, node.want, lifted = "value", value, value  # the library keys members by it
        else:
            lifted = entered.hidden.pop(name, ABSENT)
            if lifted is ABSENT:
                lifted = self.lifter.lift(value, node, uses)
            elif id(lifted) in self.lifter.partly:
                self.lifter.see(lifted, uses)
        entered.place_one(name, lifted)
        return lifted

    def hide_again(self):
        """Have what was read, and stayed the same value, read again: an assignment then shows."""
        self.close(self.lifter.functions.deleted)  # what was deleted and set shows no more
        for entered in list(self.by_id.values()):
            if self.hooks.classes.get(entered.cls):
                own = OWN.get(entered.cls, ())
                for name, value in entered.contents().items():
                    is_read = type(value) is not StandIn and name in entered.entry
                    if is_read and value is entered.placed.get(name) and name not in own:
                        entered.hidden[name] = value
                        entered.place_one(name, placeholder(entered, name))

    def lift_all(self, entered):
        """Lift every attribute that was not read yet: code in C will read them unseen."""
        for name, value in list(entered.contents().items()):
            if type(value) is StandIn and parts(value)[0] is entered:
                self.guard_lookup(entered, name)
                self.lift_attribute(entered, name)
            else:
                self.lifter.see(value)
        for name in entered.slots:  # by which code may find that there is nothing
            self._absent(entered, name)
        if instance_dict(entered.obj) is not None:
            node = self._guard_names(entered)
            self.identity.derived(entered.namespace, node)  # the code may keep it

    def _guard_names(self, entered):
        """Depend on the names of all attributes in an instance's dict, and on their order."""
        node = self.vars_node(entered)
        node.check = "keys"
        node.want = (
            type(entered.namespace),
            tuple([n for n in entered.entry if n not in entered.slots]),
        )
        return node

    def close(self, deleted):
        """Depend on what was not there and may have been deleted, or set and deleted again.

        What was there and may have been deleted and set again is now behind all others: that there
        are others depends on the names that there are.

        Args:
          deleted: names of attributes that the code deletes.
        """
        for entered in list(self.by_id.values()):
            now = entered.contents()
            is_any = self.lifter.functions.deletes_any
            for name in entered.slots:  # ``Slim.k.__get__(obj)``
                if is_any or self.lifter.classes.has_given(entered.cls, name):
                    self._absent(entered, name)
            if is_any and instance_dict(entered.obj) is not None:
                self._guard_names(entered)
            for name in entered.entry.keys() - now.keys():
                self._present(entered, name)  # it was deleted
            for name in deleted:
                if name not in entered.entry:
                    self._absent(entered, name)
                elif type(now.get(name)) is not StandIn:
                    self._present(entered, name)

    # ------------------------------------------------------------ nodes

    def attribute_node(self, entered, name):
        """Return the node of an attribute of the instance itself."""
        path = f"{entered.node.name}.{name}"
        if name in entered.slots:
            return self.graph.node(entered.node, "slot", entered.slots[name], path)
        return self.graph.node(self.vars_node(entered), "key", name, path)

    def vars_node(self, entered):
        """Return the node of the dict of an instance."""
        return self.graph.node(entered.node, "vars", None, f"{entered.node.name}.__dict__")

    def _absent(self, entered, name):
        """Depend on an instance not having an attribute of its own."""
        if name not in entered.entry:  # else the trace itself has deleted it
            self.absence_node(entered, name)

    def _present(self, entered, name):
        """Depend on an instance having an attribute of its own."""
        if name in entered.slots:
            path, descriptor = f"{entered.node.name}.{name}", entered.slots[name]
            self.graph.node(entered.node, "has_slot", descriptor, path, "identity", PRESENT)
        else:
            self._guard_names(entered)

    def absence_node(self, entered, name):
        """Return the node of an attribute that an instance has not; None if it can have none."""
        path = f"{entered.node.name}.{name}"
        if name in entered.slots:
            descriptor = entered.slots[name]
            return self.graph.node(entered.node, "has_slot", descriptor, path, "identity", ABSENT)
        if instance_dict(entered.obj) is None:
            return None
        return self.graph.node(self.vars_node(entered), "get", name, path, "identity", ABSENT)

    def unhooked(self):
        """Return the objects whose attributes are read unseen."""
        return [e for e in self.by_id.values() if not self.hooks.classes.get(e.cls)]

    def guard_lookup(self, entered, name):
        """Depend on what the class has under a name; returns (owner, entry) or None."""
        entered.seen.add(name)
        self.graph.depend_on_lookup(entered.cls, name)
        for c, entry in zip(entered.cls.__mro__, guards.column(entered.cls, name), strict=False):
            if entry is not ABSENT:
                return c, entry
        return None


def _is_of_class(entered, name, value):
    """Whether a read has found an entry of the class as it is, which each read lifts."""
    entry = next((x for x in guards.column(entered.cls, name) if x is not ABSENT), ABSENT)
    return entry is value and name not in (instance_dict(entered.obj) or ())


def class_check(cls):
    """Return the check of an object's class, which keeps no user's class alive."""
    ref = weakly(cls)
    return ("class", ref) if ref is not cls else ("type", cls)


def _is_users(frame):
    """Whether a frame that reads an attribute is the user's, by what stands for `getattr` too."""
    while frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return not is_library_code(frame.f_code)


def _to_be_used(value, name):
    """Return an attribute that is read, or what is called in its place where it is only called."""
    made = asking.to_be_called(value)
    if made is value:
        return value
    frame = sys._getframe(3)  # of who asked the hook that asked `Objects.read`
    return made if is_called(frame.f_code, frame.f_lasti, name) else value


def _uses(name):
    """Return what the code that reads an attribute does with it."""
    frame = sys._getframe(3)  # of who asked the hook that asked `Objects.read`
    return uses_of_attribute(frame.f_code, frame.f_lasti, name)
