"""Partial evaluation: doing now what does not depend on inputs that come later."""

from collections.abc import Sequence
from typing import Any

from evertrace._src.core.jaxpr import Eqn, Jaxpr, Literal, subjaxprs
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import state


def evaluate_known(jaxpr: Jaxpr, values: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """Apply, under the current trace, the equations that depend on the first inputs only.

    Args:
      jaxpr: a jaxpr without constvars.
      values: of its first inputs.

    Returns:
      The jaxpr of the other equations, whose first inputs are what they need of the values known
      by now, and these values. Equations with effects are not applied.
    """
    known: dict[int, Any] = dict(zip(map(id, jaxpr.invars), values, strict=False))
    later: list[Eqn] = []
    previous = state.src
    try:
        for eqn in jaxpr.eqns:
            if eqn.effects or not all(type(v) is Literal or id(v) in known for v in eqn.invars):
                later.append(eqn)
                continue
            state.src = eqn.src
            operands = [v if type(v) is Literal else known[id(v)] for v in eqn.invars]
            out = state.trace.process(eqn.primitive, operands, eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
            known.update(zip(map(id, eqn.outvars), outs, strict=True))
    finally:
        state.src = previous
    used = [v for eqn in later for v in eqn.invars] + jaxpr.outvars
    needed = list({id(v): v for v in used if id(v) in known}.values())
    invars = needed + jaxpr.invars[len(values) :]
    return jaxpr.replace(invars=invars, eqns=later, names=None), [known[id(v)] for v in needed]


def depend_on(jaxpr: Jaxpr, mask: Sequence[bool]) -> tuple[bool, ...]:
    """Return, per output of a jaxpr, whether it depends on the inputs that the mask tells."""
    key = ("depend_on", tuple(mask))
    if key not in jaxpr.cache:
        found = {id(v) for v, wanted in zip(jaxpr.invars, mask, strict=True) if wanted}
        for eqn in jaxpr.eqns:
            operands = [id(v) in found for v in eqn.invars]
            if any(operands):
                outs = outputs_depend_on(eqn.primitive, operands, eqn.params, len(eqn.outvars))
                found.update(id(v) for v, depends in zip(eqn.outvars, outs, strict=True) if depends)
        jaxpr.cache[key] = tuple(id(v) in found for v in jaxpr.outvars)
    return jaxpr.cache[key]


def outputs_depend_on(
    prim: Primitive, mask: Sequence[bool], params: dict[str, Any], count: int
) -> list[bool]:
    """Return, for each of `count` outputs of an operation, whether it depends on some operands.

    Looks into bodies, whose inputs are the last operands. The first outputs of one with `num_carry`
    are fed back to it.
    """
    bodies = list(subjaxprs(params)) if prim.multiple_results else []
    if not bodies or any(len(body.outvars) != count for body in bodies):
        return [True] * count  # among them loops with a condition, which are never split
    start, mask = params.get("num_consts", 0), list(mask)
    while True:
        found = [depend_on(body, mask[len(mask) - len(body.invars) :]) for body in bodies]
        found = [any(column) for column in zip(*found, strict=True)]
        before = list(mask)
        for i in range(params.get("num_carry", 0)):
            mask[start + i] |= found[i]
        if mask == before:
            return found
