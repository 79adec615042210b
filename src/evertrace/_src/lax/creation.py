"""Arrays made from nothing: `iota`, `full` and their like."""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.interop import as_operand, aval_of
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.core.tracer import Tracer
from evertrace._src.lax.shapes import as_dim, as_shape
from evertrace._src.ops import creation as ops
from evertrace._src.ops.convert import convert_element_type_p
from evertrace._src.ops.structural import spread

__all__ = ["broadcasted_iota", "empty", "full", "full_like", "iota", "zeros_like_array"]


def iota(dtype, size):
    """Return ``[0, 1, 2, ...]``.

    Args:
      dtype: an integer, floating or complex dtype.
      size: how many numbers.

    Returns:
      An array ``[size]`` of `dtype`.
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype, shape, dimension, *, out_sharding=None):
    """Return an array of `shape` that counts ``0, 1, 2, ...`` along one dimension.

    Args:
      dtype: an integer, floating or complex dtype.
      shape: of the result.
      dimension: the one to count along.
      out_sharding: ignored.

    Raises:
      AxisError: there is no such dimension.
      DTypeError: for a boolean dtype.
    """
    dtype = dtypes.check_user_dtype_supported(dtype, "iota")
    shape = as_shape("iota", shape)
    return ops.iota(dtype, shape, as_dim("iota", dimension, len(shape)))


def full(shape, fill_value, dtype=None, *, sharding=None):
    """Return an array of `shape` with one value everywhere.

    Args:
      shape: of the result.
      fill_value: a scalar.
      dtype: of the result; by default that of `fill_value`.
      sharding: ignored.

    Returns:
      An array of `shape`; weakly typed if `fill_value` is and no `dtype` is given.

    Raises:
      ShapeError: `fill_value` is not a scalar.
    """
    shape = as_shape("full", shape)
    value = as_operand(fill_value, "full")
    if value.aval.shape != ():
        raise errors.user_error(
            errors.ShapeError,
            f"full: the fill value must be a scalar, got shape {value.aval.shape}.",
            fix="use `numpy.full` or `numpy.broadcast_to`, which broadcast.",
            anchor="shape-broadcast",
        )
    if dtype is not None:
        value = converted(value, dtypes.check_user_dtype_supported(dtype, "full"))
    return spread(_as_value(value), shape)


def _as_value(x):
    """Return `x`; a literal for a rank 0 result is made an array by the broadcast's caller."""
    return x


def converted(x, dtype, weak_type=False):
    """Return an operand in another dtype; literals are converted at once."""
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if type(x) is Literal and not isinstance(dtype, dtypes.ExtendedDType):
        return literal(x.val.item(), dtype, weak_type) if _holds(x, dtype) else _convert(x, dtype)
    return _convert(x, dtype, weak_type)
