"""Cutting arrays up and putting them together, at places known while tracing.

slice and pad are each other's transposes, as are concatenate and split, and stack and unstack;
tile's is a sum. Slices that begin where an array says are in `dynamic`.
"""

import operator

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import by_dimension, joining, of_equal_size, pointwise
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.dims import ceildiv
from evertrace._src.ops.elementwise import sub_p
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import (
    broadcast_in_dim_p,
    check_dims,
    move_batch_dim,
    reduce_sum_p,
    reshape,
    spread,
    words,
    zeros,
)
from evertrace._src.support import listed

# ---------------------------------------------------------------- slice


def _slice_abstract(x, *, start_indices, limit_indices, strides):
    strides = strides or (1,) * x.ndim
    in_rank = len(start_indices) == len(limit_indices) == len(strides) == x.ndim
    in_bounds = in_rank and all(
        0 <= start <= limit <= size and stride > 0
        for start, limit, stride, size in zip(
            start_indices, limit_indices, strides, x.shape, strict=True
        )
    )
    if not in_bounds:
        raise errors.user_error(
            errors.ShapeError,
            f"slice: from {listed(start_indices)} to {listed(limit_indices)} in steps of "
            f"{listed(strides)} is no slice of shape {x.shape}.",
            fix="give per dimension 0 <= start <= limit <= size and a positive stride.",
            anchor="shape-slice",
        )
    shape = tuple(map(_slice_size, start_indices, limit_indices, strides))
    return ShapedArray(shape, x.dtype, x.weak_type)


def _slice_size(start, limit, stride):
    return ceildiv(limit - start, stride)


def _slice_host(x, *, start_indices, limit_indices, strides):
    strides = strides or (None,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides):
    strides = strides or (1,) * len(start_indices)
    config = []
    for size, n, start, stride in zip(
        x.aval.shape, ct.aval.shape, start_indices, strides, strict=True
    ):
        covered = start + (n - 1) * stride + 1 if n else start
        config.append((start, size - covered, stride - 1))
    return [pad(ct, config)]


def _slice_batch(size, args, dims, *, start_indices, limit_indices, strides):
    dim = dims[0]
    out = slice_p.bind(
        args[0],
        start_indices=_insert(start_indices, dim, 0),
        limit_indices=_insert(limit_indices, dim, size),
        strides=None if strides is None else _insert(strides, dim, 1),
    )
    return out, dim


def _insert(values, position, value):
    return (*values[:position], value, *values[position:])


def _slice_physical(x, *, start_indices, limit_indices, strides):
    suffix = words(x)
    return {
        "start_indices": (*start_indices, *[0 for _ in suffix]),
        "limit_indices": (*limit_indices, *suffix),
        "strides": None if strides is None else (*strides, *[1 for _ in suffix]),
    }


slice_p: Primitive = Primitive(
    "slice",
    moves=True,
    factors=pointwise,
    abstract=_slice_abstract,
    host=_slice_host,
    linear=JOINTLY,
    transpose=_slice_transpose,
    batch=_slice_batch,
    physical=_slice_physical,
)


def slice_in_dim(x, start, limit, dim):
    """Return the part of `x` from `start` to `limit` along one dimension."""
    shape = x.aval.shape
    if start == 0 and limit == shape[dim]:
        return x
    starts = tuple(start if i == dim else 0 for i in range(len(shape)))
    limits = tuple(limit if i == dim else size for i, size in enumerate(shape))
    return slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=None)


# ---------------------------------------------------------------- pad
# Per dimension (low, high, interior): elements added before, after and between. Negative low and
# high remove elements, after the interior ones were added.


def _pad_abstract(x, value, *, padding_config):
    if value.shape != () or value.dtype != x.dtype:
        raise errors.user_error(
            errors.DTypeError if value.dtype != x.dtype else errors.ShapeError,
            f"pad: the padding value must be a scalar of the operand's dtype, got "
            f"{value.str_short()} for {x.str_short()}.",
            fix="convert it, e.g. `value.astype(x.dtype)`.",
            anchor="dtype",
        )
    shape = ()
    if len(padding_config) == x.ndim:
        shape = tuple(map(_padded_size, x.shape, padding_config))
    if len(shape) != x.ndim or any(s < 0 for s in shape) or any(c[2] < 0 for c in padding_config):
        raise errors.user_error(
            errors.ShapeError,
            f"pad: padding_config {listed(padding_config)} does not fit shape {x.shape}.",
            fix="give (low, high, interior) per dimension; interior must not be negative, and no "
            "more may be removed than there is.",
            anchor="shape-pad",
        )
    return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)


