"""StableHLO of slices that begin where scalars say."""

from evertrace._src.engines.xla.lower import ints, lowering
from evertrace._src.ops import dynamic as ops


@lowering.define(ops.dynamic_slice_p)
def _dynamic_slice(b, out, x, *starts, slice_sizes):
    if not starts:
        return x
    attrs = {"slice_sizes": ints(slice_sizes)}
    return b.op("stablehlo.dynamic_slice", [x, *starts], out, attrs)


@lowering.define(ops.dynamic_update_slice_p)
def _dynamic_update_slice(b, out, x, update, *starts):
    return b.op("stablehlo.dynamic_update_slice", [x, update, *starts], out)
