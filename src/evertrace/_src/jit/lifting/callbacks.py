"""Callbacks of a jitted function: each call makes them anew, on the objects of that call.

The program keeps nothing of a callback but a recipe, written down where the callback is bound, so
that it closes over what plain Python would have called it with. A call gets a *number*, which is an
input of the program and an operand of its callbacks; `ops.callback.in_progress` has the call by it,
on whatever thread the engine calls back. What a callback closes over becomes

- what is there at this call, if it was there before: objects, cells, globals, defaults;
- a value of the prologue, if it is a Python number;
- an operand of the callback, if it is a traced array;
- what the call has changed before, changed so while the callback runs, see `pending`;
- a new object, if the trace has made it: one per call, which all callbacks and the result of the
  call share. One that leads to traced arrays, or that the function changes after the callback was
  bound, is made as it was then, and the callback must not change it. In the first case it is given
  the arrays of the result when there is one.
"""

import array
import builtins
import collections
import contextlib
import functools
import gc
import io
import itertools
import sys
import threading
import types
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.jit.lifting import drawn
from evertrace._src.jit.lifting.afterwards import After, reads_of, settle
from evertrace._src.jit.lifting.asking import original
from evertrace._src.jit.lifting.code import code_of, info_of
from evertrace._src.jit.lifting.cook import Cook
from evertrace._src.jit.lifting.entered import (
    instance_dict,
    leave_unfinalized,
    slot_descriptors,
)
from evertrace._src.jit.lifting.parts import ITERATORS, MADE, position_of
from evertrace._src.jit.lifting.pending import changes_so_far, in_place, mentioned
from evertrace._src.jit.lifting.recipes import Constant, Kitchen, New, Out
from evertrace._src.jit.lifting.uses import reads_from
from evertrace._src.jit.lifting.values import ABSENT, dict_type, is_value, same_value
from evertrace._src.ops.callback import OfThisCall, in_progress

# ------------------------------------------------------------------------ while tracing


