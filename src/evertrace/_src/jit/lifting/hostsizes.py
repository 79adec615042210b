"""Sizes that a trace leaves open, as numbers of Python's: what is recorded of them, and redone.

A size is a slot of the prologue that no call fills, for the sizes of a call are known when its
program is made. In the user's hands it is a `Host`, which carries the size's expression, and so
does what whole-number arithmetic makes of it: shapes and operands that are made of it stay open.
What is asked about it is a demand like any other. For other sizes the steps that depend on sizes
alone are done again: if all demands come out as in the trace, that is what it would have recorded.
"""

import copy
import operator
from collections.abc import Mapping
from typing import Any

from evertrace._src import dims
from evertrace._src.dims import expression
from evertrace._src.jit.lifting.hostprogram import DEMAND, OP, RAISES, bits, is_plain

_OF_SIZES = {
    operator.add: expression.add,
    operator.sub: lambda a, b: expression.add(a, -b if type(b) is int else _negative(b)),
    operator.mul: expression.multiply,
    operator.floordiv: expression.floordiv,
    operator.mod: expression.mod,
    operator.neg: lambda a: _negative(a),
    operator.pos: lambda a: a,
    operator.index: lambda a: a,
}
"""Arithmetic on whole numbers -> the same on the expressions that they are."""


def _negative(a):
    return expression.multiply(a, -1)


def expression_of(fn, args) -> Any:
    """Return the expression that a number is, computed of sizes that are left open, or None."""
    of_sizes = _OF_SIZES.get(fn)
    if of_sizes is None:
        return None
    operands = [dims.bare(x) for x in args]
    are_open = [dims.is_dim(x) for x in operands]
    if not any(are_open) or not all(map(_is_whole, operands)):
        return None
    found = of_sizes(*operands)
    return found if dims.is_dim(found) else None


def _is_whole(x):
    return dims.is_dim(x) or type(x) is int


def kept(prologue) -> Any:
    """Return what a prologue has recorded of open sizes, to be done again, or None.

    It keeps none of the values that the call's own objects had.
    """
    if not prologue.sizes:
        return None
    made = copy.copy(prologue)
    known = {*prologue.sizes, *prologue.constants.values()}
    made.slots = [x if slot in known else None for slot, x in enumerate(prologue.slots)]
    made.results, made.numpy, made.closed = {}, None, True
    made.as_input, made.owners, made.own_slots = None, {}, {}
    return made


def for_sizes(prologue, values: Mapping[str, int]) -> Any:
    """Return the prologue that a trace with other sizes would have recorded.

    Args:
      prologue: what was `kept`.
      values: variable -> its value.

    Returns:
      None where it would have been another trace.
    """
    made = copy.copy(prologue)
    made.slots = list(prologue.slots)
    for slot, dim in prologue.sizes.items():
        made.slots[slot] = expression.evaluate(dim, values)
    known = {*prologue.sizes, *prologue.constants.values()}
    for step in prologue.steps:
        is_known = bool(step.args) and known.issuperset(step.args)
        if is_known and not _is_repeated(step, made.slots, known):
            return None
    return made


def _is_repeated(step, slots, known):
    """Do a step again, of known operands; returns whether it comes out as it did."""
    try:
        result = step.fn(*[slots[i] for i in step.args])
    except Exception as error:
        return step.kind is RAISES and (type(error), str(error)) == step.expected
    if step.kind is DEMAND:
        return bits(result) == bits(step.expected)
    if step.kind is not OP or type(result) is not step.expected:
        return False
    if is_plain(result):
        slots[step.out] = result
        known.add(step.out)
    return True


def asked(prologue) -> list[str]:
    """Return what was asked of sizes, as texts."""
    whole = copy.copy(prologue)
    whole.settled = set()
    names = {slot: expression.text_of(dim) for slot, dim in prologue.sizes.items()}
    of_sizes, steps = {*prologue.sizes, *prologue.constants.values()}, []
    for step in prologue.steps:
        if step.args and of_sizes.issuperset(step.args):
            steps.append(step)
            of_sizes.add(step.out)
    whole.steps = steps
    return list(whole.freeze().describe(names))
