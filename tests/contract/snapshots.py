"""The state of everything that a module's globals reach, to be put back in place."""

import array
import contextvars
import random
import types
import weakref
from collections import defaultdict, deque
from functools import partial

import numpy as np

from tests.contract.parts import (
    ATOMS,
    EMPTY,
    READERS,
    dict_of,
    is_filled,
    parts,
    slot_of,
    slots_of,
    unwrap,
)


class Snapshot:
    """The state of everything that a module's globals reach, to be put back in place.

    It is not `complete` if there is something that cannot be put back, such as an iterator that
    counts.
    """

    def __init__(self, names):
        """Note the present state, without the result of an earlier call."""
        names.pop("result", None)
        self._undo, self._alive, self.complete = [], [], True
        for x in _reached(names):
            self._alive.append(x)
            self._undo += _undo_of(x)
            self.complete &= _can_go_back(x)

    def restore(self):
        """Put everything back."""
        for undo in self._undo:
            undo()


def renew_sets(names):
    """Fill all sets that a module's globals reach anew, so that they are what their members say.

    Of a set with a past the order of iteration tells what has been in it.
    """
    for x in [x for x in _reached(names) if isinstance(x, set)]:
        _refill(x, list(x))


def _reached(names):
    """Yield each object that a module's globals reach and that is no other module's."""
    seen, todo = {id(names["__builtins__"]), id(names["jit"])}, [names]
    alive = []  # so that no id comes twice
    while todo:
        x = unwrap(todo.pop())
        if id(x) not in seen and not _is_foreign(x, names):
            seen.add(id(x))
            alive.append(x)
            todo += [value for _, value in parts(x)]
            yield x


def _can_go_back(x):
    if isinstance(x, types.GeneratorType):
        return x.gi_frame is None
    if type(x) in READERS and hasattr(x, "__next__"):
        return False  # what has come to its end stays there
    if isinstance(x, contextvars.ContextVar):
        return x.get(EMPTY) is not EMPTY
    return True


def _is_foreign(x, names):
    """Whether no program changes `x`: values, and what other modules define."""
    if isinstance(x, types.FunctionType):
        return x.__globals__ is not names
    if isinstance(x, type):
        return x.__module__ != names["__name__"]
    return isinstance(x, types.ModuleType) or type(x) in ATOMS


def _undo_of(x):
    """Return functions that put back an object's own state, not that of its parts."""
    undo = []
    if isinstance(x, types.FunctionType):
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            undo.append(partial(setattr, x, name, getattr(x, name)))
    elif isinstance(x, types.CellType):
        undo.append(partial(_restore_cell, x, x.cell_contents if is_filled(x) else EMPTY))
    elif isinstance(x, type):
        return [partial(_restore_class, x, dict(vars(x)))]
    elif isinstance(x, np.ndarray):
        undo += [partial(_restore_array, x, x.copy())] if x.flags.writeable else []
    else:
        undo += _undo_of_contents(x)
    undo += [
        partial(_restore_slot, x, slot, slot_of(x, slot)) for slot in slots_of(type(x)).values()
    ]
    own = dict_of(x)
    return [*undo, partial(_restore_dict, x, own, dict(own))]


def _undo_of_contents(x):
    if isinstance(x, list):
        return [partial(list.__setitem__, x, slice(None), list(x))]
    if isinstance(x, defaultdict):
        factory = partial(setattr, x, "default_factory", x.default_factory)
        return [factory, partial(_refill, x, dict(x))]
    if isinstance(x, weakref.WeakValueDictionary | weakref.WeakKeyDictionary | weakref.WeakSet):
        return [partial(_refill, x, x.copy())]
    if isinstance(x, dict | set | deque):
        return [partial(_refill, x, list(x) if isinstance(x, deque) else x.copy())]
    if isinstance(x, bytearray | array.array | memoryview):
        return _undo_of_memory(x)
    if isinstance(x, random.Random):
        return [partial(x.setstate, x.getstate())]
    if isinstance(x, np.random.Generator):
        return [partial(setattr, x.bit_generator, "state", x.bit_generator.state)]
    if isinstance(x, np.random.RandomState):
        return [partial(x.set_state, x.get_state())]
    if isinstance(x, contextvars.ContextVar):
        value = x.get(EMPTY)
        return [] if value is EMPTY else [partial(x.set, value)]
    if type(x) is partial:
        return [partial(_restore_partial, x, (x.func, x.args, x.keywords))]
    if isinstance(x, BaseException):
        return [partial(_restore_exception, x, x.args, x.__cause__)]
    return []


def _restore_cell(x, before):
    if before is not EMPTY:
        x.cell_contents = before
    elif is_filled(x):
        del x.cell_contents


def _restore_array(x, before):
    x.flags.writeable = True
    np.copyto(x, before)


def _undo_of_memory(x):
    if isinstance(x, memoryview):
        return [] if x.readonly else [partial(_restore_memory, x, x.tobytes())]
    return [partial(x.__setitem__, slice(None), x[:])]


def _restore_memory(x, before):
    x.cast("B")[:] = before


def _restore_exception(x, args, cause):
    x.args, x.__cause__ = args, cause


def _restore_partial(x, held):
    x.__setstate__((*held, vars(x)))


def _restore_dict(x, own, contents):
    if own and dict_of(x) is not own:
        x.__dict__ = own
    _refill(own, contents)


def _restore_slot(x, slot, value):
    if value is not EMPTY:
        slot.__set__(x, value)
    elif slot_of(x, slot) is not EMPTY:
        slot.__delete__(x)


def _refill(container, contents):
    container.clear()
    (container.extend if isinstance(container, deque) else container.update)(contents)


def _restore_class(cls, contents):
    for name in set(vars(cls)) - set(contents):
        delattr(cls, name)
    for name, value in contents.items():
        if vars(cls).get(name, EMPTY) is not value:
            setattr(cls, name, value)
