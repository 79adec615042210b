"""Matrices in other formats: by rows and columns, and by pointers to where rows begin.

Each is a way to write down what a `BCOO` says. A format holds its arrays and converts from and to
coordinates; all else is done there. In the formats of pointers the elements of row ``i`` are those
from ``indptr[i]`` to ``indptr[i + 1]``; elements behind the last pointer count for nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.api.formula import formula
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import Tracer
from evertrace._src.experimental.sparse.arrays import (
    BCOO,
    JAXSparse,
    bcoo_fromdense,
    check_two_sparse,
    public,
)
from evertrace._src.experimental.sparse.elements import known_nse
from evertrace._src.experimental.sparse.shapes import bcoo_transpose, merged
from evertrace._src.numpy.creation import arange
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.search import searchsorted
from evertrace._src.support import listed


def rows_of(indptr, count):
    """Return the row of each of `count` elements; behind the last pointer it is outside."""
    found = searchsorted(indptr, arange(count, dtype=indptr.dtype), side="right") - 1
    return found.astype(indptr.dtype)


def pointers_to(rows, size):
    """Return where each of `size` rows begins, and where the last one ends, of sorted rows."""
    return searchsorted(rows, arange(size + 1, dtype=rows.dtype)).astype(rows.dtype)


class Format(JAXSparse):
    """What the formats have in common: three arrays, whose names are in `parts`."""

    parts: Any = ("data", "indices", "indptr")
    indices: Any
    indptr: Any
    row: Any
    col: Any
    from_bcoo: Callable[..., Any]

    def __init__(self, args: Any, *, shape: Any) -> None:
        super().__init__(args, shape=shape)
        given = tuple(args)
        if len(given) != len(self.parts):
            raise _unfit(self, f"{len(given)} arrays for {', '.join(self.parts)}")
        for name, x in zip(self.parts, given, strict=True):
            setattr(self, name, as_array(x, type(self).__name__))
        for name in self.parts[1:]:
            kind = getattr(self, name).dtype
            if not dtypes.issubdtype(kind, np.integer):
                raise errors.user_error(
                    errors.DTypeError,
                    f"{type(self).__name__}: {name} of dtype {kind}.",
                    fix="make them integers.",
                    anchor="sparse",
                )
        wanted, found = self.part_shapes(), tuple(getattr(self, n).shape for n in self.parts)
        if found != wanted:
            raise _unfit(
                self, f"{', '.join(self.parts)} of shapes {found}, which should be {wanted}"
            )

    nse: Any = property(lambda self: self.data.shape[0])
    dtype: Any = property(lambda self: self.data.dtype)

    def __repr__(self) -> str:
        if not hasattr(self.data, "dtype"):  # a tree of something else than arrays
            return f"{type(self).__name__}({', '.join(map(repr, tree.leaves(self)))})"
        kinds = "".join(
            f", {name}={getattr(self, name)}"
            for name in ("n_batch", "n_dense")
            if getattr(self, name, 0)
        )
        short = dtypes.short_name(self.dtype)
        text = f"{type(self).__name__}({short}{list(self.shape)}, nse={self.nse}{kinds})"
        return f"Traced<{text}>" if isinstance(self.data, Tracer) else text

    todense_p: Any
    fromdense_p: Any
    found_dense: ClassVar[dict[str, bool]] = {}  # what is known of the elements of a dense array

    @classmethod
    def fromdense(cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> Any:
        """Return a dense matrix as a sparse one; `nse` as of `bcoo_fromdense`."""
        return cls._fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _fromdense(cls, mat, *, nse, index_dtype, n_batch=0, n_dense=0):
        mat = as_array(mat, cls.__name__)
        cls.check_rank(mat.ndim - n_batch - n_dense)
        parts = cls.fromdense_p.bind(
            mat,
            nse=known_nse(mat, nse, n_batch, n_dense),
            n_batch=n_batch,
            n_dense=n_dense,
            index_dtype=dtypes.canonicalize_dtype(index_dtype),
        )
        return cls(parts, shape=mat.shape, **cls.found_dense)

    @classmethod
    def check_rank(cls, rank: Any) -> Any:
        """Raise if an array of that many dimensions is no matrix."""
        if rank != 2:
            raise _not_a_matrix(cls.__name__, rank)

    def todense(self) -> Any:
        """Return the array as a dense one."""
        arrays = (getattr(self, name) for name in self.parts)
        return self.todense_p.bind(*arrays, shape=self.shape)

    def with_data(self, data: Any) -> Any:
        """Return an array of the same coordinates with other values of the same shape."""
        _, *where = (getattr(self, name) for name in self.parts)
        return type(self)((data, *where), shape=self.shape)

    def part_shapes(self) -> Any:
        """Return the shapes that the three arrays should have."""
        one = (*self.data.shape[:1],)
        if len(self.shape) != 2 or self.data.ndim != 1:
            raise _unfit(self, f"data of shape {self.data.shape} for an array of rank {self.ndim}")
        return one, one, self.pointer_shape()

    def pointer_shape(self) -> Any:
        """Return the shape that the last of the arrays should have."""
        return (self.shape[self.main] + 1,)

    main = 0  # the dimension whose index the order of the elements says, if there are pointers


def _unfit(mat, what):
    return errors.user_error(
        errors.ShapeError,
        f"{type(mat).__name__}: {what}.",
        fix="the arrays are those of a matrix of the shape in the format.",
        anchor="sparse",
    )


def _not_a_matrix(name, ndim, n_dense=0):
    return errors.user_error(
        errors.ShapeError,
        f"{name}: an array of rank {ndim} with {n_dense} dense dimensions.",
        fix="pass a matrix; a `BCOO` or `BCSR` has other ranks.",
        anchor="sparse",
    )


def _matrix(mat, name):
    """Return a `BCOO` that is a matrix by coordinates only."""
    if mat.ndim != 2 or mat.n_dense:
        raise _not_a_matrix(name, mat.ndim, mat.n_dense)
    return merged(mat)


def _reversed_only(mat, axes):
    if axes is not None and [a % 2 for a in axes] != [1, 0]:
        raise errors.user_error(
            NotImplementedError,
            f"{type(mat).__name__}.transpose: axes={listed(axes)}.",
            fix="leave axes out: it is a matrix.",
            anchor="sparse",
        )


@public
class COO(Format):
    """A matrix by the row and column of each element.

    Args:
      args: ``(data, row, col)``, vectors of one size.
      shape: of the matrix.
      rows_sorted: whether the elements are known to be in the order of their rows.
      cols_sorted: whether in that of their columns.

    Operators give what they give for `to_bcoo()`; products with dense arrays are dense.

    Differs from JAX: operators other than ``@`` have a meaning, and batches under `vmap`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.COO.fromdense(jnp.array([[0.0, 3.0], [4.0, 0.0]]))
      >>> m.row.tolist(), m.col.tolist()
      ([0, 1], [1, 0])
    """

    cols_sorted: Any
    rows_sorted: Any

    parts: Any = ("data", "row", "col")
    found_dense: ClassVar[dict[str, bool]] = {"rows_sorted": True}

    def __init__(
        self, args: Any, *, shape: Any, rows_sorted: bool = False, cols_sorted: bool = False
    ) -> None:
        super().__init__(args, shape=shape)
        self.rows_sorted, self.cols_sorted = rows_sorted, cols_sorted

    def pointer_shape(self) -> Any:
        """Return the shape of the columns."""
        return self.data.shape

    def to_bcoo(self) -> Any:
        """Return it with its coordinates in one array."""
        rows = stack([self.row, self.col], axis=1)
        return BCOO((self.data, rows), shape=self.shape, indices_sorted=False)

    @classmethod
    def from_bcoo(cls, mat: Any) -> Any:
        """Return a `BCOO` that is a matrix in this format."""
        mat = _matrix(mat, "COO")
        parts = (mat.data, mat.indices[:, 0], mat.indices[:, 1])
        return cls(parts, shape=mat.shape, rows_sorted=mat.indices_sorted)

    def transpose(self, axes: Any = None) -> Any:
        """Return the matrix with rows and columns exchanged."""
        _reversed_only(self, axes)
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self.cols_sorted,
            cols_sorted=self.rows_sorted,
        )

    T = property(transpose)


class _Pointers(Format):
    """A matrix by the indices in one dimension and pointers for the other, `main`."""

    def to_bcoo(self) -> Any:
        """Return it by the coordinates of its elements."""
        both = [rows_of(self.indptr, self.nse), self.indices.astype(self.indptr.dtype)]
        rows = stack(both[:: -1 if self.main else 1], axis=1)
        return BCOO((self.data, rows), shape=self.shape)

    @classmethod
    def from_bcoo(cls, mat: Any) -> Any:
        """Return a `BCOO` that is a matrix in this format."""
        mat = _matrix(mat, cls.__name__)
        turned = bcoo_transpose(mat, permutation=(1, 0)) if cls.main else mat
        turned = turned.sort_indices()
        indptr = pointers_to(turned.indices[:, 0], turned.shape[0])
        return cls((turned.data, turned.indices[:, 1], indptr), shape=mat.shape)

    def transpose(self, axes: Any = None) -> Any:
        """Return the matrix with rows and columns exchanged, by pointers for the other ones."""
        _reversed_only(self, axes)
        other = CSR if self.main else CSC
        return other((self.data, self.indices, self.indptr), shape=self.shape[::-1])

    T = property(transpose)


@public
class CSR(_Pointers):
    """A matrix by the column of each element, row by row, and where each row begins.

    Args:
      args: ``(data, indices, indptr)``: vectors of `nse`, `nse`, and rows + 1 elements.
      shape: of the matrix.

    Operators give what they give for `to_bcoo()`; products with dense arrays are dense.

    Differs from JAX: operators other than ``@`` have a meaning, and batches under `vmap`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.CSR.fromdense(jnp.array([[0.0, 3.0], [4.0, 5.0]]))
      >>> m.indices.tolist(), m.indptr.tolist()
      ([1, 0, 1], [0, 1, 3])
    """


@public
class CSC(_Pointers):
    """A matrix by the row of each element, column by column, and where each column begins.

    Args:
      args: ``(data, indices, indptr)``: vectors of `nse`, `nse`, and columns + 1 elements.
      shape: of the matrix.

    Operators give what they give for `to_bcoo()`; products with dense arrays are dense.

    Differs from JAX: operators other than ``@`` have a meaning, and batches under `vmap`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.CSC.fromdense(jnp.array([[0.0, 3.0], [4.0, 5.0]]))
      >>> m.indices.tolist(), m.indptr.tolist()
      ([1, 0, 1], [0, 1, 3])
    """

    main = 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> Any:
        """Return a dense matrix as a sparse one; the first `nse` elements are those by columns."""
        return CSR.fromdense(as_array(mat).T, nse=nse, index_dtype=index_dtype).T

    def todense(self) -> Any:
        """Return the matrix as a dense one."""
        return self.T.todense().T


@public
class BCSR(Format):
    """Matrices by columns and pointers, with dimensions for batches and dense ones.

    Args:
      args: ``(data, indices, indptr)`` of shapes ``batch + (nse,) + dense``, ``batch + (nse,)``
        and ``batch + (rows + 1,)``.
      shape: of the array, ``batch + (rows, columns) + dense``.
      indices_sorted: whether the columns of each row are known to be in order.
      unique_indices: whether they are known not to repeat.

    Operators give what they give for `to_bcoo()`; products with dense arrays are dense.

    Differs from JAX: operators other than ``@`` have a meaning.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.BCSR.fromdense(jnp.array([[[0.0, 3.0], [4.0, 5.0]]]), n_batch=1)
      >>> m, m.indptr.tolist()
      (BCSR(f32[1, 2, 2], nse=3, n_batch=1), [[0, 1, 3]])
    """

    indices_sorted: Any
    unique_indices: Any

    def __init__(
        self, args: Any, *, shape: Any, indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        super().__init__(args, shape=shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    found_dense: ClassVar[dict[str, bool]] = {"indices_sorted": True, "unique_indices": True}

    n_batch: Any = property(lambda self: self.indptr.ndim - 1)
    n_sparse = 2
    n_dense: Any = property(lambda self: self.data.ndim - 1 - self.n_batch)
    nse: Any = property(lambda self: self.indices.shape[-1])

    @classmethod
    def check_rank(cls, rank: Any) -> Any:
        """Raise if there are not two sparse dimensions."""
        if rank != 2:
            raise errors.user_error(
                ValueError,
                f"BCSR: an array with {rank} sparse dimensions.",
                fix="it has two: choose n_batch and n_dense so.",
                anchor="sparse",
            )

    def part_shapes(self) -> Any:
        """Return the shapes that the three arrays should have."""
        n, nse = self.n_batch, self.indices.shape[-1:]
        if n < 0 or not nse or n + 2 + self.n_dense != len(self.shape):
            raise _unfit(self, f"indptr of shape {self.indptr.shape} for rank {self.ndim}")
        batch = self.shape[:n]
        return ((*batch, *nse, *self.shape[n + 2 :]), (*batch, *nse), (*batch, self.shape[n] + 1))

    def to_bcoo(self) -> Any:
        """Return it by the coordinates of its elements."""

        def coordinates(indices, indptr):
            rows = rows_of(indptr, indices.shape[0])
            return stack([rows, indices.astype(rows.dtype)], axis=1)

        for _ in range(self.n_batch):
            coordinates = vmap(coordinates)
        return BCOO(
            (self.data, coordinates(self.indices, self.indptr)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    @classmethod
    def from_bcoo(cls, mat: Any) -> Any:
        """Return a `BCOO` with two sparse dimensions in this format."""
        cls.check_rank(mat.n_sparse)
        mat = mat.sort_indices()

        def parts(data, indices):
            return data, indices[:, 1], pointers_to(indices[:, 0], mat.sparse_shape[0])

        return cls(
            mat.mapped(parts),
            shape=mat.shape,
            indices_sorted=True,
            unique_indices=mat.unique_indices,
        )

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: Any = None,
        n_batch: int = 0,
        n_dense: int = 0,
        index_dtype: Any = np.int32,
    ) -> Any:
        """Return a dense array as a sparse one; arguments as of `bcoo_fromdense`."""
        return cls._fromdense(
            mat,
            nse=nse,
            index_dtype=index_dtype,
            n_batch=operator.index(n_batch),
            n_dense=operator.index(n_dense),
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> Any:
        """Return a matrix of SciPy's in this format; `n_dense` and `n_batch` must be 0."""
        check_two_sparse("BCSR", n_dense, n_batch)
        csr = mat.tocsr()
        indices, indptr = (x.astype(index_dtype or np.int32) for x in (csr.indices, csr.indptr))
        return cls((csr.data, indices, indptr), shape=csr.shape)

    def sum_duplicates(self, nse: Any = None, remove_zeros: bool = True) -> Any:
        """Return it with every coordinate once; see `bcoo_sum_duplicates`."""
        del remove_zeros
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse))

    def transpose(self, axes: Any = None) -> Any:
        """Return it with dimensions in another order, of each kind among themselves."""
        return BCSR.from_bcoo(self.to_bcoo().transpose(axes))

    T = property(transpose)


