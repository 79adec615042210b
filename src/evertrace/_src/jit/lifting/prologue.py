"""The host program that computes Python numbers anew at each call, while it is recorded.

What is done to a `Host` is recorded in the trace's `Prologue`. Its values stand in *slots*:

1. Leaves (what was read), constants and results of operations each have a slot.
2. An operation between numbers fills a slot. What decides how the function goes on (a condition, a
   size, a string) is a *demand*: at later calls its result must be the recorded one. So must an
   exception that was raised, and the type of every result.
3. The clock and random numbers are *late*: they are redone after a call has matched, so nothing
   that depends on them can be demanded.
4. `Prologue.freeze` leaves out what no one needs, and gives the `HostProgram` of the variant. It
   runs at each call, before the compiled program, and its slots feed that one's inputs.

An operation that could fail is kept even when its result is not needed: that it did not raise is
part of what the trace saw.
"""

import operator
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.core.tracer import state
from evertrace._src.dims import expression
from evertrace._src.jit.lifting.host import (
    NUMBERS,
    SCALARS,
    Host,
    is_computed,
    is_of_numbers,
    plain,
)
from evertrace._src.jit.lifting.hostprogram import (
    DEMAND,
    LATE,
    OP,
    RAISES,
    HostProgram,
    Step,
    bits,
    contents_of,
    is_plain,
    value_of,
)
from evertrace._src.jit.lifting.hostsizes import expression_of
from evertrace._src.jit.lifting.values import ABSENT
from evertrace._src.source import user_source
from evertrace._src.tracebacks import in_place_of_python


def _is_sequence(x):
    """Whether a result is a new list, a tuple or a named tuple."""
    return type(x) in (list, tuple) or (isinstance(x, tuple) and hasattr(x, "_fields"))


