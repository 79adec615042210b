"""Images scaled and moved: each axis by a matrix of weights.

Element i of an image is the square from i to ``i + 1``, so its middle is at ``i + 0.5``. An element
of the result is a mean of elements around the place that it comes from, weighted by a kernel; for
an axis all these weights are one matrix. Sources of the kernels: R. G. Keys, "Cubic convolution
interpolation for digital image processing", IEEE Transactions on Acoustics, Speech, and Signal
Processing 29 (1981); C. E. Duchon, "Lanczos filtering in one and two dimensions", Journal of
Applied Meteorology 18 (1979).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import Tracer
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy import creation, elementary, products, reductions, ufuncs
from evertrace._src.numpy import shape as shapes
from evertrace._src.numpy.arguments import distinct_axes, operand, static_shape
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.indexing import take
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.ops.precision import Precision
from evertrace._src.support import set_module

public = set_module("evertrace.image")


@public
class ResizeMethod(enum.Enum):
    """How the elements of a resized image are computed.

    Attributes:
      NEAREST: the nearest element.
      LINEAR: linear interpolation; a triangle where images shrink.
      LANCZOS3: Lanczos' kernel, six elements wide.
      LANCZOS5: Lanczos' kernel, ten elements wide.
      CUBIC: Keys' cubic kernel with the parameter -1/2.
      CUBIC_PYTORCH: the same if images are smoothed as they shrink; else PyTorch's: the parameter
        is -3/4, and images go on with the elements at their edges.
      AREA: the mean over the area that an element comes from.

    Example:
      >>> ev.image.ResizeMethod.from_string("bicubic")
      <ResizeMethod.CUBIC: 4>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: Any) -> Any:
        """Return the method of a name, such as "linear" or "bicubic"; ValueError if it has none."""
        if s not in _NAMES:
            raise errors.user_error(
                ValueError,
                f"resize: there is no method {s!r}.",
                fix=f"use one of {', '.join(map(repr, _NAMES))}.",
                anchor="choice",
            )
        return ResizeMethod[_NAMES[s]]


_NAMES = {
    "nearest": "NEAREST", "linear": "LINEAR", "bilinear": "LINEAR", "trilinear": "LINEAR",
    "triangle": "LINEAR", "lanczos3": "LANCZOS3", "lanczos5": "LANCZOS5", "cubic": "CUBIC",
    "bicubic": "CUBIC", "tricubic": "CUBIC", "cubic-pytorch": "CUBIC_PYTORCH",
    "bicubic-pytorch": "CUBIC_PYTORCH", "area": "AREA",
}  # fmt: skip


