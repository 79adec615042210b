"""Operations that move elements around without looking at them, and sums, their transposes.

broadcast_in_dim, reduce_sum, reshape, transpose, squeeze, rev; with the helpers that the rules of
other operations are written with. `physical` rules say how an array of an extended dtype (random
keys) is moved around as the array of words behind it: its words are trailing dimensions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray, check_rank
from evertrace._src.core.factors import Factors, by_dimension, pointwise, split_alike, without
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY, REDUCTION, Primitive
from evertrace._src.ops.host_sum import host_sum
from evertrace._src.support import listed

# ---------------------------------------------------------------- checks and extended dtypes


def check_dims(name, dims, ndim):
    """Raise unless `dims` are different dimensions of an array of rank `ndim`."""
    for dim in dims:
        if not 0 <= dim < ndim:
            raise errors.user_error(
                errors.AxisError,
                f"{name}: dimension {dim} is out of range for an array of rank {ndim}.",
                fix=f"use dimensions from 0 to {ndim - 1}." if ndim else "pass no dimensions.",
                anchor="axis",
            )
    if len(set(dims)) != len(dims):
        raise errors.user_error(
            errors.AxisError,
            f"{name}: dimensions {listed(dims)} are not all different.",
            fix="name each dimension once.",
            anchor="axis",
        )


def words(aval):
    """Return the trailing dimensions that one element of the aval's (extended) dtype takes."""
    return aval.dtype.physical_suffix


def word_dims(aval):
    """Return the dimensions that the words of an array of this aval are in."""
    return tuple(range(aval.ndim, aval.ndim + len(words(aval))))


# ---------------------------------------------------------------- broadcast_in_dim

# So many elements are copied faster than NumPy makes a view in which they repeat.
MAX_COPIED = 1024


def _broadcast_abstract(x, *, shape, broadcast_dimensions, sharding):
    check_dims("broadcast_in_dim", broadcast_dimensions, len(shape))
    fits = len(broadcast_dimensions) == x.ndim and all(
        size in (1, shape[dim]) for size, dim in zip(x.shape, broadcast_dimensions, strict=True)
    )
    if not fits:
        raise errors.user_error(
            errors.ShapeError,
            f"broadcast_in_dim: shape {x.shape} does not fit dimensions {broadcast_dimensions} "
            f"of shape {listed(shape)}.",
            fix="give one dimension of the result per dimension of the operand, of the same size "
            "unless the operand's is 1.",
            anchor="shape-broadcast",
        )
    return ShapedArray(shape, x.dtype, x.weak_type)


def _broadcast_physical(x, *, shape, broadcast_dimensions, sharding):
    added = tuple(range(len(shape), len(shape) + len(words(x))))
    return {
        "shape": (*shape, *words(x)),
        "broadcast_dimensions": (*broadcast_dimensions, *added),
        "sharding": sharding,
    }


def _broadcast_host(x, *, shape, broadcast_dimensions, sharding):
    aligned = [1] * len(shape)
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        aligned[dim] = size
    if len(broadcast_dimensions) > 1:
        x = x.transpose(sorted(range(x.ndim), key=broadcast_dimensions.__getitem__))
    x = x.reshape(aligned)
    if x.shape == shape:
        return x
    if math.prod(shape) > MAX_COPIED:
        errors.check_memory(math.prod(shape) * x.dtype.itemsize)  # though it has none yet
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def _broadcast_transpose(ct, x, *, shape, broadcast_dimensions, sharding):
    """Sum over the dimensions that were added, and over those that were of size 1."""
    added = tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)
    out = reduce_sum_p.bind(ct, axes=added, out_sharding=None) if added else ct
    order = sorted(broadcast_dimensions)
    out = permute(out, [order.index(d) for d in broadcast_dimensions])
    grown = tuple(
        i for i, (a, b) in enumerate(zip(x.aval.shape, out.aval.shape, strict=True)) if a != b
    )
    if not grown:
        return [out]
    out = reduce_sum_p.bind(out, axes=grown, out_sharding=None)
    return [reshape(out, x.aval.shape)]


