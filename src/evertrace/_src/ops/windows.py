"""Reductions over sliding windows, and what the derivative of max-pooling needs.

A window is described by five params, each with an entry per dimension: `window_dimensions`,
`window_strides`, `padding` (pairs), `base_dilation` (holes between the operand's elements) and
`window_dilation` (holes between a window's). Padding and holes hold the identity of the reduction.

Two more operations see windows as choices. `select_and_gather_add` takes, from a second array, the
element at the place where each window of `operand` has its extremum: the tangent of max-pooling.
`select_and_scatter_add` sends a value per window to that place and adds up what arrives: its
transpose. The extremum is the first element for which no later one is better.
"""

import itertools
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import of_equal_size
from evertrace._src.core.primitive import JOINTLY, REDUCTION, Primitive
from evertrace._src.ops.builders import ANY, NUMERIC, check_dtype, check_same_dtype
from evertrace._src.ops.compare import ge_p, le_p
from evertrace._src.ops.elementwise import const, max_p, min_p
from evertrace._src.ops.identities import accumulation_dtype, highest, lowest
from evertrace._src.ops.slicing import pad_p
from evertrace._src.ops.structural import move_batch_dim

# ---------------------------------------------------------------- shapes


def dilated(size, dilation):
    """Return the size of a dimension after putting ``dilation - 1`` holes between elements."""
    return 0 if size == 0 else 1 + dilation * (size - 1)


def check_window(
    name, shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
):
    """Raise unless the params of a window have a positive entry per dimension."""
    per_dim = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    if any(len(p) != len(shape) for p in per_dim):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: window_dimensions {_few(window_dimensions)}, window_strides "
            f"{_few(window_strides)}, padding {_few(padding)}, base_dilation {_few(base_dilation)} "
            f"and window_dilation {_few(window_dilation)} must have an entry per dimension of an "
            f"operand of shape {shape}.",
            fix=f"give {len(shape)} entries each.",
            anchor="shape",
        )
    positive = (window_dimensions, window_strides, base_dilation, window_dilation)
    if any(v < 1 for p in positive for v in p):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: window_dimensions {window_dimensions}, window_strides {window_strides}, "
            f"base_dilation {base_dilation} and window_dilation {window_dilation} must be "
            "positive.",
            fix="use 1 for dimensions that the window does not cover.",
            anchor="shape",
        )


def _few(entries):
    return str(entries) if len(entries) <= 16 else f"of {len(entries)} entries"