def _dilated_size(size, interior):
    return size + max(size - 1, 0) * interior


def _padded_size(size, config):
    low, high, interior = config
    return low + high + _dilated_size(size, interior)


def _pad_host(x, value, *, padding_config):
    if not any(interior or low < 0 or high < 0 for low, high, interior in padding_config):
        out = np.full(tuple(map(_padded_size, x.shape, padding_config)), value, x.dtype)
        lows = (config[0] for config in padding_config)
        inner = tuple(slice(low, low + n) for low, n in zip(lows, x.shape, strict=True))
        out[inner] = x
        return out
    # Pad by what is not negative, with the interior, then cut.
    sizes, inner, cut = [], [], []
    for size, (low, high, interior) in zip(x.shape, padding_config, strict=True):
        dilated = _dilated_size(size, interior)
        before, after = max(low, 0), max(high, 0)
        sizes.append(before + dilated + after)
        inner.append(slice(before, before + dilated, interior + 1))
        cut.append(slice(max(-low, 0), sizes[-1] - max(-high, 0)))
    out = np.full(sizes, value, x.dtype)
    out[tuple(inner)] = x
    return out[tuple(cut)]


def _pad_transpose(ct, x, value, *, padding_config):
    from_operand = None
    if is_linear(x) or is_linear(value):
        from_operand = _unpad(ct, padding_config)
    from_value = None
    if is_linear(value):
        # What fell on padding: all but what fell on the operand.
        from_value = sub_p.bind(_sum_all(ct), _sum_all(from_operand))
    return [from_operand if is_linear(x) else None, from_value]


def _unpad(ct, padding_config):
    """Return the elements of `ct` where those of the operand were put, zero for those cut."""
    restore = [(max(-low, 0), max(-high, 0), 0) for low, high, _ in padding_config]
    ct = pad(ct, restore)
    starts = tuple(max(low, 0) for low, _, _ in padding_config)
    limits = tuple(
        size - max(high, 0)
        for size, (_, high, _) in zip(ct.aval.shape, padding_config, strict=True)
    )
    strides = tuple(interior + 1 for _, _, interior in padding_config)
    return slice_p.bind(
        ct,
        start_indices=starts,
        limit_indices=limits,
        strides=None if all(s == 1 for s in strides) else strides,
    )


def _sum_all(x):
    return reduce_sum_p.bind(x, axes=tuple(range(x.aval.ndim)), out_sharding=None)


def _pad_batch(size, args, dims, *, padding_config):
    x, value = args
    x_dim, value_dim = dims
    if value_dim is None:
        return pad_p.bind(x, value, padding_config=_insert(padding_config, x_dim, (0, 0, 0))), x_dim
    # Each example has a padding value of its own: pad with any, then choose.
    x = move_batch_dim(x, x_dim, 0, size)
    config = ((0, 0, 0), *padding_config)
    padded = pad_p.bind(x, literal(0, x.aval.dtype), padding_config=config)
    is_operand = pad_p.bind(
        spread(literal(True, np.dtype(bool)), x.aval.shape),
        literal(False, np.dtype(bool)),
        padding_config=config,
    )
    values = broadcast_in_dim_p.bind(
        value, shape=padded.aval.shape, broadcast_dimensions=(0,), sharding=None
    )
    return select_n_p.bind(is_operand, values, padded), 0


pad_p: Primitive = Primitive(
    "pad",
    is_tape_of_plans=True,
    moves=True,
    factors=pointwise,
    abstract=_pad_abstract,
    host=_pad_host,
    linear=JOINTLY,
    transpose=_pad_transpose,
    batch=_pad_batch,
)


