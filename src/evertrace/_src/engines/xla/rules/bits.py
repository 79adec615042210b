"""StableHLO of bitwise operations."""

import ml_dtypes
import numpy as np

from evertrace._src import dtypes
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.elementwise import direct
from evertrace._src.ops import bits as ops

BYTE = np.dtype(np.uint8)

direct(ops.and_p, "stablehlo.and")
direct(ops.or_p, "stablehlo.or")
direct(ops.xor_p, "stablehlo.xor")
direct(ops.not_p, "stablehlo.not")
direct(ops.shift_left_p, "stablehlo.shift_left")
direct(ops.shift_right_arithmetic_p, "stablehlo.shift_right_arithmetic")
direct(ops.shift_right_logical_p, "stablehlo.shift_right_logical")


@lowering.define(ops.mulhi_p)
def _mulhi(b, out, x, y):
    x, y = (b.spread(z, out) for z in (x, y))
    width = dtypes.itemsize_bits(out.dtype)
    if width >= 8:
        return b.op("chlo.mulhi", [x, y], out)
    whole = out.update(dtype=np.dtype(np.int32))  # XLA would take the high half of the byte's
    product = b.op("stablehlo.multiply", [b.convert(z, whole.dtype) for z in (x, y)], whole)
    product = b.op(
        "stablehlo.shift_right_arithmetic", [product, b.full_like(product, width)], whole
    )
    return b.convert(product, out.dtype)


def _counting(prim, name, *, from_top):
    """Lower a count of bits; those of narrow integers in bytes, as XLA would count the byte's."""

    def rule(b, out, x):
        width = dtypes.itemsize_bits(x.dtype)
        if width >= 8:
            return b.op(name, [x], out)
        narrow = np.dtype(getattr(ml_dtypes, f"uint{width}"))
        bits = b.op("stablehlo.bitcast_convert", [x], x.aval.update(dtype=narrow))
        count = b.op(name, [b.convert(bits, BYTE)], x.aval.update(dtype=BYTE))
        if from_top:
            excess = b.full_like(count, 8 - width)
            count = b.op("stablehlo.subtract", [count, excess], count.aval)
        return b.convert(count, out.dtype)

    lowering.define(prim)(rule)


_counting(ops.population_count_p, "stablehlo.popcnt", from_top=False)
_counting(ops.clz_p, "stablehlo.count_leading_zeros", from_top=True)
