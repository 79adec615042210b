"""Operations that hold jaxprs which are written in their place."""

from evertrace._src.control import checkpoint, composite
from evertrace._src.control.call import jit_p
from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.custom_partitioning import custom_partitioning_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p
from evertrace._src.control.custom_vmap import custom_vmap_call_p
from evertrace._src.core.rules import RuleTable

calls = RuleTable("the fused engine's calls")
"""From an equation, the jaxpr that it runs on its operands alone, or None."""


@calls.define(jit_p, composite.composite_p, custom_partitioning_p)
def _call(eqn):
    return eqn.params["jaxpr"].jaxpr


@calls.define(custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p)
def _custom(eqn):
    return eqn.params["call_jaxpr"].jaxpr


@calls.define(checkpoint.remat_p)
def _remat(eqn):
    return eqn.params["jaxpr"]
