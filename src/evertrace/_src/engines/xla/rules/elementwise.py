"""StableHLO of elementwise operations: one row each."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops import elementwise as ops


def direct(prim, name):
    """Register the operation that does just what the primitive means."""

    def rule(b, out, *operands, **_):
        return b.op(name, [b.spread(x, out) for x in operands], out)

    lowering.define(prim)(rule)


direct(ops.add_any_p, "stablehlo.add")
direct(ops.add_p, "stablehlo.add")
direct(ops.sub_p, "stablehlo.subtract")
direct(ops.mul_p, "stablehlo.multiply")
direct(ops.neg_p, "stablehlo.negate")
direct(ops.sin_p, "stablehlo.sine")
direct(ops.cos_p, "stablehlo.cosine")
direct(ops.tanh_p, "stablehlo.tanh")
