"""Binary search, and selection of slices by a condition (see `nonzeros` about `size`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, elementary, indexing
from evertrace._src.numpy.arguments import canonical_axis, no_out, operand, static_size
from evertrace._src.numpy.nonzeros import first_true, flatnonzero, known_values
from evertrace._src.numpy.promotion import promote_dtypes
from evertrace._src.numpy.shape import ravel, reshape
from evertrace._src.ops.convert import convert
from evertrace._src.ops.search import by_halving, searchsorted_p

# ---------------------------------------------------------------- binary search

_METHODS = ("scan", "scan_unrolled", "sort", "compare_all", "default")


@native.planned(by_type=False)
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Return where values would have to be inserted into a sorted vector.

    Args:
      a: vector of size n, sorted with NaNs last.
      v: array of values.
      side: "left" for the first such place, "right" for the last.
      sorter: indices that sort `a`, if it is not.
      method: without effect: a binary search is made by all methods.

    Returns:
      Array of the shape of `v`, elements from 0 to n; int32 unless `a` is longer than that holds.

    Raises:
      ValueError: `a` is no vector, or there is no such `side` or `method`.

    Example:
      >>> jnp.searchsorted(jnp.array([10, 20, 30]), jnp.array([5, 20, 35]))
      Array([0, 1, 3], dtype=int32)
      >>> jnp.searchsorted(jnp.array([10, 20, 30]), 20, side="right")
      Array(2, dtype=int32)
    """
    a, v = promote_dtypes("searchsorted", operand("searchsorted", a), operand("searchsorted", v))
    if side not in ("left", "right") or method not in _METHODS or a.aval.ndim != 1:
        raise errors.user_error(
            ValueError,
            f"searchsorted: got side={side!r}, method={method!r} and an array of shape "
            f"{a.aval.shape} to search in.",
            fix=f'side is "left" or "right", method one of {_METHODS}; search in a vector.',
            anchor="choice",
        )
    if sorter is not None:
        a = indexing.take(a, sorter, axis=0)
    dtype = _counting_dtype(a.aval.size)
    search = by_halving if dtypes.issubdtype(a.dtype, np.complexfloating) else searchsorted_p.bind
    return reshape(search(a, ravel(v), right=side == "right", dtype=dtype), v.aval.shape)


def _counting_dtype(size):
    """Return the dtype of places in a vector: 32 bits where they hold them, with x64 too."""
    return np.dtype(np.int32) if dims.most_of(size) < 2**31 else dtypes.default_dtype(int)


@native.planned(by_type=False)
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Return the number of the bin that each element is in.

    Args:
      x: array.
      bins: vector of edges, sorted upwards or downwards.
      right: whether bins include their right (upper) edge instead of their left one.
      method: see `searchsorted`.

    Returns:
      Integer array of the shape of `x`; 0 stands for "before the first edge".

    Raises:
      ShapeError: `bins` is no vector.

    Example:
      >>> jnp.digitize(jnp.array([0.2, 6.4, 3.0]), jnp.array([0.0, 1.0, 2.5, 4.0]))
      Array([1, 4, 3], dtype=int32)
    """
    x, bins = operand("digitize", x), operand("digitize", bins)
    if bins.aval.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"digitize: bins must be a vector, got shape {bins.aval.shape}.",
            fix="flatten them.",
            anchor="shape",
        )
    if bins.aval.size == 0:
        return creation.zeros(x.aval.shape, _counting_dtype(0))
    side = "left" if right else "right"
    method = method or "scan"
    up = searchsorted(bins, x, side, method=method)
    if bins.aval.size == 1:
        return up
    down = bins.aval.size - searchsorted(bins[::-1], x, side, method=method)
    return elementary.where(bins[-1] >= bins[0], up, down)


# ---------------------------------------------------------------- selection by a condition


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: Any = None,
) -> Array:
    """Return the slices along an axis for which a condition holds.

    Args:
      condition: vector of booleans, at most as long as the axis.
      a: array.
      axis: int, or None to flatten the array first.
      size: number of slices in the result; required where `condition` is traced.
      fill_value: element of slices that are missing.
      out: must be None.

    Raises:
      ConcretizationTypeError: `condition` is traced, and `size` is not given.

    Example:
      >>> jnp.compress(jnp.array([True, False, True]), jnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
      Array([[1, 3],
             [4, 6]], dtype=int32)
    """
    no_out("compress", out)
    x = operand("compress", a)
    condition = ravel(operand("compress", condition))
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("compress", axis, x.aval.ndim)
    condition = condition[: x.aval.shape[axis]]
    if size is None:
        return indexing.take(x, flatnonzero(known_values("compress", condition)), axis=axis)
    mask = convert(condition, np.dtype(np.bool_))
    places, count = first_true(mask, static_size("compress", "size", size))
    taken = indexing.take(x, places, axis=axis)
    is_found = creation.arange(size) < count
    is_found = is_found.reshape([size if i == axis else 1 for i in range(x.aval.ndim)])
    return convert(elementary.where(is_found, taken, fill_value), x.aval.dtype)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Return the elements for which a condition holds, as a vector; see `compress`.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> jnp.extract(x % 2 == 0, x)
      Array([2, 4], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
