"""StableHLO of branches: the regions read the operands of the choice directly."""

from evertrace._src.control.cond import cond_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(cond_p)
def _cond(b, outs, index, *operands, branches):
    regions = [
        b.region([], lambda branch=branch: b.inline(branch.jaxpr, operands)) for branch in branches
    ]
    return b.op("stablehlo.case", [index], outs, regions=regions)
