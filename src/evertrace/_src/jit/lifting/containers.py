"""Lifting containers: in place, so that aliases and whatever C code holds see the lifted contents.

Tuples cannot change and are rebuilt instead. The functions take the trace's `Lifter`, the container
and the node that it was found at.
"""

import builtins
import collections
from collections import deque
from typing import Any

from evertrace._src import errors
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.entered import FIELDS, Entries, Fields, Items, Members
from evertrace._src.jit.lifting.uses import LENGTH, LOOKED_UP, Field, within
from evertrace._src.jit.lifting.values import weakly
from evertrace._src.source import user_source

_BUILTINS = builtins.__dict__
_MAXLEN = deque.__dict__["maxlen"]
_MOST_LAST = 4
_REPLACING = frozenset({"+=", "|="})  # what sets an item, unless that is a container
LARGE = 10_000
"""Leaves of one container beyond which a trace warns."""


def lift_tuple(lifter, value, node, uses=None):
    rec, kind = lifter.recorder, type(value)
    node.check, node.want = "length", (kind, tuple.__len__(value))
    names = getattr(kind, "_fields", None)
    lifted = [
        lifter.lift(
            x,
            rec.graph.node(node, "index", i, _item_name(node, i, names)),
            None if uses is None else within(uses, _ways_to(value, i)),
        )
        for i, x in enumerate(tuple.__iter__(value))
    ]
    same = all(a is b for a, b in zip(lifted, tuple.__iter__(value), strict=True))
    made = value if same else tuple.__new__(kind, lifted)
    rec.questions.note(made, node, value)
    if uses is not None:
        lifter.partly[id(made)] = made, uses
    return rec.identity.derived(made, node)


def _ways_to(items, i):
    """Return the steps that lead to an item of a sequence."""
    names = getattr(type(items), "_fields", ())
    return [i, i - len(items), *[Field(name) for name in names[i : i + 1]]]


def _item_name(node, i, fields):
    return f"{node.name}.{fields[i]}" if fields else f"{node.name}[{i}]"


def _entry_name(node, key):
    return f"{node.name}[{key!r}]" if values.is_value(key) else f"{node.name}[{type(key).__name__}]"


# ------------------------------------------------------------------------ what can be left alone


def can_be_left(kind):
    """Whether what is in values of a type is lifted only as far as code reads it."""
    if kind in _ENTERED or kind is tuple:
        return True
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and not kind.__dictoffset__


def lift_container(lifter, value, node, uses=None):
    """Lift a list, deque, set or dict in place, as far as it is read.

    Args:
      lifter: the trace's lifter.
      value: the container.
      node: where it was found.
      uses: what is done with it (see `uses`). One that is only added to, or asked for its length,
        is guarded by its type alone, and by the last items where code reads these.
    """
    identity = lifter.recorder.identity
    if value is _BUILTINS:  # in any `globals()`; while it is entered nothing has a name
        identity.watch(value, node)
        return value
    if identity.alias(value, node) is not None:
        lifter.see(value, uses)
        return value
    identity.remember(value, value, node)
    kind = next(kind for base, kind in _BASES if issubclass(type(value), base))
    entered = identity.enter(kind(value, node))
    node.check, node.want = "type", type(value)
    if isinstance(value, deque):
        step = ("attribute", "maxlen") if type(value) is deque else ("slot", _MAXLEN)
        path = f"{node.name}.maxlen"
        lifter.recorder.graph.node(node, *step, path, "value", value.maxlen)
    uses = _proper(entered, uses)
    if uses is not None:
        lifter.partly[id(value)] = value, uses
    last = _last_read(entered, uses)
    if last is None:
        _FILL[kind](lifter, entered, uses)
    else:
        _leave(lifter, entered, uses, last)
        entered.put(entered.placed)
    return value


def see(lifter, value, uses):
    """Lift what was left alone of a container, or in it, as far as it is read now.

    Args:
      lifter: the trace's lifter.
      value: the container or tuple, one of the lifter's `partly`.
      uses: what is done with it besides.
    """
    by_id = lifter.recorder.identity.by_id
    entered = None if isinstance(value, tuple) else by_id.get(id(value))
    _, before = lifter.partly.pop(id(value))
    uses = uses if entered is None else _proper(entered, uses)
    if uses is not None:
        uses |= before
        lifter.partly[id(value)] = value, uses
        if uses == before:
            return
    if entered is None:
        for i, x in enumerate(tuple.__iter__(value)):
            lifter.see(x, within(uses, _ways_to(value, i)))
    elif not entered.unread:
        for x, inner in _placed(entered, uses):
            lifter.see(x, inner)
    else:
        added, left, last = entered.contents(), entered.placed, _last_read(entered, uses)
        if last == 0:
            return
        if last is None:
            entered.unread = False
            _FILL[type(entered)](lifter, entered, uses)
        else:
            _leave(lifter, entered, uses, last)
        entered.put(entered.with_added(added, left))
        if last is None and entered.length is not None:
            lifter.recorder.prologue.settle(entered.length)


