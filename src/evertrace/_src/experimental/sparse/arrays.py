"""`BCOO`: the values of some elements of an array, and their coordinates.

An array of shape ``batch + sparse + dense`` is kept as

  data       batch + (nse,) + dense     the specified elements
  indices    batch + (nse, n_sparse)    their coordinates in the sparse dimensions

Coordinates may repeat (the elements are added up) and may lie outside of the array (such elements
count for nothing; they fill up what must have one size for a whole batch or a whole program).

What the functions bind are the primitives of `elements.py`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import no_sequence
from evertrace._src.core.tracer import Tracer
from evertrace._src.experimental.sparse.coordinates import (
    add_at,
    blank,
    inside,
    note_inefficient,
    public,
    runs,
)
from evertrace._src.experimental.sparse.elements import (
    bcoo_extract_p,
    bcoo_fromdense_p,
    bcoo_sort_indices_p,
    bcoo_sum_duplicates_p,
    bcoo_todense_p,
    known_nse,
    mapped,
)
from evertrace._src.numpy.creation import arange
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate, stack
from evertrace._src.numpy.reductions import any as any_of
from evertrace._src.numpy.reductions import max as greatest
from evertrace._src.numpy.reductions import sum as total
from evertrace._src.numpy.shape import broadcast_to, reshape


@public
class JAXSparse:
    """What sparse arrays have in common: `shape`, and what follows from it.

    Args:
      args: the arrays that it is made of.
      shape: of the array.

    Example:
      >>> from evertrace.experimental import sparse
      >>> x = sparse.BCOO.fromdense(jnp.eye(3))
      >>> isinstance(x, sparse.JAXSparse), x.shape, x.size, x.nse
      (True, (3, 3), 9, 3)
    """

    __array_priority__ = 100
    __array_ufunc__ = None  # NumPy arrays leave operators to this class
    __hash__: Any = None

    shape: tuple[int, ...]
    # What each format defines: its elements, and itself as BCOO and dense.
    data: Any
    to_bcoo: Callable[..., Any]
    todense: Callable[..., Any]
    transpose: Callable[..., Any]
    __getitem__: Callable[..., Any]

    def __init__(self, args: Any, *, shape: Any) -> None:
        self.shape = tuple(operator.index(n) for n in shape)

    size: Any = property(lambda self: math.prod(self.shape))
    ndim: Any = property(lambda self: len(self.shape))

    def __len__(self) -> int:
        if not self.shape:
            raise no_sequence("len() of unsized object", repr(self))
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise errors.user_error(
            TypeError,
            f"{type(self).__name__}: a sparse array is not taken for a dense one.",
            fix="make it dense, with its method `todense`.",
            anchor="sparse",
        )


def check_two_sparse(name: str, n_dense: int, n_batch: int) -> None:
    """Raise unless a matrix of SciPy's is to have two sparse dimensions, as it has there."""
    if n_dense or n_batch:
        raise errors.user_error(
            NotImplementedError,
            f"{name}.from_scipy_sparse: n_batch and n_dense are 0.",
            fix="SciPy's matrices have two sparse dimensions.",
            anchor="sparse",
        )


