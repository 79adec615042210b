"""Norms, condition numbers, powers and products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dims, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import rows_of
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy import creation, elementary, indexing, products, reductions, shape, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    distinct_axes,
    listed_axes,
    operand,
    static_int,
)
from evertrace._src.numpy.decompositions import inv
from evertrace._src.numpy.products import matmul as matmul
from evertrace._src.numpy.products import tensordot as tensordot
from evertrace._src.numpy.products import vecdot as vecdot
from evertrace._src.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from evertrace._src.numpy.shape import matrix_transpose as matrix_transpose
from evertrace._src.numpy.spectra import svdvals
from evertrace._src.support import set_module


@native.planned(by_type=False)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross products of vectors of 3 elements along an axis.

    Example:
      >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    x, y = operand("cross", x1), operand("cross", x2)
    if x.aval.shape[axis] != 3 or y.aval.shape[axis] != 3:
        raise errors.user_error(
            errors.ShapeError,
            f"linalg.cross: vectors must have 3 elements, got shapes {x.aval.shape} and "
            f"{y.aval.shape} along axis {axis}.",
            fix="use `numpy.cross`, which takes vectors of 2 elements, too.",
            anchor="shape",
        )
    return products.cross(x, y, axis=axis)


@native.planned(by_type=False)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return all products of an element of one vector and one of another.

    Example:
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    x, y = operand("outer", x1), operand("outer", x2)
    if x.aval.ndim != 1 or y.aval.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"linalg.outer: takes vectors, got shapes {x.aval.shape} and {y.aval.shape}.",
            fix="use `numpy.outer`, which flattens arrays.",
            anchor="shape",
        )
    return products.outer(x, y)


@native.planned(by_type=False)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices ``[..., m, n]`` that are `offset` above the main ones.

    Example:
      >>> jnp.linalg.diagonal(jnp.arange(9).reshape(3, 3), offset=1)
      Array([1, 5], dtype=int32)
    """
    return indexing.diagonal(x, offset, -2, -1)


@native.planned(by_type=False)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Sum the diagonals of matrices ``[..., m, n]`` that are `offset` above the main ones.

    Example:
      >>> jnp.linalg.trace(jnp.arange(9).reshape(3, 3))
      Array(12, dtype=int32)
    """
    return products.trace(x, offset, -2, -1, dtype)


# ---------------------------------------------------------------- norms


@native.planned(by_type=False)
def norm(
    x: ArrayLike, ord: int | float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Array:
    """Return norms of vectors or matrices.

    Args:
      x: array.
      ord: of a vector a number, inf or -inf; of a matrix 1, -1, 2, -2, inf, -inf, "fro" or "nuc".
        Default: the root of the sum of squared magnitudes.
      axis: int for vectors, a pair of ints for matrices, None for the whole array (of rank 1 or 2
        if `ord` is given).
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      Real floating array.

    Example:
      >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
      >>> jnp.linalg.norm(jnp.array([[1.0, -2.0], [3.0, 4.0]]), ord=jnp.inf)
      Array(7., dtype=float32)
    """
    (x,) = promote_dtypes_inexact("norm", operand("norm", x))
    rank = x.aval.ndim
    if axis is None:
        if ord is None:
            return _euclidean(x, tuple(range(rank)), keepdims)
        axes = tuple(range(rank))
    else:
        axes = distinct_axes("norm", listed_axes(axis), rank)
    if len(axes) == 1:
        return _vector_norm(x, axes, 2 if ord is None else ord, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, axes, "fro" if ord is None else ord, keepdims)
    raise errors.user_error(
        ValueError,
        f"norm: of {len(axes)} axes at once there is no norm of order {ord!r}.",
        fix="name one axis or two with `axis`.",
        anchor="axis",
    )


@native.planned(by_type=False)
def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float | str = 2
) -> Array:
    """Return norms of the vectors along axes, several axes being joined; see `norm`.

    Example:
      >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
      Array([ 5., 10.], dtype=float32)
    """
    (x,) = promote_dtypes_inexact("vector_norm", operand("vector_norm", x))
    return _vector_norm(x, canonical_axes("vector_norm", axis, x.aval.ndim), ord, keepdims)


@native.planned(by_type=False)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Return norms of matrices ``[..., m, n]``; see `norm`.

    Example:
      >>> jnp.linalg.matrix_norm(jnp.array([[1.0, -2.0], [3.0, 4.0]]), ord=1)
      Array(6., dtype=float32)
    """
    (x,) = promote_dtypes_inexact("matrix_norm", operand("matrix_norm", x))
    return _matrix_norm(x, distinct_axes("matrix_norm", (-2, -1), x.aval.ndim), ord, keepdims)


def _euclidean(x, axes, keepdims):
    squares = elementary.real(ufuncs.multiply(x, elementary.conj(x)))
    return ufuncs.sqrt(reductions.sum(squares, axes, keepdims=keepdims))


def _vector_norm(x, axes, order, keepdims):
    if isinstance(order, str):
        raise _order_error("vector", order)
    if order == 2:
        return _euclidean(x, axes, keepdims)
    size = ufuncs.absolute(x)
    if order == np.inf:
        return reductions.max(size, axes, keepdims=keepdims, initial=0)
    if order == -np.inf:
        return reductions.min(size, axes, keepdims=keepdims)
    if order == 0:
        return reductions.sum(ufuncs.not_equal(x, 0), axes, size.dtype, keepdims=keepdims)
    if order == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    total = reductions.sum(ufuncs.power(size, order), axes, keepdims=keepdims)
    return ufuncs.power(total, ufuncs.divide(1, creation.asarray(order, size.dtype)))


