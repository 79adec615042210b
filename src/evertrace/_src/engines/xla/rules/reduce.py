"""StableHLO of reductions."""

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import int_attr, ints
from evertrace._src.ops import reduce as ops
from evertrace._src.ops.bits import and_p, or_p, xor_p
from evertrace._src.ops.cumulative import accumulation_dtype
from evertrace._src.ops.elementwise import max_p, min_p, mul_p
from evertrace._src.ops.identities import all_ones, highest, lowest


def combiner(b, prim, dtype):
    """Return the region that combines two scalars as `prim` does."""
    scalar = ShapedArray((), dtype)
    return b.region([scalar, scalar], lambda x, y: [lowering[prim](b, scalar, x, y)])


def reduce_with(b, prim, identity, x, axes):
    """Write a reduction by an elementwise primitive, starting from its identity."""
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    start = b.constant(identity, ShapedArray((), x.dtype))
    attrs = {"dimensions": ints(axes)}
    out = ShapedArray(shape, x.dtype)
    return b.op("stablehlo.reduce", [x, start], out, attrs, [combiner(b, prim, x.dtype)])


def reduction(prim, combine, identity):
    """Register a reduction by an elementwise primitive, from ``identity(dtype)`` on."""

    def rule(b, out, x, *, axes):
        wide = b.convert(x, accumulation_dtype(x.dtype) if prim is ops.reduce_prod_p else x.dtype)
        return b.convert(reduce_with(b, combine, identity(wide.dtype), wide, axes), out.dtype)

    lowering.define(prim)(rule)


reduction(ops.reduce_max_p, max_p, lowest)
reduction(ops.reduce_min_p, min_p, highest)
reduction(ops.reduce_prod_p, mul_p, lambda dtype: 1)
reduction(ops.reduce_and_p, and_p, all_ones)
reduction(ops.reduce_or_p, or_p, lambda dtype: 0)
reduction(ops.reduce_xor_p, xor_p, lambda dtype: 0)


def index_reduction(prim, combine, identity):
    """Register an argmax or argmin: the least index among those of the extremum.

    Two plain reductions, of the values and then of the indices, which XLA vectorises; it does not
    do so for one reduction of pairs. Where there is a NaN the extremum is NaN and equals nothing,
    and the candidates are the NaNs.
    """

    def rule(b, out, x, *, axes, index_dtype):
        extremum = reduce_with(b, combine, identity(x.dtype), x, axes)
        kept = [d for d in range(len(x.shape)) if d not in axes]
        attrs = {"broadcast_dimensions": ints(kept)}
        extremum = b.op("stablehlo.broadcast_in_dim", [extremum], x.aval, attrs)
        found = b.compare("EQ", x, extremum)
        found = b.op("stablehlo.or", [found, b.compare("NE", x, x)], found.aval)
        index = ShapedArray(x.shape, index_dtype)
        last = highest(index_dtype)
        places = b.op("stablehlo.iota", [], index, {"iota_dimension": int_attr(axes[0])})
        places = b.op("stablehlo.select", [found, places, b.constant(last, index)], index)
        return reduce_with(b, min_p, last, places, axes)

    lowering.define(prim)(rule)


index_reduction(ops.argmax_p, max_p, lowest)
index_reduction(ops.argmin_p, min_p, highest)
