"""Functions that make one array of several, and several of one.

Arrays to be joined are promoted to one dtype first, or converted to `dtype` where it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import rows_of
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.lax.slicing import dynamic_slice_in_dim
from evertrace._src.numpy import creation
from evertrace._src.numpy.arguments import (
    canonical_axis,
    no_out,
    operand,
    static_int,
    traced_argument,
)
from evertrace._src.numpy.promotion import promote_dtypes
from evertrace._src.numpy.shape import atleast_1d, atleast_2d, atleast_3d, moveaxis, ravel, reshape
from evertrace._src.numpy.spaced import linspace
from evertrace._src.ops.convert import convert
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim, split_p, stack_p
from evertrace._src.ops.structural import expand_dims

# ---------------------------------------------------------------- joining


@native.planned(by_type=False)
def concatenate(
    arrays: Array | np.ndarray | Sequence[ArrayLike],
    axis: int | None = 0,
    dtype: DTypeLike | None = None,
) -> Array:
    """Join arrays along an axis they have.

    Args:
      arrays: sequence of arrays of equal sizes but along `axis`, or one array, whose first axis
        counts them.
      axis: int, or None to flatten the arrays first.
      dtype: of the result; default the common dtype.

    Returns:
      Array whose size along `axis` is the sum of theirs.

    Raises:
      ShapeError: the ranks differ, or sizes along another axis.
      ValueError: there are no arrays.

    Example:
      >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.5])])
      Array([1. , 2. , 3.5], dtype=float32)
      >>> jnp.concatenate([jnp.ones((2, 1)), jnp.zeros((2, 2))], axis=1)
      Array([[1., 0., 0.],
             [1., 0., 0.]], dtype=float32)
    """
    if (x := _rows("concatenate", arrays, dtype)) is not None:
        if x.aval.ndim == 1:
            raise _no_axis_error()
        if axis is None:
            return ravel(x)
        axis = canonical_axis("concatenate", axis, x.aval.ndim - 1)
        x = moveaxis(x, 0, axis)
        count, size = x.aval.shape[axis : axis + 2]
        return reshape(x, (*x.aval.shape[:axis], count * size, *x.aval.shape[axis + 2 :]))
    arrays = _operands("concatenate", arrays, dtype)
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    if len({x.aval.ndim for x in arrays}) > 1:
        raise _rank_error("concatenate", arrays)
    if arrays[0].aval.ndim == 0:
        raise _no_axis_error()
    axis = canonical_axis("concatenate", axis, arrays[0].aval.ndim)
    if len(arrays) == 1:
        return arrays[0]
    return concatenate_p.bind(*arrays, dimension=axis)


@native.planned(by_type=False)
def concat(arrays: Array | np.ndarray | Sequence[ArrayLike], /, *, axis: int = 0) -> Array:
    """Join arrays along an axis they have: another name of `concatenate`.

    Example:
      >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


def _operands(name, arrays, dtype):
    """Return the arrays of a sequence in one dtype."""
    if isinstance(arrays, np.ndarray) or hasattr(arrays, "aval"):
        arrays = list(operand(name, arrays))
    is_sequence = isinstance(arrays, tuple | list)
    if not is_sequence or not arrays:
        raise errors.user_error(
            ValueError if is_sequence else TypeError,
            f"{name}: needs a sequence of at least one array, got "
            f"{'an empty ' if is_sequence else ''}{type(arrays).__name__}.",
            fix="put an array in it first; where there may be none, return `jnp.zeros((0, n))`."
            if is_sequence
            else "pass a list or a tuple of arrays.",
            anchor="shape-concatenate",
        )
    if dtype is None:
        return [operand(name, x) for x in promote_dtypes(name, *arrays)]
    dtype = dtypes.check_user_dtype_supported(dtype, name)
    return [convert(operand(name, x), dtype) for x in arrays]


