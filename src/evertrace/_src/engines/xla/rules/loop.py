"""StableHLO of while loops: only the carry goes round; the regions read the consts directly."""

from evertrace._src.control.bounded import bounded_while_p, program
from evertrace._src.control.loop import split_operands, while_p
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.callback import unless_failed


@lowering.define(while_p)
def _while(b, outs, *operands, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    cond_consts, body_consts, carry = split_operands(operands, cond_nconsts, body_nconsts)
    jaxprs = [cond_jaxpr.jaxpr, body_jaxpr.jaxpr]

    def goes_on(*values):
        (condition,) = b.inline(cond_jaxpr.jaxpr, [*cond_consts, *values])
        return [unless_failed(b, jaxprs, condition)]

    turn = lambda *c: b.inline(body_jaxpr.jaxpr, [*body_consts, *c])  # noqa: E731
    return b.while_loop(carry, outs, goes_on, turn, jaxprs)


@lowering.define(bounded_while_p)
def _bounded_while(b, outs, *operands, **params):
    return b.inline(program("plain", **params), operands)
