"""Write-backs: what a call changes in the things that it has reached.

A `Write` is data: which node, what kind of thing, and recipes of what is new in it. All new values
are made first, then all writes are applied, so that a call that fails has changed nothing.
"""

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.jit.lifting import entered as kinds
from evertrace._src.jit.lifting import setorder
from evertrace._src.jit.lifting.arraywrites import (
    WHOLE,
    Note,
    Place,
    is_sure,
    refused,
    replay,
    share_memory,
    split,
    steps_of,
)
from evertrace._src.jit.lifting.entered_names import (
    ClassEntries,
    FunctionAttributes,
    Names,
    PartialAttributes,
)
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.instancedict import set_namespace
from evertrace._src.jit.lifting.parts import is_changed
from evertrace._src.jit.lifting.values import ABSENT, dict_type


class Write(NamedTuple):
    """A change of one thing.

    Attributes:
      node: index of the node that the thing is found at.
      name: of the thing, for people.
      kind: what is changed: a key of `APPLY`.
      recipes: of the new values, by name or in order.
      rest: what else the kind needs: names to delete, items to keep.
    """

    node: int
    name: str
    kind: str
    recipes: Any
    rest: Any

    def values(self):
        """Return the recipes as a list."""
        made = self.recipes
        return [*made.values()] if type(made) is dict else made if type(made) is list else [made]

    def prepare(self, kitchen):
        """Return the new values."""
        if type(self.recipes) is dict:
            return {k: v.make(kitchen) for k, v in self.recipes.items()}
        if type(self.recipes) is list:
            return [x.make(kitchen) for x in self.recipes]
        return self.recipes.make(kitchen)

    def apply(self, kitchen, made):
        """Put the new values in place."""
        APPLY[self.kind](kitchen.values[self.node], made, self.rest)

    def __str__(self):
        names = list(self.recipes) if type(self.recipes) is dict else []
        gone = [f"del {n}" for n in self.rest] if self.kind in ("attributes", "names") else []
        return f"{self.name}: {', '.join([*map(str, names), *gone]) or self.kind}"


def changes(recorder, cook):
    """Return the writes of a trace: what differs from what it put in place."""
    writes = _writes_to_arrays(recorder, cook)  # the only ones that could fail when applied
    for entered in recorder.identity.entered:
        if entered.changed():
            writes += DIFFERENCES[type(entered)](entered, recorder, cook)
    _check_unwritable(recorder)
    for entered in recorder.identity.entered:
        if isinstance(entered, kinds.Attributes) and type(entered.obj) is not entered.cls:
            recipe = cook.state(type(entered.obj), entered.node.name)
            writes.append(Write(entered.node.index, entered.node.name, "class", recipe, None))
    return writes


def _writes_to_arrays(recorder, cook):
    """Return the writes into NumPy arrays: those that were noted, in order, or whole arrays."""
    writes, unsure = [], []
    for array in recorder.effects.arrays:
        if array.written:
            node = recorder.identity.origin[id(array)]
            _check_shared(array.original, node, recorder)
            writes.append(write_to_array(array, node, cook))
            if not is_sure(array.original, writes[-1].rest):
                unsure.append(writes[-1]._replace(kind="bounds"))
    for made, value, node in recorder.effects.array_copies:
        if made.tobytes() != node.want[2]:
            if not value.flags.writeable:
                raise refused(ValueError, f"jit: {node.name}: the array is read-only")
            recorder.guard_layout(value, node, "writeable")
            _check_shared(value, node, recorder)
            recipes = [cook.assigned(made.copy(order="K"), node.name)]
            writes.append(Write(node.index, node.name, "ndarray", recipes, (Place((), ..., 0),)))
    # None of several is made where one is refused.
    return [*unsure, *writes] if len(writes) > 1 else writes


def write_to_array(array, node, cook):
    """Return the write of what was written into a NumPy array that is at a node."""
    notes = array.written
    if notes is WHOLE:
        notes = (Note((), ..., array.image()),)
    recipes, places = [], []
    for path, index, value, src in notes:
        index_, holes = split(index)
        recipes += [cook.assigned(x, node.name) for x in (value, *holes)]
        places.append(Place(path, index_, len(holes), src))
    return Write(node.index, node.name, "ndarray", recipes, tuple(places))


