"""What an eager function does, found out by running it twice: see `plans`.

While it runs, `engines.eager` notes which primitives are applied. What both runs have in common,
although contents and numbers differ, is described by steps of kernels.
"""

import math

import numpy as np

from evertrace._src import dtypes, kernels, native, tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.engine import mode
from evertrace._src.engines.host import loops
from evertrace._src.ops import (
    convert,
    dot,
    random,
    reduce,
    select,
    slicing,
    structural,
)

MOST_SLOTS = 64
"""Of what is recorded; as in `python/plan.h`."""

# What arguments are replaced by in the two runs: numbers that no function has as constants, and
# that every numeric dtype holds.
_STAND_INS = (
    {int: (97, 101, 103, 107), float: (0.7310585786, 0.6224593312, 0.5744425168, 0.5498339973)},
    {int: (109, 113, 127, 89), float: (1.9318516525, 1.8793852415, 1.8477590650, 1.8019377358)},
)


_MOST_COST = 1e6
"""Nanoseconds that one of several steps may take while it keeps the interpreter's lock."""


class NoPlan(Exception):
    """The function does something that no kernel repeats."""


def spec_of(treedef):
    """Return the spec of the tree that results are put into, or None for one array."""
    return None if treedef is tree.LEAF else treedef.spec


def recorded(call):
    """Describe what a call of `plans.Called` does, by the steps that two runs have in common."""
    first, second = (_Run(call, k) for k in (0, 1))
    if len(first.steps) != len(second.steps) or first.treedef != second.treedef:
        raise NoPlan
    made = _Description(call, first, second)
    for one, other in zip(first.steps, second.steps, strict=True):
        made.add(one, other)
    return made.finish()


class _Run:
    """One run with stand-ins: the steps it took and its result."""

    def __init__(self, call, which):
        self.steps, self.which = [], which
        numbers = set(call.numbers)
        self.args = [self._stand_in(i, x, i in numbers) for i, x in enumerate(call.operands)]
        outside = mode.steps, native.set_recording(True)
        mode.steps = self.steps
        try:
            self.outs, self.treedef = call.repeat(self.args)
        except Exception:  # an error of the user's that depends on contents
            raise NoPlan from None
        finally:
            mode.steps = outside[0]
            native.set_recording(outside[1])
        if any(type(x) is not Array for x in self.outs):
            raise NoPlan

    def _stand_in(self, i, x, is_operand):
        if type(x) is Array:
            if not kernels.is_kernel_dtype(in_memory(x.aval)):
                raise NoPlan
            host = x._contents()
            if self.which:  # something else
                host = np.zeros_like(host) if np.all(host == 1) else np.ones_like(host)
            return Array(x.aval, host)
        if not is_operand:
            return x
        found = _STAND_INS[self.which].get(type(x))
        if found is None:
            raise NoPlan
        return found[i % len(found)]

    def number_at(self, i, dtype):
        """Return argument `i`, a Python number, in a dtype."""
        return np.asarray(self.args[i]).astype(dtype)[()]