# ---------------------------------------------------------------- primitives


def _todense_of(cls):
    @formula(f"{cls.__name__.lower()}_todense", linear=(0,))
    def todense_p(data, *where, shape):
        return cls((data, *where), shape=shape).to_bcoo().todense()

    return todense_p


def _fromdense_of(cls):
    @formula(f"{cls.__name__.lower()}_fromdense", multiple_results=True)
    def fromdense_p(mat, **params):
        found = cls.from_bcoo(bcoo_fromdense(mat, **params))
        return tuple(getattr(found, name) for name in cls.parts)

    return fromdense_p


coo_todense_p: Primitive
csr_todense_p: Primitive
bcsr_todense_p: Primitive
coo_fromdense_p: Primitive
csr_fromdense_p: Primitive
bcsr_fromdense_p: Primitive
coo_todense_p, csr_todense_p, bcsr_todense_p = map(_todense_of, (COO, CSR, BCSR))
coo_fromdense_p, csr_fromdense_p, bcsr_fromdense_p = map(_fromdense_of, (COO, CSR, BCSR))
COO.todense_p, COO.fromdense_p = coo_todense_p, coo_fromdense_p
CSR.todense_p, CSR.fromdense_p = csr_todense_p, csr_fromdense_p
BCSR.todense_p, BCSR.fromdense_p = bcsr_todense_p, bcsr_fromdense_p

