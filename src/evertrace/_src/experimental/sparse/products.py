"""Products of sparse arrays, with dense ones and with each other."""

from __future__ import annotations

import math
import operator
from typing import Any

from evertrace._src import dtypes, errors
from evertrace._src.api.formula import formula
from evertrace._src.arrays.interop import as_array
from evertrace._src.experimental.sparse.arrays import BCOO, bcoo_todense, public
from evertrace._src.experimental.sparse.coordinates import inside, read
from evertrace._src.experimental.sparse.shapes import mask_data, merged, outside, pick
from evertrace._src.lax.dot import dot_general
from evertrace._src.numpy.creation import full
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.reductions import all as all_of
from evertrace._src.numpy.shape import broadcast_to, moveaxis, reshape, transpose


@public
def bcoo_multiply_dense(sp_mat: Any, v: Any) -> BCOO:
    """Return the product, element by element, of a sparse array and a dense one.

    Args:
      sp_mat: a `BCOO`.
      v: an array that broadcasts to its shape.

    Returns:
      A `BCOO` of the same coordinates.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_multiply_dense(sparse.eye(2), jnp.array([2.0, 3.0])).data
      Array([2., 3.], dtype=float32)
    """
    v = as_array(v, "bcoo_multiply_dense")
    if v.ndim == 0:
        return sp_mat.with_data(sp_mat.data * v)
    v = broadcast_to(v, sp_mat.shape)
    return sp_mat.with_data(sp_mat.mapped(lambda data, indices, x: data * read(x, indices), v))


@public
def bcoo_multiply_sparse(lhs: Any, rhs: Any) -> BCOO:
    """Return the product, element by element, of sparse arrays of one shape.

    Args:
      lhs: a `BCOO`.
      rhs: a `BCOO`.

    Returns:
      A `BCOO` with the coordinates of `rhs`. All pairs of elements are compared.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_multiply_sparse(sparse.eye(2), sparse.eye(2)).todense()
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    if lhs.shape != rhs.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_multiply_sparse: shapes {lhs.shape} and {rhs.shape}.",
            fix="broadcast one of them first, with `bcoo_broadcast_in_dim`.",
            anchor="sparse",
        )
    dense = min(lhs.n_dense, rhs.n_dense)
    lhs, rhs = (merged(m.update_layout(n_dense=dense)) for m in (lhs, rhs))
    equal = _matches(lhs.indices, rhs.indices) & inside(lhs.indices, lhs.sparse_shape)[:, None]
    found = dot_general(equal.astype(lhs.dtype), lhs.data, (((0,), (0,)), ((), ())))
    return rhs.with_data(found * rhs.data)


def _matches(a, b):
    """Return which rows of `a` equal which of `b`."""
    return all_of(a[:, None] == b[None], axis=-1)


@public
def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product of arrays of which one or both are sparse, as `lax.dot_general`.

    Args:
      lhs: a `BCOO` or an array.
      rhs: a `BCOO` or an array, one of the two sparse.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      precision: of the products of dense dimensions.
      preferred_element_type: dtype of the result.
      out_sharding: of no effect.

    Returns:
      An array; a `BCOO` if both are sparse, which has an element for each pair of elements.

    Each element of the sparse array is multiplied with the part of the dense one that its
    coordinates belong to, and the products are added up where they go.

    Example:
      >>> from evertrace.experimental import sparse
      >>> numbers = (((1,), (0,)), ((), ()))
      >>> sparse.bcoo_dot_general(sparse.eye(2), jnp.ones((2,)), dimension_numbers=numbers)
      Array([1., 1.], dtype=float32)
    """
    del out_sharding
    numbers = static_numbers(dimension_numbers)
    (lc, rc), (lb, rb) = numbers
    if any(lhs.shape[i] != rhs.shape[j] for i, j in zip(lc + lb, rc + rb, strict=True)):
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_dot_general: dimensions {lc + lb} of shape {lhs.shape} and {rc + rb} of shape "
            f"{rhs.shape} differ.",
            fix="contracted and batch dimensions have the same sizes.",
            anchor="sparse",
        )
    kind = preferred_element_type
    kind = None if kind is None else dtypes.canonicalize_dtype(kind)
    options = {"precision": precision, "preferred_element_type": kind}
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _dot_sparse(lhs, rhs, numbers, kind)
    if isinstance(lhs, BCOO):
        return _dot_dense(lhs, as_array(rhs), numbers, **options)
    out = _dot_dense(rhs, as_array(lhs), ((rc, lc), (rb, lb)), **options)
    n, k = len(lb), rhs.ndim - len(rb) - len(rc)
    order = (*range(n), *range(n + k, out.ndim), *range(n, n + k))
    return transpose(out, order)


def static_numbers(dimension_numbers):
    """Return dimension numbers as tuples of integers."""
    return tuple(tuple(tuple(map(operator.index, ds)) for ds in p) for p in dimension_numbers)


