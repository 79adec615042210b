"""Grids of coordinates, triangles and diagonals of matrices, and flat indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import rows_of
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Shape
from evertrace._src.core.jaxpr import literal
from evertrace._src.numpy import indexing, ufuncs
from evertrace._src.numpy.arguments import (
    integer,
    operand,
    static_count,
    static_int,
    static_shape,
)
from evertrace._src.numpy.creation import arange, asarray, eye, user_dtype, zeros
from evertrace._src.numpy.nonzeros import nonzero
from evertrace._src.numpy.promotion import broadcast_to, promote_dtypes
from evertrace._src.numpy.spaced import linspace
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.slicing import pad_p, stack_p

INT32 = np.dtype(np.int32)

# ---------------------------------------------------------------- coordinates


@native.planned(by_type=False)
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Return the coordinates of a grid: an array per axis, of the shape of the grid.

    Args:
      *xi: vectors of coordinates.
      copy: must be true; arrays never share memory that could be changed.
      sparse: whether arrays keep size 1 along the axes in which they do not change.
      indexing: "xy" puts the first vector along axis 1 and the second along axis 0, "ij" each along
        its own.

    Returns:
      List of arrays, as many as vectors.

    Raises:
      ValueError: an argument is no vector.

    Example:
      >>> x, y = jnp.meshgrid(jnp.array([1, 2, 3]), jnp.array([10, 20]))
      >>> x + y
      Array([[11, 12, 13],
             [21, 22, 23]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise errors.user_error(
            ValueError,
            f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}.",
            fix='pass indexing="ij" or "xy".',
            anchor="choice",
        )
    if not copy:
        raise errors.user_error(
            ValueError, "meshgrid: only copy=True is supported.", fix="leave `copy` out."
        )
    vectors = [operand("meshgrid", x) for x in xi]
    if any(v.aval.ndim > 1 for v in vectors):
        raise errors.user_error(
            ValueError,
            f"meshgrid: takes vectors, got shapes {[v.aval.shape for v in vectors]}.",
            fix="pass arrays of rank 1.",
            anchor="shape",
        )
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = 1, 0
    vectors = [structural.reshape(v, (v.aval.size,)) for v in vectors]
    shape = [0] * len(axes)
    for vector, axis in zip(vectors, axes, strict=True):
        shape[axis] = vector.aval.size
    return [_along(v, axis, shape, sparse) for v, axis in zip(vectors, axes, strict=True)]


def _along(vector, axis, shape, sparse):
    """Return a vector along one axis, spread over the others unless sparse."""
    if sparse:
        shape = [size if i == axis else 1 for i, size in enumerate(shape)]
    return structural.broadcast_in_dim_p.bind(
        vector, shape=tuple(shape), broadcast_dimensions=(axis,), sharding=None
    )


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: Literal[False] = False
) -> Array: ...


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...


@native.planned(by_type=False)
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """Return the indices of an array's elements: ``[rank, *dimensions]``, or a tuple if sparse.

    Example:
      >>> rows, columns = jnp.indices((2, 3))
      >>> 10 * rows + columns
      Array([[ 0,  1,  2],
             [10, 11, 12]], dtype=int32)
    """
    shape = static_shape("indices", dimensions)
    dtype = user_dtype("indices", int if dtype is None else dtype)
    grids = [_along(iota(dtype, (n,)), axis, shape, sparse) for axis, n in enumerate(shape)]
    if sparse:
        return tuple(grids)
    return stack_p.bind(*grids, axis=0) if grids else zeros((0,), dtype)


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Return vectors shaped so that together they index all combinations of their elements.

    Raises:
      ValueError: an argument is no vector.

    Example:
      >>> x = jnp.arange(12).reshape(3, 4)
      >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
      Array([[ 1,  3],
             [ 9, 11]], dtype=int32)
    """
    out = []
    for axis, x in enumerate(args):
        vector = operand("ix_", asarray(x) if isinstance(x, (list, tuple)) else x)
        if vector.aval.ndim != 1:
            raise errors.user_error(
                ValueError,
                f"ix_: takes vectors, got shape {vector.aval.shape}.",
                fix="pass arrays of rank 1.",
                anchor="shape",
            )
        if vector.aval.dtype == np.bool_:
            (vector,) = nonzero(vector)
        out.append(_along(vector, axis, [vector.aval.size] * len(args), sparse=True))
    return tuple(out)