def window_shape(
    name, shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
):
    """Return the output shape of a windowed reduction; raises where the params do not fit."""
    per_dim = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    check_window(name, shape, *per_dim)
    out = []
    for size, window, stride, (low, high), base, hole in zip(shape, *per_dim, strict=True):
        room = dilated(size, base) + low + high - dilated(window, hole)
        out.append(max(room // stride + 1, 0))
    return tuple(out)


# ---------------------------------------------------------------- host helpers


def pad_host(x, fill, padding, dilation):
    """Return `x` with `fill` around it and between its elements; padding may be negative."""
    if all(p == (0, 0) for p in padding) and all(d == 1 for d in dilation):
        return x
    config = tuple((lo, hi, d - 1) for (lo, hi), d in zip(padding, dilation, strict=True))
    return pad_p.host(x, np.asarray(fill, x.dtype), padding_config=config)


def window_views(x, out_shape, window_dimensions, window_strides, window_dilation):
    """Yield, per place in the window, the slices that select this place in every window.

    Where there is no window, no place says anything, and places may be without number.
    """
    if 0 in out_shape:
        return
    for place in itertools.product(*map(range, window_dimensions)):
        yield tuple(
            slice(p * hole, p * hole + (n - 1) * stride + 1 if n else 0, stride)
            for p, n, stride, hole in zip(
                place, out_shape, window_strides, window_dilation, strict=True
            )
        )


def _reduce_windows(join, x, shape, window_dimensions, window_strides, window_dilation):
    """Combine the elements of each window, one dimension after the other."""
    if 0 in shape:  # windows may be larger than all that is there
        return np.empty(shape, x.dtype)
    for axis, (size, window) in enumerate(zip(shape, window_dimensions, strict=True)):
        stride, hole = window_strides[axis], window_dilation[axis]
        if window == 1 and stride == 1 and size == x.shape[axis]:
            continue
        lead = (slice(None),) * axis
        span = (size - 1) * stride + 1 if size else 0
        parts = (x[(*lead, slice(p * hole, p * hole + span, stride))] for p in range(window))
        total = np.array(next(parts))
        for part in parts:
            total = join(total, part)
        x = total
    return x


# ---------------------------------------------------------------- sum, max, min


def _window_reduction(name, accepts, join, identity, **rules):
    """Make the primitive that reduces each window by a function of two arrays."""

    def abstract(x, **window):
        check_dtype(name, x, accepts)
        return ShapedArray(window_shape(name, x.shape, **window), x.dtype, x.weak_type)

    def host(x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation):
        shape = window_shape(
            name,
            x.shape,
            window_dimensions,
            window_strides,
            padding,
            base_dilation,
            window_dilation,
        )
        padded = pad_host(x, identity(x.dtype), padding, base_dilation)
        wide = padded.astype(accumulation_dtype(x.dtype), copy=False)
        out = _reduce_windows(join, wide, shape, window_dimensions, window_strides, window_dilation)
        return out.astype(x.dtype, copy=False)

    prim = Primitive(
        name, counts=REDUCTION, abstract=abstract, host=host, factors=of_equal_size, **rules
    )
    prim.batch = lambda size, args, dims, **window: (
        prim.bind(args[0], **batch_window(dims[0], window)),
        dims[0],
    )
    return prim


_TRIVIAL = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def batch_window(dim, window):
    """Return window params with an entry for a batch dimension at `dim`."""

    def inserted(key, values):
        if key not in _TRIVIAL:
            return values
        return (*values[:dim], _TRIVIAL[key], *values[dim:])

    return {key: inserted(key, values) for key, values in window.items()}


def _sum_transpose(
    ct, x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation
):
    """Every element of `x` gets the sum over the windows that hold it: windows over windows."""
    rank = len(window_dimensions)
    pads = transpose_padding(
        x.aval.shape,
        window_dimensions,
        window_strides,
        ct.aval.shape,
        padding,
        base_dilation,
        window_dilation,
    )
    config = tuple((lo, hi, s - 1) for (lo, hi), s in zip(pads, window_strides, strict=True))
    out = reduce_window_sum_p.bind(
        pad_p.bind(ct, const(ct, 0), padding_config=config),
        window_dimensions=window_dimensions,
        window_strides=base_dilation,
        padding=((0, 0),) * rank,
        base_dilation=(1,) * rank,
        window_dilation=window_dilation,
    )
    assert out.aval.shape == x.aval.shape, (out.aval, x.aval)
    return [out]


def transpose_padding(in_shape, window, strides, out_shape, padding, in_dilation, window_dilation):
    """Return the padding under which sliding the window over the outputs gives the inputs back.

    Per dimension, with all sizes taken dilated, an input at i is seen by the outputs at
    ``i + low - window + 1 ... i + low``.
    """
    pads = []
    for n, k, s, m, (low, _), base, hole in zip(
        in_shape, window, strides, out_shape, padding, in_dilation, window_dilation, strict=True
    ):
        reach = dilated(k, hole) - 1
        before = reach - low
        after = dilated(n, base) + reach - dilated(m, s) - before
        pads.append((before, after))
    return tuple(pads)


def _extremum_jvp(select_prim):
    def jvp(tangents, primals, out, **window):
        return select_and_gather_add_p.bind(
            tangents[0], primals[0], select_prim=select_prim, **window
        )

    return jvp


reduce_window_sum_p: Primitive = _window_reduction(
    "reduce_window_sum", NUMERIC, np.add, lambda dtype: 0, linear=JOINTLY, transpose=_sum_transpose
)
reduce_window_max_p: Primitive = _window_reduction(
    "reduce_window_max", ANY, max_p.host, lowest, jvp=_extremum_jvp(ge_p)
)
reduce_window_min_p: Primitive = _window_reduction(
    "reduce_window_min", ANY, min_p.host, highest, jvp=_extremum_jvp(le_p)
)

# ---------------------------------------------------------------- windows as choices


def worst(select_prim, dtype):
    """Return the value that loses against every other under the comparison."""
    return lowest(dtype) if select_prim is ge_p else highest(dtype)


def _choose(select_prim, x, shape, window):
    """Return, per window of the padded `x`, the number of the place that is chosen."""
    better = np.greater_equal if select_prim is ge_p else np.less_equal
    best: Any = None
    chosen: Any = None
    for number, view in enumerate(window_views(x, shape, *window)):
        value = x[view]
        if best is None:
            best, chosen = value, np.zeros(shape, np.int32)
            continue
        stays = better(best, value)
        best = np.where(stays, best, value)
        chosen = np.where(stays, chosen, np.int32(number))
    return chosen


def _gather_abstract(tangents, operand, *, select_prim, **window):
    name = "select_and_gather_add"
    _check_pair(name, tangents, operand)
    if tangents.shape != operand.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: tangents have shape {tangents.shape}, the operand {operand.shape}.",
            fix="give one tangent per element.",
            anchor="shape",
        )
    shape = window_shape(name, operand.shape, **window)
    return ShapedArray(shape, tangents.dtype)


def _check_pair(name, values, operand):
    check_dtype(name, operand, NUMERIC)
    check_same_dtype(name, (values, operand))


def _gather_host(
    tangents,
    operand,
    *,
    select_prim,
    window_dimensions,
    window_strides,
    padding,
    base_dilation,
    window_dilation,
):
    shape = window_shape(
        "select_and_gather_add",
        operand.shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    window = window_dimensions, window_strides, window_dilation
    x = pad_host(operand, worst(select_prim, operand.dtype), padding, base_dilation)
    t = pad_host(tangents, 0, padding, base_dilation)
    chosen = _choose(select_prim, x, shape, window)
    out = np.zeros(shape, tangents.dtype)
    for number, view in enumerate(window_views(x, shape, *window)):
        np.copyto(out, t[view], where=chosen == number)
    return out


def _gather_transpose(
    ct,
    tangents,
    operand,
    *,
    select_prim,
    window_dimensions,
    window_strides,
    padding,
    base_dilation,
    window_dilation,
):
    if any(d != 1 for d in (*base_dilation, *window_dilation)):
        raise errors.user_error(
            NotImplementedError,
            "reduce_window: the gradient of a windowed maximum or minimum with dilation is not "
            f"implemented (base_dilation {base_dilation}, window_dilation {window_dilation}).",
            fix="use forward mode, or take the maximum over shifted slices.",
            anchor="no-derivative",
        )
    out = select_and_scatter_add_p.bind(
        ct,
        operand,
        select_prim=select_prim,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        padding=padding,
    )
    return out, None


def _batch_pair(prim):
    def batch(size, args, dims, **params):
        dim = dims[0] if dims[0] is not None else dims[1]
        args = [move_batch_dim(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
        return prim.bind(*args, **batch_window(dim, params)), dim

    return batch


select_and_gather_add_p: Primitive = Primitive(
    "select_and_gather_add",
    factors=of_equal_size,
    abstract=_gather_abstract,
    host=_gather_host,
    linear=(0,),
    transpose=_gather_transpose,
    deriv=(None, None),
)
select_and_gather_add_p.batch = _batch_pair(select_and_gather_add_p)


def _plain_window(rank, window_dimensions, window_strides, padding):
    ones = (1,) * rank
    return {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": ones,
        "window_dilation": ones,
    }


def _scatter_abstract(source, operand, *, select_prim, **window):
    name = "select_and_scatter_add"
    _check_pair(name, source, operand)
    shape = window_shape(name, operand.shape, **_plain_window(operand.ndim, **window))
    if source.shape != shape:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: source has shape {source.shape}, but an operand of shape {operand.shape} "
            f"has windows of shape {shape}.",
            fix="give one value per window.",
            anchor="shape",
        )
    return ShapedArray(operand.shape, operand.dtype)


def _scatter_host(source, operand, *, select_prim, window_dimensions, window_strides, padding):
    shape, ones = source.shape, (1,) * operand.ndim
    window = window_dimensions, window_strides, ones
    x = pad_host(operand, worst(select_prim, operand.dtype), padding, ones)
    chosen = _choose(select_prim, x, shape, window)
    out = np.zeros(x.shape, accumulation_dtype(operand.dtype))
    for number, view in enumerate(window_views(x, shape, *window)):
        out[view] += np.where(chosen == number, source, source.dtype.type(0))
    unpadded = tuple((-low, -high) for low, high in padding)
    return pad_host(out, 0, unpadded, ones).astype(operand.dtype, copy=False)


def _scatter_transpose(ct, source, operand, *, select_prim, **window):
    out = select_and_gather_add_p.bind(
        ct, operand, select_prim=select_prim, **_plain_window(operand.aval.ndim, **window)
    )
    return out, None


select_and_scatter_add_p: Primitive = Primitive(
    "select_and_scatter_add",
    factors=of_equal_size,
    abstract=_scatter_abstract,
    host=_scatter_host,
    linear=(0,),
    transpose=_scatter_transpose,
    deriv=(None, None),
)
select_and_scatter_add_p.batch = _batch_pair(select_and_scatter_add_p)
