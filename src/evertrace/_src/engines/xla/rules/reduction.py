"""StableHLO of reductions by a function of the user's: the jaxpr becomes the region."""

from evertrace._src.control import reduction as ops
from evertrace._src.engines.xla.lower import ints, lowering
from evertrace._src.engines.xla.rules.windows import window_attrs


def _region(b, jaxpr):
    return b.region(jaxpr.in_avals, lambda *xs: b.inline(jaxpr, xs))


@lowering.define(ops.reduce_p)
def _reduce(b, outs, *operands, computation, jaxpr, dimensions, out_sharding):
    attrs = {"dimensions": ints(dimensions)}
    return b.op("stablehlo.reduce", operands, outs, attrs, [_region(b, jaxpr.jaxpr)])


@lowering.define(ops.reduce_window_p)
def _reduce_window(b, outs, *operands, jaxpr, consts, **window):
    region = _region(b, jaxpr.jaxpr)
    return b.op("stablehlo.reduce_window", operands, outs, window_attrs(**window), [region])
