"""What a kernel means: its body in loops over the axes of the grid.

Each axis is a scan. An array whose block number along some dimension is the index of an axis is cut
there first, and its parts are what the scan runs over (`xs`): so it is read in place, its cotangent
is collected part by part, and results are stacked (`ys`). Results that an axis does not choose
blocks of are carried along it, as is scratch memory: later steps see what earlier ones wrote. What
an index map computes otherwise is a dynamic slice, taken by the innermost step. Of a batch whose
steps are small many examples run at a time.

The body is a jaxpr of values: what refs hold before a step comes in, what they hold after it goes
out. So a program of kernels is one of ordinary operations, for all engines and transformations.
"""

import math
from typing import Any, NamedTuple

from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays
from evertrace._src.control.checkpoint import remat_p
from evertrace._src.control.cond import cond_p
from evertrace._src.control.loop import while_p
from evertrace._src.control.policies import dots_saveable
from evertrace._src.control.scan import bind_scan, scan_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Jaxpr, literal, subjaxprs
from evertrace._src.lax.loops import fori_loop
from evertrace._src.ops.creation import iota
from evertrace._src.ops.dynamic import dynamic_slice_p, dynamic_update_slice_p
from evertrace._src.ops.elementwise import mul_p
from evertrace._src.ops.slicing import pad_p, slice_p
from evertrace._src.ops.structural import full, move_batch_dim, permute, reshape
from evertrace._src.pallas.blocks import INDEX, INT32, Blocks, poison
from evertrace._src.transforms.batching import Axis, batch_flat
from evertrace._src.transforms.staging import inline, restage, stage

CACHED = 1 << 17
"""Bytes that a step works on, of all examples that run at a time: processors hold them close."""


SMALL = 4096
"""Bytes of a step that takes about as long as a turn does by itself."""


class Grid(NamedTuple):
    """A kernel's grid, and the blocks of all arrays.

    Attributes:
      sizes: of the axes; None for one that is an operand.
      hidden: how many of them, the first ones, are batches that the kernel does not know of.
      inputs, outputs: a `Blocks` for each array. The first inputs may be scalars that the kernel
        closes over.
      scratch: types of the memory that the kernel works in.
      aliases: pairs (input, output): the output begins as the input.
    """

    sizes: tuple[int | None, ...]
    hidden: int
    inputs: tuple[Blocks, ...]
    outputs: tuple[Blocks, ...]
    scratch: tuple[ShapedArray, ...]
    aliases: tuple[tuple[int, int], ...]

    @property
    def num_captured(self):
        """How many of the operands, the first ones, are sizes, or what index maps capture."""
        captured = sum(b.num_captured for b in (*self.inputs, *self.outputs))
        return self.sizes.count(None) + captured

    def __repr__(self):
        blocks = [str(tuple(d.size for d in b.dims)) for b in (*self.inputs, *self.outputs)]
        return f"Grid({self.sizes}, blocks=[{', '.join(blocks)}])"


def run(body: Jaxpr, grid: Grid, operands, is_recomputed=False):
    """Return the outputs of a kernel as a list.

    Args:
      body: jaxpr of the kernel: indices of the grid without the hidden ones, blocks of inputs, then
        of outputs, then scratch -> the new blocks of outputs, and scratch.
      grid: its `Grid`.
      operands: sizes of the grid that are operands, what index maps capture, then the inputs.
      is_recomputed: whether a reverse pass computes a step again from its blocks, but for what is
        dear, instead of keeping all that the step has computed.
    """
    if is_recomputed and not body.effects:  # what is printed is printed once
        body = _recomputed(body)
    loops = _Loops(body, grid, operands[: grid.num_captured], is_recomputed)
    inputs = operands[grid.num_captured :]
    ins = [view.cut(x) for view, x in zip(loops.inputs, inputs, strict=True)]
    outs: list = [None] * len(grid.outputs)
    for i, o in grid.aliases:
        outs[o] = loops.outputs[o].cut(inputs[i])
    if 0 not in grid.sizes:
        outs, _ = loops.turn((), ins, outs, [None] * len(grid.scratch))
    else:
        outs = [
            view.undefined() if x is None else x
            for view, x in zip(loops.outputs, outs, strict=True)
        ]
    return as_arrays([view.join(x) for view, x in zip(loops.outputs, outs, strict=True)])


