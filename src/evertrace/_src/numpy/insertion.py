"""Functions that add elements to an array along an axis, or remove some.

A number that says where may be traced: the size of the result does not depend on it.
"""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, computed, type_of_number
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy import creation, indexing, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, traced_argument
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.numpy.shape import moveaxis, ravel
from evertrace._src.numpy.sorting import argsort
from evertrace._src.ops.convert import convert
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim
from evertrace._src.ops.structural import expand_dims


@native.planned(by_type=False)
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join values to the end of an array along an axis; flatten both if it is None.

    Example:
      >>> jnp.append(jnp.array([[1, 2], [3, 4]]), 5)
      Array([1, 2, 3, 4, 5], dtype=int32)
      >>> jnp.append(jnp.array([[1, 2], [3, 4]]), jnp.array([[5, 6]]), axis=0)
      Array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    return concatenate([operand("append", arr), operand("append", values)], axis)


@native.planned(by_type=False)
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """Insert values before places along an axis.

    Args:
      arr: array.
      obj: int, slice or integer array: the places, counted in `arr`. An int may be traced; it is
        moved inside then.
      values: what to insert, broadcast to the places.
      axis: int, or None to flatten `arr` first.

    Raises:
      IndexError: a place is out of bounds.

    Example:
      >>> jnp.insert(jnp.array([1, 2, 3]), 1, 10)
      Array([ 1, 10,  2,  3], dtype=int32)
      >>> jnp.insert(jnp.array([[1, 2], [3, 4]]), 0, jnp.array([8, 9]), axis=0)
      Array([[8, 9],
             [1, 2],
             [3, 4]], dtype=int32)
    """
    x = operand("insert", arr)
    values = operand("insert", values)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("insert", axis, x.aval.ndim)
    size = x.aval.shape[axis]
    obj = _traced_place("insert", obj, size, size + 1, x.aval.shape, axis)
    is_traced = isinstance(obj, Tracer) and concrete_value(obj) is None and not obj.ndim
    places: Any = obj if is_traced else _places("insert", obj, size)
    values = convert(values, x.aval.dtype)
    values = expand_dims(values, tuple(range(x.aval.ndim - values.aval.ndim)))
    if places.ndim == 0:  # all of `values` at one place
        values = moveaxis(values, 0, axis)
    if dims.is_dim(size) and not is_traced:
        places = _inside("insert", places.reshape(-1), size, x.aval.shape, axis)
        if places.size != 1:
            return _insert_several(x, values, places, axis, size)
        places, is_traced = places[0], True
    if is_traced:
        return _insert_traced(x, values, places, axis, size)
    count = places.size if places.size > 1 else max(values.aval.shape[axis], places.size)
    values = broadcast_to(values, (*x.aval.shape[:axis], count, *x.aval.shape[axis + 1 :]))
    places = np.broadcast_to(places.reshape(-1), (count,)) if count != places.size else places
    places = places.reshape(-1)
    _check_places("insert", places, size, size + 1, x.aval.shape, axis)
    places = np.where(places < 0, places + size, places)
    # Where each element of the result comes from, in [x, values].
    order = np.argsort(np.concatenate([places, np.arange(size)]), kind="stable")
    source = np.concatenate([np.arange(size, size + count), np.arange(size)])[order]
    joined = concatenate_p.bind(x, values, dimension=axis)
    return indexing.take(joined, source.astype(np.int32), axis=axis)


def _insert_traced(x, values, place, axis, size):
    """Insert at one place: each element comes from `x` before it, from `values`, or from behind."""
    count = values.aval.shape[axis]
    values = broadcast_to(values, (*x.aval.shape[:axis], count, *x.aval.shape[axis + 1 :]))
    at = creation.arange(size + count)
    place = ufuncs.choose_by(place < 0, place + size, place)
    place = ufuncs.minimum(ufuncs.maximum(place, 0), size)
    source = ufuncs.choose_by(at < place + count, at - place + size, at - count)
    source = ufuncs.choose_by(at < place, at, source)
    return indexing.take(concatenate_p.bind(x, values, dimension=axis), source, axis=axis)


def _inside(name, places, size, shape, axis):
    """Return places in an axis of symbolic size as an operand; IndexError if one is never there."""
    is_wrong = [dims.is_below(size, i) or dims.is_below(i, -size) for i in places.tolist()]
    if any(is_wrong):
        raise _no_such_place(name, places[is_wrong][0], -size, size, shape, axis)
    return creation.asarray(places, np.int32)


def _insert_several(x, values, places, axis, size):
    """Insert a value at each place, known or not: each comes to stand behind those before it."""
    (count,) = places.shape
    values = broadcast_to(values, (*x.aval.shape[:axis], count, *x.aval.shape[axis + 1 :]))
    places = ufuncs.choose_by(places < 0, places + size, places)
    places = ufuncs.minimum(ufuncs.maximum(places, 0), size)
    order = argsort(places)
    new = indexing.take(places, order) + creation.arange(count)
    at = creation.arange(size + count)
    before = (new < at[:, None]).sum(1)
    is_new = (new == at[:, None]).any(1)
    inserted = size + indexing.take(order, before, mode="clip")
    source = ufuncs.choose_by(is_new, inserted, at - before)
    return indexing.take(concatenate_p.bind(x, values, dimension=axis), source, axis=axis)


