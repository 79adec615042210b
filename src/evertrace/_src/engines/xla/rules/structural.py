"""StableHLO of structural operations."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import ints
from evertrace._src.ops import structural as ops


@lowering.define(ops.broadcast_in_dim_p)
def _broadcast_in_dim(b, out, x, *, shape, broadcast_dimensions, sharding):
    attrs = {"broadcast_dimensions": ints(broadcast_dimensions)}
    return b.op("stablehlo.broadcast_in_dim", [x], out, attrs)


@lowering.define(ops.reshape_p)
def _reshape(b, out, x, *, new_sizes, dimensions, sharding):
    if dimensions is not None:
        x = permuted(b, x, dimensions)
    return b.op("stablehlo.reshape", [x], out)


def permuted(b, x, permutation):
    """Write a transposition."""
    out = x.aval.update(shape=tuple(x.shape[i] for i in permutation))
    return b.op("stablehlo.transpose", [x], out, {"permutation": ints(permutation)})


@lowering.define(ops.squeeze_p)
def _squeeze(b, out, x, *, dimensions):
    return b.op("stablehlo.reshape", [x], out)


@lowering.define(ops.rev_p)
def _rev(b, out, x, *, dimensions):
    return b.op("stablehlo.reverse", [x], out, {"dimensions": ints(dimensions)})


@lowering.define(ops.transpose_p)
def _transpose(b, out, x, *, permutation):
    return b.op("stablehlo.transpose", [x], out, {"permutation": ints(permutation)})


@lowering.define(ops.reduce_sum_p)
def _reduce_sum(b, out, x, *, axes, out_sharding):
    zero = b.constant(0, out.update(shape=()))
    attrs = {"dimensions": ints(axes)}
    return b.op("stablehlo.reduce", [x, zero], out, attrs, [b.reducer("stablehlo.add", out)])
