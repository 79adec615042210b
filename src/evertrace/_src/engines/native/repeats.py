"""What a program computes twice, computed once: a gradient and a Hessian share most of a loss.

Products, sums, sorts and the like: what is elementwise, or moves elements, a kernel has at hand in
less time than memory has its result. All values are numbered, for others are computed from these.
"""

from evertrace._src.control.checkpoint import optimization_barrier_p
from evertrace._src.core.jaxpr import Jaxpr, Literal
from evertrace._src.engines.numbering import key_of
from evertrace._src.ops.convert import convert_element_type_p
from evertrace._src.ops.structural import broadcast_in_dim_p, reshape_p

_COPIES = frozenset((broadcast_in_dim_p, convert_element_type_p, reshape_p))
"""Primitives whose results are their operands, if they have the same type."""


def without(jaxpr):
    """Return a program of the same results, without what it computes twice."""
    found = jaxpr.cache.get("repeats")
    if found is None:
        found = jaxpr.cache["repeats"] = _without(jaxpr)
    return found


def _without(jaxpr):
    numbers = {}  # of variables: the first one of the same value, or a literal
    firsts = {}  # of variables that are no more: those that stand for them
    seen, eqns = {}, []
    for eqn in jaxpr.eqns:
        key = None
        if eqn.primitive is not optimization_barrier_p:  # behind which values are others
            key = key_of(eqn, _known(eqn.invars, numbers))
        before = eqn.outvars if key is None else seen.setdefault(key, eqn.outvars)
        if before is not eqn.outvars:
            numbers.update(zip(eqn.outvars, _known(before, numbers), strict=True))
            if not is_cheap(eqn):
                firsts.update(zip(eqn.outvars, _known(before, firsts), strict=True))
                continue
        elif eqn.primitive in _COPIES and eqn.invars[0].aval == eqn.outvars[0].aval:
            numbers[eqn.outvars[0]] = _known(eqn.invars, numbers)[0]
        eqns.append(eqn.replace(invars=_known(eqn.invars, firsts)) if firsts else eqn)
    if not firsts:
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.invars, _known(jaxpr.outvars, firsts), eqns, jaxpr.effects)


def is_cheap(eqn):
    """Whether a kernel that reads the results computes them as quickly."""
    prim = eqn.primitive
    moves_all_alike = prim.moves and prim.linear  # unlike a sort
    return prim.elementwise or moves_all_alike or not eqn.invars


def _known(xs, others):
    return [x if type(x) is Literal else others.get(x, x) for x in xs]