def _places(name, obj: Any, size):
    """Return places along an axis of `size` as a NumPy integer array."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(size))
    obj = operator.index(obj) if isinstance(obj, int) else obj
    known = concrete_value(operand(name, obj) if not isinstance(obj, tuple | list) else None)
    if known is None and not isinstance(obj, tuple | list):
        raise traced_argument(name, "obj", obj)
    places = (
        np.asarray(obj, np.int64 if len(obj) == 0 else None) if known is None else known._contents()
    )
    if places.dtype == np.bool_:
        places = np.flatnonzero(places)
    _check_integers(name, places)
    return places.astype(np.int64)


def _check_integers(name, places):
    if not dtypes.issubdtype(places.dtype, np.integer):
        raise errors.user_error(
            IndexError,
            f"{name}: places are integers or booleans, got {places.dtype}{list(places.shape)}.",
            fix="convert them, e.g. `obj.astype(int)`.",
            anchor="index",
        )


def _check_places(name, places, size, high, shape, axis):
    wrong = places[(places < -size) | (places >= high)]
    if wrong.size:
        raise _no_such_place(name, wrong[0], -size, high - 1, shape, axis)


def _no_such_place(name, i, least, most, shape, axis):
    return errors.user_error(
        IndexError,
        f"{name}: index {i} is out of bounds for axis {axis} of shape {shape}.",
        fix=f"use indices from {least} to {most}.",
        anchor="index",
    )


def _traced_place(name, obj, size, high, shape, axis) -> Any:
    """Return a place that `jit` traces as an operand: another number is no other program."""
    bare = dims.bare(obj)
    if dims.is_dim(bare):
        if dims.is_below(high - 1, bare) or dims.is_below(bare, -size):
            raise _no_such_place(name, bare, -size, high - 1, shape, axis)
        return as_operand(bare)
    if type(obj) is int or type_of_number(obj) is not int:
        return obj
    return as_operand(
        computed(_place, obj, name, size, high, shape, axis, dtypes.default_dtype(int))
    )


def _place(i, name, size, high, shape, axis, dtype):
    """Return a place from the front; IndexError if there is no such place."""
    dtypes.coerce_python_scalar(i, dtype)
    _check_places(name, np.asarray([i]), size, high, shape, axis)
    return i + size if i < 0 else i


@native.planned(by_type=False)
def delete(
    arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """Remove elements at places along an axis.

    Args:
      arr: array.
      obj: int, slice or integer or boolean array: what to remove. An int may be traced, and with
        `assume_unique_indices` an integer array may be, too.
      axis: int, or None to flatten `arr` first.
      assume_unique_indices: whether no place is named twice, so that the size of the result is
        known without the values of `obj`.

    Raises:
      IndexError: a place is out of bounds.

    Example:
      >>> jnp.delete(jnp.array([10, 20, 30, 40]), jnp.array([0, 2]))
      Array([20, 40], dtype=int32)
      >>> jnp.delete(jnp.array([[1, 2], [3, 4]]), 0, axis=1)
      Array([[2],
             [4]], dtype=int32)
    """
    x = operand("delete", arr)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("delete", axis, x.aval.ndim)
    size = x.aval.shape[axis]
    obj = _traced_place("delete", obj, size, size, x.aval.shape, axis)
    if isinstance(obj, Tracer) and concrete_value(obj) is None:
        if obj.ndim and not assume_unique_indices:
            raise traced_argument("delete", "obj (unless assume_unique_indices)", obj)
        _check_integers("delete", obj)
        return _delete_traced(x, ravel(cast("Any", obj)), axis, size)
    if dims.is_dim(size):
        return _delete_at_any_size(x, obj, axis, size)
    places = _places("delete", obj, size).reshape(-1)
    _check_places("delete", places, size, size, x.aval.shape, axis)
    kept = np.ones(size, bool)
    kept[places] = False
    return indexing.take(x, np.flatnonzero(kept).astype(np.int32), axis=axis)


def _delete_at_any_size(x, obj, axis, size):
    """Remove elements of an axis of symbolic size, all of which have to be there for all sizes."""
    if isinstance(obj, slice):
        start, step, count = dims.slice_bounds(obj, size)
        if step == 1:
            ends = (0, start), (start + count, size)
            return concatenate([slice_in_dim(x, *end, axis) for end in ends], axis)
    places = np.unique(_places("delete", obj, size)).tolist()
    for i in places:
        if i >= size if i >= 0 else i + size < 0:
            raise _no_such_place("delete", i, -size, size - 1, x.aval.shape, axis)
    from_end = [i for i in places if i < 0]
    places = [i for i in places if i < 0 or all(size + j - i for j in from_end)]
    return _delete_traced(x, creation.asarray(places, np.int32), axis, size)


def _delete_traced(x, places, axis, size):
    """Skip the removed places: the source of each element is its place plus how many precede it."""
    count = places.shape[0]
    places = creation.asarray((places % size).sort() - creation.arange(count))
    source = creation.arange(dims.max_of(0, size - count))
    source = source + (places <= source[:, None]).sum(1)
    return indexing.take(x, source, axis=axis)
