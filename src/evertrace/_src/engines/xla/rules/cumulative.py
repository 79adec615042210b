"""StableHLO of cumulative operations."""

import math

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import int_attr, ints, lowering, pairs
from evertrace._src.engines.xla.rules.reduce import combiner
from evertrace._src.ops import cumulative as ops
from evertrace._src.ops.elementwise import add_p, max_p, min_p, mul_p
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.ops.special import logaddexp_p


def scan(prim, combine, identity):
    """Register a scan as a reduction over windows that end at each element."""

    def rule(b, out, x, *, axis, reverse):
        wide = b.convert(x, ops.accumulation_dtype(x.dtype))
        size, rank = out.shape[axis], len(out.shape)
        window, padding = [1] * rank, [(0, 0)] * rank
        window[axis] = max(size, 1)
        padding[axis] = (0, size - 1) if reverse else (size - 1, 0)
        ...
