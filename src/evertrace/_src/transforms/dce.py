"""Dead code elimination."""

from evertrace._src.core.effects import observable
from evertrace._src.core.jaxpr import Literal


def dce_jaxpr(jaxpr, used_outputs, *, keep_inputs=()):
    """Return the jaxpr for some of the outputs, and which inputs it needs.

    Args:
      jaxpr: a jaxpr without constvars.
      used_outputs: per output, whether it is wanted.
      keep_inputs: indices of inputs that stay whether or not they are used.

    Equations with effects stay.
    """
    outvars = [v for v, u in zip(jaxpr.outvars, used_outputs, strict=True) if u]
    live = {id(v) for v in outvars if not isinstance(v, Literal)}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if observable(eqn.effects) or any(id(v) in live for v in eqn.outvars):
            eqns.append(eqn)
            live.update(id(v) for v in eqn.invars if not isinstance(v, Literal))
    used = tuple(id(v) in live or i in keep_inputs for i, v in enumerate(jaxpr.invars))
    names = jaxpr.names
    if names is not None:
        names = [n for n, u in zip(names, used, strict=True) if u]
    invars = [v for v, u in zip(jaxpr.invars, used, strict=True) if u]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1], names=names), used
