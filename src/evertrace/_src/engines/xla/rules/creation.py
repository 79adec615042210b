"""StableHLO of operations that make arrays from nothing."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import int_attr
from evertrace._src.ops import creation as ops


@lowering.define(ops.iota_p)
def _iota(b, out, *, dtype, shape, dimension, sharding):
    return b.op("stablehlo.iota", [], out, {"iota_dimension": int_attr(dimension)})


@lowering.define(ops.constant_p)
def _constant(b, out, *, value):
    return b.array(value._contents(), out)
