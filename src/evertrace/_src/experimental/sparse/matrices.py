"""Functions of the formats beside `BCOO`: what `jax.experimental.sparse` has for each of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.formula import formula
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.primitive import Primitive
from evertrace._src.experimental.sparse.arrays import JAXSparse, bcoo_extract, public
from evertrace._src.experimental.sparse.coordinates import blank
from evertrace._src.experimental.sparse.formats import BCSR, COO, CSR, Format
from evertrace._src.experimental.sparse.products import bcoo_dot_general, static_numbers
from evertrace._src.experimental.sparse.shapes import bcoo_concatenate
from evertrace._src.lax.structural import broadcast_in_dim
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import promote_dtypes

# ---------------------------------------------------------------- matrices times dense arrays


def _product(name, prim, mat, x, rank, transpose):
    data, x = promote_dtypes(name, mat.data, x)
    if x.ndim != rank:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: an array of rank {x.ndim} where one of rank {rank} is wanted.",
            fix="use `@` for other ranks.",
            anchor="sparse",
        )
    where = (getattr(mat, part) for part in mat.parts[1:])
    return prim.bind(data, *where, x, shape=mat.shape, transpose=bool(transpose))


def _product_of(cls, name):
    @formula(f"{cls.__name__.lower()}_{name}", linear=(0, 3))
    def product_p(data, first, second, x, *, shape, transpose):
        mat = cls((data, first, second), shape=shape).to_bcoo()
        numbers = (((0 if transpose else 1,), (0,)), ((), ()))
        return bcoo_dot_general(mat, x, dimension_numbers=numbers)

    return product_p


coo_matvec_p: Primitive = _product_of(COO, "matvec")
coo_matmat_p: Primitive = _product_of(COO, "matmat")
csr_matvec_p: Primitive = _product_of(CSR, "matvec")
csr_matmat_p: Primitive = _product_of(CSR, "matmat")


@public
def coo_fromdense(mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> Any:
    """Return a dense matrix as a `COO`.

    Args:
      mat: a matrix.
      nse: number of elements to keep; by default as many as are not zero, for which the matrix must
        not be traced.
      index_dtype: of rows and columns.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.coo_fromdense(jnp.eye(2)).row
      Array([0, 1], dtype=int32)
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


