"""Signals without their trends."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import joining, reductions, shape, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, static_int
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.support import set_module


@set_module("evertrace.scipy.signal")
def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: Any = 0,
    overwrite_data: bool | None = None,
) -> Array:
    """Return a signal without its trend: the mean, or the straight line that is nearest to it.

    Args:
      data: array of numbers.
      axis: the axis along which time runs.
      type: "linear" or "constant" (also "l", "c", as in SciPy).
      bp: int or sequence of ints from 0 to the size of the axis: where a new line begins.
      overwrite_data: must be None, since arrays cannot be changed.

    Returns:
      Floating or complex array of the shape of `data`.

    Raises:
      ValueError: for an unknown type, or a place that the axis does not have.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.detrend(jnp.array([1.0, 2.0, 4.0, 5.0])).round(3).tolist()
      [0.1, -0.3, 0.3, -0.1]
    """
    if overwrite_data is not None:
        raise errors.user_error(
            NotImplementedError,
            "detrend: arrays cannot be changed, so there is no `overwrite_data`.",
            fix="use the returned array.",
            anchor="immutable",
        )
    (x,) = promote_dtypes_inexact("detrend", operand("detrend", data))
    axis = canonical_axis("detrend", axis, x.aval.ndim)
    if type in ("constant", "c"):
        return x - reductions.mean(x, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise errors.user_error(
            ValueError,
            f"detrend: there is no type {type!r} of trend.",
            fix='use "linear" or "constant".',
            anchor="choice",
        )
    x = shape.moveaxis(x, axis, -1)
    ends = _segment_ends(bp, x.aval.shape[-1])
    parts = [_without_line(x[..., i:j]) for i, j in itertools.pairwise(ends)]
    return shape.moveaxis(joining.concatenate(parts, -1) if parts else x, -1, axis)


def _segment_ends(places, size):
    """Return where the segments between break points begin and end, in order."""
    places = places if hasattr(places, "__len__") else (places,)
    found = {static_int("detrend", "bp", place) for place in places}
    if any(not 0 <= place <= size for place in found):
        raise errors.user_error(
            ValueError,
            f"detrend: there are no break points {sorted(found)} in {size} elements.",
            fix=f"use places from 0 to {size}.",
        )
    return sorted(found | {0, size})


def _without_line(x):
    """Subtract the least-squares line from the last axis."""
    n = x.aval.shape[-1]
    real = np.finfo(x.aval.dtype).dtype if is_complex(x) else x.aval.dtype
    time = np.arange(n) - (n - 1) / 2
    unit = from_host((time / max(np.linalg.norm(time), 1e-30)).astype(real))
    unit = convert(unit, x.aval.dtype)
    x = x - reductions.mean(x, -1, keepdims=True)
    share = reductions.sum(ufuncs.multiply(*aligned(x, unit)), -1, keepdims=True)
    return x - ufuncs.multiply(*aligned(share, unit))
