"""Matrix products and their generalisation."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.ops import dot as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import mul_p
from evertrace._src.ops.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    precision_param,
)
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.structural import broadcast_in_dim_p, reshape

_PairOfDims: TypeAlias = tuple[Sequence[int], Sequence[int]]

DotDimensionNumbers: TypeAlias = tuple[_PairOfDims, _PairOfDims]
"""Contracting dimensions of both operands, and batch dimensions of both."""

PrecisionLike: TypeAlias = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)
"""What `dot_general` takes as `precision`."""


def element_type_param(preferred_element_type):
    """Return the `preferred_element_type` param: None or a canonical dtype."""
    if preferred_element_type is None:
        return None
    return dtypes.canonicalize_dtype(preferred_element_type)


@lays_out
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Sum products over some dimensions of two arrays, side by side over others.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: ``((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))``, sequences of
        dimensions counted from 0. Contracted dimensions are paired and summed over, batch
        dimensions are paired and kept.
      precision: None, a `Precision` or its name, a pair of these, a `DotAlgorithm` or a
        `DotAlgorithmPreset`.
      preferred_element_type: dtype of the result and of the sums; by default what the operands'
        dtypes promote to.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array with the batch dimensions, then the other dimensions of `lhs`, then those of `rhs`.

    Raises:
      ShapeError: paired dimensions differ in size.

    Example:
      >>> x, y = jnp.arange(4.0).reshape(2, 2), jnp.array([[1.0, 1.0], [2.0, 2.0]])
      >>> lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))))
      Array([ 1., 10.], dtype=float32)
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return ops.dot_general_p.bind(
        as_operand(lhs, "dot_general"),
        as_operand(rhs, "dot_general"),
        dimension_numbers=(
            (_ints(lhs_contract), _ints(rhs_contract)),
            (_ints(lhs_batch), _ints(rhs_batch)),
        ),
        precision=precision_param(precision),
        preferred_element_type=element_type_param(preferred_element_type),
        out_sharding=out_sharding,
    )


def _ints(dims):
    return tuple(map(operator.index, dims))


@lays_out
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply vectors and matrices; or, with `dimension_numbers`, as `dot_general`.

    Args:
      lhs: an array of rank 1 or 2, ``[n]`` or ``[m, n]``.
      rhs: an array of rank 1 or 2, ``[n]`` or ``[n, k]``.
      dimension_numbers: as in `dot_general`, for arrays of any rank.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array: a scalar, ``[m]``, ``[k]`` or ``[m, k]``.

    Raises:
      ShapeError: the shapes do not fit; `numpy.matmul` takes stacks of matrices.

    Example:
      >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
      Array([12, 34], dtype=int32)
    """
    lhs, rhs = as_operand(lhs, "dot"), as_operand(rhs, "dot")
    if dimension_numbers is None:
        fits = lhs.ndim in (1, 2) and rhs.ndim in (1, 2) and lhs.shape[-1] == rhs.shape[0]
        if not fits:
            raise errors.user_error(
                errors.ShapeError,
                f"dot: shapes {lhs.shape} and {rhs.shape} are not those of vectors or matrices "
                "with the last dimension of lhs as long as the first of rhs.",
                fix="transpose an operand, or say with dimension_numbers what to contract.",
                anchor="shape-dot",
            )
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Multiply stacks of matrices.

    Args:
      lhs: an array ``[..., m, n]``.
      rhs: an array ``[..., n, k]`` with the same leading dimensions.
      precision: as in `dot_general`.

    Returns:
      An array ``[..., m, k]``.

    Raises:
      ShapeError: ranks or sizes do not fit; `numpy.matmul` broadcasts.

    Example:
      >>> matrices = jnp.array([[[1, 2], [3, 4]], [[1, 0], [0, 1]]])
      >>> lax.batch_matmul(matrices, jnp.array([[[10], [1]], [[5], [6]]]))[..., 0]
      Array([[12, 34],
             [ 5,  6]], dtype=int32)
    """
    lhs, rhs = as_operand(lhs, "batch_matmul"), as_operand(rhs, "batch_matmul")
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise errors.user_error(
            errors.ShapeError,
            f"batch_matmul: shapes {lhs.shape} and {rhs.shape} must have one rank, at least 2.",
            fix="add dimensions with `expand_dims`, or use `numpy.matmul`, which broadcasts.",
            anchor="shape-dot",
        )
    batch = tuple(range(lhs.ndim - 2))
    contract = (lhs.ndim - 1,), (lhs.ndim - 2,)
    return dot_general(lhs, rhs, (contract, (batch, batch)), precision)


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Multiply operands of which each block, along a contracted dimension, has a scale.

    Args:
      lhs: an array, often of 8-bit floats.
      rhs: the same.
      lhs_scale: an array of the rank of `lhs`: as large in all dimensions but the contracted ones,
        and there with one entry for each block of equal length. None scales nothing.
      rhs_scale: the same for `rhs`.
      dimension_numbers: as in `dot_general`; by default the last dimension of `lhs` is contracted
        with the first of `rhs`.
      preferred_element_type: dtype of the result and the sums, by default bfloat16.

    Returns:
      An array as from `dot_general`.

    The operands are scaled in bfloat16, and their products summed in the dtype of the result.

    Example:
      >>> scale = jnp.array([[2.0, 0.5]])  # for two blocks of two elements
      >>> lax.scaled_dot(jnp.ones((1, 4)), jnp.ones((4, 1)), lhs_scale=scale)
      Array([[5]], dtype=bfloat16)
    """
    lhs, rhs = as_operand(lhs, "scaled_dot"), as_operand(rhs, "scaled_dot")
    if dimension_numbers is None:
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    (lhs_contract, rhs_contract), _ = dimension_numbers
    dtype = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    return dot_general(
        _scaled("lhs", lhs, lhs_scale, _ints(lhs_contract)),
        _scaled("rhs", rhs, rhs_scale, _ints(rhs_contract)),
        dimension_numbers,
        preferred_element_type=dtype,
    )


def _scaled(side, x, scale, contract):
    """Return an operand in bfloat16, times the scales of its blocks."""
    dtype = np.dtype(dtypes.bfloat16)
    x = convert(x, dtype)
    if scale is None:
        return x
    scale = as_operand(scale, "scaled_dot")
    fits = scale.ndim == x.ndim and all(
        n == blocks or (d in contract and blocks and n % blocks == 0)
        for d, (n, blocks) in enumerate(zip(x.shape, scale.shape, strict=True))
    )
    if not fits:
        raise errors.user_error(
            errors.ShapeError,
            f"scaled_dot: {side}_scale of shape {scale.shape} does not fit {side} of shape "
            f"{x.shape}, of which dimensions {contract} are contracted.",
            fix="make sizes equal, but along contracted dimensions one that divides the operand's.",
            anchor="shape-dot",
        )
    for d, n in enumerate(x.shape):
        if scale.shape[d] != n:
            scale = _repeated(scale, d, n // scale.shape[d])
    return mul_p.bind(x, convert(scale, dtype))


def _repeated(x, dim, count):
    """Return `x` with each entry of a dimension `count` times."""
    before, after = x.shape[: dim + 1], x.shape[dim + 1 :]
    kept = tuple(d for d in range(x.ndim + 1) if d != dim + 1)
    wide = broadcast_in_dim_p.bind(
        x, shape=(*before, count, *after), broadcast_dimensions=kept, sharding=None
    )
    return reshape(wide, (*before[:-1], before[-1] * count, *after))
