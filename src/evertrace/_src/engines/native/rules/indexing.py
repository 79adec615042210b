"""Gather and scatter: windows at places that an array says."""

import numpy as np

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    GATHER,
    SCATTER,
    NotNative,
    emission,
    has_kernel,
    item_size,
    kind_of,
)
from evertrace._src.ops import indexing as ops
from evertrace._src.ops.dimension_numbers import GatherScatterMode
from evertrace._src.ops.indexing_host import default_fill


def _numbers(shape, indices_shape, sizes, dnums, drops=False):
    numbers = []
    for values in (shape, indices_shape, sizes, *dnums):
        numbers += [len(values), *values]
    return (*numbers, int(drops))


@emission.define(ops.gather_p)
def _gather(e, eqn, xs):
    p, out = eqn.params, kind_of(eqn.outvars[0].aval)
    if not out[1]:
        return e.empty(out)
    x, indices = eqn.invars[0].aval, eqn.invars[1].aval
    kind_of(x)
    filler = ()
    if p["mode"] is GatherScatterMode.FILL_OR_DROP and p["dimension_numbers"].start_index_map:
        value = default_fill(x.dtype) if p["fill_value"] is None else p["fill_value"]
        filler = (e.constant(np.asarray(value, x.dtype)),)
    made = e.new(out)
    numbers = _numbers(x.shape, indices.shape, p["slice_sizes"], p["dimension_numbers"])
    e.add(GATHER, (made,), (*xs, *filler), "", numbers)
    windows = indices.size // max(1, indices.shape[-1])
    e.spend(*costs.gather_costs(windows, out[1] * item_size(out[0])))
    return made


_JOINS = {
    ops.scatter_add_p: "add",
    ops.scatter_sub_p: "sub",
    ops.scatter_mul_p: "mul",
    ops.scatter_min_p: "min",
    ops.scatter_max_p: "max",
}


@emission.define(ops.scatter_p, *_JOINS)
def _scatter(e, eqn, xs):
    p, out = eqn.params, kind_of(eqn.outvars[0].aval)
    x, indices, updates = (v.aval for v in eqn.invars)
    if not (out[1] and updates.size):
        return xs[0]
    join = _JOINS.get(eqn.primitive, "")
    if join and not has_kernel(("loop", join, (out[0], out[0]), out[0])):
        raise NotNative(f"there is no kernel for {join} of {x.dtype}")
    if not join and p["update_jaxpr"] is not None:
        raise NotNative("a scatter joins by a function of its own")
    dnums = p["dimension_numbers"]
    sizes = ops.scatter_sizes(x, updates, dnums)
    drops = p["mode"] is not GatherScatterMode.CLIP
    made = e.new(out)
    numbers = _numbers(x.shape, indices.shape, sizes, dnums, drops)
    e.add(SCATTER, (made,), xs, join, numbers)
    windows = indices.size // max(1, indices.shape[-1])
    e.spend(*costs.scatter_costs(windows, updates.size, out[1], item_size(out[0])))
    return made
