"""Making arrays: from Python and NumPy values, filled, counting, unit matrices.

Shapes and sizes are static. Values that do not depend on arguments are computed by operations
(`iota`, `broadcast_in_dim`) rather than held as constants, so that traced programs stay small.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import config, dims, doors, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, from_numpy
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Shape
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import (
    integer,
    scalar_of,
    static_count,
    static_shape,
    traced_argument,
)
from evertrace._src.numpy.conversion import as_given, converted
from evertrace._src.numpy.promotion import (
    SCALARS,
    broadcast_to,
    check_arraylike,
    is_operand,
)
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.sharding_constraint import lays_out

devices: Any = LazyModule("evertrace._src.api.devices")  # which is above nearly all there is
traced_layout: Any = LazyModule("evertrace._src.jit.laid_out")  # which few programs ask


def user_dtype(name, dtype):
    """Return the canonical form of a dtype that the user passed, None for None."""
    return None if dtype is None else dtypes.check_user_dtype_supported(dtype, name)


def placed(x, device, like=None):
    """Return the array on a device that the user named, or laid out as one of its shape is."""
    if device is None and isinstance(like, (Array, Tracer)) and like.shape == x.shape:
        device = _layout_of(like)
    if device is None:
        return x
    mesh = getattr(device, "mesh", None)
    if mesh is not None and mesh.abstract_mesh is mesh:  # of a type: over the mesh in force
        device = None if mesh.empty else device.spec
    return x if device is None else devices.device_put(x, device)


def _layout_of(x):
    """Return how an array is laid out over a mesh; in a trace where explicit axes are in force."""
    if type(x) is Array:
        return getattr(x, "_sharding", None)
    mesh = config.current().mesh
    return traced_layout.sharding_behind(x)[0] if mesh is not None and mesh.explicit_axes else None


# ---------------------------------------------------------------- from values


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Make an array.

    Args:
      object: an array, a NumPy array, a Python scalar, a nested list or tuple of these, or what
        NumPy can read.
      dtype: dtype of the result. By default the common one of the contents, weakly typed for a
        Python scalar.
      copy: False to return an array as it is.
      order: memory order, only row-major.
      ndmin: axes of size 1 are put in front up to this rank.
      device: device or sharding to put it on.
      out_sharding: the same.

    Returns:
      An array, or a tracer while tracing.

    Raises:
      ValueError: nested lists differ in length.
      TypeError: the contents are not numbers.

    Example:
      >>> jnp.array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
      >>> jnp.array([1, 2.5]).dtype
      dtype('float32')
    """
    if order not in (None, "K", "A", "C"):
        raise errors.user_error(
            NotImplementedError,
            f"array: order {order!r} is not supported.",
            fix="leave `order` out; transpose the result where another order is meant.",
            anchor="unsupported",
        )
    dtype = user_dtype("array", dtype)
    if type(object) is int and dtype is not None:
        _check_range(object, dtype)
    out = as_given(object, dtype, copy)
    if out.aval.ndim < ndmin:
        out = structural.expand_dims(out, tuple(range(ndmin - out.aval.ndim)))
    return placed(out, device if device is not None else out_sharding)


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return `a` as an array, itself if it is one of that dtype; see `array`.

    It raises what `array` does. Differs from NumPy: ``copy=False`` is no promise, a copy that is
    needed is made.

    Example:
      >>> x = jnp.asarray(np.arange(3.0))  # float64 in NumPy
      >>> x
      Array([0., 1., 2.], dtype=float32)
      >>> jnp.asarray(x) is x
      True
    """
    return array(a, dtype, order=order, copy=bool(copy), device=device, out_sharding=out_sharding)


def _check_range(x, dtype):
    """Raise unless the dtype holds a Python integer; filling and casting wrap around instead."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        raise errors.user_error(
            OverflowError,
            f"array: Python integer {x} is out of bounds for {dtype}.",
            fix=f"use a wider dtype, or wrap it with `numpy.array(x).astype({str(dtype)!r})`.",
            anchor="dtype",
        )


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Array:
    """Return the array converted to `dtype`.

    Args:
      x: an array.
      dtype: the dtype; None is the default float.
      copy: whether to copy also where the dtype stays.
      device: device or sharding to put the result on.

    Differs from NumPy: floats out of an integer's range become the nearest integer, NaN 0.

    Example:
      >>> jnp.astype(jnp.array([1.7, -1.7, 300.0]), jnp.int8)
      Array([  1,  -1, 127], dtype=int8)
    """
    check_arraylike("astype", x)
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, "astype")
    return placed(converted(as_array(x, "astype"), dtype, copy), device)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """Return a copy of an array; it also detaches it from a donated one.

    Example:
      >>> x = jnp.arange(3)
      >>> y = jnp.copy(x)
      >>> y is x, jnp.array_equal(x, y).item()
      (False, True)
    """
    return array(a, copy=True, order=order)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array with the contents of an object of another library, through DLPack.

    Args:
      x: object with the methods ``__dlpack__`` and ``__dlpack_device__``.
      device: device to put the result on.
      copy: without effect: contents are always copied, as their owner may write to them.

    Example:
      >>> jnp.from_dlpack(np.arange(3, dtype=np.float32))
      Array([0., 1., 2.], dtype=float32)
    """
    return placed(from_numpy(np.from_dlpack(x), "from_dlpack"), device)


# ---------------------------------------------------------------- filled


def _checked_shape(name, shape):
    shape = static_shape(name, shape)
    if any(size < 0 for size in shape):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: sizes must not be negative, got shape {shape}.",
            fix="give sizes of 0 or more; only `reshape` takes -1.",
            anchor="shape",
        )
    return shape


def _filled(name, shape, value, dtype, device):
    if isinstance(shape, int) and isinstance(dtype, int) and not isinstance(dtype, bool):
        raise errors.user_error(
            TypeError,
            f"{name}: the second argument is a dtype, got the integer {dtype}.",
            fix=f"give the shape as one tuple: `{name}(({shape}, {dtype}))`.",
            anchor="dtype-unsupported",
        )
    dtype = dtypes.default_dtype(float) if dtype is None else user_dtype(name, dtype)
    return placed(structural.full(ShapedArray(_checked_shape(name, shape), dtype), value), device)


@native.planned(by_type=False)
@lays_out
def zeros(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of zeros, by default of the default float dtype.

    Raises:
      ShapeError: a size is negative.
      ConcretizationTypeError: a size is a traced array.

    Example:
      >>> jnp.zeros((2, 3))
      Array([[0., 0., 0.],
             [0., 0., 0.]], dtype=float32)
    """
    return _filled("zeros", shape, 0, dtype, device)


