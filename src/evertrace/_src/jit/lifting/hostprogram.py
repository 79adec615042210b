"""What a variant computes on the host at each call, before its compiled program.

A `HostProgram` is a list of steps over *slots*: operations between numbers fill them, demands
compare, and late calls (the clock, random numbers) are redone once a call has matched. It is made
by `prologue.Prologue`, and is on the path of every call, so its steps are kept in two forms: as
data to read, and as instructions that one loop without a decision too many can run.
"""

from __future__ import annotations

import contextlib
import math
import operator
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evertrace._src import errors, extension
from evertrace._src.jit.lifting import drawn

OP, DEMAND, RAISES, LATE = "op", "demand", "raises", "late"

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
"""The types whose values a demand can compare; so can it tuples of them."""


def is_plain(x):
    """Whether a demand can compare a value: a number, a text, None, or a tuple of them."""
    return all(map(is_plain, x)) if type(x) is tuple else type(x) in PLAIN


class Step(NamedTuple):
    """One step of a host program: ``fn`` applied to the values of slots.

    Attributes:
      kind: OP: fills the slot `out`; DEMAND: must give `expected`; RAISES: must raise it; LATE:
        fills `out` after the match.
      expected: type of the result (OP, LATE), the result (DEMAND), or the exception's type and
        text (RAISES).
      src: the line of the user's that demands it, or None.
    """

    kind: str
    fn: Callable[..., Any]
    args: tuple[int, ...]
    out: int | None
    expected: Any
    src: Any = None


def value_of(x):
    """Return `x`: the demand of a value as it is."""
    return x


def contents_of(x):
    """Return what a scalar or array of NumPy's is, as plain values."""
    return x.shape, x.dtype.str, x.tobytes()


def equal_or_same(a, b):
    """Return whether two numbers are equal to a container, which finds one NaN to be so.

    Together with ``a == b`` it tells a later call that meets one NaN twice.
    """
    return a is b or a == b


def bits(x: Any) -> Any:
    """Return what two values share if and only if they are of one type and one value, bit by bit.

    What is no plain value is told apart by identity.
    """
    kind = type(x)
    if kind is float:
        return kind, struct.pack("d", x)
    if kind is complex:
        return kind, struct.pack("dd", x.real, x.imag)
    if kind is tuple:
        return kind, tuple(map(bits, x))
    return kind, x if kind in PLAIN else id(x)


class Redrawn(Exception):
    """That a call, whose variant fits otherwise, has drawn something of another type.

    Its cause is the error for those who cannot trace it anew.

    Args:
      what: the draw, in words.
      was, now: the types.
    """

    def __init__(self, what, was, now):
        super().__init__(what)
        self.what, self.was, self.now = what, was, now


class HostProgram:
    """What a variant computes on the host at each call. It is never changed.

    Attributes:
      template: the slots with the constants in place.
      leaves: the slots that a call fills, in the order of `Prologue.leaf`.
      steps: what is done, in order.
      wanted: the slots that somebody reads afterwards.
      may_differ: whether what is drawn may be of other types than it was: see `Redrawn`.
      late_names: slot -> the late call that it depends on, in words.
      compiled: the same in C++, late calls left out, or None.
    """

    __slots__ = (
        "_instructions", "_late_may_stop", "_late_steps", "compiled", "late_names", "leaves",
        "may_differ", "steps", "template", "wanted",
    )  # fmt: skip

    def __init__(self, template, leaves, steps, wanted=(), late_names=None):
        self.template, self.leaves, self.steps = template, leaves, steps
        self.wanted, self.late_names = wanted, late_names or {}
        now = [s for s in steps if s.out not in self.late_names]
        self._instructions = list(map(_instruction, now))
        self._late_steps = [s for s in steps if s.out in self.late_names]
        self._late_may_stop = any(map(drawn.may_stop, self._late_steps))
        self.may_differ = any(map(drawn.may_differ, self._late_steps))
        steps_in_c = list(map(_for_native, now))
        self.compiled = extension.call("HostProgram", template, leaves, steps_in_c)

    def run(self, leaf_values):
        """Return the slots for these leaves, or None where a call would go another way.

        Args:
          leaf_values: values of the types that the trace saw, in the order of `leaves`.
        """
        compiled = self.compiled
        return self.run_in_python(leaf_values) if compiled is None else compiled.run(leaf_values)

    def run_in_python(self, leaf_values):
        """Do what `run` does, and say what it means."""
        slots = self.template[:]
        for slot, value in zip(self.leaves, leaf_values, strict=True):
            slots[slot] = value
        try:
            for fn, first, second, others, out, want in self._instructions:
                if second is not None:
                    result = fn(slots[first], slots[second])
                elif first is not None:
                    result = fn(slots[first])
                else:
                    result = fn(*[slots[i] for i in others])
                if out is None:
                    if result is not want:
                        return None
                elif type(result) is want:
                    slots[out] = result
                else:
                    return None
        except Exception:  # the trace that follows raises it at the user's line
            return None
        return slots

    def run_late(self, slots):
        """Fill the slots that depend on the clock and on random numbers, after the match.

        Raises:
          Redrawn: what was drawn is of another type than in the trace.
        """
        with self.all_or_nothing(slots) if self._late_may_stop else contextlib.nullcontext():
            self._run_late(slots)

    def all_or_nothing(self, slots):
        """Return a context manager: if the block raises, nothing has been drawn."""
        return drawn.put_back_if_stopped(self._late_steps, slots)

    def _run_late(self, slots):
        for _, fn, args, out, want, _ in self._late_steps:
            result = fn(*[slots[i] for i in args])
            if type(result) is not want:
                error = errors.user_error(
                    errors.ImpurityError,
                    f"{self.late_names[out]}: what is computed from its result was of type "
                    f"{want.__name__} when the function was traced, and is {result!r} now.",
                    fix="call it outside and pass the result in as an argument.",
                )
                if not self.may_differ:
                    raise error
                raise Redrawn(self.late_names[out], want, type(result)) from error
            slots[out] = result

    def describe(self, names: Mapping[int, str] | None = None):
        """Return what the program demands and computes as lines for people.

        Args:
          names: the leaves' names by slot, such as ``self.t``.
        """
        words = _Words(self, names or {})
        lines = [line for step in self.steps if (line := words.of_step(step))]
        computed = {step.out for step in self.steps if step.kind is OP}
        return lines + [words.of_slot(slot) for slot in self.wanted if slot in computed]

    def __repr__(self):
        return f"HostProgram({'; '.join(self.describe())})"


