"""Slices that begin where scalars say."""

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    SLICE,
    UPDATE,
    emission,
    item_size,
    kind_of,
)
from evertrace._src.engines.native.rules.structural import sliced
from evertrace._src.engines.native.sizes import integer
from evertrace._src.ops import dynamic as ops


@emission.define(ops.dynamic_slice_p)
def _dynamic_slice(e, eqn, xs):
    x, shape, sizes = xs[0], eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    starts, out = eqn.invars[1:], kind_of(eqn.outvars[0].aval)
    if all(type(s) is Literal for s in starts):
        first = [
            min(max(integer(s.val), 0), n - size)
            for s, n, size in zip(starts, shape, sizes, strict=True)
        ]
        return sliced(e, x, shape, first, sizes)
    made = e.new(out)
    e.add(SLICE, (made,), xs, "", (len(shape), *shape, *sizes))
    e.spend(*costs.copy_costs(out[1] * item_size(out[0])))
    return made


@emission.define(ops.dynamic_update_slice_p)
def _dynamic_update_slice(e, eqn, xs):
    out = kind_of(eqn.outvars[0].aval)
    shape, sizes = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape
    made = e.new(out)
    e.add(UPDATE, (made,), xs, "", (len(shape), *shape, *sizes))
    e.spend(*costs.copy_costs((out[1] + e.values[xs[1]][1]) * item_size(out[0])))
    return made