@public
def coo_todense(mat: Any) -> Array:
    """Return a `COO` as a dense matrix.

    Args:
      mat: a `COO`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.coo_todense(sparse.eye(2, sparse_format="coo")).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return mat.todense()


@public
def coo_matvec(mat: Any, v: Any, transpose: bool = False) -> Array:
    """Return the product of a `COO` and a vector.

    Args:
      mat: a `COO`.
      v: a vector.
      transpose: whether to multiply by the transposed matrix.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.coo_matvec(sparse.eye(2, sparse_format="coo"), jnp.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return _product("coo_matvec", coo_matvec_p, mat, v, 1, transpose)


@public
def coo_matmat(mat: Any, B: Any, *, transpose: bool = False) -> Array:
    """Return the product of a `COO` and a dense matrix.

    Args:
      mat: a `COO`.
      B: a matrix.
      transpose: whether to multiply by the transposed sparse matrix.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.coo_matmat(sparse.eye(2, sparse_format="coo"), jnp.ones((2, 1))).tolist()
      [[1.0], [1.0]]
    """
    return _product("coo_matmat", coo_matmat_p, mat, B, 2, transpose)


@public
def csr_fromdense(mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> Any:
    """Return a dense matrix as a `CSR`.

    Args:
      mat: a matrix.
      nse: number of elements to keep; by default as many as are not zero, for which the matrix must
        not be traced.
      index_dtype: of indices and pointers.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.csr_fromdense(jnp.eye(2)).indptr
      Array([0, 1, 2], dtype=int32)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


@public
def csr_todense(mat: Any) -> Array:
    """Return a `CSR` as a dense matrix.

    Args:
      mat: a `CSR`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.csr_todense(sparse.eye(2, sparse_format="csr")).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return mat.todense()


@public
def csr_matvec(mat: Any, v: Any, transpose: bool = False) -> Array:
    """Return the product of a `CSR` and a vector.

    Args:
      mat: a `CSR`.
      v: a vector.
      transpose: whether to multiply by the transposed matrix.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.csr_matvec(sparse.eye(2, sparse_format="csr"), jnp.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return _product("csr_matvec", csr_matvec_p, mat, v, 1, transpose)


@public
def csr_matmat(mat: Any, B: Any, *, transpose: bool = False) -> Array:
    """Return the product of a `CSR` and a dense matrix.

    Args:
      mat: a `CSR`.
      B: a matrix.
      transpose: whether to multiply by the transposed sparse matrix.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.csr_matmat(sparse.eye(2, sparse_format="csr"), jnp.ones((2, 1))).tolist()
      [[1.0], [1.0]]
    """
    return _product("csr_matmat", csr_matmat_p, mat, B, 2, transpose)


# ---------------------------------------------------------------- BCSR


@public
def bcsr_fromdense(
    mat: Any, *, nse: Any = None, n_batch: Any = 0, n_dense: Any = 0, index_dtype: Any = np.int32
) -> BCSR:
    """Return a dense array as a `BCSR`.

    Args:
      mat: an array with two dimensions beside those for batches and dense ones.
      nse: number of elements of each example, as of `bcoo_fromdense`.
      n_batch: number of leading dimensions that are batch dimensions.
      n_dense: number of trailing dimensions that stay dense.
      index_dtype: of indices and pointers.

    Raises:
      ValueError: the dimensions that are left are not two.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcsr_fromdense(jnp.eye(2)).indptr
      Array([0, 1, 2], dtype=int32)
    """
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


@public
def bcsr_todense(mat: Any) -> Array:
    """Return a `BCSR` as a dense array.

    Args:
      mat: a `BCSR`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcsr_todense(sparse.eye(2, sparse_format="bcsr")).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return mat.todense()


@public
def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Array:
    """Return the values that a dense array has where a `BCSR` has elements.

    Args:
      indices: columns, of shape ``batch + (nse,)``.
      indptr: pointers, of shape ``batch + (rows + 1,)``.
      mat: an array of shape ``batch + (rows, columns) + dense``.

    Returns:
      An array of shape ``batch + (nse,) + dense``. Coordinates that repeat get the value each.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.eye(2, sparse_format="bcsr")
      >>> sparse.bcsr_extract(m.indices, m.indptr, jnp.arange(4.0).reshape(2, 2))
      Array([0., 3.], dtype=float32)
    """
    indices, indptr, mat = (as_array(x, "bcsr_extract") for x in (indices, indptr, mat))
    return bcsr_extract_p.bind(indices, indptr, mat)


@formula("bcsr_extract", linear=(2,))
def bcsr_extract_p(indices, indptr, mat):
    dense = mat.shape[indices.ndim + 1 :]
    pattern = BCSR((blank((*indices.shape, *dense), mat), indices, indptr), shape=mat.shape)
    return bcoo_extract(pattern.to_bcoo(), mat, assume_unique=True).data


@public
def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product of arrays of which one or both are sparse, as `bcoo_dot_general` does.

    Args:
      lhs: a `BCSR` or an array.
      rhs: a `BCSR` or an array.
      dimension_numbers: as of `lax.dot_general`.
      precision: of the products of dense dimensions.
      preferred_element_type: dtype of the result.
      out_sharding: of no effect.

    Returns:
      An array; a `BCOO` if both are sparse.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m, numbers = sparse.eye(2, sparse_format="bcsr"), (((1,), (0,)), ((), ()))
      >>> sparse.bcsr_dot_general(m, jnp.ones((2,)), dimension_numbers=numbers)
      Array([1., 1.], dtype=float32)
    """
    del out_sharding
    kind = preferred_element_type
    options = {
        "dimension_numbers": static_numbers(dimension_numbers),
        "precision": precision,
        "preferred_element_type": None if kind is None else dtypes.canonicalize_dtype(kind),
    }
    if isinstance(lhs, BCSR) and not isinstance(rhs, JAXSparse):
        parts = lhs.data, lhs.indices, lhs.indptr
        return bcsr_dot_general_p.bind(*parts, as_array(rhs), shape=lhs.shape, **options)
    lhs, rhs = (x.to_bcoo() if isinstance(x, Format) else x for x in (lhs, rhs))
    return bcoo_dot_general(lhs, rhs, **options)


@formula("bcsr_dot_general", linear=(0, 3))
def bcsr_dot_general_p(data, indices, indptr, x, *, shape, **options):
    return bcoo_dot_general(BCSR((data, indices, indptr), shape=shape).to_bcoo(), x, **options)


@public
def bcsr_broadcast_in_dim(
    mat: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any = None
) -> BCSR:
    """Return a `BCSR` with more batch or dense dimensions, or larger ones of those of size 1.

    Args:
      mat: a `BCSR`.
      shape: of the result.
      broadcast_dimensions: the dimension of the result that each dimension becomes, in order; the
        two sparse ones stay neighbours and keep their sizes.
      sharding: of no effect.

    Raises:
      NotImplementedError: the sparse dimensions would change.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.eye(2, sparse_format="bcsr")
      >>> sparse.bcsr_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
      BCSR(f32[3, 2, 2], nse=2, n_batch=1)
    """
    del sharding
    shape = tuple(map(operator.index, shape))
    at = tuple(map(operator.index, broadcast_dimensions))
    b = mat.n_batch
    n = at[b]
    if at[b + 1] != n + 1 or shape[n : n + 2] != mat.shape[b : b + 2]:
        raise errors.user_error(
            NotImplementedError,
            f"bcsr_broadcast_in_dim: shape {mat.shape} to {shape} by dimensions {at} changes the "
            "sparse dimensions.",
            fix="use `bcoo_broadcast_in_dim` of `to_bcoo()`.",
            anchor="sparse",
        )
    batch, places = shape[:n], (*at[:b], n)
    data = broadcast_in_dim(
        mat.data, (*batch, mat.nse, *shape[n + 2 :]), (*places, *[d - 1 for d in at[b + 2 :]])
    )
    indices, indptr = (
        broadcast_in_dim(x, (*batch, x.shape[-1]), places) for x in (mat.indices, mat.indptr)
    )
    return BCSR(
        (data, indices, indptr),
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


@public
def bcsr_concatenate(operands: Any, *, dimension: Any) -> BCSR:
    """Join `BCSR` arrays along a batch or sparse dimension.

    Args:
      operands: a sequence of `BCSR` with the same numbers of dimensions of each kind.
      dimension: the dimension, not a dense one.

    Raises:
      ShapeError: the other dimensions differ, or `dimension` is a dense one.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.eye(2, sparse_format="bcsr")
      >>> sparse.bcsr_concatenate([m, m], dimension=0)
      BCSR(f32[4, 2], nse=4)
    """
    mats, d = list(operands), operator.index(dimension)
    rests = {(m.n_batch, m.shape[:d] + m.shape[d + 1 :]) for m in mats}
    if len(rests) != 1 or not 0 <= d < mats[0].n_batch + 2:
        raise errors.user_error(
            errors.ShapeError,
            f"bcsr_concatenate: shapes {[m.shape for m in mats]} along dimension {d}.",
            fix="the other dimensions must agree, and it is a batch or sparse one.",
            anchor="sparse",
        )
    b = mats[0].n_batch
    if d < b:
        return _joined_batches(mats, d)

    def join(*mats):
        return BCSR.from_bcoo(bcoo_concatenate([m.to_bcoo() for m in mats], dimension=d - b))

    for _ in range(b):
        join = vmap(join)
    return join(*mats)


def _joined_batches(mats, d):
    """Join along a batch dimension: all get the largest number of elements."""
    b, nse = mats[0].n_batch, max(m.nse for m in mats)

    def longer(x):
        return pad(x, [(0, nse - n if i == b else 0) for i, n in enumerate(x.shape)])

    data = concatenate([longer(m.data) for m in mats], axis=d)
    indices = concatenate([longer(m.indices) for m in mats], axis=d)
    indptr = concatenate([m.indptr for m in mats], axis=d)
    shape = list(mats[0].shape)
    shape[d] = sum(m.shape[d] for m in mats)
    return BCSR((data, indices, indptr), shape=shape)


@public
def bcsr_sum_duplicates(mat: Any, nse: Any = None) -> BCSR:
    """Return a `BCSR` in which every coordinate stands once, in order.

    Args:
      mat: a `BCSR`.
      nse: number of elements of the result, as of `bcoo_sum_duplicates`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> parts = jnp.array([1, 2, 4]), jnp.array([1, 1, 0]), jnp.array([0, 2, 3])
      >>> sparse.bcsr_sum_duplicates(sparse.BCSR(parts, shape=(2, 2))).data
      Array([3, 4], dtype=int32)
    """
    return mat.sum_duplicates(nse=nse)