def _proper(entered, uses):
    """Return uses as they are for this kind of container: what does not fit reads it."""

    def fits(use):
        if use.steps:
            return type(use.steps[0]) is not Field
        return use.end in (LOOKED_UP, LENGTH) or entered.adds(use.end)

    return uses if uses is not None and all(map(fits, uses)) else None


def _last_read(entered, uses):
    """Return how many of its last items are read of a container that is only added to, else.

    None: it is read otherwise, or has not as many.
    """
    if uses is None:
        return None
    steps = [use.steps[0] for use in uses if use.steps]
    if not steps:
        return 0
    may_be_left = isinstance(entered, Items) and getattr(entered.obj, "maxlen", None) is None
    if not may_be_left or any(type(step) is not int for step in steps):
        return None
    if any(len(use.steps) == 1 and use.end in _REPLACING for use in uses):
        return None
    most = min(_MOST_LAST, len(entered.entry))
    return -min(steps) if all(-most <= step < 0 for step in steps) else None


def _leave(lifter, entered, uses, last):
    """Leave a container alone, but for some of its last items, which are found from behind."""
    node, record = entered.node, lifter.recorder.graph.node
    kind = "list" if isinstance(entered.obj, list) else "index"
    entered.leave(
        [
            lifter.lift(
                entered.entry[i], record(node, kind, i, f"{node.name}[{i}]"), within(uses, i)
            )
            for i in range(-last, 0)
        ]
    )


def _placed(entered, uses):
    """Return pairs (item, what is done with it) of what was lifted in a container."""
    placed = entered.placed
    if isinstance(placed, dict):
        return [(x, within(uses, k)) for k, x in placed.items()]
    return [(x, within(uses, _ways_to(placed, i))) for i, x in enumerate(placed)]


def _fill_items(lifter, entered, uses):
    node, items = entered.node, entered.entry
    _warn_if_large(len(items), node)
    node.check, node.want = "length", (type(entered.obj), len(items))
    node.src = user_source()
    record, lift = lifter.recorder.graph.node, lifter.lift
    kind = "list" if isinstance(entered.obj, list) else "index"
    entered.place(
        [
            lift(
                x,
                record(node, kind, i, f"{node.name}[{i}]"),
                None if uses is None else within(uses, _ways_to(items, i)),
            )
            for i, x in enumerate(items)
        ]
    )


def _fill_entries(lifter, entered, uses):
    node, record = entered.node, lifter.recorder.graph.node
    lift_fields(lifter, entered.obj, node, collections.defaultdict)
    _warn_if_large(len(entered.entry), node)
    keys = tuple(entered.entry)
    node.check, node.want = "keys", (type(entered.obj), tuple(map(member_reference, keys)))
    for key in keys:
        enter_member(lifter, key, f"a key of {node.name}")
    entered.place(
        {
            k: lifter.lift(
                v,
                record(node, "key", member_reference(k), _entry_name(node, k)),
                within(uses, k),
            )
            for k, v in entered.entry.items()
        }
    )


def lift_fields(lifter, value, node, base):
    """Lift what an object of a type in C, or of a subclass, holds beside its contents."""
    if isinstance(value, base):
        entered = Fields(value, node, FIELDS[base])
        lifter.recorder.identity.entered.append(entered)
        record = lifter.recorder.graph.node
        entered.place(
            {
                k: lifter.lift(v, record(node, "slot", entered.fields[k], entered.name_of(k)))
                for k, v in entered.entry.items()
            }
        )


def _fill_members(lifter, entered, uses):
    node, members = entered.node, entered.entry
    _warn_if_large(len(members), node)
    node.check = "members"
    node.want = (type(entered.obj), tuple(map(member_reference, members)))
    for member in members:
        enter_member(lifter, member, f"a member of {node.name}")
    entered.place(list(members))


_BASES = ((list, Items), (deque, Items), (set, Members), (dict, Entries))
_FILL: dict[type, Any] = {Items: _fill_items, Members: _fill_members, Entries: _fill_entries}
_ENTERED = frozenset({
    list, deque, set, dict, collections.defaultdict, collections.OrderedDict,
})  # fmt: skip


# ------------------------------------------------------------------------ what cannot


def lift_frozenset(lifter, value, node):
    for member in value:
        enter_member(lifter, member, f"a member of {node.name}")
    node.check, node.want = "members", (type(value), tuple(map(member_reference, value)))
    lifter.recorder.questions.note(value, node)
    return value


def member_reference(x):
    return x if values.is_value(x) else weakly(x)


def enter_member(lifter, value, name):
    """Enter a key or member, which is not replaced, if it has state."""
    if not values.is_value(value):
        if type(value) is tuple:
            for x in value:
                enter_member(lifter, x, name)
        else:
            lifter.lift(value, lifter.recorder.graph.constant_node(value, name))


def _warn_if_large(count, node):
    if count > LARGE:
        errors.user_warning(
            errors.PerformanceWarning,
            f"jit: {node.name} has {count:,} elements, each of which is checked at each call.",
            fix="keep numbers in one array, or do not read the container in a jitted function.",
            anchor="large-container",
        )
