"""StableHLO of values that are kept though nothing reads them."""

from evertrace._src.engines.xla.foreign import custom_call
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops.sink import dce_sink_p


@lowering.define(dce_sink_p)
def _dce_sink(b, outs, x, *, prevent_mlir_dce):
    if prevent_mlir_dce:  # XLA knows a handler of this name, which does nothing
        custom_call(b, "dce_sink", [x], [], has_side_effect=True)
    return []
