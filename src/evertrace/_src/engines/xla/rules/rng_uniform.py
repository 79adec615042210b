"""StableHLO of the generator that keeps its state to itself."""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops.rng_uniform import rng_uniform_p

UNIFORM = {"rng_distribution": "#stablehlo<rng_distribution UNIFORM>"}


@lowering.define(rng_uniform_p)
def _rng_uniform(b, out, low, high, *, shape):
    sizes = np.asarray(shape, np.int64)
    sizes = b.array(sizes, ShapedArray(sizes.shape, sizes.dtype))
    dtype = out.dtype
    if dtype.kind in "iu" and dtype.itemsize < 4:  # of which XLA ends the process
        low, high = (b.convert(x, np.dtype(np.int32)) for x in (low, high))
    drawn = b.op("stablehlo.rng", [low, high, sizes], out.update(dtype=low.dtype), UNIFORM)
    return b.convert(drawn, dtype)