def _dot_dense(mat, x, numbers, **options):
    return bcoo_dot_general_p.bind(
        mat.data, mat.indices, x, shape=mat.shape, dimension_numbers=numbers, **options
    )


@formula("bcoo_dot_general", linear=(0, 2))
def bcoo_dot_general_p(
    data, indices, x, *, shape, dimension_numbers, precision, preferred_element_type
):
    (lc, rc), (lb, rb) = dimension_numbers
    mat = merged(BCOO((data, indices), shape=shape))
    ns = mat.n_sparse
    linked = [(i, j) for i, j in zip(lc + lb, rc + rb, strict=True) if i < ns]
    dense_batch = [(i, j) for i, j in zip(lb, rb, strict=True) if i >= ns]
    dense_sum = [(i, j) for i, j in zip(lc, rc, strict=True) if i >= ns]
    # What of x belongs to each element: its parts at the element's coordinates.
    x = moveaxis(x, tuple(j for _, j in linked), tuple(range(len(linked))))
    left = [j for j in range(x.ndim) if j not in {j for _, j in linked}]
    at = {j: 1 + k for k, j in enumerate(left)}
    parts = read(x, pick(mat.indices, [i for i, _ in linked]))
    products = dot_general(
        mat.data,
        parts,
        (
            ([i - ns + 1 for i, _ in dense_sum], [at[j] for _, j in dense_sum]),
            ([0, *[i - ns + 1 for i, _ in dense_batch]], [0, *[at[j] for _, j in dense_batch]]),
        ),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    kept = [i for i in range(ns) if i not in lc]
    keep = inside(mat.indices, mat.sparse_shape)
    rows = pick(outside(mat.indices, keep, mat.sparse_shape), kept)
    sizes = [mat.shape[i] for i in kept]
    out = bcoo_todense(BCOO((mask_data(products, keep), rows), shape=[*sizes, *products.shape[1:]]))
    # The result's dimensions: kept sparse, dense batch, dense free of mat, free of x.
    names = [*kept, *[i for i, _ in dense_batch]]
    names += [i for i in range(ns, mat.ndim) if i not in lc + lb]
    free = [i for i in range(mat.ndim) if i not in lc + lb]
    order = [names.index(i) for i in (*lb, *free)]
    return transpose(out, (*order, *range(len(names), out.ndim)))


def _dot_sparse(lhs, rhs, numbers, preferred_element_type):
    (lc, rc), (lb, rb) = numbers
    parts = bcoo_spdot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        lhs_shape=lhs.shape,
        rhs_shape=rhs.shape,
        dimension_numbers=numbers,
        preferred_element_type=preferred_element_type,
    )
    kept = [*lb, *_others(lhs.ndim, lc + lb)]
    sizes = [lhs.shape[i] for i in kept] + [rhs.shape[i] for i in _others(rhs.ndim, rc + rb)]
    return BCOO(parts, shape=sizes)


def _others(ndim, dims):
    return [i for i in range(ndim) if i not in dims]


@formula("bcoo_spdot_general", multiple_results=True)
def bcoo_spdot_general_p(
    lhs_data,
    lhs_indices,
    rhs_data,
    rhs_indices,
    *,
    lhs_shape,
    rhs_shape,
    dimension_numbers,
    preferred_element_type,
):
    (lc, rc), (lb, rb) = dimension_numbers
    lhs = BCOO((lhs_data, lhs_indices), shape=lhs_shape)
    rhs = BCOO((rhs_data, rhs_indices), shape=rhs_shape)
    lhs, rhs = (merged(m.update_layout(n_dense=0)) for m in (lhs, rhs))
    pairs = (lhs.nse, rhs.nse)
    mine, other = (pick(m.indices, dims) for m, dims in ((lhs, lc + lb), (rhs, rc + rb)))
    keep = _matches(mine, other) if lc + lb else full(pairs, True)
    keep &= inside(lhs.indices, lhs.sparse_shape)[:, None]
    keep &= inside(rhs.indices, rhs.sparse_shape)[None]
    free, kept = _others(rhs.ndim, rc + rb), [*lb, *_others(lhs.ndim, lc + lb)]
    columns = concatenate(
        [
            broadcast_to(pick(lhs.indices, kept)[:, None], (*pairs, len(kept))),
            broadcast_to(pick(rhs.indices, free)[None], (*pairs, len(free))),
        ],
        axis=-1,
    )
    sizes = [lhs.shape[i] for i in kept] + [rhs.shape[i] for i in free]
    keep, count = reshape(keep, (math.prod(pairs),)), math.prod(pairs)
    data = reshape(lhs.data[:, None] * rhs.data[None], (count,))
    data = data if preferred_element_type is None else data.astype(preferred_element_type)
    rows = outside(reshape(columns, (count, len(sizes))), keep, sizes)
    return mask_data(data, keep), rows