class Prologue:
    """The host program of a variant, while it is recorded.

    Attributes:
      slots: the present value of each slot.
      steps: what was done, in order.
      leaves: the slots that are filled from outside at each call, in order.
      as_input: function that makes a `Host` an input of the traced program; the recorder sets it.
      numpy: function of a slot and a scalar or array of NumPy's that makes what stands for it;
        `hostnumpy` sets it. None: these are demands.
      sizes: slots of sizes that the trace leaves open -> their expressions; see `hostsizes`.
      settled: slots that hold, at each call, what they held in the trace: guards see to it.
      owners: slot -> the one of its stand-ins that it is the very object of; see `own_slot`.
      own_slots: id of a stand-in -> it, and the slot of its very object.
      closed: whether the trace has ended; its `Host`s are then plain numbers.
      defers_texts: whether texts made of numbers are made at each call; else they are demands.
      defers_scalars: the same of what functions of NumPy give for one number.
    """

    __slots__ = (
        "as_input", "closed", "constants", "defers_scalars", "defers_texts", "late_names",
        "leaves", "numpy", "own_slots", "owners", "results", "settled", "sizes", "slots",
        "steps", "thread",
    )  # fmt: skip

    as_input: Callable[[Host], Any]
    numpy: Callable[[int, Any], Any] | None

    def __init__(self):
        self.slots: list[Any] = []
        self.steps: list[Step] = []
        self.leaves: list[int] = []
        self.constants: dict[Any, int] = {}  # bits -> slot
        self.results: dict[Any, Any] = {}  # what was asked -> what was answered
        self.late_names: dict[int, str] = {}  # slot -> the late call it depends on, in words
        self.settled: set[int] = set()
        self.sizes: dict[int, Any] = {}
        self.owners: dict[int, Any] = {}
        self.own_slots: dict[int, tuple[Any, int]] = {}
        self.thread = get_ident()
        self.closed, self.numpy = False, None
        self.defers_texts = self.defers_scalars = True

    def is_recording(self):
        """Whether the trace goes on, on the calling thread."""
        return not self.closed and self.thread == get_ident()

    def leaf(self, value):
        """Return the `Host` of a number that was read; its slot is filled at each call."""
        slot = self._new_slot(value)
        self.leaves.append(slot)
        return Host(self, slot, value)

    def size(self, dim):
        """Return the `Host` of a size that the trace leaves open."""
        key = ABSENT, expression.text_of(dim)
        found = self.results.get(key)
        if found is None:
            value = expression.evaluate(dim, dim.scope.hints)
            slot = self._new_slot(value)
            self.sizes[slot] = dim
            self.settled.add(slot)
            found = self.results[key] = Host(self, slot, value)
            found.symbolic = dim
        return found

    def reserve(self):
        """Return a slot that whoever runs the call fills."""
        return self._new_slot(None)

    def late(self, fn, args, value, what):
        """Record a call that gave the number `value` and has to be made anew for each call.

        Args:
          fn: what was called.
          args: its arguments.
          value: what it returned.
          what: the call in words, with its line.
        """
        slots = tuple(map(self.slot_of, args))
        out = self._step(LATE, fn, slots, value)
        self.late_names[out] = what
        return self._stand_in(out, value)

    def op(self, fn, *args):
        """Return ``fn(*args)``, recorded: a stand-in if it is a number or text, else a demand.

        What is computed twice in the same way is one slot, but has two stand-ins.
        """
        slots = tuple(map(self.slot_of, args))
        made = self.results.get((OP, fn, slots))
        if made is None:
            result = self._call(fn, slots)
            if type(result) is np.ndarray and self._is_deferred(result):
                return self._fill(OP, fn, slots, result)  # each call gives an array of its own
            is_whole = _is_sequence(result) and all(map(self._is_deferred, result))
            if not is_whole and not self._is_deferred(result):
                return self._demanded(fn, slots, result)
            made = self._fill(OP, fn, slots, result)
            if self.sizes and type(made) is Host and not is_whole:
                made.symbolic = expression_of(fn, args)
            self.results[OP, fn, slots] = made
        else:
            result, symbolic = made.present, getattr(made, "symbolic", None)
            made = self._stand_in(made.slot, result)
            if symbolic is not None:
                made.symbolic = symbolic
        made.making = fn, args
        if not _is_sequence(result):
            return made
        items = [self.op(operator.getitem, made, i) for i in range(len(result))]
        if type(result) is list:
            self.demand(len, made)
        return tuple.__new__(type(result), items) if isinstance(result, tuple) else items

    def hold(self, fn, *args):
        """Return what stands for ``fn(*args)`` as a whole, a container of what is computed."""
        slots = tuple(map(self.slot_of, args))
        key = ABSENT, fn, slots
        if key not in self.results:
            made = self.results[key] = self._fill(OP, fn, slots, self._call(fn, slots))
            made.making = fn, args
        return self.results[key]

    def demand(self, fn, *args):
        """Return ``fn(*args)`` as a plain value, which later calls must find to be the same."""
        slots = tuple(map(self.slot_of, args))
        found = self.results.get((DEMAND, fn, slots), ABSENT)
        if found is ABSENT:
            return self._demanded(fn, slots, self._call(fn, slots))
        # An object of its own, as each call of the function gives one.
        return self._call(fn, slots) if type(found) in _TOLD_APART else found

    def expect(self, fn, result):
        """Record that later calls must find ``fn()`` to be `result`, a plain value."""
        if (DEMAND, fn, ()) not in self.results:
            self._demanded(fn, (), result)

    def slot_of(self, x):
        """Return the slot of what is computed, or of a constant."""
        if is_computed(x):
            if x.prologue is self:
                return x.slot
            x = plain(x)
        key = bits(x)
        slot = self.constants.get(key)
        if slot is None:
            slot = self.constants[key] = self._new_slot(x)
        return slot

    def constant(self, x):
        """Return what stands for this very object; `slot_of` takes equal values for one."""
        key = ABSENT, id(x)
        slot = self.constants.get(key)
        if slot is None:
            slot = self.constants[key] = self._new_slot(x)
        return Host(self, slot, x)

    def own_slot(self, x):
        """Return the slot of the very object that a stand-in is, where this shows.

        What is computed twice in the same way is two objects in Python: the stand-in that is asked
        for first has the slot that they share, and what others are is computed once more.
        """
        waiting = [x]
        while waiting:
            last = waiting[-1]
            fn, args = last.making or (None, ())
            first = [y for y in args if is_computed(y) and id(y) not in self.own_slots]
            if first and not _is_fresh(fn, args):
                waiting += first
                continue
            waiting.pop()
            if id(last) not in self.own_slots:
                self.own_slots[id(last)] = last, self._own_slot(last)
        return self.own_slots[id(x)][1]

    def _own_slot(self, x):
        """Return the slot of a stand-in's very object, those of its operands being known."""
        if x.making is None:
            return x.slot
        fn, args = x.making
        shared = own = tuple(map(self.slot_of, args))
        if not _is_fresh(fn, args):
            own = tuple(map(self._slot_of_this, args))
        if own == shared and self.owners.setdefault(x.slot, x) is x:
            return x.slot
        return self._step(OP, fn, own, self._call(fn, own))

    def _slot_of_this(self, x):
        """Return the slot of a very operand."""
        if is_computed(x) and x.prologue is self:
            return self.own_slots[id(x)][1]
        slot = self.slot_of(x)
        return slot if is_computed(x) or self.slots[slot] is x else self.constant(x).slot

    def settle(self, x):
        """Note that guards see to it that `x` is what it is now: nothing is computed of it."""
        if is_computed(x) and x.prologue is self:
            self.settled.add(x.slot)

    def freeze(self, wanted_slots: Iterable[int] = ()):
        """Return the program that fills `wanted_slots` and makes every demand."""
        wanted, known = tuple(wanted_slots), self._known_slots()
        settled = known.union(self.constants.values()) if known else known
        needed, kept = set(wanted), []
        for step in reversed(self.steps):
            if step.out in known or (step.kind is DEMAND and _is_of(step, settled)):
                continue
            if step.kind is OP and step.out not in needed and self._cannot_fail(step):
                continue
            needed.update(step.args)
            kept.append(step)
        # In C++ a program without slots is none, and this one may ask for settings alone.
        template: list[Any] = [None] * max(1, len(self.slots))
        for slot in (*self.constants.values(), *known):
            template[slot] = self.slots[slot]
        names = dict(self.late_names)
        return HostProgram(template, tuple(self.leaves), tuple(reversed(kept)), wanted, names)

    def _known_slots(self) -> frozenset[Any]:
        """Return the slots of what is settled, and of numbers that are computed of it."""
        if not self.settled:
            return frozenset()
        constants: frozenset[Any] = frozenset(self.constants.values())
        known = constants | self.settled
        for step in self.steps:
            if step.kind is OP and step.expected in SCALARS and _is_of(step, known):
                known |= {step.out}
        return known - constants

    def _is_deferred(self, result):
        """Whether a result has a stand-in, and need not be known before the call."""
        kind = type(result)
        if kind not in STAND_INS:
            return kind in SCALARS
        if kind is np.ndarray:
            return self.numpy is not None and is_of_numbers(result)
        return self.defers_texts if kind is str else self.defers_scalars and self.numpy is not None

    def _new_slot(self, value):
        self.slots.append(value)
        return len(self.slots) - 1

    @in_place_of_python
    def _call(self, fn, slots):
        """Apply a function to slots; an exception is recorded, and raised to the user."""
        try:
            return fn(*[self.slots[i] for i in slots])
        except Exception as error:
            key = RAISES, fn, slots
            if key not in self.results:
                self._refuse_late(slots, error)
                self.results[key] = None
                raised = type(error), str(error)
                self.steps.append(Step(RAISES, fn, slots, None, raised, user_source()))
            raise

    def _fill(self, kind, fn, slots, result):
        """Record a step that fills a new slot; returns what stands for the result."""
        return self._stand_in(self._step(kind, fn, slots, result), result)

    def _stand_in(self, slot, value):
        return STAND_INS.get(type(value), Host)(self, slot, value)

    def _step(self, kind, fn, slots, result):
        """Record a step; returns the new slot that it fills."""
        out = self._new_slot(result)
        for slot in slots:
            if slot in self.late_names:
                self.late_names[out] = self.late_names[slot]
        self.steps.append(Step(kind, fn, slots, out, type(result)))
        return out

    def _demanded(self, fn, slots, result):
        """Record that `fn` of the slots is `result`, by the operands where that has no bits."""
        self._refuse_late(slots)
        if is_plain(result):
            self.results[DEMAND, fn, slots] = result
            self.steps.append(Step(DEMAND, fn, slots, None, result, user_source()))
            return result
        constants, makers = set(self.constants.values()), {s.out: s.args for s in self.steps}
        for slot in slots:
            value = self.slots[slot]
            fn = contents_of if isinstance(value, np.ndarray | np.generic) else value_of
            if slot in constants or (DEMAND, fn, (slot,)) in self.results:
                continue
            if is_plain(fn(value)):
                self._demanded(fn, (slot,), fn(value))
            else:  # a list of what is computed, say
                self._demanded(fn, makers.get(slot, ()), result)
        return result

    def _refuse_late(self, slots, cause=None):
        """Raise if one of the slots is known only after a call has matched."""
        for slot in slots:
            if slot in self.late_names:
                raise late_error(self.late_names[slot]) from cause

    def _cannot_fail(self, step):
        """Whether the step has a result, of one type, for all operands of these types."""
        kinds = {type(self.slots[i]) for i in step.args}
        if kinds == {str}:
            return step.fn in TOTAL_OF_TEXTS
        return step.fn in _TOTAL and (kinds <= {int, bool} or kinds == {float})


