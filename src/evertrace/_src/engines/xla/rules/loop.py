"""StableHLO of while loops: only the carry goes round; the regions read the consts directly."""

from evertrace._src.control.bounded import bounded_while_p, program
from evertrace._src.control.loop import split_operands, while_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(while_p)
def _while(b, outs, *operands, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    cond_consts, body_consts, carry = split_operands(operands, cond_nconsts, body_nconsts)
    return b.while_loop(
        carry,
        outs,
        lambda *c: b.inline(cond_jaxpr.jaxpr, [*cond_consts, *c]),
        lambda *c: b.inline(body_jaxpr.jaxpr, [*body_consts, *c]),
        [cond_jaxpr.jaxpr, body_jaxpr.jaxpr],
    )


@lowering.define(bounded_while_p)
def _bounded_while(b, outs, *operands, **params):
    return b.inline(program("plain", **params), operands)