@public
def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: Any,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image in another size.

    Args:
      image: array of any rank.
      shape: the new shape, of the same rank. Axes of the same size are left alone, such as those of
        a batch or of channels.
      method: a `ResizeMethod` or its name: "nearest", "linear", "cubic", "cubic-pytorch",
        "lanczos3", "lanczos5", "area" (also "bilinear" and so on).
      antialias: whether kernels are widened where the image shrinks, so that all of it counts.
        "nearest" and "area" do not heed it.
      precision: how exact products are on accelerators.

    Returns:
      Array of shape `shape`; for "nearest" of the dtype of the image, else floating or complex.

    Raises:
      ValueError: `shape` has another rank or negative sizes, an axis without elements is to have
        some, or there is no such method.

    Example:
      >>> ev.image.resize(jnp.array([0.0, 2.0, 4.0, 6.0]), (2,), "linear", antialias=False)
      Array([1., 5.], dtype=float32)
    """
    x, method = operand("resize", image), _method("resize", method)
    shape = _checked_shape("resize", shape, x)
    axes = [i for i, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if _may_differ(n, m)]
    if method is ResizeMethod.NEAREST:
        for axis in axes:
            n, m = x.aval.shape[axis], dims.bare(shape[axis])
            numbers = creation.arange if dims.is_dim(n) or dims.is_dim(m) else np.arange
            x = take(x, (numbers(m) * 2 + 1) * n // (2 * m), axis, mode="clip")
        return x
    (x,) = promote_dtypes_inexact("resize", x)
    for axis in axes:
        scale = shape[axis] / x.shape[axis]
        if not isinstance(scale, Tracer):
            scale = scale or 1.0  # for no elements any will do
        x = _resample(x, axis, shape[axis], scale, 0.0, method, antialias, precision)
    return x


@public
def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: Any,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image scaled and moved along some axes.

    The element around x of the image goes to ``x * scale + translation``, where the middle of the
    first element is at 0.5. What comes from outside the image is zero, except for CUBIC_PYTORCH
    without `antialias`.

    Args:
      image: array of any rank.
      shape: the shape of the result, of the same rank; other axes keep their sizes.
      spatial_dims: the axes, as ints.
      scale: vector with a factor per axis. It may be differentiated, and traced.
      translation: vector with a distance per axis, in elements of the result; likewise.
      method: a `ResizeMethod` or its name, see `resize`; not "nearest".
      antialias: whether kernels are widened where the image shrinks.
      precision: how exact products are on accelerators.

    Returns:
      Floating or complex array of shape `shape`.

    Raises:
      ValueError: `shape` does not fit, there is not one scale and translation per axis, or for an
        unknown method.

    Example:
      >>> moved = ev.image.scale_and_translate(
      ...     jnp.array([1.0, 2.0, 3.0]), (4,), (0,), jnp.ones(1), jnp.ones(1), "linear"
      ... )
      >>> moved.tolist()
      [0.0, 1.0, 2.0, 3.0]
    """
    name = "scale_and_translate"
    (x,), method = promote_dtypes_inexact(name, operand(name, image)), _method(name, method)
    shape = _checked_shape(name, shape, x)
    axes = distinct_axes(name, spatial_dims, x.aval.ndim)
    scale, translation = creation.asarray(scale), creation.asarray(translation)
    if method is ResizeMethod.NEAREST:
        raise errors.user_error(
            ValueError, f"{name}: there is no method NEAREST.", fix="use `resize`.", anchor="choice"
        )
    if scale.shape != (len(axes),) or translation.shape != (len(axes),):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: {len(axes)} axes need as many scales and translations, got shapes "
            f"{scale.shape} and {translation.shape}.",
            fix="pass vectors with one number per axis.",
            anchor="shape",
        )
    kept = [i for i, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if n != m]
    if not set(kept) <= set(axes):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shape {shape} changes axes of {x.shape} that are not in {axes}.",
            fix="name them in `spatial_dims`, or keep their sizes.",
            anchor="shape",
        )
    scale, translation = promote_dtypes_inexact(name, scale, translation)
    for i, axis in enumerate(axes):
        x = _resample(x, axis, shape[axis], scale[i], translation[i], method, antialias, precision)
    return x


def _method(name, method):
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise errors.user_error(
            TypeError,
            f"{name}: method must be a ResizeMethod or its name, got {method!r}.",
            fix='pass e.g. "linear".',
            anchor="choice",
        )
    return method


def _checked_shape(name, shape, x):
    shape = static_shape(name, shape)
    if len(shape) != x.aval.ndim or any(dims.is_below(n, 0) for n in shape):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: there is no way from shape {x.shape} to {shape}.",
            fix="pass a shape of the same rank, without negative sizes.",
            anchor="shape",
        )
    if any(n == 0 and m > 0 for n, m in zip(x.shape, shape, strict=True)):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: an image of shape {x.shape} has no elements to make {shape} of.",
            fix="pass an image that has elements.",
            anchor="shape",
        )
    return shape


def _may_differ(n, m):
    """Whether sizes are not known to be equal: to resize by a factor of 1 is right, too."""
    n, m = dims.bare(n), dims.bare(m)
    return n is not m if any(map(dims.is_unknown, (n, m))) else n != m