_TOLD_APART = frozenset({int, float, complex, str})

_FRESH = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg})


def _is_fresh(fn, args):
    """Whether a result is none of its operands, nor found in one."""
    return fn in _FRESH and all(type(x) in NUMBERS for x in args)


def _is_of(step, slots):
    """Whether all that a step is applied to is in some slots."""
    return bool(step.args) and slots.issuperset(step.args)


_TOTAL = frozenset({
    operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs,
})  # fmt: skip

TOTAL_OF_TEXTS = {operator.add}
"""Functions of texts alone that give a text, whatever the texts are."""

STAND_INS: dict[type, Callable[..., Any]] = {}
"""Types besides numbers whose values are made at each call -> what makes their stand-in."""


def late_error(what, src=None):
    """Build the error for a use of what is known only after a call has matched.

    Code in C, or the user's, may answer it by something else, which plain Python would not do.

    Args:
      what: the call that gives it, in words.
      src: where it is used; None: here.
    """
    error = errors.user_error(
        errors.ImpurityError,
        f"{what}: what the function does depends on the result, which is another one at each call.",
        fix="call it outside and pass the result in as an argument; or choose with "
        "`numpy.where`, which decides anew at each call.",
        src=src,
    )
    if state.recorder is not None:
        state.recorder.refuse_late(error)
    return error


class Late(NamedTuple):
    """Owner of a stand-in for a late value that is no number: it can be stored or returned.

    Attributes:
      slot: its place in the host program.
    """

    slot: int
