"""Rules of gathers and scatters: by single indices as parts, by arrays of them all at once."""

from __future__ import annotations

import math
from typing import Any

from evertrace._src.core.jaxpr import Eqn
from evertrace._src.ops.dimension_numbers import GatherScatterMode
from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.gpu.elementwise import combine
from evertrace._src.pallas.gpu.lowering import Lowering, rule
from evertrace._src.pallas.gpu.memory import both, load
from evertrace._src.pallas.gpu.reductions import REDUCTIONS, reduced
from evertrace._src.pallas.gpu.structure import (
    clamped,
    grouped,
    part,
    put,
    reshaped,
    take,
    transposed,
)
from evertrace._src.pallas.gpu.values import Tensor, Value, View, padded, power_of_two


def _components(lw, indices, count):
    """Return each component of vectors of indices, in the shape of the others."""
    last, outs = len(indices.shape) - 1, []
    if isinstance(indices, Tensor) and indices.parts is not None and indices.parts[0] == last:
        parts = indices.parts[1]
        if all(p.shape[last] == 1 for p in parts):
            return [reshaped(lw, p, indices.shape[:-1]) for p in parts]
    for i in range(count):
        starts = [lw.b.int32(i if d == last else 0) for d in range(last + 1)]
        one = part(lw, indices, starts, (*indices.shape[:-1], 1))
        outs.append(lw.tensor(reshaped(lw, one, indices.shape[:-1])))
    return outs


@rule("gather")
def _gather(lw: Lowering, eqn: Eqn, x: Value, indices: Value) -> Value:
    dnums, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    shape, b = eqn.outvars[0].aval.shape, lw.b
    found = _components(lw, indices, len(dnums.start_index_map))
    limits = [x.shape[d] - sizes[d] for d in dnums.start_index_map]
    inside = _all_inside(lw, found, limits) if _drops(eqn) else None
    starts: dict[Any, Tensor] = {
        d: clamped(lw, c, 0, most)
        for d, c, most in zip(dnums.start_index_map, found, limits, strict=True)
    }
    matched = zip(dnums.operand_batching_dims, dnums.start_indices_batching_dims, strict=True)
    starts.update(_own_places(lw, x, indices, matched))
    dropped = {*dnums.collapsed_slice_dims, *dnums.operand_batching_dims}
    scalars = {d: s.uniform for d, s in starts.items()}
    if None not in scalars.values():
        first: Any = [scalars.get(d) or b.int32(0) for d in range(len(x.shape))]
        value = part(lw, x, first, sizes)
        kept = tuple(n for d, n in enumerate(sizes) if d not in dropped)
        value = reshaped(lw, value, kept)
        if kept != shape:
            value = _spread(lw, lw.tensor(value), shape, dnums.offset_dims)
    elif isinstance(x, View):
        value = _gathered_from_memory(lw, x, starts, dropped, dnums.offset_dims, sizes, shape)
    else:
        value = _gathered(lw, lw.tensor(x), starts, dropped, dnums.offset_dims, sizes, shape)
    if inside is None:
        return value
    batch = [d for d in range(len(shape)) if d not in dnums.offset_dims]
    fill = eqn.params["fill_value"]
    dtype = eqn.outvars[0].aval.dtype
    other = b.full(poison(dtype) if fill is None else fill, dtype, shape)
    return b.select(_spread(lw, inside, shape, batch), lw.tensor(value), other)


def _own_places(lw, x, indices, matched):
    """Return the places along dimensions that are matched with some of the indices'."""
    return {d: lw.b.expand(_places(lw, x.shape[d]), i, indices.shape[:-1]) for d, i in matched}


def _places(lw, size):
    """Return the places along a dimension, where it is padded the last one."""
    return clamped(lw, lw.b.range(size), 0, size - 1)


def _spread(lw, x, shape, dims):
    """Return a value along some dimensions of a shape."""
    if x.uniform is not None:
        return x.reshaped(shape)
    for d in range(len(shape)):
        if d not in dims:
            now = (*x.shape[:d], 1, *x.shape[d:])
            x = lw.b.raw("tt.expand_dims", x, now, f" {{axis = {d} : i32}}")
    return x if padded(x.shape) == padded(shape) else lw.b.raw("tt.broadcast", x, shape)


def _drops(eqn):
    return eqn.params["mode"] is GatherScatterMode.FILL_OR_DROP


