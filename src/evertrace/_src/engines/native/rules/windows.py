"""Convolutions and reductions over windows, which are laid out and then multiplied or reduced."""

import itertools
import math

import numpy as np

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import CODES, emission, kind_of
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
    rows = _rows(e, e.convert(xs[0], code), lhs.shape, batch, places, window, channels, p)
    e.spend(costs.windows_cost(e.size_of([rows])), 0.0)
    steps = dense(rhs.shape)
    o_step = steps[rhs_spec[0]]
    columns = laid_out(
        e,
        e.convert(xs[1], code),
        [
            (groups, features * o_step),
            *zip(window, [steps[d] for d in rhs_spec[2:]], strict=True),
            (channels, steps[rhs_spec[1]]),
            (features, o_step),
        ],
    )
    numbers = (
        groups,
        count,
        features,
        reach,
        count * reach,
        reach,
        1,
        reach * features,
        features,
        1,
    )
    z = product(e, rows, columns, numbers)

    *steps, _ = dense([batch, *places, features])
    dims = list(zip([batch, *places], steps, strict=True))
    made = []
    for d in range(out.ndim):
        at = out_spec.index(d)
        made += [(groups, count * features), (features, 1)] if at == 1 else [dims[max(0, at - 1)]]
    y = e.convert(laid_out(e, z, made), kind_of(out)[0])
    e.xla_cost = work + costs.xla_convolution_cost(groups * count, out.size * reach)
    return y


def _rows(e, x, shape, batch, places, window, channels, p):
    """Return the windows of an operand: ``[groups, batch, *places, *window, channels]``."""
    lhs_spec = p["dimension_numbers"][0]
    config = [(0, 0, 0)] * len(shape)
    for d, (low, high), apart in zip(lhs_spec[2:], p["padding"], p["lhs_dilation"], strict=True):
        config[d] = (low, high, apart - 1)
    x, shape = padded(e, x, shape, config, e.scalar(0, e.values[x][0]))
    steps = dense(shape)
    batch_step, step = steps[lhs_spec[0]], steps[lhs_spec[1]]
    by_features, by_batch = p["feature_group_count"], p["batch_group_count"]
    return laid_out(
        e,
        x,
        [
            (by_batch, batch * batch_step),
            (by_features, channels * step),
            (batch, batch_step),
            *_slid(places, [steps[d] for d in lhs_spec[2:]], p["window_strides"]),
            *_slid(window, [steps[d] for d in lhs_spec[2:]], p["rhs_dilation"]),
            (channels, step),
        ],
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
