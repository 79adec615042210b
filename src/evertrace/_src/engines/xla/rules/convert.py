"""StableHLO of conversions."""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.compare import compare
from evertrace._src.ops import convert as ops
from evertrace._src.ops.elementwise import real_dtype


@lowering.define(ops.convert_element_type_p)
def _convert(b, out, x, *, new_dtype, weak_type, sharding):
    if x.dtype.kind == "c" and new_dtype.kind != "c":
        x = b.op("stablehlo.real", [x], ShapedArray(x.shape, real_dtype(x.dtype)))
    if new_dtype.kind == "b":
        return compare(b, "NE", x, b.full_like(x, 0))
    if x.dtype.kind == "b" and new_dtype.kind not in "biu":
        # XLA takes a product with a boolean for a choice: 0 * nan would be 0.
        x = b.op("stablehlo.convert", [x], ShapedArray(x.shape, np.dtype(np.int8)))
    return b.convert(x, new_dtype)


@lowering.define(ops.bitcast_convert_type_p)
def _bitcast(b, out, x, *, new_dtype):
    return b.op("stablehlo.bitcast_convert", [x], out)


@lowering.define(ops.reduce_precision_p)
def _reduce_precision(b, out, x, *, exponent_bits, mantissa_bits):
    attrs = {"exponent_bits": f"{exponent_bits} : i32", "mantissa_bits": f"{mantissa_bits} : i32"}
    return b.op("stablehlo.reduce_precision", [x], out, attrs)


@lowering.define(ops.copy_p, ops.stop_gradient_p)
def _same(b, out, x):
    return x
