"""Initializers: functions that make the first values of parameters.

An initializer is called with a key, a shape and a dtype. Those that scale by the size of a layer
take from the shape how many inputs and outputs one unit has, its *fans*: axes that are neither
input, output nor batch axes, such as the window of a convolution, count for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, type_of_number
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import Tracer
from evertrace._src.lax.functions import cos, log, sin, sqrt
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.creation import placed
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import complex_p
from evertrace._src.ops.slicing import pad
from evertrace._src.ops.structural import full, moveaxis, reshape
from evertrace._src.random import continuous, keys, multivariate
from evertrace._src.random.arguments import inexact_dtype, one_key, sizes
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

public = set_module("evertrace.nn.initializers")

TRUNCATION = 2
"""Standard deviations at which truncated distributions are cut off."""
TRUNCATED_STDDEV = 0.87962566103423978
"""Standard deviation of the standard normal distribution that is cut off there."""
TRUNCATED_COMPLEX_STDDEV = 0.95311164380491208
"""The same for the complex normal distribution, whose absolute value is cut off."""


@public
class Initializer(Protocol):
    """What an initializer is: a function of a key, a shape and a dtype.

    Example:
      >>> def layer(key, size, init: ev.nn.initializers.Initializer = ev.nn.initializers.ones):
      ...     return init(key, (size, size))
      >>> layer(random.key(0), 2)
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        """Return an array of `shape` and `dtype`."""
        ...


# ---------------------------------------------------------------- constants


def _any_dtype(name, dtype):
    return dtypes.check_user_dtype_supported(float if dtype is None else dtype, name)