def _broadcast_batch(size, args, dims, *, shape, broadcast_dimensions, sharding):
    """Leave the batch dim where it is, behind the operand's dimension before it: nothing moves."""
    dim = dims[0]
    place = broadcast_dimensions[dim - 1] + 1 if dim else 0
    kept = [d + (d >= place) for d in broadcast_dimensions]
    out = broadcast_in_dim_p.bind(
        args[0],
        shape=(*shape[:place], size, *shape[place:]),
        broadcast_dimensions=(*kept[:dim], place, *kept[dim:]),
        sharding=None,
    )
    return out, place


def _broadcast_factors(operands, results, *, shape, broadcast_dimensions, sharding):
    (x,) = operands
    kept = [
        d if n == shape[d] else None for n, d in zip(x.shape, broadcast_dimensions, strict=True)
    ]
    return by_dimension([kept], [range(len(shape))])


def _broadcast_show(*, shape, broadcast_dimensions, sharding):
    return {"broadcast_dimensions": broadcast_dimensions} if broadcast_dimensions else {}


broadcast_in_dim_p: Primitive = Primitive(
    "broadcast_in_dim",
    moves=True,
    factors=_broadcast_factors,
    abstract=_broadcast_abstract,
    host=_broadcast_host,
    linear=JOINTLY,
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    show=_broadcast_show,
    physical=_broadcast_physical,
)


def spread(x, shape) -> Array:
    """Broadcast `x`, of rank 0 or of that very shape already, to `shape`."""
    if x.aval.shape == shape:
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=(), sharding=None)


def full(aval, value):
    """Return an array of the aval filled with a Python scalar."""
    lit = literal(value, aval.dtype, aval.weak_type)
    return broadcast_in_dim_p.bind(lit, shape=aval.shape, broadcast_dimensions=(), sharding=None)


def zeros(aval: Any) -> Array:
    """Return zeros of the aval."""
    return full(aval, 0)


def expand_dims(x, dims) -> Array:
    """Add dimensions of size 1 that stand at `dims` of the result."""
    if not dims:
        return x
    ndim = x.aval.ndim + len(dims)
    check_rank(ndim)
    kept = tuple(i for i in range(ndim) if i not in dims)
    shape = [1] * ndim
    for size, dim in zip(x.aval.shape, kept, strict=True):
        shape[dim] = size
    return broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=kept, sharding=None)


# ---------------------------------------------------------------- reduce_sum


def _is_narrow_float(aval):
    """Whether the type rule of the sum depends on an option, so that no result of it is kept."""
    return aval.dtype.itemsize == 2 and aval.dtype.name in ("float16", "bfloat16")


def _reduce_sum_abstract(x, *, axes, out_sharding):
    if _is_narrow_float(x) and not config.current().allow_f16_reductions:
        raise errors.user_error(
            ValueError,
            f"reduce_sum: {x.str_short()} would be summed in 16 bits, and the option "
            "allow_f16_reductions is False.",
            fix="sum in more bits, e.g. `x.sum(dtype=float32)`, or convert `x` before it is "
            "broadcast, where the sum is that of a derivative.",
            anchor="dtype",
        )
    return reduced_aval("reduce_sum", x, axes)


def reduced_aval(name, x, axes):
    """Return the aval of a reduction over `axes`."""
    check_dims(name, axes, x.ndim)
    shape = tuple(s for i, s in enumerate(x.shape) if i not in axes)
    return ShapedArray(shape, x.dtype, x.weak_type)


def _reduce_sum_transpose(ct, x, *, axes, out_sharding):
    kept = tuple(i for i in range(x.aval.ndim) if i not in axes)
    return [
        broadcast_in_dim_p.bind(ct, shape=x.aval.shape, broadcast_dimensions=kept, sharding=None)
    ]


def batch_reduction(prim):
    """Return the batching rule of a reduction with params `axes`."""

    def batch(size, args, dims, *, axes, **params):
        dim = dims[0]
        shifted = tuple(a + (a >= dim) for a in axes)
        out = prim.bind(args[0], axes=shifted, **params)
        return out, dim - sum(a < dim for a in shifted)

    return batch