class Callbacks:
    """The callbacks that one trace has bound.

    Args:
      recorder: the trace's recorder.

    Attributes:
      number: how calls get their number, a `CallNumber`; None while there is no callback.
      used, slots: indices of nodes and slots that recipes use.
      afters: what is used after each, an `After`.
    """

    def __init__(self, recorder):
        self.afters: list[After] = []
        self.recorder, self.number, self._input = recorder, None, None
        self.used, self.slots = set(), set()
        self._made = {}  # id -> (a thing that the trace has made, its recipe, what was in it)
        self._varying = {}  # the same of things that lead to traced arrays
        self._forgotten = set()  # recipes of things that were changed after that
        self._given = []  # (such a thing, its recipe, what was in it), if the arrays are the root's
        self._ones = {}  # recipe of a callback -> the one that stands for all of the thing
        self._keep = []

    def bind(self, callback, operands):
        """Return what the program is to hold of a `FlatCallback`, and its operands."""
        if state.trace is EVAL:
            return callback, operands
        self._forget_changed()
        cook = _CallbackCook(self.recorder, {k: v[1] for k, v in self._made.items()})
        parts = callback.fun, *[value for _, value in callback.static]
        recipe = cook.state(parts, callback.name)
        effects = self.recorder.effects.repeated(cook)
        if type(recipe) is Constant and not effects:
            return callback, operands
        names = mentioned(callback.fun, self.recorder.lifter.classes)
        pending = changes_so_far(self.recorder, cook, names)
        self.used |= cook.used
        self.slots |= cook.slots
        root = self.recorder.root
        every = [recipe, *[x for change in pending for x in change.write.values()]]
        varying = _leading_to(every, lambda made: type(made) is Out)
        for value, made in cook.written():
            self._keep.append(value)
            things = self._varying if made in varying else self._made
            known = things[id(value)] = value, made, contents_of(value)
            if made in varying and all(getattr(x, "_trace", root) is root for x in cook.outs):
                self._given.append(known)
        after = After(len(self.recorder.prologue.steps))
        self.afters.append(after)
        self.recorder.lifter.objects.hide_again()
        self._note_reads(after, after.made)
        how = recipe, pending, varying, self._ones, self._forgotten, after, effects
        held = OfThisCall(callback, how, len(cook.outs))
        return held, [self._of_call(), *map(as_operand, cook.outs), *operands]

    def read_of(self, value, uses):
        """Note what is done with what a callback that was bound before may have changed.

        Args:
          value: what an attribute of a thing that was there before the trace holds, or a global.
          uses: what is done with it, as `uses.reads_from` tells.
        """
        if id(value) in self._made or type(value) in _TRANSPARENT or issubclass(type(value), type):
            for after in self.afters:
                self._note_reads(after, reads_of(value, uses))

    def _note_globals(self):
        """Note what functions that were called do with what their globals hold now."""
        root = self.afters[0].code
        for fun in self.recorder.lifter.functions.called(root and root()):
            code = original(code_of(fun))
            for name in info_of(code).global_names & fun.__globals__.keys():
                self.read_of(fun.__globals__[name], reads_from(code, 0, name))

    def _note_reads(self, after, reads):
        """Note what the trace has made and reads after a callback: what `reads_of` has found."""
        after.recipes |= self._read_after(after, reads)
        fields = [field for _, _, fields in reads for field in fields]
        after.fields |= {(self._made[id(x)][1], name) for x, name in fields if id(x) in self._made}

    def _read_after(self, after, reads):
        found, seen = set(), set()
        todo = [x for x, given, _ in reads if not (given and self._is_callback(x))]
        for fun, _, _ in self._made.values():
            if type(fun) is types.FunctionType:
                cells = zip(code_of(fun).co_freevars, fun.__closure__ or (), strict=True)
                cells = [cell for name, cell in cells if name in after.variables]
                found |= {self._made[id(x)][1] for x in cells if id(x) in self._made}
        while todo:
            x = todo.pop()
            is_known = id(x) in self.recorder.identity.known and type(x) not in _CONTAINING
            if id(x) in seen or is_known:
                continue
            seen.add(id(x))
            self._keep.append(x)
            if id(x) in self._made:
                found.add(self._made[id(x)][1])
            elif type(x) not in _TRANSPARENT:
                continue
            if type(x) is types.FunctionType:
                todo += x.__closure__ or ()
            todo += x if type(x) is tuple else contents_of(x)
        return frozenset(found)

    def _is_callback(self, value):
        return type(value) in _CALLABLE and id(value) in self._made

    def can_make(self, values):
        """Whether each call could make some values that are neither arrays nor numbers."""
        with contextlib.suppress(errors.EvertraceError):
            _CallbackCook(self.recorder, {}).state(values, "")
            return True
        return False

    def _of_call(self):
        """Return the input that is the number of the call."""
        if self.number is None:
            inputs = self.recorder.inputs
            self.number = CallNumber(inputs.prologue.reserve())
            self._input = inputs.add(_NUMBER, ("slot", self.number.slot), None)
        return self._input

    def constant_of(self, tracer):
        """Return a number that all calls share, if a tracer is the input that is theirs, or None.

        A program that is derived from a custom rule cannot have the input.
        """
        if self.number is None or tracer is not self._input:
            return None
        if self.number.shared is None:
            self.number = CallNumber(self.number.slot, next(_numbers) & _LAST, threading.Lock())
        return as_array(np.int32(self.number.shared or 0))

    def recipe_of(self, value):
        """Return how callbacks make a thing that the trace has made, if it is as it was then."""
        self._forget_changed()
        found = self._made.get(id(value))
        return found and found[1]

    def _forget_changed(self):
        """Forget the recipes of things that have been changed, and of what leads to them."""
        changed = _changed(self._made)
        if changed:
            every = [made for _, made, _ in self._made.values()]
            self._forgotten |= _leading_to(every, changed.__contains__)
            self._made = {k: v for k, v in self._made.items() if v[1] not in self._forgotten}

    def settle(self, cook):
        """Find out what is used after each callback, when the trace has run.

        Args:
          cook: the `Cook` of what the trace leaves behind and returns.
        """
        if self.afters:
            self._note_globals()
        self._forget_changed()
        self._forgotten |= _changed(self._varying)
        left = {}
        for value, recipe, was in self._given:
            if recipe not in self._forgotten and _are_same(contents_of(value), was):
                known = left.setdefault(id(value), cook.recipe_of(value) or recipe)
                self._ones[recipe] = known
        self.used |= settle(self.afters, self.recorder)

    def are_used_after(self, values):
        """Whether something is used after a callback that this could have changed.

        Args:
          values: of the nodes, as in a `Kitchen`.
        """
        return any(
            after.recipes
            or after.fields
            or any(_is_state(node, values[node.index]) for node in after.nodes)
            for after in self.afters
        )

    def close(self):
        """End the use of what the trace has made: plain Python would not have made it twice."""
        leave_unfinalized(self._keep)

    def release(self):
        """Let go of all that the trace has kept alive."""
        self._made.clear()
        self._varying.clear()
        self._given.clear()
        self._keep.clear()
        self.afters.clear()
        self._input = None


