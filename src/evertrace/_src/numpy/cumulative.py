"""Running sums and products, NumPy's and the array standard's."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.core.jaxpr import literal
from evertrace._src.numpy.arguments import canonical_axis, no_out, operand
from evertrace._src.numpy.reductions import sum_dtype
from evertrace._src.ops.convert import convert
from evertrace._src.ops.cumulative import cumprod_p, cumsum_p
from evertrace._src.ops.slicing import pad_p
from evertrace._src.ops.structural import reshape


@native.planned(by_type=False)
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
) -> Array:
    """Return running sums along one axis, or over the flattened array.

    Args:
      a: array.
      axis: int, or None to flatten the array first.
      dtype: of the result; default as `a`, the default integer for booleans. Unlike in NumPy,
        narrow integers stay narrow.
      out: must be None.

    Returns:
      Array of the shape of `a`, or a vector where `axis` is None.

    Example:
      >>> jnp.cumsum(jnp.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
      >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([[1, 2],
             [4, 6]], dtype=int32)
    """
    no_out("cumsum", out)
    return _cumulate("cumsum", cumsum_p, a, axis, dtype)


@native.planned(by_type=False)
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
) -> Array:
    """Return running products along one axis, or over the flattened array; see `cumsum`.

    Example:
      >>> jnp.cumprod(jnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    no_out("cumprod", out)
    return _cumulate("cumprod", cumprod_p, a, axis, dtype)


def _cumulate(name, prim, a, axis, dtype):
    x = operand(name, a)
    if axis is None:
        x, axis = reshape(x, (x.aval.size,)), 0
    axis = canonical_axis(name, axis, x.aval.ndim)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, name)
    elif x.aval.dtype == np.bool_:
        dtype = dtypes.default_dtype(int)
    else:
        dtype = x.aval.dtype
    x = convert(x, dtype)
    if dtype == np.bool_:  # sums of booleans are disjunctions
        return convert(prim.bind(convert(x, np.dtype(np.int32)), axis=axis, reverse=False), dtype)
    return prim.bind(x, axis=axis, reverse=False)


@native.planned(by_type=False)
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running sums along one axis, as the array standard defines them.

    Args:
      x: array of rank 1 or more.
      axis: int; needed unless the rank is 1.
      dtype: of the result; default as `sum`.
      include_initial: whether to put the empty sum, 0, in front.

    Returns:
      Array of the shape of `x`, one longer along `axis` with `include_initial`.

    Raises:
      ValueError: `axis` is missing for an array of another rank than 1.

    Example:
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", cumsum_p, 0, x, axis, dtype, include_initial)


@native.planned(by_type=False)
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running products along one axis; see `cumulative_sum`.

    Example:
      >>> jnp.cumulative_prod(jnp.array([2, 3, 4]), include_initial=True)
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _cumulative("cumulative_prod", cumprod_p, 1, x, axis, dtype, include_initial)


def _cumulative(name, prim, unit, x, axis, dtype, include_initial):
    x = operand(name, x)
    if x.aval.ndim == 0 or (axis is None and x.aval.ndim != 1):
        raise errors.user_error(
            ValueError,
            f"{name}: axis is required for an array of shape {x.aval.shape}.",
            fix="pass `axis=` for an array of rank 2 or more; scalars have no axis.",
            anchor="axis",
        )
    axis = canonical_axis(name, 0 if axis is None else axis, x.aval.ndim)
    out = _cumulate(name, prim, x, axis, sum_dtype(x.aval.dtype, True) if dtype is None else dtype)
    if not include_initial:
        return out
    padding = tuple((1 if i == axis else 0, 0, 0) for i in range(x.aval.ndim))
    return pad_p.bind(out, literal(unit, out.aval.dtype), padding_config=padding)
