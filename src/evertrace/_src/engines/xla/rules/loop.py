"""StableHLO of while loops: only the carry goes round; the regions read the consts directly."""

from evertrace._src.control.loop import split_operands, while_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(while_p)
def _while(b, outs, *operands, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    cond_consts, body_consts, carry = split_operands(operands, cond_nconsts, body_nconsts)
    avals = [x.aval for x in carry]
    cond = b.region(avals, lambda *c: b.inline(cond_jaxpr.jaxpr, [*cond_consts, *c]))
    body = b.region(avals, lambda *c: b.inline(body_jaxpr.jaxpr, [*body_consts, *c]))
    return b.op("stablehlo.while", carry, outs, regions=[cond, body])
