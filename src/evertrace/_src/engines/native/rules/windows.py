"""Convolutions and reductions over windows, which are laid out and then multiplied or reduced."""

import itertools
import math

import numpy as np

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    CODES,
    WINDOW_MATMUL,
    emission,
    item_size,
    kind_of,
)
from evertrace._src.engines.native.rules.dot import product, product_code
from evertrace._src.engines.native.rules.structural import dense, laid_out, padded
from evertrace._src.ops import conv
from evertrace._src.ops import windows as ops
from evertrace._src.ops.identities import accumulation_dtype, highest, lowest

# ---------------------------------------------------------------- convolution


@emission.define(conv.conv_general_dilated_p)
def _conv_general_dilated(e, eqn, xs):
    """Multiply rows of windows by the kernel, one product per group, as the host does."""
    p, (lhs, rhs), out = eqn.params, [v.aval for v in eqn.invars], eqn.outvars[0].aval
    code = product_code(lhs, rhs, out, p["precision"])
    if not out.size:
        return e.empty(kind_of(out))
    _, rhs_spec, out_spec = p["dimension_numbers"]
    groups = p["feature_group_count"] * p["batch_group_count"]
    window = [rhs.shape[d] for d in rhs_spec[2:]]
    features, channels = rhs.shape[rhs_spec[0]] // groups, rhs.shape[rhs_spec[1]]
    batch, places = out.shape[out_spec[0]], [out.shape[d] for d in out_spec[2:]]
    count, reach = batch * math.prod(places), math.prod(window) * channels

    work = e.xla_cost
    x, row_dims, column_dims, group_dims = _windows_of(
        e, e.convert(xs[0], code), lhs.shape, batch, places, window, channels, p
    )
    # Windows are read in the order in which they lie in memory.
    order = sorted(range(len(column_dims)), key=lambda d: -column_dims[d][1])
    column_dims = [column_dims[d] for d in order]
    steps = dense(rhs.shape)
    o_step = steps[rhs_spec[0]]
    kernel_dims = [(rhs.shape[d], steps[d]) for d in rhs_spec[2:]]
    kernel_dims.append((channels, steps[rhs_spec[1]]))
    columns = laid_out(
        e,
        e.convert(xs[1], code),
        [
            (groups, features * o_step),
            *[kernel_dims[d] for d in order],
            (features, o_step),
        ],
    )
    order = sorted(range(len(row_dims)), key=lambda d: -row_dims[d][1])
    row_dims = [row_dims[d] for d in order]
    if groups == 1 and code in _WINDOW_CODES and features >= FEW_FEATURES:
        z = _window_product(e, x, columns, row_dims, column_dims, features)
    else:
        rows = laid_out(e, x, [*group_dims, *row_dims, *column_dims])
        e.spend(costs.windows_cost(e.size_of([rows])), 0.0)
        numbers = (groups, count, features, reach)
        strides = (count * reach, reach, 1, reach * features, features, 1)
        z = product(e, rows, columns, numbers + strides)

    made_steps = dense([size for size, _ in row_dims] + [features])
    dims = [(0, 0)] * len(order)
    for i, d in enumerate(order):
        dims[d] = row_dims[i][0], made_steps[i]
    made = []
    for d in range(out.ndim):
        at = out_spec.index(d)
        made += [(groups, count * features), (features, 1)] if at == 1 else [dims[max(0, at - 1)]]
    y = e.convert(laid_out(e, z, made), kind_of(out)[0])
    e.xla_cost = work + costs.xla_convolution_cost(groups * count, out.size * reach)
    return y


_WINDOW_CODES = (CODES["float32"], CODES["float64"])

FEW_FEATURES = 8
"""For fewer, a tile would be mostly empty: windows are laid out in memory and transposed."""


