"""Windows of sparse arrays: gathers and convolutions, and products at chosen coordinates."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.api.formula import formula
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.experimental.sparse.arrays import BCOO, public
from evertrace._src.experimental.sparse.coordinates import inside, read
from evertrace._src.experimental.sparse.elements import bcoo_extract_p
from evertrace._src.experimental.sparse.products import static_numbers
from evertrace._src.experimental.sparse.shapes import (
    bcoo_dynamic_slice,
    bcoo_squeeze,
    bcoo_transpose,
    mask_data,
    merged,
    outside,
    pick,
)
from evertrace._src.lax.conv import conv_dimension_numbers
from evertrace._src.lax.dot import dot_general
from evertrace._src.lax.padding import padtype_to_pads
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.reductions import all as all_of
from evertrace._src.numpy.shape import broadcast_to, reshape, transpose
from evertrace._src.ops.dimension_numbers import GatherScatterMode


@public
def bcoo_gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """Take windows of a sparse array, as `lax.gather` does.

    Args:
      operand: a `BCOO`.
      start_indices: where windows start.
      dimension_numbers: a `GatherDimensionNumbers`; the dimensions of the windows come last.
      slice_sizes: of a window.
      unique_indices: accepted.
      indices_are_sorted: accepted.
      mode: "clip" moves windows inside; "fill" makes those that are not wholly inside empty, also
        the default.
      fill_value: None or 0: what is not specified is zero.

    Returns:
      A `BCOO` with a batch dimension for each dimension of `start_indices` but the last; each
      window has room for all elements of the array.

    Raises:
      NotImplementedError: batching dimensions, dimensions in another order, or a fill value.

    Example:
      >>> from evertrace import lax
      >>> from evertrace.experimental import sparse
      >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> sparse.bcoo_gather(sparse.eye(3), jnp.array([[2], [0]]), rows, (1, 3)).todense()
      Array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)
    """
    del unique_indices, indices_are_sorted
    numbers, starts = dimension_numbers, as_array(start_indices, "bcoo_gather")
    sizes = tuple(map(operator.index, slice_sizes))
    collapsed, count = numbers.collapsed_slice_dims, starts.ndim - 1
    rank = count + operand.ndim - len(collapsed)
    if numbers.operand_batching_dims or tuple(numbers.offset_dims) != tuple(range(count, rank)):
        raise _refuse("bcoo_gather", f"{numbers}", "let the dimensions of windows come last")
    if fill_value:
        raise _refuse("bcoo_gather", f"fill_value={fill_value}", "leave it out: it is zero")
    is_filled = mode is None or (GatherScatterMode.from_any(mode) is GatherScatterMode.FILL_OR_DROP)

    def window(start):
        at = [as_array(np.zeros((), start.dtype))] * operand.ndim
        for i, d in enumerate(numbers.start_index_map):
            at[d] = start[i]
        lows = stack(at)
        highs = np.array([n - k for n, k in zip(operand.shape, sizes, strict=True)], lows.dtype)
        whole = all_of((lows >= 0) & (lows <= highs))
        lows = lows.clip(0, highs)
        out = bcoo_dynamic_slice(operand, [lows[d] for d in range(operand.ndim)], sizes)
        out = bcoo_squeeze(out, dimensions=collapsed) if collapsed else out
        return out.with_data(where(whole, out.data, 0).astype(out.dtype)) if is_filled else out

    for _ in range(count):
        window = vmap(window)
    return window(starts)


def _refuse(name, what, fix):
    return errors.user_error(
        NotImplementedError,
        f"{name}: {what} has no meaning for sparse arrays here.",
        fix=f"{fix}, or use `todense` first.",
        anchor="sparse",
    )


@public
def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: Any = 1,
    batch_group_count: Any = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """Convolve sparse arrays, as `lax.conv_general_dilated` does.

    Args:
      lhs: the operand, a `BCOO`.
      rhs: the kernel, a `BCOO`.
      window_strides: steps, one per spatial dimension.
      padding: the name of a padding, or a pair (low, high) per spatial dimension.
      lhs_dilation: distances of the operand's elements; by default 1.
      rhs_dilation: distances of the kernel's elements; by default 1.
      dimension_numbers: as of `lax.conv_general_dilated`.
      feature_group_count: 1.
      batch_group_count: 1.
      precision: accepted; elements are multiplied one by one.
      preferred_element_type: dtype of the result.
      out_sharding: of no effect.

    Returns:
      A `BCOO` which has an element for each pair of elements.

    Raises:
      NotImplementedError: there are groups.
      ShapeError: the numbers of features differ.

    Differs from JAX: any number of spatial dimensions, strides and dilations.

    Example:
      >>> from evertrace.experimental import sparse
      >>> x = sparse.bcoo_fromdense(jnp.array([[[1.0, 0.0, 2.0, 0.0]]]))
      >>> kernel = sparse.bcoo_fromdense(jnp.array([[[1.0, 10.0]]]))
      >>> options = {"window_strides": (1,), "padding": "VALID"}
      >>> sparse.bcoo_conv_general_dilated(x, kernel, **options).todense()
      Array([[[ 1., 20.,  2.]]], dtype=float32)
    """
    del precision, out_sharding
    if feature_group_count != 1 or batch_group_count != 1:
        raise _refuse("bcoo_conv_general_dilated", "a convolution in groups", "convolve each group")
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    lhs, rhs = (
        bcoo_transpose(merged(m.update_layout(n_dense=0)), permutation=spec)
        for m, spec in ((lhs, numbers.lhs_spec), (rhs, numbers.rhs_spec))
    )
    if lhs.shape[1] != rhs.shape[1]:
        raise errors.user_error(
            errors.ShapeError,
            f"bcoo_conv_general_dilated: {lhs.shape[1]} features and a kernel for {rhs.shape[1]}.",
            fix="make them equal.",
            anchor="shape-conv",
        )
    steps = [
        np.ones(lhs.ndim - 2, int) if s is None else np.array(s)
        for s in (window_strides, lhs_dilation, rhs_dilation)
    ]
    stride, spread, reach = steps
    size, kernel = (np.array(m.shape[2:]) for m in (lhs, rhs))
    size = np.where(size > 0, (size - 1) * spread + 1, 0)
    kernel = np.where(kernel > 0, (kernel - 1) * reach + 1, 0)
    if isinstance(padding, str):
        padding = padtype_to_pads(tuple(size), tuple(kernel), tuple(stride), padding)
    low, high = np.array(padding, int).reshape(-1, 2).T
    shape = [lhs.shape[0], rhs.shape[0], *((size + low + high - kernel) // stride + 1).clip(0)]

    pairs, kind = (lhs.nse, rhs.nse), lhs.indices.dtype
    left, right = lhs.indices[:, None], rhs.indices[None].astype(kind)
    # Output place p reads the operand at p * stride + reach * (place in the kernel) - low.
    place = left[..., 2:] * spread.astype(kind) + low.astype(kind)
    place = place - right[..., 2:] * reach.astype(kind)
    keep = (left[..., 1] == right[..., 1]) & all_of(place % stride.astype(kind) == 0, axis=-1)
    keep &= inside(lhs.indices, lhs.sparse_shape)[:, None]
    keep &= inside(rhs.indices, rhs.sparse_shape)[None]
    columns = [broadcast_to(x, pairs) for x in (left[..., 0], right[..., 0])]
    place = place // stride.astype(kind)
    columns += [place[..., i] for i in range(place.shape[-1])]
    count = math.prod(pairs)
    rows = reshape(stack(columns, axis=-1), (count, lhs.ndim))
    keep = reshape(keep, (count,)) & inside(rows, tuple(shape))
    data = mask_data(reshape(lhs.data[:, None] * rhs.data[None], (count,)), keep)
    data = data if preferred_element_type is None else data.astype(preferred_element_type)
    out = BCOO((data, outside(rows, keep, shape)), shape=shape)
    return bcoo_transpose(out, permutation=[int(i) for i in np.argsort(numbers.out_spec)])


@public
def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Array:
    """Return the elements of a product of dense arrays at some coordinates only.

    Args:
      A: an array.
      B: an array.
      indices: coordinates in the product, of shape ``batch + (nse, n_sparse)``, as of a `BCOO`.
      dimension_numbers: as of `lax.dot_general`.

    Returns:
      The data of a `BCOO` with these coordinates, of shape ``batch + (nse,) + dense``; zero
      for coordinates that are outside. Where the coordinates say all dimensions, only these
      elements are computed.

    Example:
      >>> from evertrace.experimental import sparse
      >>> a, b = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 4))
      >>> numbers = (((1,), (0,)), ((), ()))
      >>> sparse.bcoo_dot_general_sampled(a, b, jnp.array([[1, 3]]), dimension_numbers=numbers)
      Array([12.], dtype=float32)
    """
    A, B, indices = (as_array(x, "bcoo_dot_general_sampled") for x in (A, B, indices))
    numbers = static_numbers(dimension_numbers)
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=numbers)


@formula("bcoo_dot_general_sampled", linear=(0, 1))
def bcoo_dot_general_sampled_p(a, b, indices, *, dimension_numbers):
    (lc, rc), (lb, rb) = dimension_numbers
    free_a = tuple(d for d in range(a.ndim) if d not in lc + lb)
    free_b = tuple(d for d in range(b.ndim) if d not in rc + rb)
    n, k = len(lb), len(lb) + len(free_a)
    if indices.ndim != 2 or indices.shape[1] != k + len(free_b):
        whole = dot_general(a, b, dimension_numbers)
        return bcoo_extract_p.bind(indices, whole, assume_unique=True)
    columns = list(range(indices.shape[1]))
    of_a = read(transpose(a, lb + free_a + lc), pick(indices, columns[:k]))
    of_b = read(transpose(b, rb + free_b + rc), pick(indices, columns[:n] + columns[k:]))
    axes = list(range(1, of_a.ndim))
    return dot_general(of_a, of_b, ((axes, axes), ([0], [0])))
