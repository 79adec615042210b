"""Lifting values that hold no others: numbers and texts, arrays, memory, and what stays unseen.

The functions take the trace's `Lifter`, the value and the node that it was found at.
"""

import contextlib
import functools

import numpy as np

from evertrace._src.arrays.interop import aval_of
from evertrace._src.jit.lifting.arraywrites import share_memory
from evertrace._src.jit.lifting.entered import Memory
from evertrace._src.jit.lifting.hooks import opaque
from evertrace._src.jit.lifting.hostarray import HostArray, aval_of_numpy
from evertrace._src.jit.lifting.objects import class_check
from evertrace._src.jit.lifting.opennumpy import OpenNumpy
from evertrace._src.jit.lifting.parts import layout
from evertrace._src.source import user_source


def lift_value(lifter, value, node):
    lifter.recorder.questions.note(value, node)
    node.check, node.want, node.src = "value", value, user_source()
    return value


def lift_identity(lifter, value, node):
    lifter.recorder.identity.watch(value, node)
    return value


def lift_host(lifter, value, node):
    if node.name in lifter.constants:
        return lift_value(lifter, value, node)
    if value != value:
        return _lift_nan(lifter, value, node)
    node.check, node.want = "type", type(value)
    return lifter.recorder.inputs.host_scalar(value, node)


def _lift_nan(lifter, value, node):
    """Lift a NaN, which `in`, dicts and `==` of containers find by identity: as the very object."""
    lift_value(lifter, value, node)
    if not lifter.recorder.identity.alias(value, node):
        lifter.recorder.identity.remember(value, value, node)
        lifter.recorder.questions.nan = True
    return lifter.recorder.identity.derived(value, node)


def lift_array(lifter, value, node):
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    shape = None if lifter.opened is None else lifter.opened.shape(node, value.shape)
    aval = value.aval if shape is None else value.aval.update(shape=shape)
    node.check, node.want = "aval", aval
    return rec.identity.remember(value, rec.inputs.add(aval, node, node.name), node)


def lift_scalar_array(lifter, value, node):
    rec = lifter.recorder
    demand = functools.partial(rec.guard_scalar, value, node)
    is_constant = node.name in lifter.constants
    made = None if is_constant else _host_array(rec, value, node, demand)
    if made is None:
        return lift_value(lifter, value, node)
    rec.inputs.arrays.append((made, node))
    node.check, node.want = "scalar", (type(value), value.dtype)
    return rec.identity.derived(made, node)


def lift_ndarray(lifter, value, node):
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    if value.dtype.hasobject:
        return rec.identity.remember(value, opaque(value, node), node)
    shape = None if lifter.opened is None else lifter.opened.shape(node, value.shape)
    if shape is not None:
        return _lift_open(rec, value, node, shape)
    demand = functools.partial(rec.guard_bytes, value, node)
    # Among all names it is none that code in C has asked for its memory.
    is_asked = isinstance(lifter.constants, frozenset) and node.name in lifter.constants
    made = None if is_asked else _host_array(rec, value, node, demand)
    if made is None:  # of texts, dates, structures, too: NumPy works on a copy
        rec.guard_bytes(value, node)
        made = value.copy(order="K")
        made.flags.writeable = value.flags.writeable
        rec.effects.array_copies.append((made, value, node))
    else:
        node.check, node.want = "ndarray", (value.shape, value.dtype)
        rec.inputs.arrays.append((made, node))
    return rec.identity.remember(value, made, node)


def _lift_open(rec, value, node, shape):
    """Lift a NumPy array whose sizes are left open."""
    aval = aval_of_numpy(value).update(shape=shape)
    node.check, node.want = "ndarray", (shape, value.dtype)
    made = OpenNumpy(aval, lambda aval: rec.inputs.add(aval, node, node.name))
    return rec.identity.remember(value, made, node)


def _host_array(rec, value, node, demand_bytes):
    """Return the stand-in of a NumPy array or scalar, or None if we have no arrays of its dtype."""
    try:
        aval = aval_of_numpy(value)
    except TypeError:
        return None
    made = HostArray(
        value,
        aval,
        lambda aval: rec.inputs.add(aval, node, node.name),
        demand_bytes,
        lambda what: rec.guard_layout(value, node, what),
    )
    made.is_argument = _is_argument(node)
    rec.effects.arrays.append(made)
    return made


def _is_argument(node):
    """Whether a node is an argument of the call or reached from one; root 0 is the function."""
    while node.parent is not None:
        node = node.parent
    return node.kind == "root" and node.key > 0


def lift_buffer(lifter, value, node):
    rec = lifter.recorder
    if rec.identity.alias(value, node) is None:
        with _as_before(rec, value):
            node.check, node.want = "content", (*layout(value), bytes(value))
            rec.identity.remember(value, value, node)
            rec.identity.enter(Memory(value, node))
    return value


@contextlib.contextmanager
def _as_before(rec, value):
    """Have a buffer hold what it held before the trace, which may have written to it by another."""
    others = [e for e in rec.identity.entered if type(e) is Memory and e.changed()]
    others = [(e, e.contents()) for e in others if share_memory(e.obj, value)]
    for entered, _ in others:
        entered.restore()
    yield
    for entered, contents in others:
        entered.put(contents)
        entered.last = contents[""]


def lift_foreign_array(lifter, value, node):
    """Lift another library's array: NumPy's view of it, taken anew at each call."""
    rec = lifter.recorder
    found = rec.identity.alias(value, node)
    if found is not None:
        return found.lifted
    node.check, node.want = class_check(type(value))
    at = rec.graph.node(node, "asarray", None, node.name)
    contents = np.asarray(value)
    at.check, at.want = "ndarray", (contents.shape, contents.dtype)
    return rec.identity.remember(value, rec.inputs.add(aval_of(contents), at, node.name), node)


def lift_tracer(lifter, value, node):
    inside = lifter.recorder.is_inside(value)
    return value if inside else lift_array(lifter, value, node)


def lift_opaque(lifter, value, node):
    return lifter.recorder.identity.remember(value, opaque(value, node), node)
