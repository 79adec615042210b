"""StableHLO of checkpoints: the second computation reads its inputs through a barrier."""

from evertrace._src.control import checkpoint as ops
from evertrace._src.control.policies import name_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(ops.remat_p)
def _remat(b, outs, *operands, jaxpr, prevent_cse, differentiated, policy):
    if differentiated and prevent_cse and operands:
        operands = _barrier(b, [x.aval for x in operands], *operands)
    return b.inline(jaxpr, operands)


@lowering.define(ops.optimization_barrier_p)
def _barrier(b, outs, *operands):
    return b.op("stablehlo.optimization_barrier", operands, outs)


@lowering.define(name_p)
def _name(b, out, x, *, name):
    return x