class _Description:
    """The description of a function, being made of two runs."""

    def __init__(self, call, *runs):
        self.tape_of, self.slots, self.steps, self.runs = call.tape_of, [], [], runs
        self.spread = {}  # slots that hold copies of one element: that of the element
        self.numbers = call.numbers
        # Slots by the identity of an array in the first run, with what it is in the second.
        self.places = {}
        for i, (x, y) in enumerate(zip(*[run.args for run in runs], strict=True)):
            if type(x) is Array:
                self.places[id(x)] = self._put("array", i, in_memory(x.aval)), y

    def add(self, one, other):
        """Add what both runs did as one step."""
        (prim, args, params, out), (prim2, args2, params2, out2) = one, other
        if prim is not prim2 or len(args) != len(args2) or not _are_equal(params, params2):
            raise NoPlan
        if out is None or out2 is None:  # made by an eager rule
            raise NoPlan
        outs, outs2 = (list(x) if prim.multiple_results else [x] for x in (out, out2))
        pairs = list(zip(outs, outs2, strict=True))
        if any(type(x) is not Array or x.aval is not y.aval for x, y in pairs):
            raise NoPlan
        self.current = list(zip(args, args2, strict=True))
        if all(
            id(x) not in self.places and _same(x._contents(), y._contents())
            for x, y in self.current + pairs
        ):
            return  # a constant, which is found as such where it is used
        avals = [x.aval for x in outs]
        is_of_keys = prim.moves_physical(avals if prim.multiple_results else avals[0])
        if is_of_keys and prim not in _OF_KEYS_TOO:
            raise NoPlan
        if prim.is_tape_of_plans:
            slots = self._tape(prim, params, avals)
        else:
            translate = _TRANSLATIONS.get(prim) or (_loop if prim.elementwise else None)
            if translate is None or prim.multiple_results:
                raise NoPlan
            slots = [translate(self, prim, params, args, avals[0])]
        for (x, y), slot in zip(pairs, slots, strict=True):
            self.places[id(x)] = slot, y

    def _tape(self, prim, params, avals):
        """Add an operation as a tape of its own; returns the slots of its results."""

        def operation(*xs):
            out = prim.bind(*xs, **params)
            return out if prim.multiple_results else [out]

        _, make = self.tape_of(operation, [x.aval for x, _ in self.current])
        tape = make(_MOST_COST)
        if tape is None:
            raise NoPlan
        operands = tuple(self.operand(i) for i in range(len(self.current)))
        outs = tuple(self.new(in_memory(aval)) for aval in avals)
        self.steps.append(("tape", outs, operands, tape))
        return outs

    def operand(self, i):
        """Return the slot of an operand of the current step."""
        return self._slot_of(*self.current[i])

    def loop_operands(self):
        """Return the slots of all operands of a loop: one element may stand for all."""
        slots = map(self.operand, range(len(self.current)))
        return tuple(self.spread.get(slot, slot) for slot in slots)

    def _slot_of(self, x, y):
        """Return the slot of what is `x` in one run and `y` in the other."""
        found, same = self.places.get(id(x), (None, None))
        if found is None:
            return self._new_slot(x, y)
        if same is not y:
            raise NoPlan
        return found

    def finish(self):
        """Return the description."""
        if len(self.slots) > MOST_SLOTS:
            raise NoPlan
        first, second = self.runs
        results = [self._result(x, y) for x, y in zip(first.outs, second.outs, strict=True)]
        used, steps = set(results), []
        for step in reversed(self.steps):
            if not used.isdisjoint(step[1]):
                used.update(step[1], step[2])
                steps.append(step)
        slots = [
            ("unused", None, aval) if kind == "step" and i not in used else (kind, what, aval)
            for i, (kind, what, aval) in enumerate(self.slots)
        ]
        pairs = [(i, x.aval) for i, x in zip(results, first.outs, strict=True)]
        return tuple(slots), tuple(reversed(steps)), tuple(pairs), spec_of(first.treedef)

    def _result(self, x, y):
        """Return the slot of a result; what is like an argument, but another array, is a copy."""
        slot = self._slot_of(x, y)
        kind, what, aval = self.slots[slot]
        argument = self.runs[0].args[what] if kind == "array" else x
        if argument is x or argument.aval is not x.aval:
            return slot
        return self.step("copy", aval, (slot,), 0, aval.shape, _dense_strides(aval.shape))

    def _new_slot(self, x, y):
        """Add a slot for a number or a constant."""
        if type(x) is not type(y) or x.aval is not y.aval or not kernels.is_kernel_dtype(x.aval):
            raise NoPlan
        a, b = np.asarray(x._contents()), np.asarray(y._contents())
        if a.tobytes() == b.tobytes():
            if self.numbers and a.dtype == np.bool_ and not a.ndim:
                raise NoPlan  # it may be whether a number is zero, which neither stand-in is
            is_dense = type(x) is Array and a.flags.c_contiguous
            array = x if is_dense else Array(x.aval, np.ascontiguousarray(a))
            return self._put("constant", array, x.aval)
        if not x.aval.shape:
            for i in self.numbers:
                if all(
                    _same(run.number_at(i, v.dtype), v)
                    for run, v in zip(self.runs, (a, b), strict=False)
                ):
                    return self._put("number", i, x.aval)
        raise NoPlan

    def _put(self, kind, what, aval):
        self.slots.append((kind, what, aval))
        return len(self.slots) - 1

    def new(self, aval):
        """Return a new slot that a step writes."""
        if not kernels.is_kernel_dtype(aval):
            raise NoPlan
        return self._put("step", None, aval)

    def step(self, kind, aval, operands, *rest):
        """Add a step; returns its slot."""
        out = self.new(aval)
        self.steps.append((kind, (out,), operands, *rest))
        return out