def _rows(name, arrays, dtype):
    """Return an array that stands for the sequence of its rows, in `dtype`; None for sequences."""
    x = rows_of(name, arrays)
    if x is None or dtype is None:
        return x
    return convert(x, dtypes.check_user_dtype_supported(dtype, name))


def _no_axis_error():
    return errors.user_error(
        errors.ShapeError,
        "concatenate: arrays of rank 0 have no axis to be joined along.",
        fix="use `stack`, which makes one.",
        anchor="shape",
    )


def _rank_error(name, arrays):
    shapes = ", ".join(str(x.aval.shape) for x in arrays)
    return errors.user_error(
        errors.ShapeError,
        f"{name}: cannot join arrays with different numbers of dimensions: got {shapes}.",
        fix="add the missing axes, e.g. with `x[None]`.",
        anchor="shape",
    )


@native.planned(by_type=False)
def stack(
    arrays: Array | np.ndarray | Sequence[ArrayLike],
    axis: int = 0,
    out: Any = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: sequence of arrays, or one array, whose first axis counts them.
      axis: where the new axis stands in the result.
      out: must be None.
      dtype: of the result; default the common dtype.

    Raises:
      ShapeError: the shapes differ.

    Example:
      >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[1, 2],
             [3, 4]], dtype=int32)
      >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    no_out("stack", out)
    if (x := _rows("stack", arrays, dtype)) is not None:
        return moveaxis(x, 0, canonical_axis("stack", axis, x.aval.ndim))
    arrays = _operands("stack", arrays, dtype)
    first = arrays[0].aval.shape
    if any(x.aval.shape != first for x in arrays):
        if len({x.aval.ndim for x in arrays}) > 1:
            raise _rank_error("stack", arrays)
        shapes = ", ".join(str(x.aval.shape) for x in arrays)
        raise errors.user_error(
            errors.ShapeError,
            f"stack: all arrays must have the same shape, got {shapes}.",
            fix="broadcast them first, or use `concatenate`.",
            anchor="shape",
        )
    axis = canonical_axis("stack", axis, len(first) + 1)
    return stack_p.bind(*arrays, axis=axis)


def _at_least(change, tup):
    """Return arrays of at least some rank: a list, or one array if its rows are what is joined."""
    x = _rows("stack", tup, None)
    if x is None:
        return [change(x) for x in tup]
    count, *sizes = x.aval.shape
    marked = np.broadcast_to(
        np.False_, range(2, 2 + len(sizes))
    )  # of open sizes, which are no ints
    shape = getattr(np, change.__name__)(marked).shape
    return reshape(x, (count, *[n if n == 1 else sizes[n - 2] for n in shape]))


@native.planned(by_type=False)
def vstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the first axis; vectors become rows.

    Example:
      >>> jnp.vstack([jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]])])
      Array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    return concatenate(_at_least(atleast_2d, tup), 0, dtype)


@native.planned(by_type=False)
def hstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the second axis, vectors along the first.

    Example:
      >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
      >>> jnp.hstack([jnp.array([[1], [2]]), jnp.array([[3], [4]])])
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    arrays = _at_least(atleast_1d, tup)
    rank = arrays[0].ndim if len(arrays) else 1
    return concatenate(arrays, 0 if rank == 1 else 1, dtype)