class _Grid:
    """``mgrid`` and ``ogrid``: ranges written as slices.

    ``mgrid[start:stop:step]`` counts like `arange`; an imaginary step, as in ``0:1:5j``, is the
    number of points, as of `linspace`.
    """

    name: Any
    sparse: Any

    def __init__(self, name: Any, sparse: Any) -> None:
        self.name, self.sparse = name, sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._range(key)
        ranges = [self._range(k) for k in key]
        ranges = promote_dtypes(self.name, *ranges)
        found = meshgrid(*ranges, indexing="ij", sparse=self.sparse)
        return found if self.sparse else stack_p.bind(*found, axis=0)

    def _range(self, key):
        start = 0 if key.start is None else key.start
        if key.stop is None:
            raise errors.user_error(
                ValueError, f"{self.name}: a slice needs an end.", fix="write `start:stop:step`."
            )
        if isinstance(key.step, complex):
            return linspace(start, key.stop, int(abs(key.step)))
        return arange(start, key.stop, 1 if key.step is None else key.step)

    def __repr__(self) -> str:
        return self.name


mgrid: _Grid = _Grid("mgrid", sparse=False)
ogrid: _Grid = _Grid("ogrid", sparse=True)

s_: Any = np.s_
index_exp: Any = np.index_exp

# ---------------------------------------------------------------- triangles


@native.planned(by_type=False)
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return an ``[N, M]`` matrix with ones on and below diagonal `k`, zeros above.

    The dtype is the default float unless another is given.

    Example:
      >>> jnp.tri(3, dtype=jnp.int32)
      Array([[1, 0, 0],
             [1, 1, 0],
             [1, 1, 1]], dtype=int32)
    """
    n = static_count("tri", "N", N)
    m = n if M is None else static_count("tri", "M", M)
    dtype = user_dtype("tri", float if dtype is None else dtype)
    return convert(_is_below((n, m), integer("tri", "k", k)), dtype)


def _is_below(shape, k, compare=ufuncs.greater_equal):
    """Return whether elements of a matrix are on or below diagonal `k`, or just below it."""
    rows = ufuncs.add(iota(INT32, shape, 0), k)
    return compare(rows, iota(INT32, shape, 1))


def _matrices(name, m):
    x = operand(name, m)
    if x.aval.ndim < 2:
        raise errors.user_error(
            ValueError,
            f"{name}: takes arrays of rank 2 or more, got shape {x.aval.shape}.",
            fix="add an axis with `x[None]`.",
            anchor="shape",
        )
    return x


@native.planned(by_type=False)
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrices in the last two axes with zeros above diagonal `k`, which may be traced.

    Raises:
      ValueError: the rank is less than 2, where NumPy would broadcast a vector.

    Example:
      >>> jnp.tril(jnp.arange(1, 10).reshape(3, 3))
      Array([[1, 0, 0],
             [4, 5, 0],
             [7, 8, 9]], dtype=int32)
    """
    x = _matrices("tril", m)
    below = _is_below(x.aval.shape[-2:], integer("tril", "k", k))
    return _masked(below, x, structural.zeros(x.aval))


@native.planned(by_type=False)
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrices in the last two axes with zeros below diagonal `k`, which may be traced.

    Raises:
      ValueError: the rank is less than 2, where NumPy would broadcast a vector.

    Example:
      >>> jnp.triu(jnp.arange(1, 10).reshape(3, 3), k=1)
      Array([[0, 2, 3],
             [0, 0, 6],
             [0, 0, 0]], dtype=int32)
    """
    x = _matrices("triu", m)
    below = _is_below(x.aval.shape[-2:], integer("triu", "k", k), ufuncs.greater)
    return _masked(below, structural.zeros(x.aval), x)


def _masked(mask, on_true, on_false):
    return select_n_p.bind(broadcast_to(mask, on_true.aval.shape), on_false, on_true)


@native.planned(by_type=False)
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return rows and columns of the elements of an ``[n, m]`` matrix not above diagonal `k`.

    Example:
      >>> rows, columns = jnp.tril_indices(3)
      >>> rows, columns
      (Array([0, 1, 1, 2, 2, 2], dtype=int32), Array([0, 0, 1, 0, 1, 2], dtype=int32))
    """
    found = np.tril_indices(*_static_triangle("tril_indices", n, k, m))
    return tuple(asarray(i.astype(np.int32)) for i in found)


