"""Plans of eager functions: what a function does for operands of some types, as a list of kernels.

The extension module asks `plan` when a function is called with a new kind of operands, and repeats
the description that it gets from then on without Python. What a function does is found out in two
ways. It is traced, so that no contents decide anything: what is more than a few operations becomes
one tape. A short function, and one that takes Python numbers as operands, is run twice (`recorded`)
and described by kernels of its own. Of large operands each kernel would be a pass over memory:
there several become one tape wherever they can. A function that does anything else has no plan.

A description is ``(slots, steps, results, tree)``, and `places` where an operand is laid out over a
mesh. A slot is a place for an array: ``("array", i, aval)`` and ``("number", i, aval)`` are operand
`i`, ``("constant", array, aval)`` is always the same, ``("step", None, aval)`` is written by a
step, ``("unused", None, aval)`` by none. Operands are counted as the arguments come, those in lists
and tuples too. A step is ``(kind, slots, operands, ...)``, with kinds as in `python/plan.cc`.
Results are pairs of a slot and an aval; slots of random keys have that of their words. `tree` is
the spec of what they are put into, or None. `places` says of each result its sharding and the
device, or None. Types say nothing of shardings, so such a plan is that for operands without any,
with what the Python path gave to the results.
"""

import contextlib
import itertools
from typing import Any

import numpy as np

from evertrace._src import errors, kernels, tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.engines.host.recorded import (
    REDUCTIONS,
    NoPlan,
    in_memory,
    num_products,
    recorded,
    spec_of,
)
from evertrace._src.ops import convert, creation, dot, reduce, select, structural
from evertrace._src.tracebacks import shortened

MOST_ELEMENTS = 1 << 17
"""Of operands and results: above that, the Python path costs little beside the work."""

FUSED_FROM = 1 << 13
"""Elements of an operand or result from which on passes over memory count."""

FEW = 4
"""So many operations are described one by one."""

MOST_CONSTANT = 1 << 10
"""Elements of what a function makes of no array, such as `zeros`: every such result is kept."""


@shortened
def plan(tape_of, function, args, names, by_type):
    """Call a function, and describe what it does.

    Args:
      tape_of: traces a function of arrays for avals; returns the jaxpr, and what makes a tape of
        it, or None.
      function: the Python function.
      args: its arguments; those by name come last.
      names: the names of those, or None.
      by_type: whether Python numbers are operands; else they are part of the program.

    Returns:
      ``(result, description)``, with None for the description where there is none, and None for
      the result where the function was not run.
    """
    operands = list(_opened(args))
    if any([getattr(x, "_sharding", None) is not None for x in operands if type(x) is Array]):
        return _laid_out(tape_of, function, args, names, by_type)
    call = Called(tape_of, function, args, names, operands, by_type)
    arrays = [x.aval for x in operands if type(x) is Array]
    if arrays and not call.numbers and (not by_type or _most(arrays) >= FUSED_FROM):
        with contextlib.suppress(NoPlan):
            return None, _traced(call)
    warned = errors.num_warnings()
    out = _call(function, args, names)
    if errors.num_warnings() != warned or not _is_usual(out):
        return out, None
    with contextlib.suppress(NoPlan):
        if not arrays and not by_type:
            return out, _of_constants(*tree.flatten(out))
        if by_type and _most([x.aval for x in tree.leaves(out)] + arrays) <= MOST_ELEMENTS:
            return out, recorded(call)
    return out, None


def _call(function, args, names):
    if names is None:
        return function(*args)
    count = len(args) - len(names)
    return function(*args[:count], **dict(zip(names, args[count:], strict=True)))


def _laid_out(tape_of, function, args, names, by_type):
    """Do what `plan` does, for operands that are laid out over a mesh."""
    warned = errors.num_warnings()
    out = _call(function, args, names)
    if errors.num_warnings() != warned or state.trace is not EVAL:
        return out, None
    leaves, operands = tree.leaves(out), list(_opened(args))
    plain = [Array(x.aval, x._contents()) if type(x) is Array else x for x in operands]
    _, found = plan(tape_of, function, _closed(args, iter(plain)), names, by_type)
    if found is None:
        return out, None
    places: list[Any] = []
    slots: Any = found[0]
    for (i, aval), x in zip(found[2], leaves, strict=True):
        kind, which, _ = slots[i]
        sharding = getattr(x, "_sharding", None)
        if kind == "array" and operands[which].aval is aval:  # that very array is the result
            if x is not operands[which]:
                return out, None
            places.append(None)
        elif sharding is None and x._device is not None:
            return out, None
        else:
            places.append(None if sharding is None else (sharding, x._device))
    return out, (*found[:4], tuple(places))