@native.planned(by_type=False)
def dstack(tup: Array | np.ndarray | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the third axis, which vectors and matrices are given.

    Example:
      >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[[1, 3],
              [2, 4]]], dtype=int32)
    """
    return concatenate(_at_least(atleast_3d, tup), 2, dtype)


@native.planned(by_type=False)
def column_stack(tup: Array | np.ndarray | Sequence[ArrayLike]) -> Array:
    """Join arrays along the second axis; vectors become columns.

    Example:
      >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]])])
      Array([[1, 3, 4],
             [2, 5, 6]], dtype=int32)
    """
    if (x := _rows("column_stack", tup, None)) is not None and x.aval.ndim < 3:
        return reshape(x, (x.aval.shape[0], -1)).T
    arrays = [operand("column_stack", x) for x in tup]
    return concatenate([x if x.aval.ndim > 1 else atleast_2d(x).T for x in arrays], 1)


@native.planned(by_type=False)
def block(arrays: Any) -> Array:
    """Join nested lists of arrays: the innermost lists along the last axis, and so on outwards.

    Args:
      arrays: nested lists of arrays and scalars, all at one depth.

    Raises:
      ValueError: lists are nested to different depths.

    Example:
      >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 2)), 5.0]])
      Array([[1., 0., 0.],
             [0., 1., 0.],
             [1., 1., 5.]], dtype=float32)
    """
    leaves, depth = _leaves(arrays)
    rank = max([depth, *[np.ndim(x) for x in leaves]])
    return _block(arrays, rank, rank - depth)


def _leaves(nested):
    """Return the arrays in nested lists and the depth they all have."""
    if isinstance(nested, tuple):
        raise errors.user_error(
            TypeError,
            "block: got a tuple; only lists can be nested.",
            fix="use lists.",
            anchor="shape-concatenate",
        )
    if not isinstance(nested, list):
        return [nested], 0
    if not nested:
        raise errors.user_error(
            ValueError,
            "block: lists cannot be empty.",
            fix="leave empty lists out.",
            anchor="shape-concatenate",
        )
    found = [_leaves(item) for item in nested]
    if len({depth for _, depth in found}) > 1:
        raise errors.user_error(
            ValueError,
            "block: lists are nested to different depths.",
            fix="nest all arrays alike.",
            anchor="shape-concatenate",
        )
    return [leaf for leaves, _ in found for leaf in leaves], found[0][1] + 1


def _block(nested, rank, axis):
    if not isinstance(nested, list):
        x = operand("block", nested)
        return expand_dims(x, tuple(range(rank - x.aval.ndim)))
    return concatenate([_block(item, rank, axis + 1) for item in nested], axis)


class _Concatenator:
    """What `r_` and `c_` are: brackets that join the arrays, slices and numbers in them.

    A slice ``start:stop:step`` is `arange`, with an imaginary step ``nj`` it is `linspace` with n
    points. A string "axis,ndmin,trans1d" in front says along which axis to join, what rank arrays
    are given, and where their old axes stand then; "r" and "c" make a row or a column of a vector.
    """

    def __init__(self, axis: Any, ndmin: Any, old_axis: Any, doc: Any) -> None:
        self._axis, self._ndmin, self._old_axis = axis, ndmin, old_axis
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, old_axis = self._axis, self._ndmin, self._old_axis
        as_matrix = None
        if isinstance(items[0], str):
            text = items.pop(0)
            if text in ("r", "c"):
                as_matrix = text
            else:
                numbers = [int(word) for word in text.split(",")]
                axis, ndmin, old_axis = (*numbers, *(axis, ndmin, old_axis)[len(numbers) :])
        parts = [_with_rank(item, ndmin, old_axis) for item in items]
        joined = concatenate(parts, axis)
        if as_matrix is not None and joined.ndim == 1:
            return expand_dims(joined, (0 if as_matrix == "r" else 1,))
        return joined

    def __len__(self) -> int:
        return 0


def _with_rank(item, ndmin, old_axis):
    """Return one item in the brackets as an array of at least some rank."""
    if isinstance(item, slice):
        x = _slice_range(item)
    else:
        x = atleast_1d(creation.asarray(item))
        if np.ndim(item) == 0 and ndmin <= 1:
            return x
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    if old_axis < 0:
        old_axis += missing + 1
    rank = missing + x.ndim
    kept = range(old_axis, old_axis + x.ndim)
    return expand_dims(x, tuple(i for i in range(rank) if i not in kept))


def _slice_range(item):
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return creation.arange(start, item.stop, step)


r_: _Concatenator = _Concatenator(
    0, 1, -1, "``r_[a, 0, 1:5]`` joins arrays, numbers and ranges to one array."
)
c_: _Concatenator = _Concatenator(
    -1, 2, 0, "``c_[a, b]`` joins vectors as the columns of a matrix."
)

# ---------------------------------------------------------------- splitting


@native.planned(by_type=False)
def split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Cut an array along an axis.

    Args:
      ary: array.
      indices_or_sections: number of equal parts, or the sorted places to cut at.
      axis: int.

    Returns:
      List of arrays.

    Raises:
      ValueError: the size is no multiple of the number of parts; see `array_split`.

    Example:
      >>> jnp.split(jnp.arange(6), 3)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32), Array([4, 5], dtype=int32)]
      >>> jnp.split(jnp.arange(6), [1, 4])
      [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32), Array([4, 5], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


@native.planned(by_type=False)
def array_split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Cut an array along an axis, like `split`, into parts that need not be of one size.

    Example:
      >>> jnp.array_split(jnp.arange(5), 2)
      [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def _split(name, ary, where, axis):
    x = operand(name, ary)
    axis = canonical_axis(name, axis, x.aval.ndim)
    size = x.aval.shape[axis]
    if isinstance(where, Tracer) and concrete_value(where) is None:
        raise traced_argument(name, "indices_or_sections", where)
    if np.ndim(where):
        places = [static_int(name, "indices_or_sections", i) for i in where]
        places = [max(i + size, 0) if i < 0 else min(i, size) for i in places]
        starts, stops = [0, *places], [*places, size]
        if places != sorted(places):
            return [slice_in_dim(x, a, max(a, b), axis) for a, b in zip(starts, stops, strict=True)]
        sizes = tuple(b - a for a, b in zip(starts, stops, strict=True))
    else:
        sections = static_int(name, "indices_or_sections", where)
        if name == "array_split" and dims.is_unknown(size) and sections > 0:
            return _sections_of_any_size(x, size, sections, axis)
        sizes = _section_sizes(name, x, sections, axis)
    return list(split_p.bind(x, sizes=sizes, axis=axis))


def _sections_of_any_size(x, size, sections, axis):
    """Return parts that differ by one at most, where it is not known which do."""
    out, start = [], 0
    for i in range(sections):
        each = (size + sections - 1 - i) // sections
        begin = operand("array_split", start)
        out.append(dynamic_slice_in_dim(x, begin, each, axis, allow_negative_indices=False))
        start = start + each
    return out


def _section_sizes(name, x, sections, axis):
    size = x.aval.shape[axis]
    if sections <= 0:
        raise errors.user_error(
            ValueError,
            f"{name}: number of sections must be larger than 0, got {sections}.",
            fix="pass a positive number.",
            anchor="shape-split",
        )
    if name == "array_split" and dims.is_dim(size):
        parts = [(size + sections - 1 - i) // sections for i in range(sections - 1)]
        return *parts, size - sum(parts)  # floordiv(size, sections), and seen to add up
    each, rest = divmod(size, sections)
    if rest and name != "array_split":
        raise errors.user_error(
            ValueError,
            f"{name}: axis {axis} of shape {x.aval.shape} does not divide into {sections} equal "
            "parts.",
            fix="use `array_split`, or pass the places to cut at.",
            anchor="shape-split",
        )
    return (each + 1,) * rest + (each,) * (sections - rest)


@native.planned(by_type=False)
def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut along the first axis; see `split`.

    Example:
      >>> top, bottom = jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
      >>> bottom
      Array([[3, 4]], dtype=int32)
    """
    return _split("vsplit", ary, indices_or_sections, 0)


@native.planned(by_type=False)
def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut along the second axis, vectors along the first; see `split`.

    Example:
      >>> left, right = jnp.hsplit(jnp.array([[1, 2, 3], [4, 5, 6]]), [1])
      >>> right
      Array([[2, 3],
             [5, 6]], dtype=int32)
    """
    return _split("hsplit", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@native.planned(by_type=False)
def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Cut along the third axis; see `split`.

    Example:
      >>> [part.shape for part in jnp.dsplit(jnp.ones((2, 3, 4)), 2)]
      [(2, 3, 2), (2, 3, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)
