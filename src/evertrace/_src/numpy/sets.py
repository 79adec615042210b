"""Sets as sorted vectors without repetitions, and membership.

How many elements a set has depends on values: see `search` about `size`. Without `size` the
functions run in NumPy on known values. With it a sorted array is marked where a new element begins
and the marked elements are gathered; missing ones repeat the first unless `fill_value` is given.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.dims import is_unknown
from evertrace._src.numpy import creation, elementary, indexing, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, static_size
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.nonzeros import first_true, known_values
from evertrace._src.numpy.promotion import aligned, promote_dtypes
from evertrace._src.numpy.search import searchsorted
from evertrace._src.numpy.shape import moveaxis, ravel, reshape
from evertrace._src.numpy.sorting import argsort, lexsort, sort


class _UniqueAllResult(NamedTuple):
    """Result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class _UniqueCountsResult(NamedTuple):
    """Result of `unique_counts`."""

    values: Array
    counts: Array


class _UniqueInverseResult(NamedTuple):
    """Result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


# ---------------------------------------------------------------- unique


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[True],
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


@overload
def unique(
    ar: ArrayLike,
    *,
    return_inverse: Literal[True],
    return_index: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


@overload
def unique(
    ar: ArrayLike,
    *,
    return_counts: Literal[True],
    return_index: bool = False,
    return_inverse: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements, sorted, or the distinct slices along an axis.

    Args:
      ar: array.
      return_index: whether to return where each occurs first.
      return_inverse: whether to return which of them each element is.
      return_counts: whether to return how often each occurs.
      axis: int, or None to take single elements.
      equal_nan: whether NaNs are equal to one another.
      size: number of results; required where values are not known.
      fill_value: in place of missing results; default the first one.
      sorted: without effect, results are sorted anyway.

    Returns:
      The elements, or a tuple of them and what else was asked for.

    Raises:
      ConcretizationTypeError: values are not known, as under `jit`, and `size` is not given.

    Example:
      >>> jnp.unique(jnp.array([3, 1, 3, 2]))
      Array([1, 2, 3], dtype=int32)
      >>> jnp.unique(jnp.array([3, 1, 3, 2]), return_counts=True)
      (Array([1, 2, 3], dtype=int32), Array([1, 1, 2], dtype=int32))
      >>> ev.jit(lambda x: jnp.unique(x, size=4, fill_value=-1))(jnp.array([3, 1, 3, 2]))
      Array([ 1,  2,  3, -1], dtype=int32)
    """
    x = operand("unique", ar)
    wanted = return_index, return_inverse, return_counts
    if axis is not None:
        axis = canonical_axis("unique", axis, x.aval.ndim)
    if size is None:
        out = _unique_known(known_values("unique", x), axis, equal_nan, wanted)
    else:
        size = static_size("unique", "size", size)
        out = _unique_sized(x, axis, equal_nan, size, fill_value)
    extras = tuple(part for part, is_wanted in zip(out[1:], wanted, strict=True) if is_wanted)
    return (out[0], *extras) if extras else out[0]


def _unique_known(x, axis, equal_nan, wanted):
    if axis is None:
        values, *rest = _distinct(ravel(x), equal_nan, wanted)
    else:
        values, *rest = np.unique(x._contents(), True, True, True, axis=axis, equal_nan=equal_nan)
    dtype = dtypes.default_dtype(int)
    index, inverse, counts = (r if r is None else creation.asarray(r, dtype) for r in rest)
    if axis is None and inverse is not None:
        inverse = reshape(inverse, x.shape)
    return creation.asarray(values, x.dtype), index, inverse, counts


def _distinct(x, equal_nan, wanted):
    """Return values, indices, inverse and counts of a vector as ndarrays; None if not wanted."""
    wants_index, wants_inverse, wants_counts = wanted
    index = inverse = counts = None
    order: Any = None
    if wants_index or wants_inverse:
        order = np.asarray(argsort(x))
        ordered = np.asarray(x)[order]
    else:
        ordered = np.asarray(sort(x))
    is_new = np.ones(len(ordered), bool)
    before, after = ordered[:-1], ordered[1:]
    is_new[1:] = before != after
    if equal_nan and dtypes.issubdtype(x.dtype, np.inexact):
        is_new[1:] &= ~((before != before) & (after != after))
    starts = np.flatnonzero(is_new)
    if wants_index:
        index = order[starts]
    if wants_inverse:
        inverse = np.empty(len(ordered), np.int64)
        inverse[order] = np.cumsum(is_new) - 1
    if wants_counts:
        counts = np.diff(starts, append=len(ordered))
    return ordered[starts], index, inverse, counts