def _all_inside(lw, found, limits):
    mask = None
    for c, most in zip(found, limits, strict=True):
        c = lw.tensor(c)
        if c.uniform is not None and c.uniform.const is not None and 0 <= c.uniform.const <= most:
            continue
        low = lw.b.compare("ge", c, lw.b.constant(0, c.dtype))
        test = both(lw, low, lw.b.compare("le", c, lw.b.constant(most, c.dtype)))
        mask = test if mask is None else both(lw, mask, test)
    return mask


def _gathered_from_memory(lw, x, starts, dropped, offset_dims, sizes, shape):
    """Return a gather of many windows of what is in memory."""
    batch = [d for d in range(len(shape)) if d not in offset_dims]
    kept = [d for d in range(len(x.shape)) if d not in dropped]
    offset: dict[Any, int] = dict(zip(kept, offset_dims, strict=True))
    axes = []
    for axis in x.axes:
        index, dim = None, axis.dim
        if dim is not None and dim in starts:
            index = _spread(lw, starts[dim], shape, batch)
            if sizes[dim] > 1:
                own = lw.b.expand(_places(lw, sizes[dim]), offset[dim], shape)
                index = lw.b.binary("arith.addi", index, own)
        axes.append(axis._replace(places=index, dim=offset.get(dim)))
    return load(lw, x._replace(shape=shape, axes=tuple(axes)))


def _gathered(lw, x, starts, dropped, offset_dims, sizes, shape):
    """Return a gather of many rows of what is in registers."""
    rest = _rows_of(lw, "gather", x.shape, starts, dropped, sizes)
    index = _row_number(lw, x.shape, starts)
    value = take(lw, grouped(lw, x, [list(starts), rest]), 0, index)
    batch = [d for d in range(len(shape)) if d not in offset_dims]
    order = [*batch, *offset_dims]
    value = reshaped(lw, value, tuple(shape[d] for d in order))
    return transposed(lw, value, [order.index(d) for d in range(len(shape))])


def _rows_of(lw, name, shape, starts, dropped, sizes):
    """Return the dimensions that windows have, where a window is all of those for an index."""
    rest = [d for d in range(len(shape)) if d not in dropped]
    if set(starts) != dropped or any(sizes[d] != shape[d] for d in rest):
        raise lw.unsupported(
            f"a `{name}` of windows by arrays of indices", "which Triton does row by row"
        )
    return rest


def _row_number(lw, shape, starts):
    """Return the number of each row that indices name, in a vector."""
    b, number = lw.b, lw.b.int32(0)
    for d, index in starts.items():
        number = b.binary("arith.muli", number, b.int32(shape[d]))
        number = b.binary("arith.addi", number, index)
    return reshaped(lw, number, (math.prod(number.shape),))


# ------------------------------------------------------------------------ scatters


SCATTERS = {f"scatter-{name}": name for name in ("add", "sub", "mul", "min", "max")}
"""Primitive -> how an element is combined with the update."""


@rule("scatter", *SCATTERS)
def _scatter(lw: Lowering, eqn: Eqn, x: Value, indices: Value, new: Value) -> Value:
    dnums, name = eqn.params["dimension_numbers"], eqn.primitive.name
    if math.prod(indices.shape[:-1]) != 1:
        return _scattered(lw, eqn, x, indices, new)
    b, window = lw.b, [new.shape[d] for d in dnums.update_window_dims]
    sizes = list(window)
    for d in sorted((*dnums.inserted_window_dims, *dnums.operand_batching_dims)):
        sizes.insert(d, 1)
    found = [
        lw.tensor(c) for c in _components(lw, indices, len(dnums.scatter_dims_to_operand_dims))
    ]
    found = [reshaped(lw, c, ()) for c in found]
    limits = [x.shape[d] - sizes[d] for d in dnums.scatter_dims_to_operand_dims]
    inside = _all_inside(lw, found, limits) if _drops(eqn) else None
    starts = [b.int32(0)] * len(x.shape)
    for d, c, most in zip(dnums.scatter_dims_to_operand_dims, found, limits, strict=True):
        starts[d] = clamped(lw, lw.tensor(c), 0, most)
    value: Value = (
        reshaped(lw, new, tuple(sizes))
        if new.shape != tuple(sizes) and not _has_parts(new)
        else new
    )
    if _has_parts(new) and new.shape != tuple(sizes):
        value = _reshaped_parts(lw, new, tuple(sizes))
    if name != "scatter" or inside is not None:
        old = lw.tensor(part(lw, x, starts, sizes))
        value = lw.tensor(value)
        if name != "scatter":
            value = combine(b, SCATTERS[name], old, value)
        if inside is not None:
            value = b.select(inside, value, old)
    return put(lw, x, value, starts, sizes)


