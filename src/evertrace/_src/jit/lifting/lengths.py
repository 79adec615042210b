"""What `len` gives while a function is traced: of a container that is not read, the host's number.

The length of a log grows with each call, and is a number like any other: each call computes it from
the container that it finds, and what the trace has added by then is counted besides. Where what is
in the container is read as well, its length is guarded, and known.
"""

import types
from typing import Any

from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.entered import Container, Items, added_to
from evertrace._src.jit.lifting.host import demand, is_computed, is_host, op, plain
from evertrace._src.jit.lifting.opennumpy import OpenNumpy
from evertrace._src.tracebacks import in_place_of_python


@in_place_of_python
def length(*args):
    """Do what `len` does, in code that is traced."""
    if len(args) != 1 or state.recorder is None:
        return len(*args)
    x: Any = args[0]
    if is_computed(x):
        return op(len, x)
    recorder: Any = state.recorder
    entered = recorder.identity.by_id.get(id(x))
    if isinstance(entered, Container) and entered.unread:
        return _of_unread(recorder, entered)
    if _is_array(x) and x.ndim:
        return x.shape[0]  # which a trace may leave open
    if type(getattr(type(x), "__len__", None)) is types.FunctionType:
        made = type(x).__len__(x)
        is_number = is_host(made) and type(made.present) is int
        return made if is_number and made >= 0 else len(_Sized(made))
    return len(x)


def truth(x):
    """Return what a condition asks: of a container that nobody reads, whether anything is in it."""
    if state.recorder is None:
        return x
    recorder: Any = state.recorder
    entered = recorder.identity.by_id.get(id(x))
    if not isinstance(entered, Container) or not entered.unread:
        return x
    if isinstance(entered, Items) and len(entered.contents()) > len(entered.nothing()):
        return True
    return bool(_of_unread(recorder, entered))


def kept_if(kept, x):
    """Return what ``and`` and ``or`` ask, which is read where it is their value.

    Args:
      kept: the truth by which it is: that of `or` if true.
      x: the first value.
    """
    found = truth(x)
    if found is x or found is not kept:
        return found
    state.recorder.lifter.see(x)
    return x


class _Sized:
    """What says how long it is: Python checks the answer."""

    __slots__ = ("answer",)

    def __init__(self, answer):
        self.answer = answer

    def __len__(self):
        return self.answer


def _of_unread(recorder, entered):
    """Return the length of a container that is left alone."""
    node, value = entered.node, entered.obj
    added, is_sequence = entered.contents(), isinstance(entered, Items)
    if is_sequence:
        before, behind = added_to(added, entered.placed)
        added = before + behind
    if added and not is_sequence and not all(map(_is_key, (*added, *entered.entry))):
        recorder.lifter.see(value)
        return len(value)
    # The container itself holds what the trace has put there.
    at = recorder.inputs.host_scalar(entered.as_before(), node)
    made: Any = op(len, at)
    entered.length = made
    if node.name in recorder.lifter.constants:
        made = plain(made)
    if not added:
        return made
    if is_sequence:
        made, limit = made + len(added), getattr(value, "maxlen", None)
        return made if limit is None else op(min, made, limit)
    kind = set if isinstance(value, set) else dict
    return made + sum([not demand(kind.__contains__, at, x) for x in added])


def _is_array(x):
    return isinstance(x, Tracer) or type(x) is OpenNumpy


def _is_key(x):
    """Whether a key can be looked up without code of the user's."""
    return is_host(x) or values.is_value(x)
