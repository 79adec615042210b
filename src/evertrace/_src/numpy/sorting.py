"""Sorting and partitioning. NaNs come last; -0.0 and 0.0 are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import rows_of
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.loops import scan
from evertrace._src.numpy.arguments import canonical_axis, operand, static_int
from evertrace._src.numpy.indexing import take_along_axis
from evertrace._src.numpy.shape import flip, ravel
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.sort import sort_p


@native.planned(by_type=False)
def sort(
    a: ArrayLike,
    axis: int = -1,
    *,
    kind: str | None = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sort along an axis.

    Args:
      a: array.
      axis: int, or None to flatten the array first.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether to sort from the largest to the smallest.

    Raises:
      NotImplementedError: `kind` or `order` is given.

    Example:
      >>> jnp.sort(jnp.array([[3, 1, 2], [6, 5, 4]]))
      Array([[1, 2, 3],
             [4, 5, 6]], dtype=int32)
      >>> jnp.sort(jnp.array([2.0, jnp.nan, 1.0]))
      Array([ 1.,  2., nan], dtype=float32)
    """
    x, axis = _prepare("sort", a, axis, kind, order)
    (out,) = sort_p.bind(x, dimension=axis, is_stable=stable, num_keys=1)
    return flip(out, axis) if descending else out


@native.planned(by_type=False)
def argsort(
    a: ArrayLike,
    axis: int = -1,
    *,
    kind: str | None = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the indices that sort an array along an axis.

    Args:
      a: array.
      axis: int, or None to flatten the array first.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether to sort from the largest to the smallest.
      dtype: of the indices; default the default integer type.

    Returns:
      Integer array of the shape of `a`.

    Example:
      >>> x = jnp.array([30, 10, 20])
      >>> jnp.argsort(x)
      Array([1, 2, 0], dtype=int32)
      >>> x[jnp.argsort(x)]
      Array([10, 20, 30], dtype=int32)
    """
    x, axis = _prepare("argsort", a, axis, kind, order)
    dtype = dtypes.default_dtype(int) if dtype is None else dtypes.canonicalize_dtype(dtype)
    places = iota(dtype, x.aval.shape, axis)
    if descending:  # in reverse before and after, so that equal elements keep their order
        x, places = flip(x, axis), flip(places, axis)
    _, out = sort_p.bind(x, places, dimension=axis, is_stable=stable, num_keys=1)
    return flip(out, axis) if descending else out


def _prepare(name, a, axis, kind, order):
    x = operand(name, a)
    if kind is not None or order is not None:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: `kind` and `order` are not supported.",
            fix="use `stable` and `descending`; sort with `lexsort` by several keys.",
            anchor="unsupported",
        )
    if axis is None:
        x, axis = ravel(x), 0
    return x, canonical_axis(name, axis, x.aval.ndim)


_MOST_KEYS = 64
"""How many keys are operands of one sort; by more is sorted one after the other."""


def _by_many_keys(keys, axis):
    shape = keys.aval.shape[1:]
    axis = canonical_axis("lexsort", axis, len(shape))
    places = iota(dtypes.default_dtype(int), shape, axis)

    def step(order, key):
        key = take_along_axis(key, order, axis)
        _, order = sort_p.bind(key, order, dimension=axis, is_stable=True, num_keys=1)
        return order, None

    return scan(step, places, keys)[0]


def lexsort(keys: Array | np.ndarray | Sequence[ArrayLike], axis: int = -1) -> Array:
    """Return the indices that sort by several keys, of which the last decides first.

    Args:
      keys: sequence of arrays of one shape, or an array whose first axis counts them.
      axis: int.

    Raises:
      TypeError: there are no keys.

    Example:
      >>> first, last = jnp.array([2, 1, 1]), jnp.array([1, 2, 1])
      >>> jnp.lexsort((first, last))
      Array([2, 0, 1], dtype=int32)
    """
    rows = rows_of("lexsort", keys)
    if rows is not None and rows.aval.ndim > 1 and rows.aval.shape[0] > _MOST_KEYS:
        return _by_many_keys(rows, axis)
    keys = [operand("lexsort", key) for key in keys]
    if not keys:
        raise errors.user_error(
            TypeError, "lexsort: needs at least one key.", fix="pass a sequence of arrays."
        )
    shape = keys[0].aval.shape
    if any(key.aval.shape != shape for key in keys):
        raise errors.user_error(
            errors.ShapeError,
            f"lexsort: all keys must have the same shape, got {[key.aval.shape for key in keys]}.",
            fix="broadcast them first.",
            anchor="shape",
        )
    dtype = dtypes.default_dtype(int)
    if not shape:
        return operand("lexsort", np.zeros((), dtype))
    axis = canonical_axis("lexsort", axis, len(shape))
    places = iota(dtype, shape, axis)
    *_, out = sort_p.bind(
        *reversed(keys), places, dimension=axis, is_stable=True, num_keys=len(keys)
    )
    return out


@native.planned(by_type=False)
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Reorder so that the element at `kth` is the one a sort would put there.

    Smaller or equal elements come before it and larger or equal ones after it, each in the order of
    a sort: unlike in NumPy the array is sorted altogether.

    Args:
      a: real array.
      kth: int, negative from the end.
      axis: int.

    Raises:
      NotImplementedError: the array is complex.
      AxisError: `kth` is out of bounds.

    Example:
      >>> jnp.partition(jnp.array([4, 1, 3, 2]), 1)[:2]  # the two least
      Array([1, 2], dtype=int32)
    """
    x, axis = _partitioned("partition", a, kth, axis)
    return sort(x, axis)


@native.planned(by_type=False)
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the indices that partition an array; see `partition`.

    Example:
      >>> jnp.argpartition(jnp.array([40, 10, 30, 20]), 1)[:2]  # where the two least are
      Array([1, 3], dtype=int32)
    """
    x, axis = _partitioned("argpartition", a, kth, axis)
    return argsort(x, axis)


def _partitioned(name, a, kth, axis):
    x = operand(name, a)
    if dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: complex arrays are not supported.",
            fix="use `sort`.",
            anchor="dtype",
        )
    axis = canonical_axis(name, axis, x.aval.ndim)
    canonical_axis(name, static_int(name, "kth", kth), x.aval.shape[axis])
    return x, axis


def sort_complex(a: ArrayLike) -> Array:
    """Sort along the last axis, by real and then imaginary parts, as complex numbers.

    Example:
      >>> jnp.sort_complex(jnp.array([2, 1 + 1j, 1 - 1j]))
      Array([1.-1.j, 1.+1.j, 2.+0.j], dtype=complex64)
    """
    x = sort(operand("sort_complex", a))
    return convert(x, dtypes.to_complex_dtype(x.aval.dtype))