@public
class BCOO(JAXSparse):
    """A sparse array in batched coordinate format.

    It is a pytree whose leaves are `data` and `indices`, so it passes through `jit`, `vmap`, `scan`
    and the like. Under a `vmap` over its leaves it is one example.

    Args:
      args: the pair ``(data, indices)``: arrays of shapes ``batch + (nse,) + dense`` and
        ``batch + (nse, n_sparse)``.
      shape: of the array, ``batch + sparse + dense``.
      indices_sorted: whether the coordinates are known to be in order.
      unique_indices: whether they are known not to repeat.

    Attributes:
      data, indices: see above.
      nse: number of specified elements (of each example of a batch).
      n_batch, n_sparse, n_dense: numbers of dimensions of each kind.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[0, 2], [1, 0]])), shape=(2, 3))
      >>> m @ jnp.array([1.0, 10.0, 100.0])
      Array([100.,   2.], dtype=float32)
    """

    data: Any
    indices: Any
    indices_sorted: Any
    unique_indices: Any

    def __init__(
        self, args: Any, *, shape: Any, indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        super().__init__(args, shape=shape)
        self.data, self.indices = (as_array(x, "BCOO") for x in args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        _check_parts(self)

    nse: Any = property(lambda self: self.indices.shape[-2])
    dtype: Any = property(lambda self: self.data.dtype)
    n_batch: Any = property(lambda self: self.indices.ndim - 2)
    n_sparse: Any = property(lambda self: self.indices.shape[-1])
    n_dense: Any = property(lambda self: self.data.ndim - 1 - self.n_batch)
    batch_shape: Any = property(lambda self: self.shape[: self.n_batch])
    sparse_shape: Any = property(lambda self: self.shape[self.n_batch :][: self.n_sparse])
    dense_shape: Any = property(lambda self: self.shape[self.n_batch + self.n_sparse :])

    def __repr__(self) -> str:
        kinds = f", n_batch={self.n_batch}" * bool(self.n_batch)
        kinds += f", n_dense={self.n_dense}" * bool(self.n_dense)
        text = f"BCOO({dtypes.short_name(self.dtype)}{list(self.shape)}, nse={self.nse}{kinds})"
        traced = isinstance(self.data, Tracer) or isinstance(self.indices, Tracer)
        return f"Traced<{text}>" if traced else text

    @classmethod
    def fromdense(cls, mat: Any, **options: Any) -> Any:
        """Return a dense array as a sparse one; see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, **options)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> Any:
        """Return a matrix of SciPy's in this format; `n_dense` and `n_batch` must be 0."""
        check_two_sparse("BCOO", n_dense, n_batch)
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], 1).astype(index_dtype or np.int32)
        return cls((coo.data, indices), shape=coo.shape)

    @classmethod
    def from_bcoo(cls, mat: Any) -> Any:
        """Return a `BCOO` as it is."""
        return mat

    def todense(self) -> Any:
        """Return the array as a dense one."""
        return bcoo_todense(self)

    def to_bcoo(self) -> Any:
        """Return it, by coordinates."""
        return self

    def sort_indices(self) -> Any:
        """Return it with its elements in the order of their coordinates."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: Any = None, remove_zeros: bool = True) -> Any:
        """Return it with every coordinate once; see `bcoo_sum_duplicates`."""
        del remove_zeros
        return bcoo_sum_duplicates(self, nse=nse)

    def update_layout(self, **options: Any) -> Any:
        """Return it with other numbers of batch and dense dimensions; see `bcoo_update_layout`."""
        return bcoo_update_layout(self, **options)

    def with_data(self, data: Any, **known: Any) -> Any:
        """Return an array of the same coordinates with other values of the same shape."""
        kept = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((data, self.indices), shape=self.shape, **kept | known)

    def mapped(self, fun: Any, *others: Any) -> Any:
        """Apply a function of ``(data, indices)`` of one example to every example.

        Args:
          fun: the function, also of an example of each of `others`.
          *others: arrays with the same leading batch dimensions.
        """
        return mapped(fun, self.batch_shape, self.data, self.indices, *others)


def _check_parts(mat):
    data, indices, shape = mat.data, mat.indices, mat.shape
    n = indices.ndim - 2
    fits = (
        n >= 0
        and data.ndim > n
        and data.shape[n] == indices.shape[n]
        and n + indices.shape[-1] + data.ndim - 1 - n == len(shape)
        and data.shape[n + 1 :] == mat.dense_shape
        and all(
            a in (1, b) for x in (data, indices) for a, b in zip(x.shape[:n], shape, strict=False)
        )
    )
    if not fits:
        raise errors.user_error(
            errors.ShapeError,
            f"BCOO: data of shape {data.shape} and indices of shape {indices.shape} do not make an "
            f"array of shape {shape}.",
            fix="data has the shape batch + (nse,) + dense, indices batch + (nse, n_sparse).",
            anchor="sparse",
        )
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"BCOO: indices of dtype {indices.dtype}.",
            fix="make them integers.",
            anchor="sparse",
        )


def _flatten(mat):
    return (mat.data, mat.indices), (mat.shape, mat.indices_sorted, mat.unique_indices)


def _unflatten(aux, children):
    """Put it together, of whatever leaves; arrays that are examples of a batch make an example."""
    shape, indices_sorted, unique_indices = aux
    mat = object.__new__(BCOO)
    mat.data, mat.indices = children
    mat.indices_sorted, mat.unique_indices = indices_sorted, unique_indices
    data_shape, index_shape = (getattr(x, "shape", None) for x in children)
    if data_shape and index_shape and len(index_shape) >= 2:
        extra = len(data_shape) - 1 + index_shape[-1] - len(shape)
        shape = index_shape[: max(extra, 0)] + shape[max(-extra, 0) :]
    mat.shape = shape
    return mat


tree.register_pytree_node(BCOO, _flatten, _unflatten)


# ---------------------------------------------------------------- dense and back


@public
def bcoo_todense(mat: Any) -> Array:
    """Return a sparse array as a dense one.

    Args:
      mat: a `BCOO`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_todense(sparse.eye(2))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return bcoo_todense_p.bind(mat.data, mat.indices, shape=mat.shape)


