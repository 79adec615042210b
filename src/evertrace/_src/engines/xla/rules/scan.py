"""StableHLO of scans: a while loop that slices the xs and writes each y into its stack.

The loop carries a counter, the scan's carry and the stacks. `unroll` turns are written one after
the other in its body; what is left over, or all of a short scan, stands after the loop.
"""

import numpy as np

from evertrace._src.control.scan import scan_p, slice_aval, split_operands, stacked
from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import ints, physical_aval

_COUNTER = ShapedArray((), np.dtype(np.int32))


@lowering.define(scan_p)
def _scan(b, outs, *operands, jaxpr, length, reverse, num_consts, num_carry, unroll):
    consts, carry, xs = split_operands(operands, num_consts, num_carry)
    unroll = max(1, min(unroll, length))

    def turn(i, carry, stacks):
        """Write one turn; `i` counts from 0, in either direction."""
        if reverse:
            last = b.constant(length - 1, _COUNTER)
            i = b.op("stablehlo.subtract", [last, i], _COUNTER)
        results = b.inline(jaxpr.jaxpr, [*consts, *carry, *[_slice(b, x, i) for x in xs]])
        ys = results[num_carry:]
        stacks = [_write(b, stack, y, i) for stack, y in zip(stacks, ys, strict=True)]
        return results[:num_carry], stacks

    def turns(i, count, carry, stacks):
        """Write some turns one after the other; returns the counter too."""
        for _ in range(count):
            carry, stacks = turn(i, carry, stacks)
            i = b.op("stablehlo.add", [i, b.constant(1, _COUNTER)], _COUNTER)
        return i, carry, stacks

    i = b.constant(0, _COUNTER)
    stacks = [_empty(b, aval) for aval in outs[num_carry:]]
    blocks, rest = divmod(length, unroll)
    if blocks == 1:
        blocks, rest = 0, length
    if blocks:
        end = blocks * unroll
        state = [i, *carry, *stacks]

        def body(i, *values):
            i, carry, stacks = turns(i, unroll, values[:num_carry], values[num_carry:])
            return [i, *carry, *stacks]

        i, *values = b.while_loop(
            state,
            [x.aval for x in state],
            lambda i, *_: [b.compare("LT", i, b.constant(end, _COUNTER))],
            body,
            [jaxpr.jaxpr],
        )
        carry, stacks = values[:num_carry], values[num_carry:]
    _, carry, stacks = turns(i, rest, carry, stacks)
    return [*carry, *stacks]


def _start(b, i, rank):
    zero = b.constant(0, _COUNTER) if rank > 1 else None
    return [i, *[zero] * (rank - 1)]


def _slice(b, x, i):
    """Write the slice of `x` at `i` along the first dimension."""
    (_, *rest), _ = physical_aval(x.aval)
    one = stacked(slice_aval(x.aval), 1)
    attrs = {"slice_sizes": ints((1, *rest))}
    piece = b.op("stablehlo.dynamic_slice", [x, *_start(b, i, len(rest) + 1)], one, attrs)
    return b.op("stablehlo.reshape", [piece], slice_aval(x.aval))


def _write(b, stack, y, i):
    """Write `y` into the stack at `i` along the first dimension."""
    piece = b.op("stablehlo.reshape", [y], stacked(y.aval, 1))
    start = _start(b, i, len(physical_aval(stack.aval)[0]))
    return b.op("stablehlo.dynamic_update_slice", [stack, piece, *start], stack.aval)


def _empty(b, aval):
    """Write the stack before the first turn; every element is overwritten."""
    shape, dtype = physical_aval(aval)
    return b.constant(0, ShapedArray(shape, dtype))