@native.planned(by_type=False)
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return rows and columns of the elements of an ``[n, m]`` matrix not below diagonal `k`.

    Example:
      >>> rows, columns = jnp.triu_indices(3, k=1)
      >>> rows, columns
      (Array([0, 0, 1], dtype=int32), Array([1, 2, 2], dtype=int32))
    """
    found = np.triu_indices(*_static_triangle("triu_indices", n, k, m))
    return tuple(asarray(i.astype(np.int32)) for i in found)


def _static_triangle(name, n, k, m):
    n, k = static_int(name, "n", n), static_int(name, "k", k)
    return n, k, n if m is None else static_int(name, "m", m)


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return `tril_indices` of the shape of a matrix.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> x[jnp.tril_indices_from(x)]
      Array([1, 3, 4], dtype=int32)
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return `triu_indices` of the shape of a matrix.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> x[jnp.triu_indices_from(x)]
      Array([1, 2, 4], dtype=int32)
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def _matrix_shape(name, arr):
    shape = np.shape(arr)
    if len(shape) != 2:
        raise errors.user_error(
            ValueError,
            f"{name}: takes a matrix, got shape {shape}.",
            fix="pass one of rank 2.",
            anchor="shape",
        )
    return shape


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """Return where `mask_func`, such as `triu`, keeps elements of an ``[n, n]`` matrix of ones.

    `size` is the static number of results, as of `nonzero`.

    Example:
      >>> x = jnp.arange(9).reshape(3, 3)
      >>> x[jnp.mask_indices(3, jnp.triu, 1)]
      Array([1, 2, 5], dtype=int32)
    """
    ones = structural.full(eye(n).aval, 1)
    return nonzero(mask_func(ones, k), size=size)


# ---------------------------------------------------------------- diagonals


@native.planned(by_type=False)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return the diagonal `k` of a matrix, or the matrix with a vector on that diagonal.

    Raises:
      ValueError: `v` is neither a vector nor a matrix.

    Example:
      >>> jnp.diag(jnp.array([1, 2]), k=1)
      Array([[0, 1, 0],
             [0, 0, 2],
             [0, 0, 0]], dtype=int32)
      >>> jnp.diag(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    x, k = operand("diag", v), static_int("diag", "k", k)
    if x.aval.ndim == 2:
        return indexing.diagonal(x, offset=k)
    if x.aval.ndim != 1:
        raise errors.user_error(
            ValueError,
            f"diag: takes a vector or a matrix, got shape {x.aval.shape}.",
            fix="use `diagonal` for a stack of matrices.",
            anchor="shape",
        )
    size = x.aval.size + abs(k)
    shape = (size, size)  # which may be larger than memory: asked for before what is only a column
    is_on = ufuncs.equal(ufuncs.add(iota(INT32, shape, 0), k), iota(INT32, shape, 1))
    zero = literal(0, x.aval.dtype, x.aval.weak_type)
    column = pad_p.bind(x, zero, padding_config=((max(0, k), max(0, -k), 0),))
    columns = structural.broadcast_in_dim_p.bind(
        column, shape=shape, broadcast_dimensions=(1,), sharding=None
    )
    return _masked(is_on, columns, structural.zeros(columns.aval))


@native.planned(by_type=False)
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with the flattened array on diagonal `k`.

    Example:
      >>> jnp.diagflat(jnp.array([[1], [2]]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    x = operand("diagflat", v)
    return diag(structural.reshape(x, (x.aval.size,)), k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array of `ndim` axes of size `n`.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> x.at[jnp.diag_indices(2)].set(0)
      Array([[0, 2],
             [3, 0]], dtype=int32)
    """
    n, ndim = static_int("diag_indices", "n", n), static_int("diag_indices", "ndim", ndim)
    return (iota(INT32, (n,)),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array of equal sizes.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> x[jnp.diag_indices_from(x)]
      Array([1, 4], dtype=int32)
    """
    shape = np.shape(arr)
    if len(shape) < 2 or len(set(shape)) != 1:
        raise errors.user_error(
            ValueError,
            f"diag_indices_from: takes an array of rank 2 or more and equal sizes, got {shape}.",
            fix="use `diag_indices(n)`.",
            anchor="shape",
        )
    return diag_indices(shape[0], len(shape))


# ---------------------------------------------------------------- flat indices


def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Array, ...]:
    """Return the indices per axis that flat indices into an array of `shape` stand for.

    Indices out of bounds stand for the first or the last element.

    Example:
      >>> jnp.unravel_index(jnp.array([0, 4, 5]), (2, 3))
      (Array([0, 1, 1], dtype=int32), Array([0, 1, 2], dtype=int32))
    """
    x = operand("unravel_index", indices)
    sizes = static_shape("unravel_index", shape)
    _check_integers("unravel_index", x)
    if not sizes:
        return ()
    total, dtype = math.prod(sizes), x.aval.dtype
    if dtype.itemsize < 4:  # it need not hold the number of elements
        x = convert(x, np.dtype(np.int32))
    if dtypes.issubdtype(x.aval.dtype, np.signedinteger):
        x = ufuncs.maximum(x, -total)
        x = ufuncs.choose_by(ufuncs.less(x, 0), ufuncs.add(x, total), x)
    x = ufuncs.minimum(x, total - 1)
    out = []
    for size in reversed(sizes):
        x, rest = ufuncs.divmod(x, max(size, 1))
        out.append(convert(rest, dtype))
    return tuple(reversed(out))


def _check_integers(name, x):
    if not dtypes.issubdtype(x.aval.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: indices must be integers, got {x.aval.dtype}.",
            fix="convert them, e.g. `x.astype(int)`.",
            anchor="dtype",
        )


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Any,
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the flat indices into an array of shape `dims` that indices per axis stand for.

    Args:
      multi_index: an array of integers per axis.
      dims: shape.
      mode: "clip", "wrap", or "raise", which needs concrete indices; one per axis, or one for all.
      order: "C", last axis fastest, or "F".
      dtype: dtype of the result, by default the indices'.

    Raises:
      ValueError: an index is out of bounds, in mode "raise".

    Example:
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 1])), (2, 3))
      Array([2, 4], dtype=int32)
    """
    sizes = static_shape("ravel_multi_index", dims)
    rows = rows_of("ravel_multi_index", multi_index)
    columns = multi_index if rows is None else rows
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    if len(columns) != len(sizes) or len(modes) != len(sizes):
        raise errors.user_error(
            ValueError,
            f"ravel_multi_index: {len(columns)} indices and {len(modes)} modes for {len(sizes)} "
            "dimensions.",
            fix="give one per dimension.",
            anchor="index",
        )
    columns = [operand("ravel_multi_index", i) for i in columns]
    columns = [_bounded(i, n, m) for i, n, m in zip(columns, sizes, modes, strict=True)]
    strides = np.cumprod([1, *sizes[::-1]])[:-1][::-1] if order == "C" else np.cumprod([1, *sizes])
    out = asarray(0, np.int32 if not columns else columns[0].aval.dtype)
    for column, stride in zip(columns, strides, strict=False):
        out = ufuncs.add(out, ufuncs.multiply(column, int(stride)))
    return out if dtype is None else out.astype(dtype)


def _bounded(index, size, mode):
    _check_integers("ravel_multi_index", index)
    if mode == "clip":
        return ufuncs.minimum(ufuncs.maximum(index, 0), size - 1)
    if mode == "wrap":
        return ufuncs.remainder(index, size)
    if mode != "raise":
        raise errors.user_error(
            ValueError,
            f"ravel_multi_index: there is no mode {mode!r}.",
            fix='use "raise", "clip" or "wrap".',
            anchor="choice",
        )
    if bool(ufuncs.logical_or(ufuncs.less(index, 0), ufuncs.greater_equal(index, size)).any()):
        raise errors.user_error(
            ValueError,
            f"ravel_multi_index: an index is out of bounds for a dimension of size {size}.",
            fix='pass mode="clip" or "wrap".',
            anchor="index",
        )
    return index