@public
def zeros(
    key: Key, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Array:
    """Return zeros; itself an initializer. The key is not used.

    Args:
      key: ignored.
      shape: of the result.
      dtype: any, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Example:
      >>> ev.nn.initializers.zeros(random.key(0), (3,))
      Array([0., 0., 0.], dtype=float32)
    """
    aval = ShapedArray(sizes("zeros", shape), _any_dtype("zeros", dtype))
    return placed(full(aval, 0), out_sharding)


@public
def ones(
    key: Key, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Array:
    """Return ones; itself an initializer. The key is not used.

    Args:
      key: ignored.
      shape: of the result.
      dtype: any, by default float32 (float64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Example:
      >>> ev.nn.initializers.ones(random.key(0), (3,))
      Array([1., 1., 1.], dtype=float32)
    """
    aval = ShapedArray(sizes("ones", shape), _any_dtype("ones", dtype))
    return placed(full(aval, 1), out_sharding)


@public
def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer that fills arrays with `value`, which broadcasts to their shape.

    Args:
      value: an array, or a number.
      dtype: default of the initializer, by default float32 (float64 if x64 is on).

    Example:
      >>> ev.nn.initializers.constant(jnp.array([1.0, 2.0]))(random.key(0), (2, 2))
      Array([[1., 2.],
             [1., 2.]], dtype=float32)
    """
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        filling = convert(operand("constant", value), _any_dtype("constant", dtype))
        return placed(broadcast_to(filling, sizes("constant", shape)), out_sharding)

    return init


# ---------------------------------------------------------------- fixed scale


@public
def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer that draws uniformly from ``[0, scale)``.

    Args:
      scale: the upper bound.
      dtype: default of the initializer, by default float32 (float64 if x64 is on).

    Example:
      >>> biases = ev.nn.initializers.uniform(0.1)(random.key(0), (10_000,))
      >>> print(f"{biases.min():.3f} to {biases.max():.3f}")
      0.000 to 0.100
    """
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        return continuous.uniform(key, shape, dtype, out_sharding=out_sharding) * scale

    return init


@public
def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer that draws normal numbers with mean 0 and a standard deviation.

    Args:
      stddev: the standard deviation.
      dtype: default of the initializer, by default float32 (float64 if x64 is on); may be complex.

    Example:
      >>> weights = ev.nn.initializers.normal(0.1)(random.key(0), (100, 100))
      >>> print(f"{weights.std():.2f}")
      0.10
    """
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        return continuous.normal(key, shape, dtype, out_sharding=out_sharding) * stddev

    return init


@public
def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Return an initializer that draws normal numbers between bounds, times `stddev`.

    Args:
      stddev: of the distribution before it is cut off.
      dtype: default of the initializer.
      lower: where it is cut off, before the scaling.
      upper: the same.

    Example:
      >>> weights = ev.nn.initializers.truncated_normal(0.1)(random.key(0), (100, 100))
      >>> print(f"{abs(weights).max():.2f}")
      0.20
    """
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        drawn = continuous.truncated_normal(
            key, lower, upper, shape, dtype, out_sharding=out_sharding
        )
        return drawn * stddev

    return init


# ---------------------------------------------------------------- scale by the size of a layer


def _fans(shape, in_axis, out_axis, batch_axis):
    """Return how many inputs and outputs a unit of a layer has."""
    if len(shape) <= 1:
        raise errors.user_error(
            errors.ShapeError,
            f"variance_scaling: shape {shape} has no input and output axes to take a scale from.",
            fix="use an initializer of fixed scale, such as `normal` or `zeros`.",
            anchor="shape-initializer",
        )
    n_in, n_out, n_batch = (_size_along(shape, a) for a in (in_axis, out_axis, batch_axis))
    window = math.prod(shape) / n_in / n_out / n_batch
    return n_in * window, n_out * window


def _size_along(shape, axes):
    """Return the product of the sizes along an axis or several."""
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    return math.prod(shape[canonical_axis("variance_scaling", a, len(shape))] for a in axes)


@public
def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return an initializer whose variance is `scale` divided by a number of connections.

    Args:
      scale: positive number.
      mode: what to divide by: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` or
        ``"fan_geo_avg"`` (their geometric mean).
      distribution: ``"truncated_normal"`` (cut off at two standard deviations), ``"normal"`` or
        ``"uniform"``.
      in_axis: axis of the inputs, or several.
      out_axis: axis of the outputs, or several.
      batch_axis: axis that repeats the layer, or several.
      dtype: default of the initializer, by default float32 (float64 if x64 is on); may be complex.

    Raises:
      ValueError: there is no such mode or distribution.
      ShapeError: the initializer is given a shape of fewer than two dimensions.

    Example:
      >>> init = ev.nn.initializers.variance_scaling(1.0, "fan_out", "uniform")
      >>> print(f"{init(random.key(0), (25, 400)).std():.3f}")  # sqrt(1 / 400)
      0.050
    """
    default = dtype
    denominators = {
        "fan_in": lambda n_in, n_out: n_in,
        "fan_out": lambda n_in, n_out: n_out,
        "fan_avg": lambda n_in, n_out: (n_in + n_out) / 2,
        "fan_geo_avg": lambda n_in, n_out: math.sqrt(n_in * n_out),
    }
    for argument, given, known in (
        ("mode", mode, denominators),
        ("distribution", distribution, _DRAWS),
    ):
        if given not in known:
            raise errors.user_error(
                ValueError,
                f"variance_scaling: {argument} must be one of {', '.join(known)}, got {given!r}.",
                fix=f'pass e.g. "{next(iter(known))}".',
                anchor="choice",
            )

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        shape, dtype = sizes("variance_scaling", shape), inexact_dtype("variance_scaling", dtype)
        fans = _fans(shape, in_axis, out_axis, batch_axis)
        variance = scale / denominators[mode](*fans)
        if isinstance(variance, Tracer) or type_of_number(variance) not in (None, type(variance)):
            variance = convert(as_operand(variance), _part(dtype))
        else:
            variance = np.asarray(variance, _part(dtype))
        return placed(_DRAWS[distribution](key, shape, dtype, variance), out_sharding)

    return init


def _is_complex(dtype):
    return dtypes.issubdtype(dtype, np.complexfloating)


def _root(variance):
    """Return a square root, by NumPy of what is known."""
    return np.sqrt(variance) if isinstance(variance, np.ndarray | np.generic) else sqrt(variance)


def _draw_uniform(key, shape, dtype, variance):
    if _is_complex(dtype):
        return _on_disk(key, shape, dtype, lambda u: sqrt(u * 2)) * _root(variance)
    return continuous.uniform(key, shape, dtype, -1) * _root(3 * variance).astype(dtype)


def _draw_normal(key, shape, dtype, variance):
    return continuous.normal(key, shape, dtype) * _root(variance)


def _draw_truncated_normal(key, shape, dtype, variance):
    """Draw within two standard deviations; the scale makes up for what is cut off."""
    if _is_complex(dtype):
        mass = -math.expm1(-(TRUNCATION**2))
        stddev = _root(variance) / np.asarray(TRUNCATED_COMPLEX_STDDEV, variance.dtype)
        return _on_disk(key, shape, dtype, lambda u: sqrt(-log(1 - u * mass))) * stddev
    stddev = _root(variance) / np.asarray(TRUNCATED_STDDEV, dtype)
    return continuous.truncated_normal(key, -TRUNCATION, TRUNCATION, shape, dtype) * stddev


def _on_disk(key, shape, dtype, radius):
    """Return complex numbers of uniform angle whose radius is a function of uniform numbers."""
    part = _part(dtype)
    radius_key, angle_key = keys.pair(one_key("variance_scaling", key)[0])
    r = radius(continuous.unit(radius_key, shape, part))
    angle = continuous.unit(angle_key, shape, part) * (2 * math.pi)
    return complex_p.bind(r * cos(angle), r * sin(angle))


def _part(dtype):
    """Return the dtype of the real part of numbers of a dtype."""
    return np.zeros((), dtype).real.dtype


_DRAWS = {
    "truncated_normal": _draw_truncated_normal,
    "normal": _draw_normal,
    "uniform": _draw_uniform,
}


@public
def glorot_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the uniform initializer of variance ``2 / (fan_in + fan_out)``.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: Glorot, Bengio, "Understanding the Difficulty of Training Deep Feedforward Neural
    Networks", 2010.

    Example:
      >>> weights = ev.nn.initializers.glorot_uniform()(random.key(0), (100, 100))
      >>> print(f"{weights.std():.2f}")  # sqrt(2 / 200)
      0.10
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


@public
def glorot_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the truncated normal initializer of variance ``2 / (fan_in + fan_out)``.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: as of `glorot_uniform`.

    Example:
      >>> weights = ev.nn.initializers.glorot_normal()(random.key(0), (100, 100))
      >>> print(f"{weights.std():.2f}")  # sqrt(2 / 200)
      0.10
    """
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


@public
def lecun_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the uniform initializer of variance ``1 / fan_in``.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: LeCun, Bottou, Orr, Müller, "Efficient BackProp", 1998.

    Example:
      >>> weights = ev.nn.initializers.lecun_uniform()(random.key(0), (100, 200))
      >>> print(f"{weights.std():.2f}")  # sqrt(1 / 100)
      0.10
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


@public
def lecun_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the truncated normal initializer of variance ``1 / fan_in``.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: as of `lecun_uniform`.

    Example:
      >>> weights = ev.nn.initializers.lecun_normal()(random.key(0), (100, 200))
      >>> print(f"{weights.std():.2f}")  # sqrt(1 / 100)
      0.10
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


@public
def he_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the uniform initializer of variance ``2 / fan_in``, for `relu`.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: He et al., "Delving Deep into Rectifiers", 2015.

    Example:
      >>> weights = ev.nn.initializers.he_uniform()(random.key(0), (100, 200))
      >>> print(f"{weights.std():.2f}")  # sqrt(2 / 100)
      0.14
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


@public
def he_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return the truncated normal initializer of variance ``2 / fan_in``, for `relu`.

    Args:
      in_axis: as in `variance_scaling`.
      out_axis: as in `variance_scaling`.
      batch_axis: as in `variance_scaling`.
      dtype: as in `variance_scaling`.

    Source: as of `he_uniform`.

    Example:
      >>> kernel = ev.nn.initializers.he_normal()(random.key(0), (3, 3, 32, 16))
      >>> print(f"{kernel.std():.3f}")  # sqrt(2 / (3 * 3 * 32))
      0.084
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


# ---------------------------------------------------------------- orthogonal matrices


@public
def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Return an initializer that draws orthogonal matrices, times `scale`.

    Args:
      scale: factor of the matrices.
      column_axis: the axis along which columns are.
      dtype: default of the initializer, by default float32 (float64 if x64 is on); may be complex.

    Raises:
      ShapeError: the initializer is given a shape of fewer than two dimensions.

    Arrays of more than 2 dimensions are taken as matrices whose columns are along `column_axis`;
    of matrices that are not square, the columns or the rows are orthonormal, whichever are fewer.

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014.

    Example:
      >>> q = ev.nn.initializers.orthogonal(2.0)(random.key(0), (5, 3))
      >>> jnp.allclose(q.T @ q, 4 * jnp.eye(3), atol=1e-5)
      Array(True, dtype=bool)
    """
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        shape = sizes("orthogonal", shape)
        if len(shape) < 2:
            raise errors.user_error(
                errors.ShapeError,
                f"orthogonal: takes at least 2 dimensions, got shape {shape}.",
                fix="use another initializer for vectors.",
                anchor="shape",
            )
        axis = canonical_axis("orthogonal", column_axis, len(shape))
        rest = shape[:axis] + shape[axis + 1 :]
        matrix = multivariate.orthogonal(key, math.prod(rest), (), dtype, shape[axis])
        scaled = moveaxis(reshape(matrix, (*rest, shape[axis])), len(rest), axis) * scale
        return placed(scaled, out_sharding)

    return init


@public
def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Return an initializer of convolutions: an orthogonal matrix in the middle of the window.

    Args:
      scale: factor of the matrix.
      column_axis: as in `orthogonal`.
      dtype: as in `orthogonal`.

    Raises:
      ShapeError: the initializer is given a shape of another rank, or with fewer outputs than
        inputs.

    Shapes have 1 to 3 dimensions of the window, then inputs and outputs, with at least as many
    outputs as inputs; what is not in the middle of the window is zero.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    Example:
      >>> kernel = ev.nn.initializers.delta_orthogonal()(random.key(0), (3, 2, 2))
      >>> abs(kernel).sum(axis=(1, 2)) > 0
      Array([False,  True, False], dtype=bool)
    """
    matrices = orthogonal(scale, column_axis, dtype)
    default = dtype

    @shortened
    def init(key, shape, dtype=default, out_sharding=None):
        shape = sizes("delta_orthogonal", shape)
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise errors.user_error(
                errors.ShapeError,
                f"delta_orthogonal: takes 3 to 5 dimensions, with at least as many outputs (the "
                f"last) as inputs, got shape {shape}.",
                fix="use `orthogonal`, or more outputs.",
                anchor="shape",
            )
        matrix = matrices(key, shape[-2:], dtype)
        config = [((k - 1) // 2, k - 1 - (k - 1) // 2, 0) for k in shape[:-2]]
        window = (1,) * len(config) + shape[-2:]
        kernel = pad(reshape(matrix, window), [*config, (0, 0, 0), (0, 0, 0)])
        return placed(kernel, out_sharding)

    return init


xavier_uniform: Callable[..., Initializer] = glorot_uniform
xavier_normal: Callable[..., Initializer] = glorot_normal
kaiming_uniform: Callable[..., Initializer] = he_uniform
kaiming_normal: Callable[..., Initializer] = he_normal
