"""What is the same in every turn of a loop, computed once before it.

Only what is dear: a product of matrices or a sum, not an elementwise operation, which its kernel
has at hand in less time than memory has its result.
"""

from evertrace._src.core.jaxpr import Jaxpr, Literal
from evertrace._src.engines.native.emit import tape_cost
from evertrace._src.engines.native.repeats import is_cheap

DEAR_FROM = 5e3
"""Nanoseconds from which on an equation is dear that is cheap for each element."""

DEAR_PER_BYTE = 0.2
"""Nanoseconds that it takes for each byte of its results, at least."""


def lifted(jaxpr, fixed):
    """Return a program that runs before a loop, and the loop's body without it; None if none does.

    The body has the program's results in front of its inputs.

    Args:
      jaxpr: the body, without constvars.
      fixed: indices of those inputs that are the same in every turn: what the program is given.
    """
    key = ("invariants", tuple(fixed))
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _lifted(jaxpr, [jaxpr.invars[i] for i in fixed])
    return jaxpr.cache[key]


def _lifted(jaxpr, fixed):
    same, found = set(fixed), []
    for eqn in jaxpr.eqns:
        if not eqn.effects and same.issuperset(_variables(eqn.invars)):
            same.update(eqn.outvars)
            if _is_dear(eqn):
                found += eqn.outvars
    if not found:
        return None
    pure = [eqn for eqn in jaxpr.eqns if not eqn.effects]
    before = Jaxpr((), fixed, found, _needed(pure, found))
    rest = _needed(jaxpr.eqns, _variables(jaxpr.outvars), found)
    return before, Jaxpr((), [*found, *jaxpr.invars], jaxpr.outvars, rest, jaxpr.effects)


def _is_dear(eqn):
    size = sum([x.aval.size * x.aval.dtype.itemsize for x in eqn.outvars])
    if type(size) is not int:  # one that a template leaves open
        return False
    cost = tape_cost([eqn])
    least = DEAR_FROM if is_cheap(eqn) else 0.0
    return type(cost) is float and max(least, DEAR_PER_BYTE * size) < cost < float("inf")


def _needed(eqns, wanted, known=()):
    """Return the equations that some values are made by, of others that are known."""
    needed, found = set(wanted), []
    for eqn in reversed(eqns):
        made = [x for x in eqn.outvars if x in needed and x not in known]
        if made or eqn.effects:
            found.append(eqn)
            needed.update(_variables(eqn.invars))
    return found[::-1]


def _variables(xs):
    return [x for x in xs if type(x) is not Literal]