# ---------------------------------------------------------------- pytrees

_KNOWN = {
    COO: ("rows_sorted", "cols_sorted"),
    CSR: (),
    CSC: (),
    BCSR: ("indices_sorted", "unique_indices"),
}


def _register(cls, known):
    def flatten(mat):
        aux = (mat.shape, *(getattr(mat, name) for name in known))
        return tuple(getattr(mat, name) for name in cls.parts), aux

    def unflatten(aux, children):
        """Put it together, of whatever leaves; arrays that are examples make an example."""
        mat = object.__new__(cls)
        for name, x in zip((*cls.parts, "shape", *known), (*children, *aux), strict=True):
            setattr(mat, name, x)
        if cls is BCSR:
            mat.shape = _example_shape(mat.shape, children)
        return mat

    tree.register_pytree_node(cls, flatten, unflatten)


def _example_shape(shape, children):
    """Return the shape with as many batch dimensions as the arrays have."""
    data_shape, _, pointer_shape = (getattr(x, "shape", None) for x in children)
    if not data_shape or not pointer_shape:
        return shape
    extra = len(data_shape) + 1 - len(shape)
    return pointer_shape[: max(extra, 0)] + shape[max(-extra, 0) :]


for _cls, _known in _KNOWN.items():
    _register(_cls, _known)

FORMATS = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}
