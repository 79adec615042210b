"""StableHLO of reductions by a function of the user's: the jaxpr becomes the region."""

from evertrace._src.control import reduction as ops
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.windows import window_attrs
from evertrace._src.engines.xla.text import ints, pairs


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


@lowering.define(ops.select_and_scatter_p)
def _select_and_scatter(
    b,
    outs,
    operand,
    source,
    init,
    *,
    select_jaxpr,
    select_consts,
    scatter_jaxpr,
    scatter_consts,
    window_dimensions,
    window_strides,
    padding,
):
    attrs = {
        "window_dimensions": ints(window_dimensions),
        "window_strides": ints(window_strides),
        "padding": pairs(padding),
    }
    regions = [_region(b, select_jaxpr.jaxpr), _region(b, scatter_jaxpr.jaxpr)]
    operands = [operand, source, init]
    return [b.op("stablehlo.select_and_scatter", operands, outs[0], attrs, regions)]