def _unique_sized(x, axis, equal_nan, size, fill_value):
    shape = x.aval.shape
    rows = reshape(x, (-1, 1)) if axis is None else moveaxis(x, axis, 0)
    kept_shape = rows.aval.shape[1:]
    rows = reshape(rows, (rows.aval.shape[0], int(np.prod(kept_shape))))
    count_rows = rows.aval.shape[0]
    if not count_rows:
        return _unique_of_nothing(x, axis, size, fill_value)
    order = lexsort(rows.T[::-1]) if rows.aval.size else creation.arange(count_rows)
    ordered = indexing.take(rows, order, axis=0)
    is_new = _begins_run(ordered, equal_nan)
    starts, count = first_true(is_new, size + 1)  # one more to know where the last run ends
    places, is_found = starts[:-1], creation.arange(size) < count
    values = indexing.take(ordered, places, axis=0)
    fill = values[:1] if fill_value is None else fill_value
    values = elementary.where(is_found[:, None], values, fill).astype(x.aval.dtype)
    ends = elementary.where(creation.arange(size) + 1 < count, starts[1:], count_rows)
    counts = elementary.where(is_found, ends - places, 0)
    inverse = creation.zeros(count_rows, order.dtype).at[order].set(cumsum(is_new) - 1)
    index = indexing.take(order, elementary.where(is_found, places, places[:1]), axis=0)
    if axis is None:
        return values[:, 0], index, reshape(inverse, shape), counts
    return moveaxis(reshape(values, (size, *kept_shape)), 0, axis), index, inverse, counts


def _unique_of_nothing(x, axis, size, fill_value):
    """Return `size` times the fill value, counted 0 times."""
    if size and fill_value is None:
        raise errors.user_error(
            ValueError,
            f"unique: an array of shape {x.aval.shape} has no value to fill size {size} with.",
            fix="pass fill_value.",
            anchor="empty-reduction",
        )
    shape = list(x.aval.shape) if axis is not None else [0]
    shape[0 if axis is None else axis] = size
    values = creation.full(shape, 0 if fill_value is None else fill_value, x.aval.dtype)
    zeros = creation.zeros(size, dtypes.default_dtype(int))
    return values, zeros, zeros[:0] if axis is not None else reshape(zeros[:0], x.aval.shape), zeros