def _same(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _are_equal(a, b):
    """Whether params are equal; those that cannot be compared are not."""
    try:
        return a.keys() == b.keys() and all(a[k] is b[k] or bool(a[k] == b[k]) for k in a)
    except Exception:  # of arrays, or of users' objects
        return False


# ---------------------------------------------------------------- translations
# Functions of (description, primitive, params, operands, aval of the result) that return its slot.


def _loop(made, prim, params, args, aval):
    """An elementwise operation is a loop; its param is what it has besides operands."""
    if params and prim not in loops.PARAM:
        raise NoPlan
    param = loops.param_of(prim, params)
    return made.step("loop", aval, made.loop_operands(), prim.name, param)


def _convert(made, prim, params, args, aval):
    if args[0].aval.dtype == aval.dtype:  # to another weak type
        return _same_elements(made, prim, params, args, aval)
    return made.step("loop", aval, (made.operand(0),), prim.name, 0)


def _select(made, prim, params, args, aval):
    which = args[0].aval
    if which.dtype != np.bool_ or len(args) != 3:
        raise NoPlan
    return made.step("loop", aval, made.loop_operands(), prim.name, 0)


def _same_elements(made, prim, params, args, aval):
    """The elements of the operand in order: the same memory."""
    return made.operand(0)


def _reshape(made, prim, params, args, aval):
    if params.get("dimensions") is not None:
        raise NoPlan
    return _same_elements(made, prim, params, args, aval)


def _copy(made, aval, offset, strides):
    return made.step("copy", aval, (made.operand(0),), offset, aval.shape, strides)


def _dense_strides(shape):
    """Return the strides of a dense array, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _broadcast(made, prim, params, args, aval):
    if args[0].aval.size == aval.size:
        dims = params["broadcast_dimensions"]
        if tuple(sorted(dims)) == tuple(dims):
            return _same_elements(made, prim, params, args, aval)
    strides = [0] * aval.ndim
    shape = args[0].aval.shape
    for dim, size, stride in zip(
        params["broadcast_dimensions"], shape, _dense_strides(shape), strict=True
    ):
        strides[dim] = 0 if size == 1 else stride
    out = _copy(made, aval, 0, tuple(strides))
    if args[0].aval.size == 1:
        made.spread[out] = made.operand(0)
    return out


def _transpose(made, prim, params, args, aval):
    strides = _dense_strides(args[0].aval.shape)
    return _copy(made, aval, 0, tuple(strides[i] for i in params["permutation"]))


def _slice(made, prim, params, args, aval):
    strides = _dense_strides(in_memory(args[0].aval).shape)
    offset = sum(s * k for s, k in zip(params["start_indices"], strides, strict=False))
    steps = params["strides"] or (1,) * aval.ndim
    steps += (1,) * (len(strides) - aval.ndim)  # the words of keys
    made_of = tuple(s * k for s, k in zip(steps, strides, strict=True))
    return _copy(made, in_memory(aval), offset, made_of)


def _reverse(made, prim, params, args, aval):
    strides = list(_dense_strides(aval.shape))
    offset = 0
    for i in params["dimensions"]:
        offset += (aval.shape[i] - 1) * strides[i]
        strides[i] = -strides[i]
    return _copy(made, aval, offset, tuple(strides))


def _reduce(made, prim, params, args, aval):
    """Reductions of neighbouring dimensions."""
    shape, axes = args[0].aval.shape, sorted(params["axes"])
    if not axes:
        raise NoPlan
    first, last = axes[0], axes[-1] + 1
    if last - first != len(axes):
        raise NoPlan
    sizes = [math.prod(part) for part in (shape[:first], shape[first:last], shape[last:])]
    return made.step("reduce", aval, (made.operand(0),), prim.name, *sizes)


def _product(made, prim, params, args, aval):
    """Small products; those that are work are for the host's BLAS."""
    lhs, rhs = (x.aval for x in args)
    if num_products(lhs, rhs, params, aval) > dot.MOST_PRODUCTS:
        raise NoPlan
    how = _how(lhs, rhs, params, aval)
    if {lhs.dtype, rhs.dtype, aval.dtype} != {how.compute}:
        raise NoPlan
    (*batch, m, k), n = how.lhs_shape, how.rhs_shape[-1]
    count = math.prod(batch)
    operands = _ordered(made, 0, lhs, how.lhs_order), _ordered(made, 1, rhs, how.rhs_order)
    return made.step("matmul", aval, operands, count, m, n, k, m * k, k, 1, k * n, n, 1)


def _how(lhs, rhs, params, aval):
    numbers = params["dimension_numbers"]
    return dot.host_product(lhs.shape, lhs.dtype, rhs.shape, rhs.dtype, numbers, aval.dtype)


def num_products(lhs, rhs, params, aval):
    """Return how many products of numbers a `dot_general` of these avals computes."""
    how = _how(lhs, rhs, params, aval)
    return math.prod(how.lhs_shape) * how.rhs_shape[-1]


def _ordered(made, i, aval, order):
    """Return the slot of operand `i` with its dimensions in another order."""
    if order == tuple(range(aval.ndim)):
        return made.operand(i)
    strides = _dense_strides(aval.shape)
    turned = ShapedArray(tuple(aval.shape[d] for d in order), aval.dtype)
    strides = tuple(strides[d] for d in order)
    return made.step("copy", turned, (made.operand(i),), 0, turned.shape, strides)


def _bitcast(made, prim, params, args, aval):
    """Return a copy that is read as another dtype of the same size."""
    if args[0].aval.shape != aval.shape:
        raise NoPlan
    return _copy(made, aval, 0, _dense_strides(aval.shape))


def _random_bits(made, prim, params, args, aval):
    return _draw(made, params, args, aval, False)


def _random_split(made, prim, params, args, aval):
    return _draw(made, params, args, in_memory(aval), True)


def _draw(made, params, args, aval, makes_keys):
    """What becomes of the first counters under each key."""
    if params["impl"] != "threefry2x32" or not params["partitionable"]:
        raise NoPlan
    sizes = args[0].aval.size, math.prod(params["shape"])
    return made.step("draw", aval, (made.operand(0),), *sizes, makes_keys)


def in_memory(aval):
    """Return an aval as its contents lie in memory: keys are words."""
    if type(aval.dtype) is not dtypes.KeyType:
        return aval
    return ShapedArray((*aval.shape, *aval.dtype.physical_suffix), np.dtype(np.uint32))


_OF_KEYS_TOO = frozenset({slicing.slice_p, structural.squeeze_p})

REDUCTIONS = frozenset({
    reduce.argmax_p, reduce.argmin_p, reduce.reduce_and_p, reduce.reduce_max_p,
    reduce.reduce_min_p, reduce.reduce_or_p, reduce.reduce_prod_p, reduce.reduce_xor_p,
    structural.reduce_sum_p,
})  # fmt: skip

_TRANSLATIONS = {
    convert.bitcast_convert_type_p: _bitcast,
    convert.convert_element_type_p: _convert,
    convert.stop_gradient_p: _same_elements,
    dot.dot_general_p: _product,
    random.random_bits_p: _random_bits,
    random.random_clone_p: _same_elements,
    random.random_split_p: _random_split,
    random.random_unwrap_p: _same_elements,
    random.random_wrap_p: _same_elements,
    select.select_n_p: _select,
    slicing.slice_p: _slice,
    structural.broadcast_in_dim_p: _broadcast,
    structural.reshape_p: _reshape,
    structural.rev_p: _reverse,
    structural.squeeze_p: _same_elements,
    structural.transpose_p: _transpose,
    **dict.fromkeys(REDUCTIONS, _reduce),
}
