"""Interpolation of images at any places."""

from __future__ import annotations

import functools
import itertools
import operator as op
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import elementary, ufuncs
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.support import set_module


def _mirrored(index, size):
    """Reflect positions about the first and last elements, which are not repeated."""
    period = max(2 * (size - 1), 1)
    index = ufuncs.remainder(index, period)
    return ufuncs.minimum(index, period - index) if size > 1 else index


def _reflected(index, size):
    """Reflect positions about the edges of the first and last elements, which are repeated."""
    index = ufuncs.remainder(index, 2 * size)
    return ufuncs.minimum(index, 2 * size - 1 - index)


# Mode -> what element of an axis serves for one outside of it.
_MODES = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: elementary.clip(index, 0, size - 1),
    "wrap": lambda index, size: ufuncs.remainder(index, size),
    "mirror": _mirrored,
    "reflect": _reflected,
}


@set_module("evertrace.scipy.ndimage")
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Array:
    """Return the values of an array at places between its elements.

    Args:
      input: array of rank n.
      coordinates: n arrays of places along the axes, which broadcast to one shape; or one array
        with them along its first axis. 0 is the middle of the first element.
      order: 0 takes the nearest element, 1 interpolates linearly. Higher orders (splines) are not
        implemented.
      mode: what the array is continued with outside: "constant" with `cval`, "nearest" with the
        elements at its ends, "wrap" with itself, "mirror" with its mirror image about the middles
        of these elements, "reflect" with that about their edges. As in JAX, "constant" and "wrap"
        are what SciPy calls "grid-constant" and "grid-wrap".
      cval: the constant, converted to the dtype of `input`.

    Returns:
      Array of the shape of the coordinates and the dtype of `input`; integers are rounded,
      and of booleans any True within reach counts.

    Raises:
      NotImplementedError: for an unknown `order` or `mode`.
      ValueError: there is not one coordinate per axis, or the array has no elements.

    Example:
      >>> from evertrace.scipy import ndimage
      >>> image = jnp.arange(6.0).reshape(2, 3)
      >>> ndimage.map_coordinates(image, [jnp.array([0.5, 1.0]), jnp.array([1.0, 1.5])], order=1)
      Array([2.5, 4.5], dtype=float32)
    """
    name = "map_coordinates"
    x = asarray(input)
    if order not in (0, 1) or mode not in _MODES:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: there is no order {order!r} with mode {mode!r}.",
            fix=f"use order 0 or 1, and one of the modes {', '.join(map(repr, _MODES))}.",
            anchor="choice",
        )
    if len(coordinates) != x.ndim or not x.size:
        raise errors.user_error(
            ValueError,
            f"{name}: needs elements and one array of coordinates per axis, got shape {x.shape} "
            f"and {len(coordinates)} arrays of coordinates.",
            fix="pass a sequence with one array for each axis of the input.",
            anchor="shape",
        )
    cval = asarray(cval).astype(x.dtype)
    around = [
        _neighbours(name, asarray(place), order, functools.partial(_MODES[mode], size=size))
        for place, size in zip(coordinates, x.shape, strict=True)
    ]
    terms = []
    for corner in itertools.product(*around):
        indices = tuple(index for index, _ in corner)
        value = x[indices]
        if mode == "constant":
            inside = [(i >= 0) & (i < size) for i, size in zip(indices, x.shape, strict=True)]
            value = where(functools.reduce(op.and_, inside, True), value, cval)
        terms.append(functools.reduce(op.mul, (weight for _, weight in corner), value))
    total = functools.reduce(op.add, terms)
    is_integer = dtypes.issubdtype(x.dtype, np.integer)
    return convert(elementary.round(total) if is_integer else total, x.dtype)


def _neighbours(name, place, order, continued):
    """Return ``(index, weight)`` for each element beside the places along one axis."""
    (place,) = promote_dtypes_inexact(name, place)
    if order == 0:
        return [(continued(elementary.round(place).astype("int32")), 1)]
    low = elementary.floor(place)
    share = place - low
    index = low.astype("int32")
    return [(continued(index), 1 - share), (continued(index + 1), share)]
