"""Operations that hold jaxprs which are written in their place."""

import math

from evertrace._src.control import checkpoint, composite
from evertrace._src.control.call import jit_p
from evertrace._src.control.cond import cond_p
from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.custom_partitioning import custom_partitioning_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p
from evertrace._src.control.custom_vmap import custom_vmap_call_p
from evertrace._src.core.jaxpr import eval_jaxpr, literal
from evertrace._src.core.rules import RuleTable
from evertrace._src.ops.compare import le_p
from evertrace._src.ops.convert import convert_element_type_p
from evertrace._src.ops.select import select, select_n_p
from evertrace._src.ops.structural import broadcast_in_dim_p
from evertrace._src.transforms.staging import stage

MOST_CHOSEN = 64
"""Elements that the branches of a choice compute together, if all of them are computed."""

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


@calls.define(cond_p)
def _light_cond(eqn):
    """Compute all branches and choose: where they are light, leaving a kernel takes longer."""
    branches = [b.jaxpr for b in eqn.params["branches"]]
    if sum(map(_elements, branches)) > MOST_CHOSEN:
        return None

    def run(index, *operands):
        outs = eval_jaxpr(branches[-1], (), *operands)
        for i in reversed(range(len(branches) - 1)):
            is_it = le_p.bind(index, literal(i, index.aval.dtype))
            mine = eval_jaxpr(branches[i], (), *operands)
            outs = [select(is_it, x, other) for x, other in zip(mine, outs, strict=True)]
        return outs

    return stage(run, [x.aval for x in eqn.invars]).jaxpr


def _elements(jaxpr):
    """Return how many elements a jaxpr computes one by one; infinitely many if it does more."""
    total = 0
    for eqn in jaxpr.eqns:
        inner = calls.rules.get(eqn.primitive)
        body = None if inner is None or eqn.effects else inner(eqn)
        if body is not None:
            total += _elements(body)
        elif eqn.effects or not (eqn.primitive.elementwise or eqn.primitive in _BY_ELEMENT):
            return math.inf
        else:
            total += eqn.outvars[0].aval.size
    return total


_BY_ELEMENT = (broadcast_in_dim_p, convert_element_type_p, select_n_p)
"""Of what is computed element by element, that whose operands are not of one type or shape."""