def _window_product(e, x, y, rows, columns, features):
    """Multiply windows of a value by a matrix: see `WindowProduct` in `structure.h`."""
    count, reach = (math.prod([size for size, _ in dims]) for dims in (rows, columns))
    rows, columns = _collapsed(rows), _collapsed(columns)
    sizes, strides = zip(*rows, *columns, strict=True) if rows or columns else ((), ())
    code = e.values[x][0]
    made = e.new((code, count * features))
    numbers = (len(rows), len(columns), features, *sizes, *strides)
    e.add(WINDOW_MATMUL, (made,), (x, y), "", numbers)
    tape, xla = costs.product_costs(1, count, features, reach, item_size(code))
    e.spend(tape + costs.NS_PER_BYTE_OF_WINDOW_MULTIPLIED * count * reach * item_size(code), xla)
    return made


def _collapsed(dims):
    """Return (size, stride) of dimensions of a view in as few as will do."""
    made = []
    for size, stride in dims:
        if size == 1:
            continue
        if made and made[-1][1] == size * stride:
            made[-1] = (made[-1][0] * size, stride)
        else:
            made.append((size, stride))
    return made


def _windows_of(e, x, shape, batch, places, window, channels, p):
    """Return an operand, padded, and how its windows lie in it.

    They are (size, stride) of the dimensions of their numbers, ``[batch, *places]``, of what is in
    one, ``[*window, channels]``, and of groups.
    """
    lhs_spec = p["dimension_numbers"][0]
    config = [(0, 0, 0)] * len(shape)
    for d, (low, high), apart in zip(lhs_spec[2:], p["padding"], p["lhs_dilation"], strict=True):
        config[d] = (low, high, apart - 1)
    x, shape = padded(e, x, shape, config, e.scalar(0, e.values[x][0]))
    steps = dense(shape)
    batch_step, step = steps[lhs_spec[0]], steps[lhs_spec[1]]
    by_features, by_batch = p["feature_group_count"], p["batch_group_count"]
    sides = [steps[d] for d in lhs_spec[2:]]
    return (
        x,
        [(batch, batch_step), *_slid(places, sides, p["window_strides"])],
        [*_slid(window, sides, p["rhs_dilation"]), (channels, step)],
        [(by_batch, batch * batch_step), (by_features, channels * step)],
    )


def _slid(sizes, steps, strides):
    return [(n, step * s) for n, step, s in zip(sizes, steps, strides, strict=True)]


# ---------------------------------------------------------------- reductions


def _windows(
    e,
    x,
    shape,
    places,
    filling,
    *,
    window_dimensions,
    window_strides,
    padding,
    base_dilation,
    window_dilation,
):
    """Return ``[*window, *places]``: what is at each place in every window, one after the other."""
    config = [(lo, hi, b - 1) for (lo, hi), b in zip(padding, base_dilation, strict=True)]
    x, shape = padded(e, x, shape, config, e.constant(filling))
    steps = dense(shape)
    inside = _slid(window_dimensions, steps, window_dilation)
    rows = laid_out(e, x, [*inside, *_slid(places, steps, window_strides)])
    e.spend(costs.windows_cost(e.size_of([rows])), 0.0)
    return rows


def _window_reduction(prim, name, identity):
    def rule(e, eqn, xs):
        x, out = eqn.invars[0].aval, eqn.outvars[0].aval
        if not out.size:
            return e.empty(kind_of(out))
        wide = np.dtype(accumulation_dtype(x.dtype))
        code = CODES[wide.name]
        kind_of(x)
        work = e.xla_cost
        rows = _windows(e, e.convert(xs[0], code), x.shape, out.shape, identity(wide), **eqn.params)
        count = math.prod(eqn.params["window_dimensions"])
        y = e.convert(e.reduce(name, rows, code, (1, count, out.size)), kind_of(out)[0])
        e.xla_cost = work + costs.xla_window_cost(out.size, out.shape[-1] if out.ndim else 1)
        return y

    emission.define(prim)(rule)


