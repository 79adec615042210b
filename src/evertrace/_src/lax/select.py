"""Choosing elements from one of several arrays."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.broadcasting import scalars_like_arrays
from evertrace._src.ops import select as ops


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Choose between two arrays, element by element.

    Args:
      pred: a boolean scalar, or an array of the shape of the others.
      on_true: an array; chosen where `pred` holds.
      on_false: an array of the same shape and dtype.

    Returns:
      An array of the shape and dtype of `on_true`.

    Raises:
      ShapeError, DTypeError: shapes or dtypes differ. `numpy.where` broadcasts and promotes.

    Example:
      >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([10, 20]))
      Array([ 1, 20], dtype=int32)
    """
    return select_n(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Choose among arrays, element by element.

    Args:
      which: booleans for two cases or int32 for any number; a scalar, or of the cases' shape.
      *cases: arrays of one shape and dtype.

    Returns:
      An array with the elements of ``cases[which]``. Where `which` is out of range it is the
      engine's choice.

    Raises:
      ShapeError, DTypeError: shapes or dtypes do not fit.

    Example:
      >>> cases = jnp.array([1, 2, 3]), jnp.array([10, 20, 30]), jnp.array([-1, -2, -3])
      >>> lax.select_n(jnp.array([0, 2, 1]), *cases)
      Array([ 1, -2, 30], dtype=int32)
    """
    which = as_array(which, "select_n")
    return ops.select_n_p.bind(which, *scalars_like_arrays("select_n", cases))