class CallNumber(NamedTuple):
    """How the calls of a program get their numbers.

    Attributes:
      slot: of the prologue, for a number of each call's own.
      shared: a number that they all have too, one after the other, or None.
      lock: held by the call that has it.
    """

    slot: int
    shared: int | None = None
    lock: Any = contextlib.nullcontext()


_NUMBER = ShapedArray((), np.dtype(np.int32), False)


class _CallbackCook(Cook):
    """Writes the recipe of a callback: traced values are operands of it.

    Args:
      recorder: the trace's recorder.
      made: id -> recipe of things that earlier callbacks share.
    """

    def __init__(self, recorder, made):
        super().__init__(recorder)
        self._new.update(made)
        self._shared = frozenset(made)

    def _check_own(self, value, where):
        """Allow values of inner traces: the callback is bound in one of them."""

    def written(self):
        """Return pairs of what it has written recipes of, and these."""
        new = self._new.keys() - self._shared
        return [(x, self._new[id(x)]) for x in self._keep if id(x) in new]


def contents_of(value):
    """Return what is in a thing, to be compared by identity."""
    if isinstance(value, np.ndarray):
        return [value.tobytes()]
    if isinstance(value, ITERATORS):
        return [position_of(value).encode()]
    if type(value) in _STATEFUL:
        return [repr(MADE[type(value)].take(value)).encode()]
    found = list((instance_dict(value) or {}).items())
    for descriptor in slot_descriptors(type(value)).values():
        with contextlib.suppress(AttributeError):
            found.append(descriptor.__get__(value))
    if isinstance(value, dict):
        found += dict_type(value).items(value)
    elif isinstance(value, _CONTAINERS):
        base = next(b for b in _CONTAINERS if isinstance(value, b))
        found += base.__iter__(value)
    elif type(value) is types.CellType:
        with contextlib.suppress(ValueError):
            found.append(value.cell_contents)
    return [x for item in found for x in (item if type(item) is tuple else (item,))]


_CALLABLE = (types.FunctionType, functools.partial)
_DEFAULTS = ("defaults", "kwdefaults")
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_TRANSPARENT = (tuple, list, dict, set, types.FunctionType, types.CellType)
_CONTAINING = (list, dict, set)  # what the trace has made may be in those that were there before
_CONTAINERS: tuple[Any, ...] = (list, set, collections.deque)
_TRANSIENT = (types.FunctionType, types.MethodType, types.CellType, tuple)
_STATEFUL = (bytearray, array.array, io.BytesIO, io.StringIO)


