"""Programs without calls: the jaxprs that equations hold are written in their place."""

import numpy as np

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.calls import calls
from evertrace._src.ops.indexing import (
    gather_p,
    scatter_add_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from evertrace._src.ops.slicing import concatenate_p
from evertrace._src.ops.structural import broadcast_in_dim_p


class Copy:
    """A variable of a jaxpr that is written more than once."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


def flat(jaxpr):
    """Return the equations of a jaxpr and its outputs, without calls and what is done twice."""
    eqns, seen = [], {}
    outs = write(jaxpr, dict(zip(jaxpr.invars, jaxpr.invars, strict=True)), eqns, seen)
    return _with_known_windows(eqns), outs


def _with_known_windows(eqns):
    """Return equations in which the place of a window that is read or updated is a literal.

    This is what `x.at[1:-1].add(y)` becomes: an array of indices, made of numbers that are known.
    """
    known, found = {}, []
    for eqn in eqns:
        if eqn.primitive in _FOLDED:
            values = [x.val if type(x) is Literal else known.get(x) for x in eqn.invars]
            size = eqn.outvars[0].aval.size
            if size <= MOST_INDICES and all(value is not None for value in values):
                known[eqn.outvars[0]] = _FOLDED[eqn.primitive](values, eqn.params)
        elif eqn.primitive in _WINDOWED:
            x, indices, *rest = eqn.invars
            value = None if type(indices) is Literal else known.get(indices)
            if value is not None and value.size == value.shape[-1]:
                ins = [x, Literal(value, indices.aval), *rest]
                eqn = eqn.replace(invars=ins)
        found.append(eqn)
    return found


MOST_INDICES = 16
"""Numbers of the place of a window."""


def _broadcast(values, params):
    """Return one number as often as a shape has elements."""
    (value,) = values
    shape = params["shape"]
    return np.broadcast_to(value, shape) if np.ndim(value) == 0 else None


_FOLDED = {
    broadcast_in_dim_p: _broadcast,
    concatenate_p: lambda values, params: np.concatenate(values, params["dimension"]),
}
"""From the values of operands, that of the result."""

_WINDOWED = frozenset((gather_p, scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p))


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