_DEAR = {
    "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "log", "log1p", "logistic", "pow", "sin",
    "sinh", "tan", "tanh",
}  # fmt: skip
"""Primitives of which a result is rather kept than computed again."""


def _recomputed(body):
    """Return a body that is one operation, and computed again in a reverse pass.

    Kept are products of matrices, and of dear functions what is no larger than a block: so a pass
    reads not much more than the arrays themselves, whatever is spread within a step.
    """
    largest = max([v.aval.size for v in (*body.invars, *body.outvars)], default=0)

    def keeps(prim, *avals, **params):
        is_dear = prim.name in _DEAR and all(x.size <= largest for x in avals)
        return is_dear or dots_saveable(prim, *avals, **params)

    def fun(*xs):
        return remat_p.bind(*xs, jaxpr=body, policy=keeps, prevent_cse=False, differentiated=False)

    return restage(fun, [v.aval for v in body.invars])


class _View:
    """One array as the loops over a grid see it.

    Args:
      blocks: its `Blocks`.
      sizes: of the grid.

    Attributes:
      cuts: axis of the grid -> dimension of the array along which the axis numbers the blocks. An
        array that is cut has the numbers of these blocks in front, in the order of the axes.
    """

    def __init__(self, blocks, sizes):
        self.blocks, cuts = blocks, {}
        for i, dim in enumerate(blocks.dims):
            axis = blocks.axis_of(i)
            if axis is not None and axis not in cuts and sizes[axis] == dim.places:
                cuts[axis] = i
        self.cuts = dict(sorted(cuts.items()))

    @property
    def is_all_cut(self):
        """Whether what is left to the innermost step is its block."""
        cut = set(self.cuts.values())
        return all(i in cut or d.is_whole for i, d in enumerate(self.blocks.dims))

    @property
    def aval(self):
        """Type of the array once it is cut."""
        return ShapedArray(self._counts() + self._rest(), self.blocks.aval.dtype)

    def _counts(self):
        return tuple(self.blocks.dims[i].places for i in self.cuts.values())

    def _rest(self):
        """Return the shape of what is left to the innermost step."""
        cut = set(self.cuts.values())
        return tuple(
            d.size if i in cut else sum(d.padded) + d.array_size
            for i, d in enumerate(self.blocks.dims)
        )

    def undefined(self):
        """Return memory that nobody has written to."""
        return full(self.aval, poison(self.aval.dtype))

    def _order(self):
        """Return the order of the dimensions once each that is cut has become two."""
        places, position = [], 0
        for i in range(len(self.blocks.dims)):
            places.append(position)
            position += 2 if i in self.cuts.values() else 1
        front = [places[i] for i in self.cuts.values()]
        return front + [p for p in range(position) if p not in front]

    def cut(self, x):
        """Return an array, padded, with the blocks in front."""
        dims, cut = self.blocks.dims, set(self.cuts.values())
        if any(any(d.padded) for d in dims):
            value = literal(poison(x.aval.dtype), x.aval.dtype)
            config = tuple((*d.padded, 0) for d in dims)
            x = pad_p.bind(x, value, padding_config=config)
        shape = []
        for i, d in enumerate(dims):
            shape += [d.places, d.size] if i in cut else [sum(d.padded) + d.array_size]
        return permute(reshape(x, tuple(shape)), tuple(self._order()))

    def join(self, x):
        """Undo `cut`."""
        dims, order = self.blocks.dims, self._order()
        x = permute(x, tuple(order.index(i) for i in range(len(order))))
        x = reshape(x, tuple(sum(d.padded) + d.array_size for d in dims))
        if all(not any(d.padded) for d in dims):
            return x
        starts = tuple(d.padded[0] for d in dims)
        limits = tuple(d.padded[0] + d.array_size for d in dims)
        return slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=None)

    def starts(self, captured, ids):
        """Return where the block of a step begins in what is left of the array, or None.

        None where what is left is the block.
        """
        if self.is_all_cut:
            return None
        dims, cut = self.blocks.dims, set(self.cuts.values())
        indices = inline(self.blocks.index_map, *captured, *ids)
        zero = literal(0, INT32)
        return [
            zero if i in cut or d.is_whole else index if d.is_element or d.size == 1 else
            mul_p.bind(index, literal(d.size, INT32))
            for i, (d, index) in enumerate(zip(dims, indices, strict=True))
        ]  # fmt: skip

    def take(self, x, starts):
        """Return the block of a step, as the kernel sees it."""
        if starts is not None:
            x = dynamic_slice_p.bind(
                x, *starts, slice_sizes=tuple(d.size for d in self.blocks.dims)
            )
        return reshape(x, self.blocks.block_aval.shape)

    def put(self, x, block, starts):
        """Return what is left of the array with the block of a step replaced."""
        block = reshape(block, tuple(d.size for d in self.blocks.dims))
        return block if starts is None else dynamic_update_slice_p.bind(x, block, *starts)