def _resample(x, axis, size, scale, translation, method, antialias, precision):
    """Multiply one axis with its matrix of weights."""
    step = 1 / scale
    # Places in the image that elements of the result come from, relative to middles of elements.
    numbers = creation.arange(size, dtype=dtypes.result_type(step, translation))
    places = (numbers + 0.5) * step - translation * step - 0.5
    weights = _METHODS[method](places, step, x.shape[axis], antialias).astype(x.dtype)
    return shapes.moveaxis(
        products.tensordot(x, weights, axes=([axis], [0]), precision=precision), -1, axis
    )


# ---------------------------------------------------------------- weights


def _by_kernel(kernel, places, step, size, antialias):
    """Return ``[size, m]`` weights: a kernel around each place, with sum 1 over the image."""
    width = ufuncs.maximum(ufuncs.absolute(step), 1) if antialias else 1
    distances = ufuncs.absolute(ufuncs.subtract(*_pairs(places, size))) / width
    return _normalised(kernel(distances), places)


def _pairs(places, size):
    """Return ``[size, m]`` arrays of places and of numbers of elements."""
    return aligned(places, _column(places, size))


def _column(places, size):
    """Return the numbers of elements, ``[size, 1]``, in the dtype of the places."""
    return creation.arange(size, dtype=places.dtype)[:, None]


def _normalised(weights, places):
    """Return weights with sum 1, or 0 for places outside of the image."""
    total = reductions.sum(weights, 0)
    is_some = ufuncs.absolute(total) > 1000 * dtypes.finfo(total.dtype).eps
    is_inside = (places >= -0.5) & (places <= weights.shape[0] - 0.5)
    shares = ufuncs.divide(*aligned(weights, where(is_some, total, 1)))
    return where(is_some & is_inside, shares, 0)


def _triangle(x):
    return ufuncs.maximum(1 - x, 0)


def _cubic(a, x):
    """Return Keys' kernel with the parameter a."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return where(x < 1, near, where(x < 2, far, 0))


def _lanczos(radius, x):
    return where(x < radius, elementary.sinc(x) * elementary.sinc(x / radius), 0)


def _by_area(places, step, size, antialias):
    """Return ``[size, m]`` weights: the parts of each element that areas around places cover."""
    del antialias
    half = ufuncs.absolute(step) / 2
    high, ends = aligned(places + half, _column(places, size) + 0.5)
    low, starts = aligned(places - half, _column(places, size) - 0.5)
    covered = ufuncs.minimum(high, ends) - ufuncs.maximum(low, starts)
    return _normalised(ufuncs.maximum(covered, 0), places)


def _by_pytorch(places, step, size, antialias):
    """Return ``[size, m]`` weights of four elements each, those outside counted at the edges."""
    if antialias:
        return _by_kernel(functools.partial(_cubic, -0.5), places, step, size, antialias)
    first = elementary.floor(places) - 1
    weights = 0
    for i in range(4):
        element = elementary.clip(first + i, 0, size - 1)
        weight = _cubic(-0.75, ufuncs.absolute(places - (first + i)))
        is_element, weight = aligned(ufuncs.equal(*_pairs(element, size)), weight)
        weights = weights + where(is_element, weight, 0)
    return weights


_METHODS = {
    ResizeMethod.LINEAR: functools.partial(_by_kernel, _triangle),
    ResizeMethod.LANCZOS3: functools.partial(_by_kernel, functools.partial(_lanczos, 3)),
    ResizeMethod.LANCZOS5: functools.partial(_by_kernel, functools.partial(_lanczos, 5)),
    ResizeMethod.CUBIC: functools.partial(_by_kernel, functools.partial(_cubic, -0.5)),
    ResizeMethod.CUBIC_PYTORCH: _by_pytorch,
    ResizeMethod.AREA: _by_area,
}