# ------------------------------------------------------------------------ instructions


def _instruction(step):
    """Return a step as ``(fn, first, second, others, out, want)``: what to do, what to find.

    One operand or two are given by slot; any other number of them as a tuple of slots. With a slot
    to fill, `want` is the result's type; without one, the very result.
    """
    args = step.args
    operands = (*args, None, None)[:2] if len(args) in (1, 2) else (None, None)
    if step.kind is RAISES:
        return _Raises(step.fn, *step.expected), *operands, args, None, True
    if step.kind is DEMAND and type(step.expected) is not bool:
        return _Gives(step.fn, bits(step.expected)), *operands, args, None, True
    return step.fn, *operands, args, step.out, step.expected


def _for_native(step):
    """Return a step as C++ takes it; see `host_program.h`."""
    fn, _, _, _, out, want = _instruction(step)
    if type(fn) is _Gives:
        return step.fn, step.args, -1, step.expected, fn
    return fn, step.args, -1 if out is None else out, want, None


class _Gives:
    """Whether a function gives the value with these bits."""

    __slots__ = ("fn", "wanted")

    def __init__(self, fn, wanted):
        self.fn, self.wanted = fn, wanted

    def __call__(self, *args):
        return bits(self.fn(*args)) == self.wanted


class _Raises:
    """Whether a function raises this type of exception, with this text."""

    __slots__ = ("fn", "kind", "text")

    def __init__(self, fn, kind, text):
        self.fn, self.kind, self.text = fn, kind, text

    def __call__(self, *args):
        try:
            self.fn(*args)
        except Exception as error:
            return type(error) is self.kind and str(error) == self.text
        return False


# ------------------------------------------------------------------------ words

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.and_: "&",
    operator.or_: "|", operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
    operator.eq: "==", equal_or_same: "==", operator.is_: "is", operator.ne: "!=",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip

_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}

preparing: set[Callable[..., Any]] = set()
"""Functions of ours that bound a number, or count it from the front: no words are made of them."""

_MAX_DEPTH = 4  # an expression that is nested deeper says more than anybody reads


class _Words:
    """Writes the steps of a program as expressions of its leaves."""

    def __init__(self, program, names):
        self.program = program
        self.names = {slot: f"number {i}" for i, slot in enumerate(program.leaves)} | dict(names)
        self.makers = {step.out: step for step in program.steps if step.out is not None}

    def of_step(self, step):
        """Return what a step demands, or what it repeats; None for an operation."""
        if step.kind is OP:
            return None
        if step.kind is LATE:
            return f"{self.program.late_names[step.out]}, anew at each call"
        text = self._call(step, _MAX_DEPTH)
        if step.kind is RAISES:
            return f"{text} raises {step.expected[0].__name__}"
        return f"{text} == {step.expected!r}"

    def of_slot(self, slot, depth=_MAX_DEPTH):
        """Return the expression of a slot."""
        maker = self.makers.get(slot)
        if maker is None:
            return self.names[slot] if slot in self.names else repr(self.program.template[slot])
        if maker.kind is LATE:
            return self.program.late_names[slot]
        return self._call(maker, depth)

    def _call(self, step, depth):
        """Return the expression of a step's function and its operands."""
        if depth == 0:
            return "..."
        fn, args = step.fn, [self.of_slot(slot, depth - 1) for slot in step.args]
        if fn in _INFIX:
            left, right = map(self._enclosed, args, step.args)
            return f"{left} {_INFIX[fn]} {right}"
        if fn in _PREFIX:
            return _PREFIX[fn] + self._enclosed(args[0], step.args[0])
        if fn in (value_of, contents_of, operator.index) or fn in preparing:
            return args[0]
        if fn is operator.getitem:
            return f"{args[0]}[{args[1]}]"
        if isinstance(fn, operator.attrgetter):
            return f"{self._enclosed(args[0], step.args[0])}.{fn.__reduce__()[1][0]}"
        if getattr(fn, "__objclass__", None) is not None:  # a method
            return f"{self._enclosed(args[0], step.args[0])}.{fn.__name__}({', '.join(args[1:])})"
        return f"{_function_name(fn)}({', '.join(args)})"

    def _enclosed(self, text, slot):
        """Return an operand, in parentheses if it is an operation itself."""
        maker = self.makers.get(slot)
        is_operation = maker is not None and maker.kind is OP and maker.fn in _INFIX
        return f"({text})" if is_operation else text


def _function_name(fn):
    """Return a function's name as users write it: ``math.cos``, ``abs``."""
    fn = getattr(fn, "fn", fn)  # one with keywords
    name = getattr(fn, "__name__", None) or repr(fn)
    if getattr(math, name, None) is fn:
        return f"math.{name}"
    return "bool" if fn is operator.truth else name


extension.call("set_value_of", value_of)