def _check_unwritable(recorder):
    """Raise where something was changed whose changes cannot be results."""
    for made, node, attributes in recorder.effects.copies:
        now = kinds.instance_dict(made) or {}
        if list(now) != list(attributes) or any(now[k] is not x for k, x in attributes.items()):
            raise _copy_error(node, "an attribute")
    for made, node, held in recorder.effects.partials:
        if is_changed(made, held):
            raise _copy_error(node, "the state")
    for value, node, was_locked in recorder.effects.locks:
        if "locked" in recorder.lifter.spaces.names:
            recorder.graph.node(node, "locked", None, f"{node.name}.locked()", "value", was_locked)
        if value.locked() != was_locked:
            if not was_locked:
                value.release()  # a call that raises changes nothing
            raise _lock_error(node, was_locked)


def _check_shared(written, at, recorder):
    """Raise where another captured array or buffer shows what was written to this one.

    That NumPy arrays share no memory is asked again at each call.

    Args:
      written: the array or buffer.
      at: its node.
      recorder: the trace's recorder.
    """
    identity, effects, inputs = recorder.identity, recorder.effects, recorder.inputs
    others = [(a.original, identity.origin[id(a)]) for a in effects.arrays if not a.is_scalar]
    others += [(value, node) for _, value, node in effects.array_copies]
    if type(written) is np.ndarray:  # buffers of one another change in place together
        others += [(e.obj, e.node) for e in identity.entered if type(e) is kinds.Memory]
    for other, node in others:
        if other is written:
            continue
        both = inputs.host_scalar(written, at), inputs.host_scalar(other, node)
        if inputs.prologue.demand(share_memory, *both):
            raise errors.user_error(
                errors.ImpurityError,
                f"jit: {at.name}, which is written to, shares memory "
                f"with {node.name}; the change of the one would be missed "
                f"in the other.",
                fix="use `.at[].set` instead of writing, or give the function one of the two.",
                anchor="impurity",
            )


def _copy_error(node, what):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: {what} of {node.name}, a functools.partial, is set in a jitted function; the "
        f"change cannot be made a result.",
        fix="keep the value in an attribute of an object of your own.",
        anchor="impurity",
    )


def _lock_error(node, was_locked):
    return errors.user_error(
        errors.ImpurityError,
        f"jit: {node.name} is {'released' if was_locked else 'acquired'} in a jitted function and "
        f"left so; a compiled call would not do it.",
        fix="acquire and release it in the same call, or outside.",
        anchor="impurity",
    )


# ------------------------------------------------------------------------ differences


def _mapping(node, cook, now, placed, kind):
    """Compare two dicts: entries set and deleted, all anew where the order changed."""
    gone = [k for k in placed if k not in now]
    changed = [k for k in now if k not in placed or now[k] is not placed[k]]
    if list(now) != [k for k in placed if k in now] + [k for k in now if k not in placed]:
        changed, gone = list(now), list(placed)
    return _written(node, cook, kind, {k: now[k] for k in changed}, gone)


def _written(node, cook, kind, made, gone):
    """Return the write of what is set by name, and of names that are deleted before."""
    name = node.name
    sep = "." if kind != "entries" else ""
    recipes = {k: cook.state(x, f"{name}{sep}{k}") for k, x in made.items()}
    return [Write(node.index, name, kind, recipes, gone)] if recipes or gone else []


def _ordered(entered, cook, kind):
    """Compare what names of a module or class stand for; those that stand elsewhere are set anew.

    Where the names of one are deleted, the order of all is guarded (see `Namespaces.close`).
    """
    now, placed, moved = entered.contents(), entered.placed, entered.moved()
    gone = [k for k in placed if k not in now or k in moved]
    made = {
        k: now[k]
        for k in entered.order()
        if k in now and (k in moved or k not in placed or now[k] is not placed[k])
    }
    return _written(entered.node, cook, kind, made, gone)


def _attributes(entered, recorder, cook):
    now, placed = entered.contents(), entered.placed
    objects = recorder.lifter.objects
    if entered.is_replaced():
        before, there = entered.left_in_dict()
        _guard_attributes(entered, objects, before, there)
        return [
            *_mapping(objects.vars_node(entered), cook, before, there, "entries"),
            *_replaced(entered, entered.node, cook),
        ]
    _guard_attributes(entered, objects, now, placed)
    return _mapping(entered.node, cook, now, placed, "attributes")


def _guard_attributes(entered, objects, now, placed):
    """Depend on what an object has to have for its attributes to be set and deleted."""
    for k, old in placed.items():
        if k not in now and type(old) is StandIn:
            objects.attribute_node(entered, k)  # it has to be there to be deleted
    for k in now:
        if k not in placed or now[k] is not placed[k]:
            objects.guard_lookup(entered, k)