class _Loops:
    """The loops over a grid.

    In its methods an output that nobody has written to yet is None, as is such scratch memory.
    """

    def __init__(self, body, grid, captured, is_recomputed):
        self.body, self.grid, self.is_recomputed = body, grid, is_recomputed
        self.inputs = [_View(b, grid.sizes) for b in grid.inputs]
        self.outputs = [_View(b, grid.sizes) for b in grid.outputs]
        captured = iter(captured)
        self.sizes = [next(captured) if size is None else size for size in grid.sizes]
        self.captured = {
            id(v): [next(captured) for _ in range(v.blocks.num_captured)]
            for v in (*self.inputs, *self.outputs)
        }

    def turn(self, ids, ins, outs, scratch):
        """Return what outputs and scratch hold after all steps that begin with some indices."""
        axis = len(ids)
        if axis == len(self.grid.sizes):
            return self.step(ids, ins, outs, scratch)
        if axis >= self.grid.hidden:
            scratch = [_defined(x, a) for x, a in zip(scratch, self.grid.scratch, strict=True)]
        return self.loop(axis, ids, ins, outs, scratch)

    def loop(self, axis, ids, ins, outs, scratch):
        """Run one axis of the grid as a scan."""
        is_cut = [axis in v.cuts for v in self.outputs]
        xs: list[Any] = [x for v, x in zip(self.inputs, ins, strict=True) if axis in v.cuts]
        num_read = len(xs)
        xs += [x for c, x in zip(is_cut, outs, strict=True) if c and x is not None]
        carry = [
            self.remaining(v, axis, x)
            for v, c, x in zip(self.outputs, is_cut, outs, strict=True)
            if not c
        ]
        num_carried = len(carry)
        is_kept = axis >= self.grid.hidden
        carry += scratch if is_kept else []

        def fun(*args):
            carried, index, parts = args[: len(carry)], args[len(carry)], args[len(carry) + 1 :]
            read, written = iter(parts[:num_read]), iter(parts[num_read:])
            kept = iter(carried[:num_carried])
            new_ins = [
                next(read) if axis in v.cuts else x for v, x in zip(self.inputs, ins, strict=True)
            ]
            new_outs = [
                (None if x is None else next(written)) if c else next(kept)
                for c, x in zip(is_cut, outs, strict=True)
            ]
            new_scratch = list(carried[num_carried:]) if is_kept else scratch
            found, memory = self.turn((*ids, index), new_ins, new_outs, new_scratch)
            results = [x for c, x in zip(is_cut, found, strict=True) if not c]
            results += memory if is_kept else []
            return results + [x for c, x in zip(is_cut, found, strict=True) if c]

        size = self.sizes[axis]
        if axis < self.grid.hidden:  # nothing is carried
            some = self.examples(axis)
            if some > 1:
                return self.batch(fun, size, some, xs), scratch
        if self.grid.sizes[axis] is None:  # nothing is cut
            results: list[Any] = fori_loop(0, size, lambda i, args: fun(*args, i), carry)
            results = [as_operand(x) for x in results]
            return results[:num_carried], results[num_carried:] if is_kept else scratch
        slices = [ShapedArray(x.aval.shape[1:], x.aval.dtype) for x in xs]
        staged = stage(fun, [*[x.aval for x in carry], INDEX, *slices])
        results = bind_scan(
            staged.jaxpr,
            staged.captured,
            carry,
            [iota(INT32, (size,)), *xs],
            length=size,
            reverse=False,
            unroll=1,
        )
        kept, stacked = iter(results[:num_carried]), iter(results[len(carry) :])
        found = [next(stacked) if c else next(kept) for c in is_cut]
        return found, results[num_carried : len(carry)] if is_kept else scratch

    def examples(self, axis):
        """Return how many examples of a batch run at a time: a divisor of their number.

        Many do where a step is so small that its turns take longer than what they compute, and
        loops within it, or what it hands on, keep it from becoming one kernel with the loops over
        the grid. Not where loops turn until something holds, all of them as often as the last
        example needs, nor where something is printed.
        """
        size, bytes_ = self.grid.sizes[axis], _bytes_of(self.body)
        if (
            type(size) is not int
            or self.is_recomputed
            or self.body.effects
            or bytes_ > SMALL
            or any(eqn.primitive is while_p for eqn in _within(self.body))
            or (self.hands_nothing_on() and not any(map(_is_apart, _within(self.body))))
        ):
            return 1
        inner = math.prod(self.grid.sizes[axis + 1 : self.grid.hidden])
        most = min(size, CACHED // max(1, bytes_ * inner))
        return next((n for n in range(most, 1, -1) if size % n == 0), 1)

    def hands_nothing_on(self):
        """Whether each step has blocks of its own of all outputs, which are cut in blocks."""
        return not self.grid.scratch and all(
            v.is_all_cut and len(v.cuts) == len(self.grid.sizes) for v in self.outputs
        )

    def batch(self, fun, size, some, xs):
        """Run `fun` for all examples, vectorised, some at a time."""
        index = literal(0, INDEX.dtype)  # what it chooses is cut

        def run(*parts):
            found, dims = batch_flat(
                lambda *one: fun(index, *one), Axis(some), parts, [0] * len(parts)
            )
            return [move_batch_dim(x, d, 0, some) for x, d in zip(found, dims, strict=True)]

        if some == size:
            return run(*xs)
        xs = [reshape(x, (size // some, some, *x.aval.shape[1:])) for x in xs]
        staged = stage(run, [x.aval.update(shape=x.aval.shape[1:]) for x in xs])
        found = bind_scan(
            staged.jaxpr, staged.captured, [], xs, length=size // some, reverse=False, unroll=1
        )
        return [reshape(x, (size, *x.aval.shape[2:])) for x in found]

    def remaining(self, view, axis, x):
        """Return what an output holds, of what is left of it within the axes before `axis`."""
        if x is not None:
            return x
        done = sum(a < axis for a in view.cuts)
        aval = view.aval
        return full(aval.update(shape=aval.shape[done:]), poison(aval.dtype))

    def step(self, ids, ins, outs, scratch):
        """Run the body once."""
        blocks = []
        for view, x in zip(self.inputs, ins, strict=True):
            blocks.append(view.take(x, view.starts(self.captured[id(view)], ids)))
        outs = [self.remaining(v, len(ids), x) for v, x in zip(self.outputs, outs, strict=True)]
        starts = [v.starts(self.captured[id(v)], ids) for v in self.outputs]
        blocks += [v.take(x, s) for v, x, s in zip(self.outputs, outs, starts, strict=True)]
        scratch = [_defined(x, a) for x, a in zip(scratch, self.grid.scratch, strict=True)]
        results = inline(self.body, *ids[self.grid.hidden :], *blocks, *scratch)
        count = len(outs)
        found = [
            v.put(x, new, s)
            for v, x, new, s in zip(self.outputs, outs, results[:count], starts, strict=True)
        ]
        return found, results[count:]


def _within(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn.params):
            yield from _within(inner)


def _is_apart(eqn):
    """Whether an equation keeps a step from becoming one kernel with the loops over the grid.

    It chooses or repeats equations, or finds elements at places that are computed.
    """
    return eqn.primitive in (cond_p, scan_p) or eqn.primitive.places is not None


def _bytes_of(jaxpr):
    """Return the bytes of what a body reads and writes, and of the largest array within."""
    own = sum(_bytes(v.aval) for v in (*jaxpr.invars, *jaxpr.outvars))
    return own + max((_bytes(v.aval) for e in _within(jaxpr) for v in e.outvars), default=0)


def _bytes(aval):
    return aval.size * aval.dtype.itemsize


def _defined(x, aval):
    return full(aval, poison(aval.dtype)) if x is None else as_operand(x)
