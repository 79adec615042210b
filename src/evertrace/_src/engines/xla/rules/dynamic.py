"""StableHLO of slices that begin where scalars say."""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import ints
from evertrace._src.ops import dynamic as ops


@lowering.define(ops.dynamic_slice_p)
def _dynamic_slice(b, out, x, *starts, slice_sizes):
    attrs = {"slice_sizes": ints(slice_sizes)}
    return b.op("stablehlo.dynamic_slice", [x, *_all_starts(b, x, starts)], out, attrs)


def _all_starts(b, x, starts):
    """Return a start per dimension: words of an extended dtype begin at 0."""
    zero = starts[0].aval if starts else ShapedArray((), np.int32)
    missing = x.aval.ndim - len(starts)
    return [*starts, *[b.constant(0, zero) for _ in range(missing)]]


@lowering.define(ops.dynamic_update_slice_p)
def _dynamic_update_slice(b, out, x, update, *starts):
    return b.op("stablehlo.dynamic_update_slice", [x, update, *_all_starts(b, x, starts)], out)
