"""Layers that reduce windows of their input, and the one that makes it flat."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evertrace._src import errors
from evertrace._src.doors import doors_for_results
from evertrace._src.lax.padding import padtype_to_pads
from evertrace._src.lax.reduce import reduce_window_shape_tuple
from evertrace._src.numpy import creation, inspection, shape
from evertrace._src.ops.windows import reduce_window_max_p, reduce_window_sum_p
from evertrace._src.support import listed, set_module

public = set_module("evertrace.example_libraries.stax")


@doors_for_results
def _flatten():
    def init_fun(rng, input_shape):
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply_fun(params, inputs, **kwargs):
        return shape.reshape(inputs, init_fun(None, inspection.shape(inputs))[0])

    return init_fun, apply_fun


Flatten: Any = _flatten()
"""The layer that makes one axis of all axes but the first."""


def _pooling(reduction_p, window_shape, strides, padding, spec, rescale=None):
    """Return the layer that reduces windows in space, and what `rescale` makes of the result."""
    strides = strides or (1,) * len(window_shape)
    spec = spec or "N" + "." * len(window_shape) + "C"

    def windows(input_shape):
        """Return sizes, strides and padding of the windows, with those of batch and channels."""
        if not len(window_shape) == len(strides) == len(spec) - 2 == len(input_shape) - 2:
            raise errors.user_error(
                errors.ShapeError,
                f"pooling: window {listed(window_shape)}, strides {listed(strides)} and layout "
                f"{spec!r} do not fit an input of shape {tuple(input_shape)}.",
                fix="give a size and a stride for each dimension besides batch and channels.",
                anchor="shape",
            )
        sizes, steps = iter(window_shape), iter(strides)
        dimensions = tuple(1 if c in "NC" else next(sizes) for c in spec)
        strides_ = tuple(1 if c in "NC" else next(steps) for c in spec)
        return dimensions, strides_, padtype_to_pads(input_shape, dimensions, strides_, padding)

    def reduce(x):
        dimensions, steps, pads = windows(x.shape)
        no_holes = (1,) * x.ndim
        return reduction_p.bind(
            x,
            window_dimensions=dimensions,
            window_strides=steps,
            padding=tuple(pads),
            base_dilation=no_holes,
            window_dilation=no_holes,
        )

    def init_fun(rng, input_shape):
        known = [1 if n == -1 else n for n in input_shape]
        found = reduce_window_shape_tuple(known, *windows(known))
        return tuple(-1 if n == -1 else m for n, m in zip(input_shape, found, strict=True)), ()

    def apply_fun(params, inputs, **kwargs):
        x = creation.asarray(inputs)
        return rescale(reduce(x), x, reduce) if rescale else reduce(x)

    return init_fun, apply_fun


@public
@doors_for_results
def MaxPool(
    window_shape: Any, strides: Any = None, padding: Any = "VALID", spec: Any = None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer of the largest elements of windows.

    Args:
      window_shape: sizes of a window in space.
      strides: steps from window to window; by default 1.
      padding: "VALID", "SAME" or "SAME_LOWER".
      spec: a letter per dimension, of which N is the batch and C the channels; by default these are
        the first and the last.

    Raises:
      ShapeError: the input has another number of dimensions; by both functions of the layer.

    Example:
      >>> init, apply = ev.example_libraries.stax.MaxPool((2,), spec="NCW")
      >>> apply((), jnp.array([[[1.0, 5.0, 2.0, 4.0]]]))
      Array([[[5., 5., 4.]]], dtype=float32)
    """
    return _pooling(reduce_window_max_p, window_shape, strides, padding, spec)


@public
@doors_for_results
def SumPool(
    window_shape: Any, strides: Any = None, padding: Any = "VALID", spec: Any = None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer of the sums of windows.

    Args:
      window_shape: sizes of a window in space.
      strides: steps from window to window; by default 1.
      padding: "VALID", "SAME" or "SAME_LOWER".
      spec: as in `MaxPool`.

    Raises:
      ShapeError: the input has another number of dimensions; by both functions of the layer.

    Example:
      >>> init, apply = ev.example_libraries.stax.SumPool((2,), spec="NCW")
      >>> apply((), jnp.array([[[1.0, 5.0, 2.0, 4.0]]]))
      Array([[[6., 7., 6.]]], dtype=float32)
    """
    return _pooling(reduce_window_sum_p, window_shape, strides, padding, spec)


@public
@doors_for_results
def AvgPool(
    window_shape: Any, strides: Any = None, padding: Any = "VALID", spec: Any = None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the layer of the means of windows; padding does not count.

    Args:
      window_shape: sizes of a window in space.
      strides: steps from window to window; by default 1.
      padding: "VALID", "SAME" or "SAME_LOWER".
      spec: as in `MaxPool`.

    Raises:
      ShapeError: the input has another number of dimensions; by both functions of the layer.

    Example:
      >>> init, apply = ev.example_libraries.stax.AvgPool((2,), padding="SAME", spec="NCW")
      >>> apply((), jnp.array([[[1.0, 5.0, 2.0, 4.0]]]))
      Array([[[3. , 3.5, 3. , 4. ]]], dtype=float32)
    """

    def rescale(total, x, reduce):
        return total / reduce(creation.ones_like(x))

    return _pooling(reduce_window_sum_p, window_shape, strides, padding, spec, rescale)