def pad(x, config):
    """Pad with zeros."""
    if all(c == (0, 0, 0) for c in config):
        return x
    return pad_p.bind(x, literal(0, x.aval.dtype), padding_config=tuple(config))


# ---------------------------------------------------------------- concatenate


def _concatenate_abstract(*xs, dimension):
    check_same("concatenate", xs, dimension)
    sizes = list(xs[0].shape)
    sizes[dimension] = sum(x.shape[dimension] for x in xs)
    return ShapedArray(tuple(sizes), xs[0].dtype, all(x.weak_type for x in xs))


def check_same(name, xs, free=None):
    """Raise unless the avals have one dtype and, but for dimension `free`, one shape."""
    if not xs:
        raise errors.user_error(
            ValueError,
            f"{name}: needs at least one array.",
            fix="pass a list that is not empty.",
            anchor="shape-concatenate",
        )
    if free is not None:
        check_dims(name, (free,), xs[0].ndim)
    if any(x.dtype != xs[0].dtype for x in xs):
        names = ", ".join(dtypes.short_name(x.dtype) for x in xs)
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: operands must have the same dtype, got {names}.",
            fix=f"convert them, or use `numpy.{name}`, which promotes.",
            anchor="dtype",
        )
    kept = {tuple(s for i, s in enumerate(x.shape) if i != free) for x in xs}
    if len(kept) > 1 or any(x.ndim != xs[0].ndim for x in xs):
        shapes = ", ".join(str(x.shape) for x in xs)
        but = "" if free is None else f" but for dimension {free}"
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shapes must be equal{but}, got {shapes}.",
            fix="reshape, slice or pad the operands first.",
            anchor="shape-concatenate",
        )


def _concatenate_transpose(ct, *xs, dimension):
    out, start = [], 0
    for x in xs:
        limit = start + x.aval.shape[dimension]
        out.append(slice_in_dim(ct, start, limit, dimension) if is_linear(x) else None)
        start = limit
    return out