reduce_sum_p: Primitive = Primitive(
    "reduce_sum",
    counts=REDUCTION,
    factors=without("axes"),
    abstract=_reduce_sum_abstract,
    linear=JOINTLY,
    transpose=_reduce_sum_transpose,
    cache_types=lambda x: not _is_narrow_float(x),
    host=lambda x, *, axes, out_sharding: host_sum(x, axes),
)
reduce_sum_p.batch = batch_reduction(reduce_sum_p)

# ---------------------------------------------------------------- reshape


def _reshape_abstract(x, *, new_sizes, dimensions, sharding):
    if dimensions is not None:
        check_permutation("reshape", dimensions, x.ndim)
    if math.prod(new_sizes) != x.size or any(size < 0 for size in new_sizes):
        raise errors.user_error(
            errors.ShapeError,
            f"reshape: cannot reshape array of shape {x.shape} (size {x.size}) into shape "
            f"{listed(new_sizes)} (size {math.prod(new_sizes)}).",
            fix="make the sizes agree; one size may be -1.",
            anchor="shape-reshape",
        )
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


def _reshape_host(x, *, new_sizes, dimensions, sharding):
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def _reshape_transpose(ct, x, *, new_sizes, dimensions, sharding):
    if dimensions is None:
        return [reshape(ct, x.aval.shape)]
    permuted = tuple(x.aval.shape[i] for i in dimensions)
    return [permute(reshape(ct, permuted), inverse_permutation(dimensions))]


def _reshape_batch(size, args, dims, *, new_sizes, dimensions, sharding):
    x = move_batch_dim(args[0], dims[0], 0, size)
    if dimensions is not None:
        dimensions = (0, *[d + 1 for d in dimensions])
    out = reshape_p.bind(x, new_sizes=(size, *new_sizes), dimensions=dimensions, sharding=None)
    return out, 0


def _reshape_factors(operands, results, *, new_sizes, dimensions, sharding):
    (x,) = operands
    order = range(x.ndim) if dimensions is None else dimensions
    permuted, new, sizes = split_alike(tuple([x.shape[d] for d in order]), new_sizes)
    old = [permuted[place] for place in inverse_permutation(order)]
    return Factors((tuple(old),), (tuple(new),), sizes)


def _reshape_physical(x, *, new_sizes, dimensions, sharding):
    if dimensions is not None:
        dimensions = (*dimensions, *word_dims(x))
    return {"new_sizes": (*new_sizes, *words(x)), "dimensions": dimensions, "sharding": sharding}


reshape_p: Primitive = Primitive(
    "reshape",
    moves=True,
    factors=_reshape_factors,
    abstract=_reshape_abstract,
    linear=JOINTLY,
    host=_reshape_host,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    physical=_reshape_physical,
)


def reshape(x, shape) -> Array:
    """Reshape to a tuple of non-negative sizes."""
    if x.aval.shape == shape:
        return x
    return reshape_p.bind(x, new_sizes=shape, dimensions=None, sharding=None)


# ---------------------------------------------------------------- transpose


def check_permutation(name, permutation, ndim):
    """Raise unless `permutation` is one of the dimensions of an array of rank `ndim`."""
    if sorted(permutation) != list(range(ndim)):
        raise errors.user_error(
            errors.AxisError,
            f"{name}: {listed(permutation)} is not a permutation of the dimensions of an array of "
            f"rank {ndim}.",
            fix=f"name each dimension from 0 to {ndim - 1} once." if ndim else "pass `()`.",
            anchor="axis",
        )


def _transpose_abstract(x, *, permutation):
    check_permutation("transpose", permutation, x.ndim)
    return ShapedArray(tuple(x.shape[i] for i in permutation), x.dtype, x.weak_type)


def _transpose_batch(size, args, dims, *, permutation):
    dim = dims[0]
    return permute(args[0], (dim, *[p + (p >= dim) for p in permutation])), 0