def _changed(things):
    return {made for x, made, was in things.values() if not _are_same(contents_of(x), was)}


def _are_same(now, was):
    return len(now) == len(was) and all(
        a is b or (type(a) is bytes and type(b) is bytes and a == b)
        for a, b in zip(now, was, strict=True)
    )


def _leading_to(recipes, is_wanted):
    """Return those of some recipes, and of what they are made of, that lead to wanted ones."""
    todo, users, found = list(recipes), {}, []
    while todo:
        recipe = todo.pop()
        for part in _parts_of(recipe):
            if part not in users:
                todo.append(part)
            users.setdefault(part, []).append(recipe)
    todo = [x for x in {*recipes, *users} if is_wanted(x)]
    while todo:
        recipe = todo.pop()
        if recipe not in found:
            found.append(recipe)
            todo += users.get(recipe, ())
    return {x for x in found if isinstance(x, New)}


def _parts_of(recipe):
    """Yield the recipes that a recipe is made of, but for those of what is there already."""
    todo = []
    for cls in type(recipe).__mro__ if isinstance(recipe, New) else ():
        todo += [getattr(recipe, name, None) for name in cls.__dict__.get("__slots__", ())]
    for x in todo:
        if type(x) in (list, tuple):
            todo += x
        elif type(x) is dict:
            todo += x.values()
        elif isinstance(x, New) or type(x) is Out:
            yield x


# ------------------------------------------------------------------------ while running


class Progress:
    """What one call has done so far.

    Attributes:
      effects: how many of the calls that it repeats: those before a callback are repeated with it.
      orders: objects that it and callbacks add attributes to, with their attributes in order.
    """

    __slots__ = ("effects", "orders")

    def __init__(self):
        self.effects, self.orders = 0, []

    def repeat(self, effects, kitchen):
        """Make those of some calls that were not made yet."""
        for effect in effects[self.effects :]:
            effect.run(kitchen)
        self.effects = max(self.effects, len(effects))


def _is_state(node, value):
    """Whether what is at a place is more than code, such as a function's name and defaults."""
    of_function = node.kind in _DEFAULTS or (node.parent.kind in _DEFAULTS and is_value(value))
    is_builtin = value is ABSENT and node.kind == "get" and node.key in vars(builtins)
    return not (of_function or is_builtin or isinstance(value, _CODE))


@contextlib.contextmanager
def in_call(number, values, slots, made):
    """Have callbacks find a call while its program runs.

    Args:
      number: the `CallNumber` of the program, or None if it has no callbacks.
      values: of the nodes, as in a `Kitchen`.
      slots: of the prologue; that of the number is filled.
      made: recipe -> what it has made in this call.

    Yields:
      The call's `Progress`.
    """
    progress = Progress()
    if number is None:
        yield progress
        return
    own = slots[number.slot] = next(_numbers) & _LAST
    call = functools.partial(_callback, values, slots, made, progress)
    with number.lock:
        in_progress.update({n: call for n in (own, number.shared) if n is not None})
        try:
            yield progress
        finally:
            in_progress.pop(own)
            in_progress.pop(number.shared, None)


_numbers, _LAST = itertools.count(), (1 << 31) - 1


@contextlib.contextmanager
def _callback(values, slots, made, progress, held, extras):
    """Give the function and the static values of a callback for one run of it."""
    recipe, pending, varying, ones, forgotten, after, effects = held.recipe
    made = _Made(made, varying, ones, forgotten)
    kitchen = Kitchen(values, slots, extras, made)
    progress.repeat(effects, kitchen)
    found = recipe.make(kitchen)
    with in_place(pending, kitchen, f"{held.name}: {held!r}", held.src, progress.orders):
        before = [(x, contents_of(x)) for x in made.fixed(after.recipes)]
        fields = [(x, name, _attribute(x, name)) for x, name in made.read(after.fields)]
        states = after.states(values)
        drawn_from = drawn.states(after.late, slots)
        changed = made.changed()
        references = _references(changed, found)
        yield found
        after.check(states, values, held)
        if drawn.states(after.late, slots) != drawn_from:
            raise _draws_error(held)
        _check_not_kept(held, changed, found, references)
    for x, contents in before:
        if not _are_same(contents_of(x), contents):
            raise _changed_error(held, x)
    for x, name, value in fields:
        if not same_value(_attribute(x, name), value):
            raise _changed_error(held, x)


