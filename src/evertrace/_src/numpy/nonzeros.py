"""Where an array is not zero.

How many elements that are depends on values. The functions work on arrays with known values, in
NumPy; for others they need `size`, the number of results: further ones are left out, missing ones
are filled in.
"""

from __future__ import annotations

import math

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import concrete_value
from evertrace._src.numpy import creation, ufuncs
from evertrace._src.numpy.arguments import operand, static_size
from evertrace._src.ops.convert import convert
from evertrace._src.ops.cumulative import cumsum_p
from evertrace._src.ops.slicing import stack_p
from evertrace._src.ops.structural import reshape


def nonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero.

    Args:
      a: array of rank n, at least 1.
      size: number of results; required where values are not known.
      fill_value: index, or one per axis, in place of missing ones; default 0.

    Returns:
      Tuple of n integer vectors, one per axis.

    Raises:
      ConcretizationTypeError: values are not known, as under `jit`, and `size` is not given.
      ValueError: the array is of rank 0.

    Example:
      >>> x = jnp.array([[0, 7], [8, 9]])
      >>> jnp.nonzero(x)
      (Array([0, 1, 1], dtype=int32), Array([1, 0, 1], dtype=int32))
      >>> x[jnp.nonzero(x)]
      Array([7, 8, 9], dtype=int32)
    """
    x = operand("nonzero", a)
    if x.aval.ndim == 0:
        raise errors.user_error(
            errors.ShapeError,
            "nonzero: does not take arrays of rank 0.",
            fix="use `atleast_1d` first.",
            anchor="shape",
        )
    dtype = dtypes.default_dtype(int)
    if size is None:
        found = np.nonzero(known_values("nonzero", x)._contents())
        return tuple(creation.asarray(places, dtype) for places in found)
    size = static_size("nonzero", "size", size)
    mask = ufuncs.not_equal(x, 0) if x.aval.dtype != np.bool_ else x
    flat, count = first_true(reshape(mask, (mask.aval.size,)), size)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * x.aval.ndim
    if len(fills) != x.aval.ndim:
        raise errors.user_error(
            ValueError,
            f"nonzero: {len(fills)} fill values for an array of rank {x.aval.ndim}.",
            fix="give one per axis.",
            anchor="shape",
        )
    is_found = creation.arange(size) < count
    # Sizes of 0 leave nothing to be found, but must not divide.
    sizes = [dims.max_of(1, n) for n in x.aval.shape]
    places = [flat // math.prod(sizes[i + 1 :]) % n for i, n in enumerate(sizes)]
    return tuple(
        ufuncs.choose_by(is_found, place, _like(place, 0 if fill is None else fill))
        for place, fill in zip(places, fills, strict=True)
    )


def known_values(name, x, decide="the size of the result depends", fix=None):
    """Return the concrete array behind `x`; raise if its values are not known.

    Args:
      name: the function that asks.
      x: an operand.
      decide: what depends on the values, for the error.
      fix: what to pass; default a `size`.
    """
    known = concrete_value(x)
    if known is None:
        default = f"pass `size=`, e.g. `{name}(x, size=x.size)`"
        raise errors.user_error(
            errors.ConcretizationTypeError,
            f"{name}: {decide} on the values of a traced array {x.aval.str_short()}.",
            fix=f"{fix or default}, or call it outside of jit.",
            anchor="ConcretizationTypeError",
        )
    return known


def first_true(mask, size):
    """Return where a vector is true, in `size` places, and how often it is (0 if `size` is 0)."""
    dtype = dtypes.default_dtype(int)
    places = creation.zeros(size, dtype)
    if mask.aval.size == 0 or size == 0:
        return places, creation.zeros((), dtype)
    ranks = cumsum_p.bind(convert(mask, dtype), axis=0, reverse=False)
    target = ufuncs.choose_by(mask, ranks - 1, _like(ranks, size))
    return places.at[target].set(creation.arange(mask.aval.size), mode="drop"), ranks[-1]


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the indices, in the flattened array, of the elements that are not zero.

    Example:
      >>> jnp.flatnonzero(jnp.array([[0, 7], [8, 9]]))
      Array([1, 2, 3], dtype=int32)
      >>> ev.jit(lambda x: jnp.flatnonzero(x, size=4, fill_value=-1))(jnp.array([0, 7, 8]))
      Array([ 1,  2, -1, -1], dtype=int32)
    """
    x = operand("flatnonzero", a)
    x = reshape(x, (x.aval.size,))
    return nonzero(x, size=size, fill_value=fill_value)[0]


def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return an array ``[count, rank]`` of the indices of the elements that are not zero.

    Example:
      >>> jnp.argwhere(jnp.array([[0, 7], [8, 9]]))
      Array([[0, 1],
             [1, 0],
             [1, 1]], dtype=int32)
    """
    x = operand("argwhere", a)
    if x.aval.ndim == 0:
        found = nonzero(reshape(x, (1,)), size=size, fill_value=fill_value)[0]
        return creation.zeros((found.shape[0], 0), found.dtype)
    found = nonzero(x, size=size, fill_value=fill_value)
    return stack_p.bind(*found, axis=1)


def _like(x, value):
    """Return an array of the type of `x` filled with a scalar."""
    return creation.full(x.aval.shape, value, x.aval.dtype)
