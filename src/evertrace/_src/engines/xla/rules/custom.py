"""StableHLO of functions with custom rules: the functions themselves."""

from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p
from evertrace._src.control.custom_vmap import custom_vmap_call_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p)
def _custom(b, outs, *operands, call_jaxpr, **_):
    return b.inline(call_jaxpr.jaxpr, operands)