def _replaced(entered, node, cook):
    """Return the writes of an object, found at a node, whose `__dict__` was assigned."""
    at, name, slots = node.index, node.name, entered.slots
    recipe = cook.state(kinds.instance_dict(entered.obj), f"{name}.__dict__")
    now, placed = entered.contents(), entered.placed
    changed = [k for k in slots if k in now and now[k] is not placed.get(k, ABSENT)]
    recipes = {k: cook.state(now[k], f"{name}.{k}") for k in changed}
    gone = [k for k in slots if k in placed and k not in now]
    writes = [Write(at, f"{name}.__dict__", "namespace", recipe, None)]
    return [*writes, Write(at, name, "attributes", recipes, gone)] if recipes or gone else writes


def _names(entered, recorder, cook):
    return _ordered(entered, cook, "names")


def _class_entries(entered, recorder, cook):
    return _ordered(entered, cook, "class_entries")


def _fields(entered, recorder, cook):
    return _mapping(entered.node, cook, entered.contents(), entered.placed, "fields")


def _memory(entered, recorder, cook):
    _check_shared(entered.obj, entered.node, recorder)
    recipe = cook.state(entered.contents()[""], entered.node.name)
    return [Write(entered.node.index, entered.node.name, "memory", recipe, None)]


def _function_attributes(entered, recorder, cook):
    node, (now, placed) = entered.node, entered.left_in_dict()
    writes = _mapping(node, cook, now, placed, "entries")
    return [*writes, *_replaced(entered, node.parent, cook)] if entered.is_replaced() else writes


def _partial_attributes(entered, recorder, cook):
    now, placed = entered.contents(), entered.placed
    if entered.is_replaced():
        return _replaced(entered, entered.node, cook)
    return _mapping(entered.node, cook, now, placed, "partial")


def _entries(entered, recorder, cook):
    now, placed, node = entered.contents(), entered.placed, entered.node
    gone = [k for k in placed if k not in now]
    changed = [k for k in now if k not in placed or now[k] is not placed[k]]
    new = [k for k in now if k not in placed]
    if list(map(id, now)) != list(map(id, [k for k in placed if k in now] + new)):
        changed, gone = list(now), list(placed)
    recipes = [
        (
            cook.state(k, f"a key of {node.name}"),
            cook.state(now[k], f"{node.name}[...]"),
        )
        for k in changed
    ]
    gone = [cook.state(k, f"a key of {node.name}") for k in gone]
    flat = [x for pair in recipes for x in pair]
    return [Write(node.index, node.name, "dict", [*gone, *flat], len(gone))]


def _items(entered, recorder, cook):
    now, node = entered.contents(), entered.node
    if entered.unread:
        return _added(now, entered, cook)
    placed = entered.placed
    shift = next((i for i, x in enumerate(placed) if now and x is now[0]), 0)
    kept = 0
    while kept < len(now) and kept + shift < len(placed) and now[kept] is placed[kept + shift]:
        kept += 1
    if not kept:
        shift = 0
    recipes = [cook.state(x, f"{node.name}[{i}]") for i, x in enumerate(now[kept:], kept)]
    return [Write(node.index, node.name, "items", recipes, (shift, kept))]


def _added(now, entered, cook):
    """Return the write of a list that was left alone: what is before and behind what was there."""
    node, (before, behind) = entered.node, kinds.added_to(now, entered.placed)
    recipes = [cook.state(x, f"{node.name}[...]") for x in (*before, *behind)]
    if not recipes:
        return []
    kind = "around" if before else "extend"
    return [Write(node.index, node.name, kind, recipes, len(before))]


def _members(entered, recorder, cook):
    now, node = entered.contents(), entered.node
    gone = [x for x in entered.placed if not any(x is y for y in now)]
    new = [x for x in now if not any(x is y for y in entered.placed)]
    if not new and setorder.is_in_order(entered.obj, entered.placed):
        return []
    kind, members = ("extend", new) if entered.unread else ("set", [*gone, *now])
    recipes = [cook.state(x, f"a member of {node.name}") for x in members]
    return [Write(node.index, node.name, kind, recipes, len(gone))]


