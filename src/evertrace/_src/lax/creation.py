"""Arrays made from nothing: `iota`, `full` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, aval_of
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Shape
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops import creation as ops
from evertrace._src.ops.convert import convert, convert_element_type_p
from evertrace._src.ops.sharding_constraint import laid_out, lays_out
from evertrace._src.ops.structural import spread


def iota(dtype: DTypeLike, size: int) -> Array:
    """Return ``[0, 1, 2, ...]``.

    Args:
      dtype: an integer, floating or complex dtype.
      size: how many numbers.

    Returns:
      An array ``[size]`` of `dtype`.

    Example:
      >>> lax.iota("float32", 4)
      Array([0., 1., 2., 3.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


@lays_out
def broadcasted_iota(
    dtype: DTypeLike, shape: Shape, dimension: int, *, out_sharding: Any = None
) -> Array:
    """Return an array of `shape` that counts ``0, 1, 2, ...`` along one dimension.

    Args:
      dtype: an integer, floating or complex dtype.
      shape: of the result.
      dimension: the one to count along.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      AxisError: there is no such dimension.
      DTypeError: for a boolean dtype.

    Example:
      >>> lax.broadcasted_iota("int32", (2, 3), 1)
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    dtype = dtypes.check_user_dtype_supported(dtype, "iota")
    return ops.iota(dtype, as_shape(shape), int(dimension))


def full(
    shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: Any = None
) -> Array:
    """Return an array with one value everywhere.

    Args:
      shape: of the result.
      fill_value: a scalar.
      dtype: of the result; by default that of `fill_value`.
      sharding: how the result lies over a mesh, or a spec for the mesh in force.

    Returns:
      An array of `shape`; weakly typed if `fill_value` is and no `dtype` is given.

    Raises:
      ShapeError: `fill_value` is not a scalar.

    Example:
      >>> lax.full((2, 3), 7)
      Array([[7, 7, 7],
             [7, 7, 7]], dtype=int32, weak_type=True)
    """
    value = as_operand(fill_value, "full")
    if dtype is not None:
        value = _converted(value, dtypes.check_user_dtype_supported(dtype, "full"), False)
    return laid_out("full", _filled("full", as_shape(shape), value), sharding)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    sharding: Any = None,
) -> Array:
    """Return an array like another with one value everywhere.

    Args:
      x: an array, or anything with a shape and a dtype.
      fill_value: a scalar.
      dtype: of the result; by default that of `x`.
      shape: of the result; by default that of `x`.
      sharding: how the result lies over a mesh, or a spec for the mesh in force.

    Returns:
      An array; weakly typed if `x` is and no `dtype` is given.

    Raises:
      ShapeError: `fill_value` is not a scalar.

    Example:
      >>> lax.full_like(jnp.zeros(3, "int8"), 5)
      Array([5, 5, 5], dtype=int8)
    """
    like = _aval_like(x)
    weak_type = like.weak_type
    if dtype is not None:
        weak_type = False
        dtype = dtypes.check_user_dtype_supported(dtype, "full_like")
    value = _converted(
        as_operand(fill_value, "full_like"), like.dtype if dtype is None else dtype, weak_type
    )
    out = _filled("full_like", like.shape if shape is None else as_shape(shape), value)
    return laid_out("full_like", out, sharding)


def _aval_like(x):
    """Return the aval of an array, or of anything with a shape and a dtype."""
    if hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "aval"):
        return ShapedArray(x.shape, dtypes.dtype(x), getattr(x, "weak_type", False))
    return aval_of(x, "full_like")


@lays_out
def empty(shape: Shape, dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """Return an array whose contents do not matter: zeros.

    Args:
      shape: of the result.
      dtype: of the result.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array of `shape` and `dtype`. NumPy's may hold anything; JAX's holds zeros too.

    Example:
      >>> lax.empty((3,), "int32")
      Array([0, 0, 0], dtype=int32)
    """
    return full(shape, 0, dtype)


def _filled(name, shape, value):
    if value.aval.shape != ():
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the fill value must be a scalar, got shape {value.aval.shape}.",
            fix=f"use `numpy.{name}`, which broadcasts.",
            anchor="shape-broadcast",
        )
    return spread(value, shape) if shape else as_array(value)


def _converted(x, dtype, weak_type):
    """Return an operand in another dtype; a literal is converted at once."""
    if type(x) is not Literal or (x.aval.dtype == dtype and x.aval.weak_type == weak_type):
        return convert(x, dtype, weak_type)
    known = x.val != 0 if dtype == np.dtype(bool) else x.val
    value = convert_element_type_p.host(
        np.asarray(known), new_dtype=dtype, weak_type=weak_type, sharding=None
    )
    return Literal(np.asarray(value)[()], ShapedArray((), dtype, weak_type))