def _scattered(lw, eqn, x, indices, new):
    """Write many rows: each place compares itself with all indices, so that none is lost.

    Of several updates of one place, all are added up, or the last one is what is set.
    """
    dnums, name, b = eqn.params["dimension_numbers"], eqn.primitive.name, lw.b
    batch = [d for d in range(len(new.shape)) if d not in dnums.update_window_dims]
    dropped = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    window = iter([new.shape[d] for d in dnums.update_window_dims])
    sizes = [1 if d in dropped else next(window) for d in range(len(x.shape))]
    dims = dnums.scatter_dims_to_operand_dims
    found = _components(lw, indices, len(dims))
    limits = [x.shape[d] - sizes[d] for d in dims]
    inside = _all_inside(lw, found, limits) if _drops(eqn) else None
    starts = {d: clamped(lw, c, 0, n) for d, c, n in zip(dims, found, limits, strict=True)}
    matched = zip(dnums.operand_batching_dims, dnums.scatter_indices_batching_dims, strict=True)
    starts.update(_own_places(lw, x, indices, matched))
    rest = _rows_of(lw, name, x.shape, starts, dropped, sizes)
    old = grouped(lw, lw.tensor(x), [list(starts), rest])
    updates = grouped(lw, lw.tensor(new), [batch, dnums.update_window_dims])
    shape = (updates.shape[0], *old.shape)
    if math.prod(map(power_of_two, shape)) > MOST_COMPARED:
        raise lw.unsupported(
            f"a `{name}` of {shape[0]} updates into {shape[1]} rows of {shape[2]}",
            "for each place is compared with all of them: take smaller blocks",
        )
    hit = b.compare(
        "eq",
        b.expand(_row_number(lw, x.shape, starts), 0, shape[:2]),
        b.expand(b.range(shape[1]), 1, shape[:2]),
    )
    if inside is not None:
        inside = reshaped(lw, inside, shape[:1])
        hit = both(lw, hit, b.expand(inside, 0, shape[:2]))
    if name == "scatter":
        value = _last_of(lw, hit, old, updates)
    else:
        value = _joined(lw, SCATTERS[name], hit, old, updates)
    value = reshaped(lw, value, tuple(x.shape[d] for d in (*starts, *rest)))
    order = [*starts, *rest]
    value = transposed(lw, value, [order.index(d) for d in range(len(order))])
    return put(lw, x, value, [b.int32(0)] * len(order), x.shape)


def _last_of(lw, hit, old, updates):
    """Return rows of which each is the last update of it, if there is one."""
    b = lw.b
    number = b.expand(b.range(hit.shape[0]), 0, hit.shape)
    last = reduced(lw, b.select(hit, number, b.int32(-1)), 0, "max", -1)
    is_set = b.expand(b.compare("ge", last, b.int32(0)), 0, old.shape)
    return b.select(is_set, take(lw, updates, 0, last), old)


def _joined(lw, how, hit, old, updates):
    """Return rows that are combined with all updates of them."""
    b, shape, dtype = lw.b, (*hit.shape, old.shape[1]), old.dtype
    reduction, identity = IDENTITIES["add" if how == "sub" else how]
    fill = identity(dtype)
    hit = _spread(lw, hit, shape, (0, 1))
    updates = b.select(hit, _spread(lw, updates, shape, (0, 2)), b.full(fill, dtype, shape))
    return combine(b, how, old, reduced(lw, updates, 0, reduction, fill))


IDENTITIES = {how: (how, identity) for how, identity in REDUCTIONS.values()}

MOST_COMPARED = 1 << 20
"""Elements of what a scatter compares: a program has them in registers."""


def _has_parts(x):
    return isinstance(x, Tensor) and x.parts is not None


def _reshaped_parts(lw, x, shape):
    """Return a concatenation with dimensions of size 1 more or less."""
    axis, parts = x.parts
    big = [n for n in x.shape if n != 1]
    if x.shape[axis] == 1 or big != [n for n in shape if n != 1]:
        return reshaped(lw, x, shape)
    number = sum(n != 1 for n in x.shape[:axis])
    place = [d for d, n in enumerate(shape) if n != 1][number]
    new = [reshaped(lw, p, (*shape[:place], p.shape[axis], *shape[place + 1 :])) for p in parts]
    return Tensor(shape, x.dtype, parts=(place, new))