def _attribute(x, name):
    return (instance_dict(x) or {}).get(name)


def _references(things, given):
    """Return how often things are referred to, but for those that the callback itself is given."""
    return [sys.getrefcount(x) if all(x is not y for y in given) else None for x in things]


def _check_not_kept(held, things, given, before):
    """Raise if a callback has kept a thing that the function changes later: it is another then."""

    def kept():
        now = _references(things, given)
        return [x for x, n, was in zip(things, now, before, strict=True) if was and n > was]

    if kept() and gc.collect() is not None:  # not by garbage that is in a circle
        for x in kept():
            raise _kept_error(held, x)


class _Made:
    """What has been made for a run of a callback.

    Args:
      shared: recipe -> what it has made in this call.
      varying: recipes of what is made for each run.
      ones: those of them whose thing is one for all runs -> the recipe by which it is known.
      forgotten: recipes of what the function has changed since.
    """

    def __init__(self, shared, varying, ones, forgotten):
        self.shared, self.varying, self.ones = shared, varying, ones
        self.forgotten, self.own = forgotten, {}

    def get(self, recipe):
        """Return what a recipe has made, or None."""
        if recipe not in self.varying:
            return self.shared.get(recipe)
        if recipe in self.ones and recipe not in self.own:
            found = self.shared.get((self.ones[recipe],))
            if found is not None:
                self.own[recipe] = found
        return self.own.get(recipe)

    def __setitem__(self, recipe, value):
        (self.own if recipe in self.varying else self.shared)[recipe] = value
        if recipe in self.ones:
            self.shared[self.ones[recipe],] = value

    def read(self, fields):
        """Yield pairs of an object and a name for such of its recipe and one."""
        for recipe, name in fields:
            x = self.get(recipe)
            if x is not None:
                yield x, name

    def changed(self):
        """Return what the function changes later, of things that hold others."""
        made = [
            things[x] for things in (self.own, self.shared) for x in self.forgotten & things.keys()
        ]
        return [x for x in made if type(x) not in _TRANSIENT]

    def fixed(self, read):
        """Return what the callback must not change: nobody else would see it.

        Args:
          read: recipes of what the function reads after it.
        """
        lost = [self.shared[x] for x in {*self.forgotten, *read} if x in self.shared]
        return [*self.own.values(), *lost]


def _draws_error(held):
    return errors.user_error(
        errors.ImpurityError,
        f"{held.name}: {held!r} draws from a random generator that the jitted function draws from "
        "after it in the same call: a compiled call has drawn all of its numbers before.",
        fix="draw in the jitted function before the callback, or let the two have generators of "
        "their own.",
        anchor="callback-state",
        src=held.src,
    )


def _kept_error(held, x):
    return errors.user_error(
        errors.ImpurityError,
        f"{held.name}: {held!r} keeps a {type(x).__name__} that the jitted function has made, and "
        "changes after it in the same call: the callback has a copy of it, as it was then.",
        fix="change it before the callback, or give the callback a copy of it.",
        anchor="callback-state",
        src=held.src,
    )


def _changed_error(held, x):
    return errors.user_error(
        errors.ImpurityError,
        f"{held.name}: {held!r} changes a {type(x).__name__} that the jitted function has made, "
        "and that holds traced arrays, or is read or changed later: the callback has a copy of it.",
        fix="return what is new from the callback, or keep it in an object that was there before "
        "the call.",
        anchor="callback-state",
        src=held.src,
    )
