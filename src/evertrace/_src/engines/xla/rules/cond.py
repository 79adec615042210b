"""StableHLO of branches: the regions read the operands of the choice directly."""

from evertrace._src.control.cond import cond_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(cond_p)
def _cond(b, outs, index, *operands, branches):
    tokens = b.tokens(*[branch.jaxpr for branch in branches])

    def write(branch):
        results = b.inline(branch.jaxpr, operands)
        return [b.token, *results] if tokens else results

    regions = [b.region([], lambda branch=branch: write(branch)) for branch in branches]
    outs = [*[None] * len(tokens), *outs]
    return b.take_token(tokens, b.op("stablehlo.case", [index], outs, regions=regions))
