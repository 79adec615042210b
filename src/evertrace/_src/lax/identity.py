"""Functions that return values as they are, and say something about them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, from_numpy
from evertrace._src.arrays.types import ArrayLike, Shape
from evertrace._src.core.placement import as_sharding
from evertrace._src.engines import placing
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops.sharding_constraint import is_of_type, lay_out
from evertrace._src.ops.sink import dce_sink_p
from evertrace._src.ops.structural import broadcast_in_dim_p

T = TypeVar("T")


def stage(x: Any, /) -> Array:
    """Return a value as an array: a number, a NumPy array or an array.

    Example:
      >>> lax.stage(3)
      Array(3, dtype=int32, weak_type=True)
    """
    return as_array(x, "stage")


def shape_as_value(shape: Shape) -> Array:
    """Return a shape as an array of int32.

    Example:
      >>> lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    return from_numpy(np.asarray(as_shape(shape), np.int32), "shape_as_value")


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Repeat an array to the shape of another, aligned at the last dimensions.

    Args:
      arr: an array.
      like_arr: an array that has the shape wanted; sizes are those of `arr`, or that is 1.

    Returns:
      An array of the shape of `like_arr` and the dtype of `arr`.

    Raises:
      ShapeError: `arr` does not broadcast to that shape.

    Example:
      >>> lax.broadcast_like(jnp.arange(2), jnp.zeros((2, 2)))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    x = as_operand(arr, "broadcast_like")
    shape = as_operand(like_arr, "broadcast_like").aval.shape
    added = len(shape) - x.aval.ndim
    if added < 0 or any(n not in (1, m) for n, m in zip(x.aval.shape, shape[added:], strict=True)):
        raise errors.user_error(
            errors.ShapeError,
            f"broadcast_like: shape {x.aval.shape} does not broadcast to {shape}.",
            fix="make its trailing sizes equal, or 1.",
            anchor="shape-broadcast",
        )
    kept = tuple(range(added, len(shape)))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept, sharding=None)


def with_sharding_constraint(x: T, shardings: Any) -> T:
    """Return arrays, which are to be laid out as the shardings say.

    Args:
      x: a tree of arrays.
      shardings: a sharding or a partition spec, or a tree of them that is a prefix of that of `x`.

    Returns:
      The arrays as they are: they are computed on one device, and results are laid out by
      `evertrace.device_put`. Jaxprs show the constraint, that of the cotangents too.

    Raises:
      TypeError: `shardings` holds something else.
      ValueError: a sharding does not divide its array evenly, or a spec is given and no mesh is in
        force.

    Example:
      >>> import evertrace.sharding
      >>> here = ev.sharding.SingleDeviceSharding(ev.devices()[0])
      >>> lax.with_sharding_constraint(jnp.arange(2), here)
      Array([0, 1], dtype=int32)
    """
    where = "with_sharding_constraint"
    leaves, treedef = tree.flatten(x)
    given = tree.flatten_axes(f"{where} shardings", treedef, shardings)
    pairs = zip(leaves, given, strict=True)
    return tree.unflatten(treedef, [_checked(where, leaf, sharding) for leaf, sharding in pairs])


def _checked(where, leaf, sharding):
    """Return a leaf as an array that the sharding suits."""
    sharding = as_sharding(where, sharding)
    x = as_array(leaf, where)
    sharding.check(where, x.shape)
    if type(x) is Array and x._committed and not is_of_type(sharding):
        placing.check_asked(where, x.sharding.device_list(), {sharding.device_list(): sharding})
    return lay_out(x, sharding)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep values in the program though nothing reads them.

    Args:
      val: a tree of arrays.
      prevent_mlir_dce: whether XLA must compute them too. Otherwise they stay in jaxprs and in the
        StableHLO text, and XLA may drop them.

    Tangents of the values are kept likewise. As in JAX, the result of `vmap` has no sink, and the
    backward pass of a gradient none for cotangents.

    Example:
      >>> def f(x):
      ...     lax.dce_sink(lax.sin(x))
      ...     return x * 2.0
      >>> [str(eqn.primitive) for eqn in ev.make_jaxpr(f)(1.0).eqns]
      ['sin', 'dce_sink', 'mul']
    """
    for leaf in tree.leaves(val):
        dce_sink_p.bind(as_operand(leaf, "dce_sink"), prevent_mlir_dce=bool(prevent_mlir_dce))