def _begins_run(ordered, equal_nan):
    """Mark the rows of a sorted matrix that differ from the row before them."""
    before, after = ordered[:-1], ordered[1:]
    differs = ufuncs.not_equal(before, after)
    if equal_nan and dtypes.issubdtype(ordered.dtype, np.inexact):
        differs = differs & ~(elementary.isnan(before) & elementary.isnan(after))
    first = creation.ones(min(1, ordered.shape[0]), bool)
    return concatenate([first, differs.any(1)])


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueAllResult:
    """Return distinct elements, where each occurs first, which one each element is, and counts.

    Example:
      >>> found = jnp.unique_all(jnp.array([3, 1, 3]))
      >>> found.values, found.indices
      (Array([1, 3], dtype=int32), Array([1, 0], dtype=int32))
      >>> found.inverse_indices, found.counts
      (Array([1, 0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    return _UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueCountsResult:
    """Return the distinct elements and how often each occurs.

    Example:
      >>> values, counts = jnp.unique_counts(jnp.array([3, 1, 3]))
      >>> values, counts
      (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    return _UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueInverseResult:
    """Return the distinct elements and which of them each element is.

    Example:
      >>> values, inverse = jnp.unique_inverse(jnp.array([3, 1, 3]))
      >>> inverse, values[inverse]
      (Array([1, 0, 1], dtype=int32), Array([3, 1, 3], dtype=int32))
    """
    return _UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the distinct elements.

    Example:
      >>> jnp.unique_values(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ---------------------------------------------------------------- membership and set operations

_COMPARE_ALL_UP_TO = 16


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Return whether each element is among others.

    Args:
      element: array.
      test_elements: array of the others.
      assume_unique: ignored.
      invert: whether to return the opposite.
      method: "compare_all" compares all pairs; "binary_search" and "sort" sort the others; "auto"
        chooses by their number.

    Returns:
      Boolean array of the shape of `element`.

    Example:
      >>> jnp.isin(jnp.array([[1, 2], [3, 4]]), jnp.array([2, 3, 7]))
      Array([[False,  True],
             [ True, False]], dtype=bool)
    """
    x, others = promote_dtypes(
        "isin", operand("isin", element), ravel(operand("isin", test_elements))
    )
    count = others.aval.size
    if count == 0:
        found = creation.zeros(x.aval.shape, bool)
    elif method == "compare_all" or (
        method == "auto" and not is_unknown(count) and count <= _COMPARE_ALL_UP_TO
    ):
        found = ufuncs.equal(*aligned(x[..., None], others)).any(-1)
    else:
        others = sort(others)
        places = searchsorted(others, x)
        found = ufuncs.equal(indexing.take(others, places, axis=0, mode="clip"), x)
    return ~found if invert else found


def _vectors(name, ar1, ar2):
    return [ravel(x) for x in promote_dtypes(name, operand(name, ar1), operand(name, ar2))]


def _gather(x, mask, size, fill_value):
    """Return the elements of a vector where a mask holds, in `size` places or as many as needed."""
    if size is None:
        return x[known_values("set operation", mask, fix="pass `size=`")._contents()]
    places, count = first_true(mask, static_size("set operation", "size", size))
    is_found = creation.arange(size) < count
    if x.shape[0] == 0:
        return creation.full(size, 0 if fill_value is None else fill_value, x.dtype)
    values = indexing.take(x, places, axis=0, mode="clip")
    if fill_value is None:
        fill_value = elementary.where(count > 0, values[:1], 0)
    return elementary.where(is_found, values, fill_value).astype(x.dtype)


def _is_first(ordered):
    """Mark the first of each run of equal elements in a sorted vector."""
    return _begins_run(ordered[:, None], equal_nan=True)


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the sorted elements that are in either array; see `unique` for the arguments.

    Example:
      >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    return unique(concatenate(_vectors("union1d", ar1, ar2)), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements of the first array that are not in the second.

    They are sorted and distinct, or in their order if `assume_unique`. Missing ones are 0 unless
    `fill_value` is given.

    Example:
      >>> jnp.setdiff1d(jnp.array([3, 1, 2, 1]), jnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    x, y = _vectors("setdiff1d", ar1, ar2)
    fill_value = 0 if fill_value is None else fill_value
    if assume_unique:
        return _gather(x, isin(x, y, invert=True), size, fill_value)
    x = sort(x)
    return _gather(x, _is_first(x) & isin(x, y, invert=True), size, fill_value)


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return the sorted elements that are in both arrays.

    Args:
      ar1: array.
      ar2: array.
      assume_unique: ignored.
      return_indices: whether to return where each occurs first in `ar1` and in `ar2`.
      size: see `unique`.
      fill_value: see `unique`; by default the first of the elements, 0 if there are none.

    Returns:
      Vector, or three of them with `return_indices`.

    Example:
      >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 4]))
      Array([2, 3], dtype=int32)
    """
    x, y = _vectors("intersect1d", ar1, ar2)
    order_x, order_y = argsort(x), argsort(y)
    x, y = x[order_x], y[order_y]
    mask = _is_first(x) & isin(x, y)
    values = _gather(x, mask, size, fill_value)
    if not return_indices:
        return values
    # Places that are missing point behind the end, as no element does.
    index_y = indexing.take(order_y, searchsorted(y, x), axis=0, mode="clip")
    index_x = _gather(order_x, mask, size, x.shape[0])
    return values, index_x, _gather(index_y, mask, size, y.shape[0])


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the sorted elements that are in one of the arrays but not in both.

    Example:
      >>> jnp.setxor1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 4]))
      Array([1, 4], dtype=int32)
    """
    x, y = _vectors("setxor1d", ar1, ar2)
    both = sort(concatenate([x, y]))
    first = _is_first(both)
    # NaN equals nothing: of two arrays that have it, both have one that the other has not.
    twice = concatenate([creation.zeros(min(1, len(first)), bool), first[:-1]]) & (both != both)
    twice = twice & (x != x).any() & (y != y).any()
    mask = first & ~(isin(both, x) & isin(both, y)) | twice
    return _gather(both, mask, size, fill_value)
