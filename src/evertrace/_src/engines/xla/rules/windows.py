"""StableHLO of reductions over windows."""

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.reduce import combiner
from evertrace._src.engines.xla.text import ints, pairs
from evertrace._src.ops import windows as ops
from evertrace._src.ops.compare import ge_p
from evertrace._src.ops.elementwise import add_p, max_p, min_p
from evertrace._src.ops.identities import accumulation_dtype, highest, lowest


def window_attrs(window_dimensions, window_strides, padding, base_dilation, window_dilation):
    """Return the attributes of `reduce_window`."""
    return {
        "window_dimensions": ints(window_dimensions),
        "window_strides": ints(window_strides),
        "base_dilations": ints(base_dilation),
        "window_dilations": ints(window_dilation),
        "padding": pairs(padding),
    }


def window_reduction(prim, combine, identity):
    """Register a windowed reduction by an elementwise primitive."""

    def rule(b, out, x, **window):
        wide = b.convert(x, accumulation_dtype(x.dtype))
        start = b.constant(identity(wide.dtype), ShapedArray((), wide.dtype))
        y = b.op(
            "stablehlo.reduce_window",
            [wide, start],
            out.update(dtype=wide.dtype),
            window_attrs(**window),
            [combiner(b, combine, wide.dtype)],
        )
        return b.convert(y, out.dtype)

    lowering.define(prim)(rule)


window_reduction(ops.reduce_window_sum_p, add_p, lambda dtype: 0)
window_reduction(ops.reduce_window_max_p, max_p, lowest)
window_reduction(ops.reduce_window_min_p, min_p, highest)


def direction_of(select_prim):
    """Return the comparison under which an element stays chosen."""
    return "GE" if select_prim is ge_p else "LE"


@lowering.define(ops.select_and_gather_add_p)
def _select_and_gather_add(b, out, tangents, operand, *, select_prim, **window):
    """Reduce pairs of (element, tangent) by the element alone."""
    scalar = ShapedArray((), operand.dtype)
    starts = [b.constant(ops.worst(select_prim, operand.dtype), scalar), b.constant(0, scalar)]

    def choose(x1, t1, x2, t2):
        stays = b.compare(direction_of(select_prim), x1, x2)
        return [b.op("stablehlo.select", [stays, *pair], scalar) for pair in ((x1, x2), (t1, t2))]

    region = b.region([scalar] * 4, choose)
    _, chosen = b.op(
        "stablehlo.reduce_window",
        [operand, tangents, *starts],
        [out, out],
        window_attrs(**window),
        [region],
    )
    return chosen


@lowering.define(ops.select_and_scatter_add_p)
def _select_and_scatter_add(
    b, out, source, operand, *, select_prim, window_dimensions, window_strides, padding
):
    """Pad explicitly: XLA would let no padding be chosen, where the host's windows hold it."""
    scalar = ShapedArray((), operand.dtype)
    low, high = zip(*padding, strict=True) if padding else ((), ())
    shape = tuple(n + lo + hi for n, lo, hi in zip(out.shape, low, high, strict=True))
    padded = _pad(b, operand, ops.worst(select_prim, operand.dtype), low, high, shape)
    select = b.region([scalar, scalar], lambda x, y: [b.compare(direction_of(select_prim), x, y)])
    attrs = {"window_dimensions": ints(window_dimensions), "window_strides": ints(window_strides)}
    scattered = b.op(
        "stablehlo.select_and_scatter",
        [padded, source, b.constant(0, scalar)],
        out.update(shape=shape),
        attrs,
        [select, combiner(b, add_p, out.dtype)],
    )
    return _pad(b, scattered, 0, [-n for n in low], [-n for n in high], out.shape)


def _pad(b, x, value, low, high, shape):
    if not any((*low, *high)):
        return x
    attrs = {
        "edge_padding_low": ints(low),
        "edge_padding_high": ints(high),
        "interior_padding": ints([0] * len(shape)),
    }
    fill = b.constant(value, ShapedArray((), x.dtype))
    return b.op("stablehlo.pad", [x, fill], x.aval.update(shape=shape), attrs)
