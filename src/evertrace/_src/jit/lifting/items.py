"""What ``data[i]`` gives while a function is traced, where `i` is a number of the host's.

Python would ask the number for its value, and each value would be a program of its own. Where
numbers and texts are in the container, the item is one of the host's instead: each call finds it in
the container that it has, and what is depended on is its type. Where our arrays are in a sequence
that the call has found, the item is an input of the program.
"""

import collections
import operator
from typing import Any, NamedTuple

from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting.entered import Container
from evertrace._src.jit.lifting.host import SCALARS, Host, is_plain, op
from evertrace._src.tracebacks import in_place_of_python

_SEQUENCES = frozenset({list, tuple, collections.deque})
_KINDS = _SEQUENCES | {dict, collections.OrderedDict}
_PLAIN = SCALARS | {bool, str, type(None)}


@in_place_of_python
def item(owner, index):
    """Return ``owner[index]``."""
    if type(index) is Host and type(index.present) is int and type(owner) in _KINDS:
        recorder = state.recorder
        if recorder is not None and index.prologue.is_recording():
            items = owner if type(owner) in _SEQUENCES else owner.values()
            if all(map(_can_be_found, items)):
                at = _at_entry(recorder, owner)
                at = _made(index.prologue, owner, items) if at is None else at
                return owner[index] if at is None else op(operator.getitem, at, index)
            if type(owner) in _SEQUENCES:
                return _array(recorder, owner, index)
    return owner[index]


def _array(recorder, owner, index):
    """Return ``owner[index]``, by an input of its own where the items were all arrays of ours."""
    at = _at_entry(recorder, owner)
    if at is None or recorder.inputs.gives or not all(type(x) is Array for x in at.present):
        return owner[index]
    node = next((node for slot, node in recorder.inputs.leaves if slot == at.slot), None)
    return recorder.inputs.pick(at, index, node and f"{node.name}[...]")


def _at_entry(recorder, owner):
    """Return what stands for the container that each call finds; None if it is another by now."""
    if type(owner) is tuple:
        return recorder.questions.at(owner) if id(owner) in recorder.questions.found else None
    entered = recorder.identity.by_id.get(id(owner))
    if not isinstance(entered, Container) or entered.unread or entered.changed():
        return None
    return recorder.inputs.host_scalar(entered.as_before(), entered.node)


def _made(prologue, owner, items):
    """Return what stands for a container that the trace has made or changed, if it can be."""
    if str in map(type, items):  # equal ones are one to the prologue
        return None
    keys = () if type(owner) in _SEQUENCES else tuple(owner)
    return prologue.hold(_Of(type(owner), keys), *items) if is_plain(keys) else None


class _Of(NamedTuple):
    """What makes a container.

    Attributes:
      kind: its type.
      keys: of a dict.
    """

    kind: type
    keys: tuple[Any, ...]

    def __call__(self, *items):
        return self.kind(zip(self.keys, items, strict=True) if self.keys else items)


def _can_be_found(x):
    """Whether an item is a number or text, and no NaN, which is told by being that very one."""
    return type(x) is Host or (type(x) in _PLAIN and x == x)
