"""Dead code elimination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evertrace._src.core.effects import observable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from evertrace._src.core.jaxpr import Eqn, Jaxpr


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Iterable[bool], *, keep_inputs: Container[int] = ()
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the jaxpr for some of the outputs, and which inputs it needs.

    Args:
      jaxpr: a jaxpr without constvars.
      used_outputs: per output, whether it is wanted.
      keep_inputs: indices of inputs that stay whether or not they are used.

    Equations with effects stay.
    """
    outvars = [v for v, u in zip(jaxpr.outvars, used_outputs, strict=True) if u]
    live = set(map(id, outvars))  # and literals, which do no harm
    eqns: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        outs = eqn.outvars
        is_used = id(outs[0]) in live if len(outs) == 1 else not live.isdisjoint(map(id, outs))
        if is_used or (eqn.effects and observable(eqn.effects)):
            eqns.append(eqn)
            live.update(map(id, eqn.invars))
    used = tuple(id(v) in live or i in keep_inputs for i, v in enumerate(jaxpr.invars))
    names = jaxpr.names
    if names is not None:
        names = [n for n, u in zip(names, used, strict=True) if u]
    invars = [v for v, u in zip(jaxpr.invars, used, strict=True) if u]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1], names=names), used