def _matrix_norm(x, axes, order, keepdims):
    row, column = axes
    if order in ("fro", "f"):
        return _euclidean(x, axes, keepdims)
    reduce = _largest if order in (1, np.inf) else reductions.min
    if order in (1, -1, np.inf, -np.inf):
        summed, rest = (row, column) if order in (1, -1) else (column, row)
        sums = reductions.sum(ufuncs.absolute(x), summed, keepdims=True)
        out = reduce(sums, rest, keepdims=True)
        return out if keepdims else shape.squeeze(out, axes)
    if order in _OF_SINGULAR_VALUES:
        values = svdvals(shape.moveaxis(x, axes, (-2, -1)))
        out = _OF_SINGULAR_VALUES[order](values, -1)
        return shape.expand_dims(out, axes) if keepdims else out
    raise _order_error("matrix", order)


def _largest(x, axis, keepdims=False):
    return reductions.max(x, axis, keepdims=keepdims, initial=0)


_OF_SINGULAR_VALUES = {2: _largest, -2: reductions.min, "nuc": reductions.sum}


def _order_error(kind, order):
    return errors.user_error(
        ValueError,
        f"norm: of a {kind} there is no norm of order {order!r}.",
        fix="orders of matrices are 1, -1, 2, -2, inf, -inf, 'fro' and 'nuc', those of vectors "
        "numbers and infinities.",
        anchor="choice",
    )


@set_module("evertrace.numpy.linalg")
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Return condition numbers: the norm of a matrix times that of its inverse.

    Args:
      x: ``[..., m, n]``, square unless `p` is None, 2 or -2.
      p: order of the norm; default 2.

    Returns:
      ``[...]``, infinite for a singular matrix.

    Example:
      >>> jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
      Array(2., dtype=float32)
    """
    (x,) = promote_dtypes_inexact("cond", operand("cond", x))
    if 0 in x.aval.shape[-2:]:
        raise errors.user_error(
            errors.ShapeError,
            f"cond: matrices without elements have no condition number; got shape {x.aval.shape}.",
            fix="leave them out.",
            anchor="shape-linalg",
        )
    if p in (None, 2, -2):
        s = svdvals(x)
        largest, smallest = s[..., 0], s[..., -1]
        out = smallest / largest if p == -2 else largest / smallest
    else:
        out = matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    bad = elementary.isnan(out) & ~reductions.any(elementary.isnan(x), (-2, -1))
    return elementary.where(bad, np.inf, out)


# ---------------------------------------------------------------- powers and chains


@native.planned(by_type=False)
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Return square matrices to an integer power, by repeated squaring.

    Args:
      a: array of shape ``[..., m, m]``.
      n: int; a negative one is that power of the inverse.

    Example:
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 10)
      Array([[89, 55],
             [55, 34]], dtype=int32)
    """
    x = operand("matrix_power", a)
    n = static_int("matrix_power", "n", n)
    if x.aval.ndim < 2 or x.aval.shape[-1] != x.aval.shape[-2]:
        raise errors.user_error(
            errors.ShapeError,
            f"matrix_power: takes square matrices, got shape {x.aval.shape}.",
            fix="check the shape.",
            anchor="shape",
        )
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return shape.broadcast_to(creation.eye(x.aval.shape[-1], dtype=x.aval.dtype), x.aval.shape)
    out: Any = None
    while True:
        if n & 1:
            out = x if out is None else matmul(out, x)
        n >>= 1
        if not n:
            return out
        x = matmul(x, x)


@native.planned(by_type=False)
def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """Multiply a chain of matrices in the order that takes the fewest operations.

    Args:
      arrays: matrices; the first may be a row vector, the last a column vector.
      precision: see `matmul`.

    Example:
      >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
      Array([12., 12.], dtype=float32)
    """
    rows = rows_of("multi_dot", arrays)
    if rows is not None and rows.aval.ndim < 3 and rows.aval.shape[0] > 2:
        arrays = [*rows[:3]]  # vectors all, an error
    arrays = promote_dtypes("multi_dot", *[operand("multi_dot", x) for x in arrays])
    ranks = [x.aval.ndim for x in arrays]
    if len(arrays) < 2 or any(r != 2 for r in ranks[1:-1]) or {ranks[0], ranks[-1]} - {1, 2}:
        raise errors.user_error(
            errors.ShapeError,
            f"multi_dot: takes two or more matrices, the first and the last may be vectors; got "
            f"{[x.aval.shape for x in arrays]}.",
            fix="check the shapes.",
            anchor="shape",
        )
    first, *rest = (x.aval.shape for x in arrays)
    sizes = [1 if ranks[0] == 1 else first[0], *[s[0] for s in rest]]
    sizes.append(1 if ranks[-1] == 1 else rest[-1][1])
    splits = _cheapest_splits(tuple(map(dims.estimated, sizes)))

    def multiply(first, last):
        """Multiply the matrices from `first` to `last`."""
        if first == last:
            return arrays[first]
        middle = splits[first, last]
        left, right = multiply(first, middle), multiply(middle + 1, last)
        return matmul(left, right, precision=precision)

    return multiply(0, len(arrays) - 1)


@functools.lru_cache(maxsize=1024)
def _cheapest_splits(sizes):
    """Return after which matrix to split each part of a chain, by dynamic programming.

    Matrix i of the chain has shape ``(sizes[i], sizes[i + 1])``.
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], splits[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return splits