@public
def bcoo_fromdense(
    mat: Any, *, nse: Any = None, n_batch: Any = 0, n_dense: Any = 0, index_dtype: Any = np.int32
) -> BCOO:
    """Return a dense array as a sparse one.

    Args:
      mat: an array.
      nse: number of elements to keep, the first in order; by default as many as are not zero,
        which has to be known: a traced array needs it.
      n_batch: number of leading dimensions that are batch dimensions.
      n_dense: number of trailing dimensions that stay dense.
      index_dtype: of the indices.

    Raises:
      ConcretizationTypeError: `nse` is left out and the array is traced.
      ValueError: there are more batch and dense dimensions than dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.bcoo_fromdense(jnp.array([[0.0, 3.0], [4.0, 0.0]]))
      >>> m.data, m.indices.tolist()
      (Array([3., 4.], dtype=float32), [[0, 1], [1, 0]])
    """
    mat = as_array(mat, "bcoo_fromdense")
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise errors.user_error(
            ValueError,
            f"bcoo_fromdense: n_batch={n_batch} and n_dense={n_dense} for an array of rank "
            f"{mat.ndim}.",
            fix="the two add up to no more than the rank.",
            anchor="sparse",
        )
    data, indices = bcoo_fromdense_p.bind(
        mat,
        nse=known_nse(mat, nse, n_batch, n_dense),
        n_batch=n_batch,
        n_dense=n_dense,
        index_dtype=dtypes.canonicalize_dtype(index_dtype),
    )
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


@public
def bcoo_extract(sparr: Any, arr: Any, *, assume_unique: Any = None) -> BCOO:
    """Return a sparse array with the values that a dense one has at its coordinates.

    Args:
      sparr: a `BCOO`, which says where.
      arr: an array of its shape.
      assume_unique: whether coordinates are taken not to repeat; by default as `sparr` says.
        Where they may, the first of equal ones gets the value, so that the sum is right.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_extract(sparse.eye(2), jnp.arange(4.0).reshape(2, 2)).data
      Array([0., 3.], dtype=float32)
    """
    arr = as_array(arr, "bcoo_extract")
    if arr.shape != sparr.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_extract: an array of shape {arr.shape} for coordinates in one of shape "
            f"{sparr.shape}.",
            fix="pass an array of the same shape.",
            anchor="sparse",
        )
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    return sparr.with_data(bcoo_extract_p.bind(sparr.indices, arr, assume_unique=bool(unique)))


