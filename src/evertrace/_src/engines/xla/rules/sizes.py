"""StableHLO of symbolic sizes: constants, with holes for what they are at a call."""

from evertrace._src.engines.xla.lower import Val, lowering
from evertrace._src.engines.xla.text import mlir_type
from evertrace._src.ops import sizes as ops


@lowering.define(ops.dim_as_value_p)
def _dim_as_value(b, out, *, dim):
    return Val(b.dense(f"dense<{dim}> : {mlir_type(out)}"), mlir_type(out), out)
