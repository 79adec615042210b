"""Programs without calls: the jaxprs that equations hold are written in their place."""

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.calls import calls


class Copy:
    """A variable of a jaxpr that is written more than once."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


def flat(jaxpr):
    """Return the equations of a jaxpr and its outputs, without calls and what is done twice."""
    eqns, seen = [], {}
    outs = write(jaxpr, dict(zip(jaxpr.invars, jaxpr.invars, strict=True)), eqns, seen)
    return eqns, outs


def write(jaxpr, env, eqns, seen):
    """Append the equations of a jaxpr, whose inputs `env` has; returns its outputs.

    Args:
      jaxpr: without constvars.
      env: variables to what they are here; those of results are added.
      eqns: the equations so far.
      seen: results of equations by what they compute, so that nothing is computed twice.
    """

    def known(x):
        return x if type(x) is Literal else env[x]

    for eqn in jaxpr.eqns:
        ins = [known(x) for x in eqn.invars]
        inner = calls.rules.get(eqn.primitive)
        if inner is not None and not eqn.effects:
            body = inner(eqn)
            if not body.constvars:
                outs = write(body, dict(zip(body.invars, ins, strict=True)), eqns, seen)
                env.update(zip(eqn.outvars, outs, strict=True))
                continue
        key = _key(eqn, ins)
        outs = seen.get(key) if key is not None else None
        if outs is None:
            outs = [Copy(v.aval) for v in eqn.outvars]
            eqns.append(eqn.replace(invars=ins, outvars=outs))
            if key is not None:
                seen[key] = outs
        env.update(zip(eqn.outvars, outs, strict=True))
    return [known(x) for x in jaxpr.outvars]


def _key(eqn, ins):
    """Return what tells what an equation computes, or None."""
    if eqn.effects:
        return None
    try:
        key = (eqn.primitive, tuple(map(_same, ins)), tuple(sorted(eqn.params.items())))
        hash(key)
    except TypeError:
        return None
    return key


def _same(x):
    return (x.val.tobytes(), x.aval) if type(x) is Literal else x
