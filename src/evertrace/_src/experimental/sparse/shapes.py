"""Shapes of sparse arrays: what `lax` has for moving elements around, and sums, for `BCOO`.

Where batch dimensions make no difference to the result, they are made sparse ones first: each
method is written once, for arrays with coordinates and dense dimensions.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.api.formula import formula
from evertrace._src.arrays.interop import as_array
from evertrace._src.experimental.sparse.arrays import BCOO, public
from evertrace._src.experimental.sparse.coordinates import inside
from evertrace._src.lax import slicing
from evertrace._src.numpy.creation import zeros
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.reductions import all as all_of
from evertrace._src.numpy.reductions import sum as total
from evertrace._src.numpy.shape import broadcast_to, reshape, transpose


def merged(mat):
    """Return an array with its batch dimensions made sparse ones."""
    return mat.update_layout(n_batch=0)


def _refuse(where_, what, fix="use `todense` first, or `update_layout`."):
    return errors.user_error(NotImplementedError, f"{where_}: {what}.", fix=fix, anchor="sparse")


def outside(indices, keep, sizes):
    """Return indices with the rows that are not to be kept outside of the array."""
    return where(keep[:, None], indices, np.array(sizes, indices.dtype))


def pick(indices, columns):
    """Return some columns of indices."""
    if not columns:
        return zeros((*indices.shape[:-1], 0), indices.dtype)
    first, count = columns[0], len(columns)
    if list(columns) == list(range(first, first + count)):
        return indices[..., first : first + count]
    return concatenate([indices[..., c : c + 1] for c in columns], axis=-1)


def mask_data(data, keep):
    return where(reshape(keep, (-1,) + (1,) * (data.ndim - 1)), data, np.zeros((), data.dtype))


# ---------------------------------------------------------------- shapes


@formula("bcoo_transpose", multiple_results=True)
def bcoo_transpose_p(data, indices, *, permutation):
    b, n_sparse = indices.ndim - 2, indices.shape[-1]
    batch, sparse, dense = np.split(np.array(permutation, int), [b, b + n_sparse])
    data = transpose(data, (*batch, b, *(dense - n_sparse + 1)))
    return data, pick(transpose(indices, (*batch, b, b + 1)), list(sparse - b))


@public
def bcoo_transpose(mat: Any, *, permutation: Any) -> BCOO:
    """Return a sparse array with its dimensions in another order.

    Args:
      mat: a `BCOO`.
      permutation: as for `lax.transpose`. Batch dimensions stay in front and dense ones behind:
        each kind is permuted among itself.

    Raises:
      NotImplementedError: the permutation mixes kinds of dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_transpose(sparse.eye(2, 3), permutation=(1, 0)).shape
      (3, 2)
    """
    permutation = tuple(map(operator.index, permutation))
    if sorted(permutation) != list(range(mat.ndim)):
        raise errors.user_error(
            ValueError,
            f"bcoo_transpose: {permutation} does not permute {mat.ndim} dimensions.",
            fix="name every dimension once.",
            anchor="sparse",
        )
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    batch, sparse = permutation[:b], permutation[b:s]
    if sorted(batch) != list(range(b)) or sorted(sparse) != list(range(b, s)):
        raise _refuse("bcoo_transpose", f"{permutation} mixes batch, sparse and dense dimensions")
    parts = bcoo_transpose_p.bind(mat.data, mat.indices, permutation=permutation)
    return BCOO(
        parts,
        shape=[mat.shape[d] for d in permutation],
        unique_indices=mat.unique_indices,
    )


@public
def bcoo_reshape(mat: Any, *, new_sizes: Any, dimensions: Any = None, sharding: Any = None) -> BCOO:
    """Return a sparse array with another shape.

    Args:
      mat: a `BCOO`; batch and dense dimensions, if there are any, must keep their sizes.
      new_sizes: of the result.
      dimensions: order in which the old dimensions are read; by default as they are.
      sharding: of no effect.

    Raises:
      NotImplementedError: batch or dense dimensions would change.
      ShapeError: the number of elements would.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_reshape(sparse.eye(2), new_sizes=(4,)).todense()
      Array([1., 0., 0., 1.], dtype=float32)
    """
    del sharding
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    new = tuple(map(operator.index, new_sizes))
    if math.prod(new) != mat.size:
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_reshape: an array of shape {mat.shape} to shape {new}.",
            fix="keep the number of elements.",
            anchor="sparse",
        )
    b, d = mat.n_batch, mat.n_dense
    if new[:b] != mat.batch_shape or (d and new[len(new) - d :] != mat.dense_shape):
        if d:
            raise _refuse("bcoo_reshape", "dense dimensions would change")
        return bcoo_reshape(merged(mat), new_sizes=new)
    old, sizes = mat.sparse_shape, new[b : len(new) - d]

    def one(data, indices):
        flat = zeros((mat.nse,), indices.dtype)
        for i, n in enumerate(old):
            flat = flat * n + indices[:, i]
        columns = []
        for n in reversed(sizes):
            columns.append(flat % n if n else flat)
            flat = flat // n if n else flat
        columns = [x[:, None] for x in reversed(columns)]
        rows = concatenate(columns, axis=1) if columns else zeros((mat.nse, 0), indices.dtype)
        keep = inside(indices, old)
        return (data if sizes else mask_data(data, keep)), outside(rows, keep, sizes)

    return BCOO(mat.mapped(one), shape=new, unique_indices=mat.unique_indices)


@public
def bcoo_broadcast_in_dim(
    mat: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any = None
) -> BCOO:
    """Return a sparse array with more dimensions, or larger ones of those of size 1.

    Args:
      mat: a `BCOO`.
      shape: of the result.
      broadcast_dimensions: the dimension of the result that each dimension becomes, in order.
        New dimensions are of the kind of the next one to the right among those of the array, the
        sparse kind behind the last sparse one; sparse dimensions of the result have an element per
        place.
      sharding: of no effect.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.bcoo_fromdense(jnp.array([0.0, 2.0]))
      >>> sparse.bcoo_broadcast_in_dim(m, shape=(2, 2), broadcast_dimensions=(1,)).todense()
      Array([[0., 2.],
             [0., 2.]], dtype=float32)
    """
    del sharding
    shape = tuple(map(operator.index, shape))
    at = tuple(map(operator.index, broadcast_dimensions))
    if (
        len(at) != mat.ndim
        or list(at) != sorted(set(at))
        or any(mat.shape[i] not in (1, shape[d]) for i, d in enumerate(at))
    ):
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_broadcast_in_dim: shape {mat.shape} does not become {shape} by dimensions {at}.",
            fix="name an increasing dimension of the same size, or of size 1, for each.",
            anchor="sparse",
        )
    mat = merged(mat)
    num_dense = len(shape) - at[mat.n_sparse] if mat.n_dense else 0
    sizes, dense = shape[: len(shape) - num_dense], shape[len(shape) - num_dense :]
    data = mat.data
    if num_dense:
        first = len(sizes)
        kept = dict(zip((d - first for d in at[mat.n_sparse :]), mat.dense_shape, strict=True))
        data = reshape(data, (mat.nse, *[kept.get(i, 1) for i in range(num_dense)]))
        data = broadcast_to(data, (mat.nse, *dense))
    source = {d: i for i, d in enumerate(at[: mat.n_sparse])}
    spread = [d for d, n in enumerate(sizes) if d not in source or mat.shape[source[d]] != n]
    count = math.prod(sizes[d] for d in spread)
    places = np.indices([sizes[d] for d in spread]).reshape(len(spread), count)
    old = np.repeat(np.arange(mat.nse), count)
    keep = inside(mat.indices, mat.sparse_shape)[old]
    columns = [
        as_array(np.tile(places[spread.index(d)], mat.nse).astype(mat.indices.dtype))
        if d in spread
        else mat.indices[old, source[d]]
        for d in range(len(sizes))
    ]
    rows = concatenate([x[:, None] for x in columns], axis=1) if columns else mat.indices[old]
    return BCOO((data[old], outside(rows, keep, sizes)), shape=shape)


@public
def bcoo_squeeze(arr: Any, *, dimensions: Any) -> BCOO:
    """Return a sparse array without some dimensions of size 1.

    Args:
      arr: a `BCOO`.
      dimensions: the dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_squeeze(sparse.eye(1, 3), dimensions=(0,)).shape
      (3,)
    """
    dims = {operator.index(d) % arr.ndim for d in dimensions}
    if any(arr.shape[d] != 1 for d in dims):
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_squeeze: dimensions {tuple(sorted(dims))} of shape {arr.shape} are not all 1.",
            fix="name dimensions of size 1.",
            anchor="sparse",
        )
    return bcoo_reduce_sum(arr, axes=sorted(dims))


@public
def bcoo_rev(operand: Any, dimensions: Any) -> BCOO:
    """Return a sparse array with some dimensions reversed.

    Args:
      operand: a `BCOO`.
      dimensions: the dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_rev(sparse.eye(2), (0,)).todense()
      Array([[0., 1.],
             [1., 0.]], dtype=float32)
    """
    mat, dims = operand, {operator.index(d) % max(operand.ndim, 1) for d in dimensions}
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.mapped(lambda data, indices: (data, indices))
    cuts = [slice(None, None, -1 if d in dims else 1) for d in range(mat.ndim)]
    data = data[(*cuts[:b], slice(None), *cuts[s:])]
    indices = indices[tuple(cuts[:b])]
    for d in dims & set(range(b, s)):
        old, size = indices[..., d - b], mat.shape[d]
        indices = indices.at[..., d - b].set(where(old < size, size - 1 - old, old))
    return BCOO((data, indices), shape=mat.shape, unique_indices=mat.unique_indices)


@public
def bcoo_slice(mat: Any, *, start_indices: Any, limit_indices: Any, strides: Any = None) -> BCOO:
    """Return a box of a sparse array; elements outside of it stay, outside of the array.

    Args:
      mat: a `BCOO`.
      start_indices: the first index in each dimension.
      limit_indices: the one after the last.
      strides: steps; by default 1.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.bcoo_slice(sparse.eye(3), start_indices=(1, 0), limit_indices=(3, 2))
      >>> m.todense()
      Array([[0., 1.],
             [0., 0.]], dtype=float32)
    """
    steps = [1] * mat.ndim if strides is None else strides
    starts, limits, steps = (
        [operator.index(i) for i in xs] for xs in (start_indices, limit_indices, steps)
    )
    if not len(starts) == len(limits) == len(steps) == mat.ndim or any(
        not 0 <= a <= b <= n or k < 1
        for a, b, n, k in zip(starts, limits, mat.shape, steps, strict=True)
    ):
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_slice: from {starts} to {limits} by {steps} of shape {mat.shape}.",
            fix="pass 0 <= start <= limit <= size and a positive step for every dimension.",
            anchor="sparse",
        )
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.mapped(lambda data, indices: (data, indices))
    cuts = [slice(*cut) for cut in zip(starts, limits, steps, strict=True)]
    data = data[(*cuts[:b], slice(None), *cuts[s:])]
    indices = indices[tuple(cuts[:b])]
    shape = tuple(len(range(*cut.indices(n))) for cut, n in zip(cuts, mat.shape, strict=True))
    sparse = list(zip(starts, limits, steps, strict=True))[b:s]
    if sparse:
        low, high, step = (np.array(x, indices.dtype) for x in zip(*sparse, strict=True))
        keep = all_of(
            (indices >= low) & (indices < high) & ((indices - low) % step == 0),
            axis=-1,
            keepdims=True,
        )
        indices = where(keep, (indices - low) // step, np.array(shape[b:s], indices.dtype))
    return BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices)


@public
def bcoo_dynamic_slice(mat: Any, start_indices: Any, slice_sizes: Any) -> BCOO:
    """Return a box of known shape of a sparse array that begins where scalars say.

    Args:
      mat: a `BCOO`.
      start_indices: a scalar per dimension; moved so that the box is inside.
      slice_sizes: of the result.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_dynamic_slice(sparse.eye(3), (1, 1), (2, 1)).todense()
      Array([[1.],
             [0.]], dtype=float32)
    """
    sizes = tuple(map(operator.index, slice_sizes))
    starts = [
        where(as_array(i) < 0, as_array(i) + n, i).clip(0, n - k)
        for i, n, k in zip(start_indices, mat.shape, sizes, strict=True)
    ]
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.mapped(lambda data, indices: (data, indices))
    data = slicing.dynamic_slice(
        data, [*starts[:b], 0, *starts[s:]], [*sizes[:b], mat.nse, *sizes[s:]]
    )
    indices = slicing.dynamic_slice(
        indices, [*starts[:b], 0, 0], [*sizes[:b], mat.nse, mat.n_sparse]
    )
    if mat.n_sparse:
        low = concatenate([reshape(as_array(i), (1,)) for i in starts[b:s]]).astype(indices.dtype)
        size = np.array(sizes[b:s], indices.dtype)
        keep = all_of((indices >= low) & (indices < low + size), axis=-1, keepdims=True)
        indices = where(keep, indices - low, size)
    return BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)


@public
def bcoo_concatenate(operands: Any, *, dimension: Any) -> BCOO:
    """Join sparse arrays along a dimension.

    Args:
      operands: a sequence of `BCOO` with the same numbers of dimensions of each kind.
      dimension: a batch or sparse dimension; a dense one becomes sparse.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=0).shape
      (4, 2)
    """
    mats, d = list(operands), operator.index(dimension)
    rests = {m.shape[:d] + m.shape[d + 1 :] for m in mats}
    if not mats or len(rests) > 1 or not 0 <= d < mats[0].ndim:
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_concatenate: shapes {[m.shape for m in mats]} along dimension {d}.",
            fix="the other dimensions must agree.",
            anchor="sparse",
        )
    dense = min(min(m.n_dense for m in mats), mats[0].ndim - d - 1)
    mats = [merged(m.update_layout(n_dense=dense)) for m in mats]
    shape, offset, rows = list(mats[0].shape), 0, []
    shape[d] = sum(m.shape[d] for m in mats)
    for m in mats:
        keep = inside(m.indices, m.sparse_shape)
        moved = m.indices.at[:, d].add(offset)
        rows.append(outside(moved, keep, shape[: m.n_sparse]))
        offset += m.shape[d]
    data = concatenate([m.data for m in mats])
    return BCOO((data, concatenate(rows)), shape=shape)


@public
def bcoo_reduce_sum(mat: Any, *, axes: Any) -> BCOO:
    """Return the sums of a sparse array over some dimensions, a sparse array.

    Args:
      mat: a `BCOO`.
      axes: the dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_reduce_sum(sparse.eye(2), axes=(0,)).todense()
      Array([1., 1.], dtype=float32)
    """
    axes = {operator.index(a) % max(mat.ndim, 1) for a in axes}
    if any(a < mat.n_batch for a in axes):
        mat = merged(mat)
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    dense = tuple(a - s + 1 for a in axes if a >= s)
    columns = [i for i in range(mat.n_sparse) if b + i not in axes]
    sizes = [mat.sparse_shape[i] for i in columns]

    def one(data, indices):
        keep = inside(indices, mat.sparse_shape)
        data = total(data, axis=dense, dtype=data.dtype)
        return mask_data(data, keep), outside(pick(indices, columns), keep, sizes)

    shape = [n for i, n in enumerate(mat.shape) if i not in axes]
    return BCOO(mat.mapped(one), shape=shape)
