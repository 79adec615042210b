"""StableHLO of select_n: a tree of two-way selects."""

import numpy as np

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import ints
from evertrace._src.ops import select as ops


@lowering.define(ops.select_n_p)
def _select_n(b, out, which, *cases):
    if len(cases) == 1:
        return cases[0]
    if 0 < which.aval.ndim < out.ndim:  # the words of an extended dtype are chosen together
        kept = {"broadcast_dimensions": ints(range(which.aval.ndim))}
        spread = which.aval.update(shape=out.shape)
        which = b.op("stablehlo.broadcast_in_dim", [which], spread, kept)
    if which.aval.dtype == np.bool_:
        return b.op("stablehlo.select", [which, cases[1], cases[0]], out)
    return _select_below(b, out, which, cases, 0)


def _select_below(b, out, which, cases, first):
    """Select among `cases`, which are numbered from `first`."""
    if len(cases) == 1:
        return cases[0]
    half = len(cases) // 2
    low = _select_below(b, out, which, cases[:half], first)
    high = _select_below(b, out, which, cases[half:], first + half)
    is_low = b.op(
        "stablehlo.compare",
        [which, b.full_like(which, first + half)],
        which.aval.update(dtype=np.bool_, weak_type=False),
        {"comparison_direction": "#stablehlo<comparison_direction LT>"},
    )
    return b.op("stablehlo.select", [is_low, low, high], out)
