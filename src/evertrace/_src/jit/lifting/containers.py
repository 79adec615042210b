"""Lifting containers: in place, so that aliases and whatever C code holds see the lifted contents.

Tuples cannot change and are rebuilt instead. The functions take the trace's `Lifter`, the container
and the node that it was found at.
"""

import collections
from collections import deque

from evertrace._src import errors
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.entered import FIELDS, Entries, Fields, Items, Members
from evertrace._src.jit.lifting.values import weakly
from evertrace._src.source import user_source

_MAXLEN = deque.__dict__["maxlen"]
LARGE = 10_000
"""Leaves of one container beyond which a trace warns."""


def lift_tuple(lifter, value, node):
    rec, kind = lifter.recorder, type(value)
    node.check, node.want = "length", (kind, tuple.__len__(value))
    names = getattr(kind, "_fields", None)
    lifted = [
        lifter.lift(x, rec.graph.node(node, "index", i, _item_name(node, i, names)))
        for i, x in enumerate(tuple.__iter__(value))
    ]
    same = all(a is b for a, b in zip(lifted, tuple.__iter__(value), strict=True))
    made = value if same else tuple.__new__(kind, lifted)
    rec.questions.note(made, node, value)
    return rec.identity.derived(made, node)


def _item_name(node, i, fields):
    return f"{node.name}.{fields[i]}" if fields else f"{node.name}[{i}]"


def _entry_name(node, key):
    return f"{node.name}[{key!r}]" if values.is_value(key) else f"{node.name}[{type(key).__name__}]"


def lift_items(lifter, value, node, write_only=False):
    """Lift a list or deque in place."""
    return _lift_growing(lifter, value, node, write_only, Items, fill_items)


def lift_set(lifter, value, node, write_only=False):
    """Lift a set; its members stay what they are."""
    return _lift_growing(lifter, value, node, write_only, Members, fill_members)


def _lift_growing(lifter, value, node, write_only, kind, fill):
    """Take over what may be only added to; its contents then do not count."""
    rec = lifter.recorder
    if rec.identity.alias(value, node) is not None:
        if not write_only:
            lifter.see(value)
        return value
    rec.identity.remember(value, value, node)
    entered = rec.identity.enter(kind(value, node))
    node.check, node.want = "type", type(value)
    if write_only:
        entered.write_only = True
        entered.place([])
    else:
        fill(lifter, entered)
    return value


def fill_items(lifter, entered):
    node, items = entered.node, entered.entry
    _warn_if_large(len(items), node)
    node.check, node.want = "length", (type(entered.obj), len(items))
    node.src = user_source()
    record, lift = lifter.recorder.graph.node, lifter.lift
    if isinstance(entered.obj, deque):
        step = ("attribute", "maxlen") if type(entered.obj) is deque else ("slot", _MAXLEN)
        record(node, *step, f"{node.name}.maxlen", "value", entered.obj.maxlen)
    kind = "list" if isinstance(entered.obj, list) else "index"
    entered.place(
        [lift(x, record(node, kind, i, f"{node.name}[{i}]")) for i, x in enumerate(items)]
    )


def lift_dict(lifter, value, node):
    rec = lifter.recorder
    if rec.identity.alias(value, node) is not None:
        return value
    rec.identity.remember(value, value, node)
    lift_fields(lifter, value, node, collections.defaultdict)
    entered = rec.identity.enter(Entries(value, node))
    _warn_if_large(len(entered.entry), node)
    keys = tuple(entered.entry)
    node.check, node.want = "keys", (type(value), tuple(map(member_reference, keys)))
    for key in keys:
        enter_member(lifter, key, f"a key of {node.name}")
    entered.place(
        {
            k: lifter.lift(
                v, rec.graph.node(node, "key", member_reference(k), _entry_name(node, k))
            )
            for k, v in entered.entry.items()
        }
    )
    return value


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


def fill_members(lifter, entered):
    node, members = entered.node, entered.entry
    _warn_if_large(len(members), node)
    node.check = "members"
    node.want = (type(entered.obj), tuple(map(member_reference, members)))
    for member in members:
        enter_member(lifter, member, f"a member of {node.name}")
    entered.place(list(members))


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
