"""Interpolation of functions known on a grid."""

from __future__ import annotations

import functools
import itertools
import operator as op
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.doors import door
from evertrace._src.numpy import elementary, reductions, shape
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.numpy.search import searchsorted
from evertrace._src.support import set_module


def _linear(index, share):
    return [(index, 1 - share), (index + 1, share)]


def _nearest(index, share):
    return [(where(share <= 0.5, index, index + 1), 1)]


# Method -> what elements beside a place count how much, given its cell and where in it it is.
_METHODS = {"linear": _linear, "nearest": _nearest}


@set_module("evertrace.scipy.interpolate")
class RegularGridInterpolator:
    """A function known on a rectangular grid, which can be called at other places.

    It cannot be changed.

    Args:
      points: per axis of the grid a vector of increasing coordinates. In SciPy they may decrease.
      values: ``[n1, ..., nd, ...]``, the values on the grid; further axes are those of the values.
      method: "linear" or "nearest"; a call may choose another.
      bounds_error: whether places outside the grid raise ValueError. Only in calls that run at
        once, since a compiled program cannot raise; JAX does not have it.
      fill_value: the value outside the grid; None extrapolates.

    Raises:
      ValueError: for an unknown method, coordinates that do not match the values or do not
        increase (where they are known), or a complex `fill_value` of real values.

    Example:
      >>> from evertrace.scipy.interpolate import RegularGridInterpolator
      >>> grid = (jnp.array([0.0, 1.0, 3.0]), jnp.array([0.0, 2.0]))
      >>> function = RegularGridInterpolator(grid, jnp.array([[0.0, 2.0], [1.0, 3.0], [3.0, 5.0]]))
      >>> function(jnp.array([[2.0, 1.0], [0.5, 0.5]]))
      Array([3., 1.], dtype=float32)
    """

    method: str
    bounds_error: bool
    fill_value: Any
    grid: tuple[Any, ...]
    values: Any

    def __init__(
        self,
        points: Any,
        values: Any,
        method: Any = "linear",
        bounds_error: bool = False,
        fill_value: Any = float("nan"),
    ) -> None:
        (values,) = promote_dtypes_inexact("RegularGridInterpolator", asarray(values))
        vars(self).update(
            method=_known(method),
            bounds_error=bounds_error,
            fill_value=fill_value,
            grid=tuple([asarray(p) for p in itertools.islice(points, values.ndim + 1)]),
            values=values,
        )
        sizes = tuple([p.shape for p in self.grid])
        if sizes != tuple([(n,) for n in self.values.shape[: len(sizes)]]):
            raise _error(
                f"coordinates of shapes {sizes} do not match values of shape {self.values.shape}.",
                "pass one vector per axis, of the size of the axis.",
            )
        for axis, p in enumerate(self.grid):
            if type(p) is Array and not np.all(np.asarray(p)[1:] > np.asarray(p)[:-1]):
                raise _error(
                    f"the coordinates of axis {axis} do not increase.",
                    "sort them, and the values along the axis with them.",
                )
        is_complex = dtypes.issubdtype(self.values.dtype, np.complexfloating)
        if fill_value is not None and np.iscomplexobj(fill_value) and not is_complex:
            raise _error(
                f"fill_value {fill_value} is complex, the values are {self.values.dtype}.",
                "use a real one, or convert the values.",
            )

    def __setattr__(self, name: Any, value: Any) -> None:
        """Raise: compiled programs hold the values, and would not see others."""
        raise errors.user_error(
            AttributeError,
            f"RegularGridInterpolator: {name} cannot be changed.",
            fix="make a new interpolator.",
            anchor="immutable",
        )

    @door
    def __call__(self, xi: Any, method: Any = None) -> Any:
        """Return the values at some places.

        Args:
          xi: ``[..., d]`` places, or a tuple of d arrays that broadcast. A vector holds one place,
            or many where d is 1.
          method: "linear" or "nearest". Default: that of the interpolator.

        Returns:
          ``[..., *values.shape[d:]]``.
        """
        method = self.method if method is None else _known(method)
        places = self._places(xi)
        cells = [_cell(p, x) for p, x in zip(self.grid, places, strict=True)]
        extra = self.values.ndim - len(self.grid)
        terms = []
        for corner in itertools.product(*[_METHODS[method](*cell) for cell in cells]):
            weight = functools.reduce(op.mul, [w for _, w in corner], 1)
            weight = shape.expand_dims(weight, tuple(range(-extra, 0))) if extra else weight
            terms.append(self.values[tuple([i for i, _ in corner])] * weight)
        result = functools.reduce(op.add, terms)
        outside = functools.reduce(
            op.or_, [(x < p[0]) | (x > p[-1]) for p, x in zip(self.grid, places, strict=True)]
        )
        if self.bounds_error and bool(reductions.any(outside)):
            raise _error(
                "some places are outside of the grid.", "pass bounds_error=False and a fill_value."
            )
        if self.fill_value is None:
            return result
        outside = shape.expand_dims(outside, tuple(range(-extra, 0))) if extra else outside
        return where(outside, self.fill_value, result)

    def _places(self, xi):
        """Return places as one floating array per axis of the grid."""
        d = len(self.grid)
        if isinstance(xi, tuple):
            xi = stack(shape.broadcast_arrays(*[asarray(x) for x in xi]), -1)
        (places,) = promote_dtypes_inexact("RegularGridInterpolator", asarray(xi))
        if places.ndim < 2 and places.size % d == 0:
            places = shape.reshape(places, (-1, d))
        if places.ndim < 2 or places.shape[-1] != d:
            raise _error(
                f"places of shape {places.shape} do not have the {d} coordinates of the grid.",
                f"pass an array whose last axis has size {d}.",
            )
        return [places[..., i] for i in range(d)]


def _error(what, fix):
    return errors.user_error(
        ValueError, f"RegularGridInterpolator: {what}", fix=fix, anchor="shape"
    )


def _known(method):
    if method not in _METHODS:
        raise _error(f"there is no method {method!r}.", 'use "linear" or "nearest".')
    return method


def _cell(points, places):
    """Return the cells of an axis in which places are, and where in them, from 0 to 1."""
    last = max(points.shape[0] - 2, 0)
    index = elementary.clip(searchsorted(points, places, side="right") - 1, 0, last)
    low, high = points[index], points[index + int(points.shape[0] > 1)]
    return index, (places - low) / where(high > low, high - low, 1)