def _concatenate_batch(size, args, dims, *, dimension):
    dim = next(d for d in dims if d is not None)
    args = [move_batch_dim(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
    return concatenate_p.bind(*args, dimension=dimension + (dim <= dimension)), dim


concatenate_p: Primitive = Primitive(
    "concatenate",
    is_tape_of_plans=True,
    moves=True,
    factors=joining(),
    abstract=_concatenate_abstract,
    linear=JOINTLY,
    host=lambda *xs, dimension: np.concatenate(xs, axis=dimension),
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    physical=lambda *xs, dimension: {"dimension": dimension},
)


# ---------------------------------------------------------------- split


def _split_abstract(x, *, sizes, axis):
    check_dims("split", (axis,), x.ndim)
    if sum(sizes) != x.shape[axis] or any(size < 0 for size in sizes):
        raise errors.user_error(
            errors.ShapeError,
            f"split: sizes {listed(sizes)} do not add up to {x.shape[axis]}, the size of dimension "
            f"{axis} of shape {x.shape}.",
            fix="give sizes that cover the dimension.",
            anchor="shape-split",
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [ShapedArray((*before, size, *after), x.dtype, x.weak_type) for size in sizes]


def _split_transpose(cts, x, *, sizes, axis):
    shape = x.aval.shape
    parts = [
        zeros(x.aval.update(shape=(*shape[:axis], size, *shape[axis + 1 :]))) if ct is None else ct
        for ct, size in zip(cts, sizes, strict=True)
    ]
    return [concatenate_p.bind(*parts, dimension=axis)]


def _split_batch(size, args, dims, *, sizes, axis):
    dim = dims[0]
    out = split_p.bind(args[0], sizes=sizes, axis=axis + (dim <= axis))
    return out, [dim for _ in out]


split_p: Primitive = Primitive(
    "split",
    moves=True,
    factors=pointwise,
    multiple_results=True,
    abstract=_split_abstract,
    linear=JOINTLY,
    host=lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes[:-1], dtype=int), axis=axis),
    transpose=_split_transpose,
    batch=_split_batch,
    physical=lambda x, *, sizes, axis: {"sizes": sizes, "axis": axis},
)


# ---------------------------------------------------------------- stack and unstack


def _stack_abstract(*xs, axis):
    check_same("stack", xs)
    check_dims("stack", (axis,), xs[0].ndim + 1)
    return ShapedArray(
        _insert(xs[0].shape, axis, len(xs)), xs[0].dtype, all(x.weak_type for x in xs)
    )


def _stack_factors(operands, results, *, axis):
    dims = range(results[0].ndim)
    found = by_dimension([[i for i in dims if i != axis]] * len(operands), [dims])
    return found._replace(joined=tuple(range(len(operands))))


def _stack_transpose(ct, *xs, axis):
    parts = unstack_p.bind(ct, axis=axis)
    return [part if is_linear(x) else None for part, x in zip(parts, xs, strict=True)]


def _stack_batch(size, args, dims, *, axis):
    """Put the new dimension in front of the batch dim if it can be: parts are then copied whole."""
    dim = next(d for d in dims if d is not None)
    args = [move_batch_dim(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
    if dim < axis:
        return stack_p.bind(*args, axis=axis + 1), dim
    return stack_p.bind(*args, axis=axis), dim + 1


stack_p: Primitive = Primitive(
    "stack",
    moves=True,
    factors=_stack_factors,
    abstract=_stack_abstract,
    linear=JOINTLY,
    transpose=_stack_transpose,
    batch=_stack_batch,
    host=lambda *xs, axis: np.stack(xs, axis=axis),
    physical=lambda *xs, axis: {"axis": axis},
)


def _unstack_abstract(x, *, axis):
    check_dims("unstack", (axis,), x.ndim)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type)] * x.shape[axis]


def _unstack_factors(operands, results, *, axis):
    dims = range(operands[0].ndim)
    return by_dimension([dims], [[i for i in dims if i != axis]] * len(results))


def _unstack_transpose(cts, x, *, axis):
    shape = (*x.aval.shape[:axis], *x.aval.shape[axis + 1 :])
    parts = [zeros(x.aval.update(shape=shape)) if ct is None else ct for ct in cts]
    return [stack_p.bind(*parts, axis=axis)]


def _unstack_batch(size, args, dims, *, axis):
    dim = dims[0]
    axis += dim <= axis
    out = unstack_p.bind(args[0], axis=axis)
    return out, [dim - (axis < dim) for _ in out]


unstack_p: Primitive = Primitive(
    "unstack",
    moves=True,
    factors=_unstack_factors,
    multiple_results=True,
    abstract=_unstack_abstract,
    linear=JOINTLY,
    host=lambda x, *, axis: list(np.moveaxis(x, axis, 0)),
    transpose=_unstack_transpose,
    batch=_unstack_batch,
    physical=lambda x, *, axis: {"axis": axis},
)


# ---------------------------------------------------------------- tile


def _tile_abstract(x, *, reps):
    if len(reps) != x.ndim or any(r < 0 for r in reps):
        raise errors.user_error(
            errors.ShapeError,
            f"tile: reps {listed(reps)} do not fit shape {x.shape}.",
            fix="give one count that is not negative per dimension, or use `numpy.tile`.",
            anchor="shape-tile",
        )
    return ShapedArray(tuple(map(operator.mul, x.shape, reps)), x.dtype, x.weak_type)


def _tile_transpose(ct, x, *, reps):
    """Sum over the copies."""
    shape = x.aval.shape
    split = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    copies = tuple(range(0, len(split), 2))
    return [reduce_sum_p.bind(reshape(ct, split), axes=copies, out_sharding=None)]


def _tile_batch(size, args, dims, *, reps):
    dim = dims[0]
    return tile_p.bind(args[0], reps=_insert(reps, dim, 1)), dim


tile_p: Primitive = Primitive(
    "tile",
    moves=True,
    factors=of_equal_size,
    abstract=_tile_abstract,
    linear=JOINTLY,
    transpose=_tile_transpose,
    batch=_tile_batch,
    host=lambda x, *, reps: np.tile(x, reps),
    physical=lambda x, *, reps: {"reps": (*reps, *[1 for _ in words(x)])},
)