def _cell(entered, recorder, cook):
    now = entered.contents()
    if not now:
        return [Write(entered.node.index, entered.node.name, "cell", [], None)]
    recipe = cook.state(now[""], entered.node.name)
    return [Write(entered.node.index, entered.node.name, "cell", [recipe], None)]


def _context(entered, recorder, cook):
    recipe = cook.state(entered.contents()[""], entered.node.name)
    return [Write(entered.node.parent.index, entered.node.name, "context", recipe, None)]


DIFFERENCES: dict[type, Callable[..., list[Write]]] = {
    kinds.Attributes: _attributes, Names: _names, ClassEntries: _class_entries,
    FunctionAttributes: _function_attributes, PartialAttributes: _partial_attributes,
    kinds.Entries: _entries,
    kinds.Items: _items, kinds.Members: _members, kinds.CellContents: _cell,
    kinds.ContextValue: _context, kinds.Fields: _fields, kinds.Memory: _memory,
}  # fmt: skip
"""What has changed in a thing, by what kind of thing it is."""


# ------------------------------------------------------------------------ application


def _apply_attributes(obj, made, gone):
    namespace = kinds.instance_dict(obj)
    slots = kinds.slot_descriptors(type(obj))
    for name in gone:
        if name in slots:
            kinds.delete_slot(obj, slots[name])
        elif namespace is not None:
            namespace.pop(name, None)
    for name, value in made.items():
        if name in slots:
            slots[name].__set__(obj, value)
        else:
            assert namespace is not None
            namespace[name] = value


def _apply_names(namespace, made, gone):
    for name in gone:
        namespace.pop(name, None)
    namespace.update(made)


def _apply_partial(partial, made, gone):
    _apply_names(vars(partial), made, gone)


def _apply_class_entries(cls, made, gone):
    for name in gone:
        type.__delattr__(cls, name)
    for name, value in made.items():
        type.__setattr__(cls, name, value)


def _apply_dict(mapping, made, count):
    kind = dict_type(mapping)
    for key in made[:count]:
        kind.pop(mapping, key, None)
    for key, value in zip(made[count::2], made[count + 1 :: 2], strict=True):
        kind.__setitem__(mapping, key, value)


def _apply_extend(items, made, rest):
    if isinstance(items, set):
        set.update(items, dict.fromkeys(made))  # whose table grows as for a set
    else:
        _base(items).extend(items, made)


def _apply_around(items, made, at):
    if isinstance(items, list):
        list.__setitem__(items, slice(0, 0), made[:at])
    else:
        collections.deque.extendleft(items, reversed(made[:at]))
    base: Any = _base(items)
    base.extend(items, made[at:])


def _apply_items(items, made, rest):
    shift, kept = rest
    base = _base(items)
    if base is list:
        if shift:
            list.__delitem__(items, slice(0, shift))
        list.__setitem__(items, slice(kept, None), made)
        return
    for _ in range(shift):
        items.popleft()
    while len(items) > kept:
        items.pop()
    base.extend(items, made)


def _base(items):
    return list if isinstance(items, list) else collections.deque


def _apply_set(members, made, count):
    gone, wanted = made[:count], made[count:]
    for x in gone:
        set.discard(members, x)
    set.update(members, wanted)
    if not setorder.is_in_order(members, wanted):
        setorder.refill(members, wanted, gone)


def _apply_cell(cell, made, rest):
    if made:
        cell.cell_contents = made[0]
    else:
        del cell.cell_contents


def _apply_fields(obj, made, rest):
    for cls in type(obj).__mro__:
        fields = kinds.FIELDS.get(cls)
        if fields is not None:
            for name, value in made.items():
                fields[name].__set__(obj, value)
            return


def _apply_memory(buffer, made, rest):
    kinds.write_memory(buffer, made)


def _apply_class(obj, made, rest):
    object.__setattr__(obj, "__class__", made)


def _apply_namespace(obj, made, rest):
    set_namespace(obj, made)


APPLY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "attributes": _apply_attributes, "names": _apply_names, "entries": _apply_names,
    "class_entries": _apply_class_entries, "partial": _apply_partial, "dict": _apply_dict,
    "extend": _apply_extend, "around": _apply_around,
    "items": _apply_items, "set": _apply_set, "cell": _apply_cell, "ndarray": replay,
    "bounds": steps_of,
    "class": _apply_class, "fields": _apply_fields, "memory": _apply_memory,
    "namespace": _apply_namespace,
    "context": lambda var, made, rest: var.set(made),
}  # fmt: skip
"""How a change is made, by the kind of thing."""
