"""Reductions over segments: the elements that share a segment number are combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import concrete_value
from evertrace._src.numpy.creation import full
from evertrace._src.numpy.reductions import max as maximum_of
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.support import set_module

public = set_module("evertrace.ops")


def _segment_reduce(name, method, identity, data, segment_ids, num_segments, options):
    """Combine the rows of `data` by their segment numbers with one method of ``.at``."""
    data, segment_ids = as_array(data, name), as_array(segment_ids, name)
    rows = data.shape[:1]
    if segment_ids.ndim != 1 or rows not in ((), (1,), segment_ids.shape):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: segment_ids of shape {segment_ids.shape} must name one segment per row of "
            f"data of shape {data.shape}.",
            fix="pass a vector as long as the first dimension of data, or a single row.",
            anchor="shape",
        )
    del options["bucket_size"]
    if options.pop("out_sharding") is not None:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: the result cannot be laid out by `out_sharding`.",
            fix="lay it out afterwards, with `evertrace.reshard`.",
            anchor="unsupported",
        )
    if num_segments is None:
        num_segments = _count(name, segment_ids)
    start = full((num_segments, *data.shape[1:]), identity(data.dtype), data.dtype)
    return getattr(start.at[segment_ids], method)(data, wrap_negative_indices=False, **options)


@public
@native.planned(by_type=False)
def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Add up the rows of each segment.

    Args:
      data: ``[n, ...]``, any dtype the operation takes; a single row or a scalar stands for n
        equal ones.
      segment_ids: ``[n]`` integers: the segment of each row. Rows with a number out of range,
        negative ones too, are dropped.
      num_segments: number of segments; default one more than the largest number, which must
        then be known while tracing.
      indices_are_sorted: a promise that segment_ids ascend.
      unique_indices: a promise that no number occurs twice.
      bucket_size: accepted and not used: all rows are combined in one pass, not bucket by bucket.
      mode: what happens to numbers out of range, as for ``x.at[]``.
      out_sharding: must be None.

    Returns:
      ``[num_segments, ...]``; a segment without rows holds zeros.

    Example:
      >>> data, ids = jnp.array([1, 2, 3, 4]), jnp.array([0, 0, 2, 2])
      >>> ev.ops.segment_sum(data, ids)
      Array([3, 0, 7], dtype=int32)
      >>> ev.ops.segment_sum(data, ids, num_segments=2)
      Array([3, 0], dtype=int32)
    """
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "bucket_size": bucket_size,
        "mode": mode,
        "out_sharding": out_sharding,
    }
    return _segment_reduce("segment_sum", "add", _zero, data, segment_ids, num_segments, options)


@public
@native.planned(by_type=False)
def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply the rows of each segment; arguments as of `segment_sum`.

    Returns:
      ``[num_segments, ...]``; a segment without rows holds ones.

    Example:
      >>> ev.ops.segment_prod(jnp.array([1, 2, 3, 4]), jnp.array([0, 0, 2, 2]))
      Array([ 2,  1, 12], dtype=int32)
    """
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "bucket_size": bucket_size,
        "mode": mode,
        "out_sharding": out_sharding,
    }
    return _segment_reduce(
        "segment_prod", "multiply", _one, data, segment_ids, num_segments, options
    )


@public
@native.planned(by_type=False)
def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Take the maximum of the rows of each segment; arguments as of `segment_sum`.

    Returns:
      ``[num_segments, ...]``; a segment without rows holds the least value of the dtype.

    Example:
      >>> ev.ops.segment_max(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([0, 0, 2, 2]))
      Array([  2., -inf,   4.], dtype=float32)
    """
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "bucket_size": bucket_size,
        "mode": mode,
        "out_sharding": out_sharding,
    }
    return _segment_reduce("segment_max", "max", lowest, data, segment_ids, num_segments, options)


@public
@native.planned(by_type=False)
def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Take the minimum of the rows of each segment; arguments as of `segment_sum`.

    Returns:
      ``[num_segments, ...]``; a segment without rows holds the greatest value of the dtype.

    Example:
      >>> ev.ops.segment_min(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([0, 0, 2, 2]))
      Array([ 1., inf,  3.], dtype=float32)
    """
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "bucket_size": bucket_size,
        "mode": mode,
        "out_sharding": out_sharding,
    }
    return _segment_reduce("segment_min", "min", highest, data, segment_ids, num_segments, options)


def _zero(dtype):
    return np.zeros((), dtype)


def _one(dtype):
    return np.ones((), dtype)


def _count(name, segment_ids):
    if concrete_value(segment_ids) is None:
        raise errors.user_error(
            errors.ConcretizationTypeError,
            f"{name}: num_segments depends on the values of segment_ids, which are traced.",
            fix="pass num_segments.",
        )
    return int(maximum_of(segment_ids)) + 1 if segment_ids.size else 0