transpose_p: Primitive = Primitive(
    "transpose",
    moves=True,
    factors=lambda operands, results, *, permutation: by_dimension(
        [range(operands[0].ndim)], [permutation]
    ),
    abstract=_transpose_abstract,
    linear=JOINTLY,
    batch=_transpose_batch,
    host=lambda x, *, permutation: x.transpose(permutation),
    transpose=lambda ct, x, *, permutation: [permute(ct, inverse_permutation(permutation))],
    physical=lambda x, *, permutation: {"permutation": (*permutation, *word_dims(x))},
)


def permute(x, permutation) -> Array:
    """Permute dimensions."""
    if tuple(permutation) == tuple(range(x.aval.ndim)):
        return x
    return transpose_p.bind(x, permutation=tuple(permutation))


def inverse_permutation(permutation):
    """Return the permutation that undoes another."""
    inverse = [0] * len(permutation)
    for i, p in enumerate(permutation):
        inverse[p] = i
    return tuple(inverse)


def moveaxis(x, source, destination) -> Array:
    """Move one dimension to another place."""
    if source == destination:
        return x
    rest = [i for i in range(x.aval.ndim) if i != source]
    rest.insert(destination, source)
    return permute(x, rest)


def move_batch_dim(x: Any, source: int | None, destination: int, size: Any) -> Any:
    """Move a batch dim to `destination`; make one of `size` where there is none (source None)."""
    if source is not None:
        return moveaxis(x, source, destination)
    shape = list(x.aval.shape)
    shape.insert(destination, size)
    kept = tuple(i for i in range(len(shape)) if i != destination)
    return broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=kept, sharding=None)


# ---------------------------------------------------------------- squeeze


def _squeeze_abstract(x, *, dimensions):
    check_dims("squeeze", dimensions, x.ndim)
    if any(x.shape[d] != 1 for d in dimensions):
        raise errors.user_error(
            errors.ShapeError,
            f"squeeze: dimensions {listed(dimensions)} of shape {x.shape} are not all of size 1.",
            fix="squeeze only dimensions of size 1, or index the array, e.g. `x[0]`.",
            anchor="shape-squeeze",
        )
    return ShapedArray(_without(x.shape, dimensions), x.dtype, x.weak_type)


def _without(sizes, dims):
    return tuple(s for i, s in enumerate(sizes) if i not in dims)


def _squeeze_batch(size, args, dims, *, dimensions):
    dim = dims[0]
    shifted = tuple(d + (d >= dim) for d in dimensions)
    return squeeze_p.bind(args[0], dimensions=shifted), dim - sum(d < dim for d in shifted)


squeeze_p: Primitive = Primitive(
    "squeeze",
    moves=True,
    factors=without("dimensions"),
    abstract=_squeeze_abstract,
    linear=JOINTLY,
    batch=_squeeze_batch,
    host=lambda x, *, dimensions: x.squeeze(dimensions),
    transpose=lambda ct, x, *, dimensions: [reshape(ct, x.aval.shape)],
    physical=lambda x, *, dimensions: {"dimensions": dimensions},
)


def squeeze(x, dims) -> Array:
    """Remove dimensions of size 1."""
    return squeeze_p.bind(x, dimensions=tuple(dims)) if dims else x


# ---------------------------------------------------------------- rev


def _rev_abstract(x, *, dimensions):
    check_dims("rev", dimensions, x.ndim)
    return x


def _rev_batch(size, args, dims, *, dimensions):
    dim = dims[0]
    return rev_p.bind(args[0], dimensions=tuple(d + (d >= dim) for d in dimensions)), dim


rev_p: Primitive = Primitive(
    "rev",
    moves=True,
    factors=pointwise,
    abstract=_rev_abstract,
    linear=JOINTLY,
    batch=_rev_batch,
    host=lambda x, *, dimensions: np.flip(x, dimensions),
    transpose=lambda ct, x, *, dimensions: [rev_p.bind(ct, dimensions=dimensions)],
    physical=lambda x, *, dimensions: {"dimensions": dimensions},
)