class Called:
    """A call that a plan is made for.

    Attributes:
      operands: the arguments, those in lists and tuples too.
      numbers: the places of Python numbers that are operands.
    """

    def __init__(self, tape_of, function, args, names, operands, by_type):
        self.tape_of, self.operands, self.by_type = tape_of, operands, by_type
        self._function, self._args, self._names = function, args, names
        places = itertools.accumulate([len(list(_opened([x]))) for x in args], initial=0)
        self.numbers = [
            i
            for i, x in zip(places, args, strict=False)
            if by_type and type(x) in (int, float, complex)
        ]

    def repeat(self, operands):
        """Call the function with other operands; returns the leaves of the result and its tree."""
        items = iter(operands)
        return tree.flatten(_call(self._function, _closed(self._args, items), self._names))


def _opened(items):
    """Yield what is in lists and tuples, as `add_argument` in `python/function.cc` does."""
    for x in items:
        if type(x) in (list, tuple):
            yield from _opened(x)
        else:
            yield x


def _closed(items, operands):
    """Return items with operands in their places."""
    return type(items)(
        [_closed(x, operands) if type(x) in (list, tuple) else next(operands) for x in items]
    )


def _is_usual(out):
    """Whether a result is of arrays as plans make them."""
    leaves = tree.leaves(out)
    return state.trace is EVAL and all(type(x) is Array and x._device is None for x in leaves)


def _most(avals):
    return max([aval.size for aval in avals], default=0)


def _of_constants(leaves, treedef):
    """Describe what a function makes of no array: always the same."""
    if any(x.size > MOST_CONSTANT or not kernels.is_kernel_dtype(x.aval) for x in leaves):
        raise NoPlan
    dense = [Array(x.aval, np.ascontiguousarray(x._contents())) for x in leaves]
    slots = [("constant", x, x.aval) for x in dense]
    return tuple(slots), (), tuple((i, x.aval) for i, x in enumerate(leaves)), spec_of(treedef)


# ---------------------------------------------------------------- tracing


def _traced(call):
    """Describe what a call does for any contents of its arrays."""
    places = [i for i, x in enumerate(call.operands) if type(x) is Array]
    avals = [call.operands[i].aval for i in places]
    warned, trees = errors.num_warnings(), []

    def body(*arrays):
        operands = list(call.operands)
        for i, x in zip(places, arrays, strict=True):
            operands[i] = x
        leaves, treedef = call.repeat(operands)
        trees.append(treedef)
        return leaves

    try:
        jaxpr, make = call.tape_of(body, avals)
    except Exception:  # an error, or contents are looked at
        raise NoPlan from None
    outs = jaxpr.out_avals
    if errors.num_warnings() != warned or not outs:
        raise NoPlan
    most = _most([*avals, *outs])
    if most < FUSED_FROM or not _is_fused(jaxpr):
        if call.by_type or most > MOST_ELEMENTS or any(map(_is_work, jaxpr.eqns)):
            raise NoPlan
        if len(jaxpr.eqns) <= FEW:
            with contextlib.suppress(NoPlan):
                return recorded(call)
    slots = (
        *[("array", i, in_memory(aval)) for i, aval in zip(places, avals, strict=True)],
        *[("step", None, in_memory(aval)) for aval in outs],
    )
    if not _are_computed(jaxpr) or not all(kernels.is_kernel_dtype(aval) for *_, aval in slots):
        raise NoPlan
    tape = make()
    if tape is None:
        raise NoPlan
    n = len(places)
    numbers = tuple(range(n, len(slots)))
    step = "tape", numbers, tuple(range(n)), tape
    return slots, (step,), tuple(zip(numbers, outs, strict=True)), spec_of(trees[0])


def _is_fused(jaxpr):
    """Whether operations would be several passes over memory, which a tape makes one."""
    passes = [eqn.primitive for eqn in jaxpr.eqns if eqn.primitive not in _FREE]
    return len(passes) > 1 and all(prim.elementwise or prim in _FUSED for prim in passes)


_FREE = frozenset({
    convert.bitcast_convert_type_p, convert.stop_gradient_p, structural.reshape_p,
    structural.squeeze_p,
})  # fmt: skip
_FUSED = (REDUCTIONS - {reduce.reduce_xor_p}) | {
    convert.convert_element_type_p, creation.iota_p, select.select_n_p,
    structural.broadcast_in_dim_p,
}  # fmt: skip


def _is_work(eqn):
    """Whether an equation is so much work that the host's libraries are better at it."""
    if eqn.primitive is not dot.dot_general_p:
        return False
    lhs, rhs = (x.aval for x in eqn.invars)
    return num_products(lhs, rhs, eqn.params, eqn.outvars[0].aval) > dot.MOST_PRODUCTS


def _are_computed(jaxpr):
    """Whether each result is computed, and once."""
    given = {id(v) for v in jaxpr.invars}
    outs = [id(v) for v in jaxpr.outvars if type(v) is not Literal]
    return len(set(outs)) == len(jaxpr.outvars) and given.isdisjoint(outs)