@public
def bcoo_sort_indices(mat: Any) -> BCOO:
    """Return a sparse array with its elements in the order of their coordinates.

    Args:
      mat: a `BCOO`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.BCOO((jnp.array([1, 2]), jnp.array([[3], [0]])), shape=(4,))
      >>> sparse.bcoo_sort_indices(m).data
      Array([2, 1], dtype=int32)
    """
    if mat.indices_sorted or not mat.n_sparse:
        return mat

    parts = bcoo_sort_indices_p.bind(mat.data, mat.indices, shape=mat.shape)
    return BCOO(parts, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


@public
def bcoo_sum_duplicates(mat: Any, nse: Any = None) -> BCOO:
    """Return a sparse array in which every coordinate stands once, in order.

    Args:
      mat: a `BCOO`.
      nse: number of elements of the result; by default as many as there are different coordinates
        (the most of all examples), which has to be known: traced coordinates need it.

    Raises:
      ConcretizationTypeError: `nse` is left out and the coordinates are traced.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.BCOO((jnp.array([1, 2, 4]), jnp.array([[3], [0], [3]])), shape=(4,))
      >>> sparse.bcoo_sum_duplicates(m).data
      Array([2, 5], dtype=int32)
    """
    sizes = mat.sparse_shape

    def count(data, indices):
        order, new = runs(indices, sizes)
        return total(new & inside(indices[order], sizes), dtype=np.int32)

    if nse is None:
        nse = int(greatest(mat.mapped(count), initial=0))
    parts = bcoo_sum_duplicates_p.bind(
        mat.data, mat.indices, shape=mat.shape, nse=operator.index(nse)
    )
    return BCOO(parts, shape=mat.shape, indices_sorted=True, unique_indices=True)


# ---------------------------------------------------------------- kinds of dimensions


@public
def bcoo_update_layout(
    mat: Any, *, n_batch: Any = None, n_dense: Any = None, on_inefficient: Any = "error"
) -> BCOO:
    """Return a sparse array with other numbers of batch and dense dimensions.

    Args:
      mat: a `BCOO`.
      n_batch: number of batch dimensions; by default as it is.
      n_dense: number of dense dimensions; by default as it is.
      on_inefficient: accepted. A dimension that becomes a batch or dense one is spelled out: there
        are as many elements as before for each of its places, which "error" refuses, "warn" warns
        of, and None allows.

    Raises:
      ValueError: more dimensions than there are, or an inefficient layout under "error".

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.bcoo_update_layout(
      ...     sparse.eye(2).update_layout(n_dense=1, on_inefficient=None), n_dense=0
      ... ).nse
      4
    """
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise errors.user_error(
            ValueError,
            f"bcoo_update_layout: n_batch={n_batch} and n_dense={n_dense} for rank {mat.ndim}.",
            fix="the two add up to no more than the rank.",
            anchor="sparse",
        )
    if n_batch > mat.n_batch or n_dense > mat.n_dense:
        note_inefficient(on_inefficient)
    while mat.n_dense > n_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    return mat


def _dense_to_sparse(mat):
    """Make the first dense dimension the last sparse one."""
    size, nse = mat.dense_shape[0], mat.nse

    def one(data, indices):
        column = np.tile(np.arange(size), nse).astype(indices.dtype)[:, None]
        spread = indices[np.repeat(np.arange(nse), size)]
        return reshape(data, (nse * size, *data.shape[2:])), concatenate([spread, column], axis=1)

    return BCOO(mat.mapped(one), shape=mat.shape, unique_indices=mat.unique_indices)


def _batch_to_sparse(mat):
    """Make the last batch dimension the first sparse one."""
    batch, nse = mat.batch_shape, mat.nse
    data, indices = mat.mapped(lambda data, indices: (data, indices))
    size, n = batch[-1], len(batch) - 1
    column = np.repeat(np.arange(size), nse).astype(indices.dtype)[:, None]
    rows = reshape(indices, (*batch[:n], size * nse, mat.n_sparse))
    column = broadcast_to(column, (*batch[:n], size * nse, 1))
    if mat.n_sparse:  # an element outside of its example is outside
        sizes = np.array(mat.sparse_shape, indices.dtype)
        out = any_of((rows < 0) | (rows >= sizes), axis=-1, keepdims=True)
        column = where(out, np.array(size, indices.dtype), column)
    return BCOO(
        (
            reshape(data, (*batch[:n], size * nse, *mat.dense_shape)),
            concatenate([column, rows], axis=-1),
        ),
        shape=mat.shape,
        unique_indices=mat.unique_indices,
    )


def _sparse_to_dense(mat):
    """Make the last sparse dimension the first dense one."""
    size = mat.sparse_shape[-1]

    def one(data, indices):
        row = blank((mat.nse, size, *data.shape[1:]), data)
        places = stack([arange(mat.nse, dtype=indices.dtype), indices[:, -1]], axis=1)
        return add_at(row, places, data), indices[:, :-1]

    return BCOO(mat.mapped(one), shape=mat.shape)


def _sparse_to_batch(mat):
    """Make the first sparse dimension the last batch one."""
    size = mat.sparse_shape[0]

    def one(data, indices):
        mine = indices[None, :, 0] == arange(size)[:, None]
        outside = np.array(mat.sparse_shape[1:], indices.dtype)
        rows = where(mine[..., None], indices[None, :, 1:], outside)
        mask = reshape(mine, (*mine.shape, *(1,) * (data.ndim - 1)))
        return where(mask, data[None], 0), rows

    return BCOO(mat.mapped(one), shape=mat.shape)