_window_reduction(ops.reduce_window_sum_p, "reduce_sum", lambda dtype: np.zeros((), dtype))
_window_reduction(ops.reduce_window_max_p, "reduce_max", lowest)
_window_reduction(ops.reduce_window_min_p, "reduce_min", highest)

# ---------------------------------------------------------------- windows as choices


def _parts(e, windows, size):
    """Return what is at each place of the windows."""
    code, total = e.values[windows]
    return [e.alias(windows, (code, size), at) for at in range(0, total, size)]


def _stays(e, select_prim, parts):
    """Yield, for all parts but the first, where the best of the parts before it stays."""
    best = parts[0]
    for part in parts[1:]:
        code, size = e.values[part]
        stays = e.loop(select_prim.name, (best, part), (CODES["bool"], size))
        best = e.loop("select_n", (stays, part, best), (code, size))
        yield stays


@emission.define(ops.select_and_gather_add_p)
def _select_and_gather_add(e, eqn, xs):
    window = dict(eqn.params)
    select_prim = window.pop("select_prim")
    (x, out), kind = (eqn.invars[1].aval, eqn.outvars[0].aval), kind_of(eqn.outvars[0].aval)
    if not out.size:
        return e.empty(kind)
    fillings = np.zeros((), x.dtype), ops.worst(select_prim, x.dtype)
    tangents, parts = (
        _parts(e, _windows(e, v, x.shape, out.shape, filling, **window), out.size)
        for v, filling in zip(xs, fillings, strict=True)
    )
    taken = tangents[0]
    for tangent, stays in zip(tangents[1:], _stays(e, select_prim, parts), strict=True):
        taken = e.loop("select_n", (stays, tangent, taken), kind)
    return taken


@emission.define(ops.select_and_scatter_add_p)
def _select_and_scatter_add(e, eqn, xs):
    """Add the source to each place of the windows in turn, where that place is chosen."""
    work = e.xla_cost
    p, source, x = eqn.params, eqn.invars[0].aval, eqn.invars[1].aval
    out, wide = kind_of(eqn.outvars[0].aval), CODES[accumulation_dtype(x.dtype).name]
    zero, code = e.scalar(0, wide), CODES["int32"]
    if not source.size:
        return e.convert(e.spread(zero, (wide, x.size), 0), out[0]) if x.size else e.empty(out)
    ones = (1,) * x.ndim
    window = {"base_dilation": ones, "window_dilation": ones, **p}
    select_prim = window.pop("select_prim")
    rows = _windows(e, xs[1], x.shape, source.shape, ops.worst(select_prim, x.dtype), **window)
    chosen = e.spread(e.scalar(0, code), (code, source.size), 0)
    parts = _parts(e, rows, source.size)
    for k, stays in enumerate(_stays(e, select_prim, parts), 1):
        chosen = e.loop("select_n", (stays, e.scalar(k, code), chosen), (code, source.size))
    values, total = e.convert(xs[0], wide), None
    shape = [n + low + high for n, (low, high) in zip(x.shape, p["padding"], strict=True)]
    for k, place in enumerate(itertools.product(*map(range, p["window_dimensions"]))):
        is_here = e.loop("eq", (chosen, e.scalar(k, code)), (CODES["bool"], source.size))
        part = e.loop("select_n", (is_here, zero, values), (wide, source.size))
        config = [
            (at, whole - at - (n - 1) * stride - 1, stride - 1)
            for at, whole, n, stride in zip(
                place, shape, source.shape, p["window_strides"], strict=True
            )
        ]
        part, _ = padded(e, part, source.shape, config, zero)
        kind = (wide, math.prod(shape))
        total = e.loop("add", (zero if total is None else total, part), kind)
    unpadded = [(-low, -high, 0) for low, high in p["padding"]]
    y = e.convert(padded(e, total, shape, unpadded, zero)[0], out[0])
    e.xla_cost = work + costs.XLA_NS_PER_WINDOW_CHOSEN * source.size
    return y