@native.planned(by_type=False)
@lays_out
def ones(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of ones, by default of the default float dtype.

    Raises:
      ShapeError: a size is negative.

    Example:
      >>> jnp.ones(3, dtype=jnp.int32)
      Array([1, 1, 1], dtype=int32)
    """
    return _filled("ones", shape, 1, dtype, device)


@lays_out
def empty(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of zeros: there is no memory without contents to give out.

    Example:
      >>> jnp.empty(2)
      Array([0., 0.], dtype=float32)
    """
    return _filled("empty", shape, 0, dtype, device)


@native.planned(by_type=False)
@lays_out
def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return an array filled with a value, or with an array broadcast to `shape`.

    Args:
      shape: int or sequence of ints.
      fill_value: scalar or array.
      dtype: default that of `fill_value`.
      device: device or sharding to put the result on.
      out_sharding: the same.

    Raises:
      ShapeError: `fill_value` does not broadcast to `shape`.

    Example:
      >>> jnp.full((2, 2), jnp.array([1, 2]))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    check_arraylike("full", fill_value)
    dtype = None if dtype is None else user_dtype("full", dtype)
    value = as_given(fill_value, dtype, copy=False)
    return placed(broadcast_to(value, _checked_shape("full", shape)), device)


def _like_aval(name, a, dtype, shape):
    """Return the aval of an array like `a`, which need only have a shape and a dtype."""
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
        a = as_array(a, name)
    weak = dtype is None and dtypes.is_weakly_typed(a)
    dtype = dtypes.dtype(a) if dtype is None else user_dtype(name, dtype)
    shape = tuple(a.shape) if shape is None else _checked_shape(name, shape)
    return ShapedArray(shape, dtype, weak)


@native.planned(by_type=False)
@lays_out
def zeros_like(
    a: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return zeros with the shape and dtype of `a`, unless others are given.

    Example:
      >>> jnp.zeros_like(jnp.array([1, 2, 3]))
      Array([0, 0, 0], dtype=int32)
    """
    aval = _like_aval("zeros_like", a, dtype, shape)
    return placed(structural.full(aval, 0), device, a)


@native.planned(by_type=False)
@lays_out
def ones_like(
    a: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return ones with the shape and dtype of `a`, unless others are given.

    Example:
      >>> jnp.ones_like(jnp.array([1.5, 2.5]))
      Array([1., 1.], dtype=float32)
      >>> jnp.ones_like(jnp.array([1.5, 2.5]), dtype=jnp.int8, shape=(3,))
      Array([1, 1, 1], dtype=int8)
    """
    aval = _like_aval("ones_like", a, dtype, shape)
    return placed(structural.full(aval, 1), device, a)


def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """Return zeros with the shape and dtype of `prototype`, unless others are given.

    Example:
      >>> jnp.empty_like(jnp.array([1, 2, 3]))
      Array([0, 0, 0], dtype=int32)
    """
    return placed(structural.full(_like_aval("empty_like", prototype, dtype, shape), 0), device)


@native.planned(by_type=False)
@lays_out
def full_like(
    a: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return an array like `a` filled with a value, or with an array broadcast to its shape.

    The value is converted to the dtype of `a`.

    Example:
      >>> jnp.full_like(jnp.array([1, 2, 3]), 2.9)
      Array([2, 2, 2], dtype=int32)
    """
    check_arraylike("full_like", fill_value)
    aval = _like_aval("full_like", a, dtype, shape)
    value = broadcast_to(as_given(fill_value, aval.dtype, copy=False), aval.shape)
    return placed(convert(value, aval.dtype, aval.weak_type), device, a)


# ---------------------------------------------------------------- counting


def _static_number(name, argument, value):
    """Return an argument that must be known while tracing as a Python number."""
    value = dims.bare(value)
    if type(value) in SCALARS or dims.is_dim(value):
        return value
    found = value
    if isinstance(value, Tracer):
        found = concrete_value(value)
        if found is None:
            raise traced_argument(name, argument, value)
    number = np.asarray(found._contents() if is_operand[type(found)] else found)
    if number.ndim or number.dtype.kind not in "biufc":
        raise errors.user_error(
            TypeError,
            f"{name}: {argument} must be a number, got an array of shape {number.shape} and dtype "
            f"{number.dtype}.",
            fix="pass scalars.",
            anchor="python-scalar",
        )
    return number.item()


@native.planned(by_type=False)
def arange(
    start: Any,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return the numbers ``start, start + step, ...`` below `stop`.

    Args:
      start: first number; the end if `stop` is not given.
      stop: end, not included.
      step: difference of neighbours, 1 by default.
      dtype: by default the common dtype of the three.
      device: device or sharding to put the result on.
      out_sharding: the same.

    Returns:
      ``[ceil((stop - start) / step)]``. The three are static.

    Raises:
      ZeroDivisionError: `step` is 0.

    Example:
      >>> jnp.arange(5)
      Array([0, 1, 2, 3, 4], dtype=int32)
      >>> jnp.arange(0, 1, 0.25)
      Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    start, stop, step = map(dims.bare, (start, stop, step))
    given = [x for x in (start, stop, step) if x is not None]
    if not given:
        raise errors.user_error(TypeError, "arange: requires a stop.", fix="pass a size.")
    for x in given:
        if type(x) is str:
            raise errors.user_error(
                TypeError,
                f"arange: takes numbers, got the text {doors.shown(x)}.",
                fix="read the number, `int(text)` or `float(text)`.",
                anchor="python-scalar",
            )
    kinds = [0 if dims.is_dim(x) else x for x in given]
    found = dtypes.result_type(*kinds) if dtype is None else user_dtype("arange", dtype)
    first = "stop" if stop is None else "start"
    start, stop, step = (
        x if x is None else _static_number("arange", name, x)
        for name, x in ((first, start), ("stop", stop), ("step", step))
    )
    if stop is None:
        start, stop = 0, start
    count = _count(start, stop, 1 if step is None else step)
    out = iota(found, (count,))
    if step is not None and step != 1:
        out = ufuncs.multiply(from_literal(step, found), out)
    if start != 0:
        out = ufuncs.add(from_literal(start, found), out)
    return placed(out, device if device is not None else out_sharding)


def from_literal(value, dtype):
    """Return a Python scalar or a size as an operand of exactly `dtype`."""
    if dims.is_dim(value):
        return scalar_of(value, dtype)
    return literal(operator.index(int(value)) if dtype.kind in "iu" else value, dtype)


def _count(start, stop, step):
    if step == 0:
        raise errors.user_error(
            ZeroDivisionError, "arange: step must not be 0.", fix="pass another step."
        )
    distance = stop - start
    if any(map(dims.is_dim, (start, stop, step))):
        return dims.max_of(0, dims.ceildiv(distance, step))
    if all(isinstance(x, int) for x in (start, stop, step)):
        return max(0, -(-distance // step))
    return max(0, math.ceil(distance / step))


# ---------------------------------------------------------------- matrices and functions


@native.planned(by_type=False)
def eye(
    N: int,
    M: int | None = None,
    k: int | ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """Return an ``[N, M]`` matrix with ones on diagonal `k` and zeros elsewhere.

    The diagonal may be traced.

    Example:
      >>> jnp.eye(2, 3, k=1)
      Array([[0., 1., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    n = static_count("eye", "N", N)
    m = n if M is None else static_count("eye", "M", M)
    dtype = dtypes.default_dtype(float) if dtype is None else user_dtype("eye", dtype)
    shape = _checked_shape("eye", (n, m))
    rows, columns = iota(np.int32, shape, 0), iota(np.int32, shape, 1)
    is_on = ufuncs.equal(ufuncs.add(rows, integer("eye", "k", k)), columns)
    return placed(convert(is_on, dtype), device)


@native.planned(by_type=False)
def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """Return the ``[n, n]`` matrix with ones on its diagonal.

    Example:
      >>> jnp.identity(2, dtype=jnp.int32)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)
