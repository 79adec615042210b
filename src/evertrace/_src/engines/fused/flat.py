"""Programs without calls: the jaxprs that equations hold are written in their place."""

import numpy as np

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.calls import calls
from evertrace._src.engines.fused.halves import HALVES
from evertrace._src.engines.fused.writer import LANES
from evertrace._src.engines.numbering import key_of
from evertrace._src.ops.indexing import (
    gather_p,
    scatter_add_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from evertrace._src.ops.reduce import (
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from evertrace._src.ops.slicing import concatenate_p
from evertrace._src.ops.structural import broadcast_in_dim_p, reshape_p


class Copy:
    """A variable of a jaxpr that is written more than once."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


class Shared(Copy):
    """What threads compute together, an element each, before one of them goes on."""

    __slots__ = ()


def flat(jaxpr):
    """Return the equations of a jaxpr and its outputs, without calls and what is done twice."""
    eqns, seen = [], {}
    outs = write(jaxpr, dict(zip(jaxpr.invars, jaxpr.invars, strict=True)), eqns, seen)
    return _with_rows(_with_known_windows(eqns)), outs


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


def _with_rows(eqns):
    """Return equations in which whole large arrays are reduced in rows first, for threads to share.

    Into which, the shape alone says: results do not depend on how many threads there are.
    """
    found = []
    for eqn in eqns:
        if eqn.primitive in _REDUCED_IN_ROWS:
            found += _in_rows(eqn)
        else:
            found.append(eqn)
    return found


def _in_rows(eqn):
    (x,), aval, out = eqn.invars, eqn.invars[0].aval, eqn.outvars[0].aval
    if out.ndim or out.dtype.name in HALVES or aval.size < SHARED_FROM:
        return [eqn]
    before, axes = [], tuple(range(1, aval.ndim))
    rows = aval.shape[0]
    if aval.ndim == 1:
        rows = _rows_of(aval.size)
        matrix = Copy(aval.update(shape=(rows, aval.size // rows)))
        sizes = {"new_sizes": matrix.aval.shape, "dimensions": None, "sharding": None}
        before = [eqn.replace(primitive=reshape_p, invars=[x], outvars=[matrix], params=sizes)]
        x, axes = matrix, (1,)
    if rows < FEWEST_ROWS:
        return [eqn]
    of_rows = Shared(out.update(shape=(rows,)))
    params = {**eqn.params, "axes": axes}
    first = eqn.replace(invars=[x], outvars=[of_rows], params=params)
    return [*before, first, eqn.replace(invars=[of_rows], params={**params, "axes": (0,)})]


def _rows_of(size):
    """Return into how many rows of equal lengths, of whole vectors if may be, elements fall."""
    counts = [n for n in range(MOST_ROWS, 0, -1) if size % n == 0]
    return next((n for n in counts if size // n % LANES == 0 and n >= FEWEST_ROWS), counts[0])


SHARED_FROM = 1 << 16
"""Elements from which on threads share a reduction to one number."""

FEWEST_ROWS, MOST_ROWS = 8, 256

_REDUCED_IN_ROWS = frozenset(
    (
        reduce_sum_p,
        reduce_prod_p,
        reduce_max_p,
        reduce_min_p,
        reduce_and_p,
        reduce_or_p,
        reduce_xor_p,
    )
)


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
            if body is not None and not body.constvars:
                outs = write(body, dict(zip(body.invars, ins, strict=True)), eqns, seen)
                env.update(zip(eqn.outvars, outs, strict=True))
                continue
        key = key_of(eqn, ins)
        outs = seen.get(key) if key is not None else None
        if outs is None:
            outs = [Copy(v.aval) for v in eqn.outvars]
            eqns.append(eqn.replace(invars=ins, outvars=outs))
            if key is not None:
                seen[key] = outs
        env.update(zip(eqn.outvars, outs, strict=True))
    return [known(x) for x in jaxpr.outvars]
