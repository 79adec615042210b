"""Operations that move elements around without looking at them, and sums, their transposes.

broadcast_in_dim, reduce_sum, reshape, transpose, squeeze, expand_dims (a reshape).
"""

import math

import numpy as np

from evertrace._src import errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY, Primitive

# ---------------------------------------------------------------- broadcast_in_dim


def _broadcast_abstract(x, *, shape, broadcast_dimensions, sharding):
    return ShapedArray(shape, x.dtype, x.weak_type)


def _broadcast_host(x, *, shape, broadcast_dimensions, sharding):
    aligned = [1] * len(shape)
    for size, dim in zip(np.shape(x), broadcast_dimensions, strict=True):
        aligned[dim] = size
    return np.broadcast_to(np.reshape(x, aligned), shape)


def _broadcast_transpose(ct, x, *, shape, broadcast_dimensions, sharding):
    """Sum over the dimensions that were added, and over those that were of size 1."""
    added = tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)
    out = reduce_sum_p.bind(ct, axes=added, out_sharding=None) if added else ct
    grown = tuple(
        i for i, (a, b) in enumerate(zip(x.aval.shape, out.aval.shape, strict=True)) if a != b
    )
    if not grown:
        return [out]
    out = reduce_sum_p.bind(out, axes=grown, out_sharding=None)
    return [reshape(out, x.aval.shape)]


def _broadcast_batch(size, args, dims, *, shape, broadcast_dimensions, sharding):
    x = move_batch_dim(args[0], dims[0], 0, size)
    out = broadcast_in_dim_p.bind(
        x, shape=(size, *shape), broadcast_dimensions=(0, *[d + 1 for d in broadcast_dimensions]),
        sharding=None,
    )  # fmt: skip
    return out, 0


def _broadcast_show(*, shape, broadcast_dimensions, sharding):
    return {"broadcast_dimensions": broadcast_dimensions} if broadcast_dimensions else {}


broadcast_in_dim_p = Primitive(
    "broadcast_in_dim", abstract=_broadcast_abstract, host=_broadcast_host, linear=JOINTLY,
    transpose=_broadcast_transpose, batch=_broadcast_batch, show=_broadcast_show,
)  # fmt: skip


def spread(x, shape):
    """Broadcast `x`, of rank 0 or of that very shape already, to `shape`."""
    if x.aval.shape == shape:
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=(), sharding=None)


def full(aval, value):
    """Return an array of the aval filled with a Python scalar."""
    lit = literal(value, aval.dtype, aval.weak_type)
    return broadcast_in_dim_p.bind(lit, shape=aval.shape, broadcast_dimensions=(), sharding=None)


def zeros(aval):
    """Return zeros of the aval."""
    return full(aval, 0)


# ---------------------------------------------------------------- reduce_sum


def _reduce_sum_abstract(x, *, axes, out_sharding):
    return reduced_aval("reduce_sum", x, axes)


def reduced_aval(name, x, axes):
    """Return the aval of a reduction over `axes`."""
    for axis in axes:
        if not 0 <= axis < x.ndim:
            raise errors.user_error(
                errors.AxisError,
                f"{name}: axis {axis} is out of range for an array of rank {x.ndim}.",
                fix=f"use axes from 0 to {x.ndim - 1}.",
                anchor="axis",
            )
    shape = tuple(s for i, s in enumerate(x.shape) if i not in axes)
    return ShapedArray(shape, x.dtype, x.weak_type)


def _reduce_sum_transpose(ct, x, *, axes, out_sharding):
    kept = tuple(i for i in range(x.aval.ndim) if i not in axes)
    return [
        broadcast_in_dim_p.bind(
            ct, shape=x.aval.shape, broadcast_dimensions=kept, sharding=None
        )
    ]  # fmt: skip


def batch_reduction(prim):
    """Return the batching rule of a reduction with params `axes`."""

    def batch(size, args, dims, *, axes, **params):
        dim = dims[0]
        shifted = tuple(a + (a >= dim) for a in axes)
        out = prim.bind(args[0], axes=shifted, **params)
        return out, dim - sum(a < dim for a in shifted)

    return batch


reduce_sum_p = Primitive(
    "reduce_sum", abstract=_reduce_sum_abstract, linear=JOINTLY, transpose=_reduce_sum_transpose,
    host=lambda x, *, axes, out_sharding: np.sum(x, axis=axes, dtype=x.dtype),
)  # fmt: skip
reduce_sum_p.batch = batch_reduction(reduce_sum_p)

# ---------------------------------------------------------------- reshape


def _reshape_abstract(x, *, new_sizes, dimensions, sharding):
    if math.prod(new_sizes) != x.size:
        raise errors.user_error(
            errors.ShapeError,
            f"reshape: cannot reshape an array of shape {x.shape} (size {x.size}) into shape "
            f"{tuple(new_sizes)} (size {math.prod(new_sizes)}).",
            fix="make the sizes agree; one size may be -1.",
            anchor="shape-reshape",
        )
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


def _reshape_batch(size, args, dims, *, new_sizes, dimensions, sharding):
    x = move_batch_dim(args[0], dims[0], 0, size)
    return reshape(x, (size, *new_sizes)), 0


reshape_p = Primitive(
    "reshape", abstract=_reshape_abstract, linear=JOINTLY, batch=_reshape_batch,
    host=lambda x, *, new_sizes, dimensions, sharding: np.reshape(x, new_sizes),
    transpose=lambda ct, x, **_: [reshape(ct, x.aval.shape)],
)  # fmt: skip


def reshape(x, shape):
    """Reshape to a tuple of non-negative sizes."""
    if x.aval.shape == shape:
        return x
    return reshape_p.bind(x, new_sizes=shape, dimensions=None, sharding=None)


# ---------------------------------------------------------------- transpose


def _transpose_abstract(x, *, permutation):
    return ShapedArray(tuple(x.shape[i] for i in permutation), x.dtype, x.weak_type)


def _transpose_batch(size, args, dims, *, permutation):
    x = move_batch_dim(args[0], dims[0], 0, size)
    return permute(x, (0, *[p + 1 for p in permutation])), 0


transpose_p = Primitive(
    "transpose", abstract=_transpose_abstract, linear=JOINTLY, batch=_transpose_batch,
    host=lambda x, *, permutation: np.transpose(x, permutation),
    transpose=lambda ct, x, *, permutation: [permute(ct, inverse_permutation(permutation))],
)  # fmt: skip


def permute(x, permutation):
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


def moveaxis(x, source, destination):
    """Move one dimension to another place."""
    if source == destination:
        return x
    rest = [i for i in range(x.aval.ndim) if i != source]
    rest.insert(destination, source)
    return permute(x, rest)


def move_batch_dim(x, source, destination, size):
    """Move a batch dim to `destination`; make one of `size` where there is none (source None)."""
    if source is not None:
        return moveaxis(x, source, destination)
    shape = list(x.aval.shape)
    shape.insert(destination, size)
    kept = tuple(i for i in range(len(shape)) if i != destination)
    return broadcast_in_dim_p.bind(
        x, shape=tuple(shape), broadcast_dimensions=kept, sharding=None
    )  # fmt: skip
