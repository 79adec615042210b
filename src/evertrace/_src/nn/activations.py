"""Activation functions: elementwise, and `glu`, which halves an axis.

Those with a kink at 0 have derivative 0 there, as JAX's do: they are written as choices between
values, whose derivatives are those of the value chosen. NaN stays NaN in value and derivative.
"""

from __future__ import annotations

import math

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.elementary import clip, default_inexact, logaddexp, where
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops.elementwise import logistic_p
from evertrace._src.ops.slicing import split_p
from evertrace._src.ops.special import erfc_p
from evertrace._src.support import set_module

public = set_module("evertrace.nn")

# Klambauer et al., "Self-Normalizing Neural Networks", 2017: the fixed point is mean 0, variance 1.
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _inexact(name, x) -> Array:
    """Return the argument as a floating or complex operand."""
    return promote_inexact(name, operand(name, x))[0]


@public
def identity(x: ArrayLike) -> Array:
    """Return `x`, as an array.

    Args:
      x: an array.

    Example:
      >>> ev.nn.identity(2.5)
      Array(2.5, dtype=float32, weak_type=True)
    """
    return operand("identity", x)


@public
@native.planned(by_type=False)
def relu(x: ArrayLike) -> Array:
    """Return ``max(x, 0)``, with derivative 0 at 0.

    Args:
      x: an array; its dtype is kept.

    Returns:
      An array of the shape of `x`; NaN stays NaN.

    Example:
      >>> ev.nn.relu(jnp.array([-2.0, 0.0, 3.0]))
      Array([0., 0., 3.], dtype=float32)
    """
    x = operand("relu", x)
    return where(x <= 0, 0, x)


@public
@native.planned(by_type=False)
def relu6(x: ArrayLike) -> Array:
    """Return ``min(max(x, 0), 6)``, with derivative 0 at 0 and at 6.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.relu6(jnp.array([-2.0, 3.0, 8.0]))
      Array([0., 3., 6.], dtype=float32)
    """
    x = operand("relu6", x)
    return where(x <= 0, 0, where(x >= 6, 6.0, x))


@public
@native.planned(by_type=False)
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """Return ``(x + sqrt(x**2 + b)) / 2``, a smooth `relu`.

    Args:
      x: an array; integers become floats.
      b: how smooth it is: 0 gives `relu`, 4 the curvature of `softplus` at 0.

    Returns:
      An array of the shape of `x`.

    Source: Barron, "Squareplus: A Softplus-Like Algebraic Rectifier", 2021.

    Example:
      >>> ev.nn.squareplus(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.41421354, 1.        , 2.4142137 ], dtype=float32)
    """
    x = _inexact("squareplus", x)
    return (x + ufuncs.sqrt(ufuncs.square(x) + b)) / 2


@public
@native.planned(by_type=False)
def softplus(x: ArrayLike) -> Array:
    """Return ``log(1 + exp(x))`` without overflow.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.softplus(jnp.array([-2.0, 0.0, 1000.0]))
      Array([1.269280e-01, 6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return logaddexp(x, 0)


@public
@native.planned(by_type=False)
def sparse_plus(x: ArrayLike) -> Array:
    """Return 0 below -1, `x` above 1, and ``(x + 1)**2 / 4`` between.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = default_inexact(operand("sparse_plus", x), weak_type=True)
    return where(x <= -1, 0, where(x >= 1, x, ufuncs.square(x + 1) / 4))


@public
@native.planned(by_type=False)
def soft_sign(x: ArrayLike) -> Array:
    """Return ``x / (abs(x) + 1)``.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.soft_sign(jnp.array([-1.0, 0.0, 3.0]))
      Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = _inexact("soft_sign", x)
    return x / (ufuncs.abs(x) + 1)


@public
@native.planned(by_type=False)
def sigmoid(x: ArrayLike) -> Array:
    """Return ``1 / (1 + exp(-x))``.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.sigmoid(jnp.array([-1000.0, 0.0, 2.0]))
      Array([0.      , 0.5     , 0.880797], dtype=float32)
    """
    return logistic_p.bind(_inexact("sigmoid", x))


@public
@native.planned(by_type=False)
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Return 0 below -1, 1 above 1, and ``(x + 1) / 2`` between.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    It is the derivative of `sparse_plus`.

    Example:
      >>> ev.nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 0.5, 2.0]))
      Array([0.  , 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return clip(_inexact("sparse_sigmoid", x) + 1, 0, 2) / 2


@public
@native.planned(by_type=False)
def silu(x: ArrayLike) -> Array:
    """Return ``x * sigmoid(x)``, also known as swish.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Source: Elfwing, Uchibe, Doya, "Sigmoid-Weighted Linear Units for Neural Network Function
    Approximation in Reinforcement Learning", 2017.

    Example:
      >>> ev.nn.silu(jnp.array([-2.0, 0.0, 2.0]))
      Array([-0.23840587,  0.        ,  1.761594  ], dtype=float32)
    """
    x = _inexact("silu", x)
    return x * logistic_p.bind(x)


swish = silu


@public
@native.planned(by_type=False)
def mish(x: ArrayLike) -> Array:
    """Return ``x * tanh(softplus(x))``.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.

    Example:
      >>> ev.nn.mish(jnp.array([-2.0, 0.0, 2.0]))
      Array([-0.25250146,  0.        ,  1.9439589 ], dtype=float32)
    """
    x = _inexact("mish", x)
    return x * ufuncs.tanh(softplus(x))


@public
@native.planned(by_type=False)
def log_sigmoid(x: ArrayLike) -> Array:
    """Return ``log(sigmoid(x))`` without underflow.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.log_sigmoid(jnp.array([-1000.0, 0.0, 2.0]))
      Array([-1.000000e+03, -6.931472e-01, -1.269280e-01], dtype=float32)
    """
    return -softplus(-_inexact("log_sigmoid", x))


@public
def tanh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic tangent.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.tanh(jnp.array([-1.0, 0.0, 1.0]))
      Array([-0.7615942,  0.       ,  0.7615942], dtype=float32)
    """
    return ufuncs.tanh(x)


@public
@native.planned(by_type=False)
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return `x` where it is positive, else ``alpha * (exp(x) - 1)``.

    Args:
      x: an array; integers become floats.
      alpha: minus the limit for small `x`.

    Returns:
      An array of the shape of `x`.

    Source: Clevert, Unterthiner, Hochreiter, "Fast and Accurate Deep Network Learning by
    Exponential Linear Units (ELUs)", 2015.

    Example:
      >>> ev.nn.elu(jnp.array([-10.0, -1.0, 2.0]))
      Array([-0.9999546 , -0.63212055,  2.        ], dtype=float32)
    """
    x = default_inexact(operand("elu", x), weak_type=True)
    # Where x is large, exp(x) must not overflow, though it is not chosen: inf times 0 is NaN.
    return where(x > 0, x, alpha * ufuncs.expm1(where(x > 0, 0, x)))


@public
@native.planned(by_type=False)
def selu(x: ArrayLike) -> Array:
    """Return ``scale * elu(x, alpha)`` with the constants of self-normalising networks.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    Example:
      >>> ev.nn.selu(jnp.array([-1.0, 0.0, 1.0]))
      Array([-1.1113307,  0.       ,  1.050701 ], dtype=float32)
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


@public
@native.planned(by_type=False)
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return ``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``.

    Args:
      x: an array; integers become floats.
      alpha: minus the limit for small `x`.

    Returns:
      An array of the shape of `x`.

    Source: Barron, "Continuously Differentiable Exponential Linear Units", 2017.

    Example:
      >>> ev.nn.celu(jnp.array([-1.0, 0.0, 2.0]), alpha=2.0)
      Array([-0.78693867,  0.        ,  2.        ], dtype=float32)
    """
    x = default_inexact(operand("celu", x), weak_type=True)
    return ufuncs.maximum(x, 0) + alpha * ufuncs.expm1(ufuncs.minimum(x, 0) / alpha)


@public
@native.planned(by_type=False)
def leaky_relu(x: ArrayLike, negative_slope: float = 1e-2) -> Array:
    """Return `x` where it is not negative, else ``negative_slope * x``.

    Args:
      x: an array; integers become floats.
      negative_slope: factor of negative `x`.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.leaky_relu(jnp.array([-2.0, 0.0, 3.0]), negative_slope=0.1)
      Array([-0.2,  0. ,  3. ], dtype=float32)
    """
    x = default_inexact(operand("leaky_relu", x), weak_type=True)
    return where(x >= 0, x, negative_slope * x)


@public
@native.planned(by_type=False)
def hard_tanh(x: ArrayLike) -> Array:
    """Return `x` limited to -1 and 1.

    Args:
      x: an array; its dtype is kept.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.hard_tanh(jnp.array([-3.0, 0.5, 2.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = operand("hard_tanh", x)
    return where(x > 1, 1, where(x < -1, -1, x))


@public
@native.planned(by_type=False)
def hard_sigmoid(x: ArrayLike) -> Array:
    """Return ``relu6(x + 3) / 6``.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.hard_sigmoid(jnp.array([-4.0, 0.0, 1.5, 4.0]))
      Array([0.  , 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return relu6(default_inexact(operand("hard_sigmoid", x), weak_type=True) + 3) / 6


@public
@native.planned(by_type=False)
def hard_silu(x: ArrayLike) -> Array:
    """Return ``x * hard_sigmoid(x)``.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    Example:
      >>> ev.nn.hard_silu(jnp.array([-1.5, 0.0, 1.5, 4.0]))
      Array([-0.375,  0.   ,  1.125,  4.   ], dtype=float32)
    """
    x = default_inexact(operand("hard_silu", x), weak_type=True)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@public
@native.planned(by_type=False)
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Return `x` times the standard normal distribution function of `x`.

    Args:
      x: array; integers become floats.
      approximate: whether to take the common approximation by `tanh`, which is off by at most
        0.0005, or the error function.

    Returns:
      An array of the shape of `x`.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.

    Example:
      >>> ev.nn.gelu(jnp.array([-1.0, 0.0, 1.0]), approximate=False)
      Array([-0.15865526,  0.        ,  0.8413447 ], dtype=float32)
    """
    x = _inexact("gelu", x)
    if not approximate:
        return 0.5 * x * erfc_p.bind(-x * math.sqrt(0.5))
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * ufuncs.power(x, 3))
    return x * (0.5 * (1 + ufuncs.tanh(inner)))


@public
@native.planned(by_type=False)
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Return the first half along an axis times the sigmoid of the second half.

    Args:
      x: array of even size along `axis`.
      axis: which is halved.

    Returns:
      An array of the shape of `x`, but for half the size along `axis`.

    Raises:
      ShapeError: that size is odd.

    Source: Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2016.

    Example:
      >>> ev.nn.glu(jnp.array([1.0, 2.0, 0.0, -1000.0]))
      Array([0.5, 0. ], dtype=float32)
    """
    x = _inexact("glu", x)
    axis = canonical_axis("glu", axis, x.ndim)
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise errors.user_error(
            errors.ShapeError,
            f"glu: axis {axis} of shape {x.shape} does not have an even size.",
            fix="pad the axis, or choose another one.",
            anchor="shape",
        )
    value, gate = split_p.bind(x, sizes=(half, half), axis=axis)
    return value * logistic_p.bind(gate)


@public
@native.planned(by_type=False)
def log1mexp(x: ArrayLike) -> Array:
    """Return ``log(1 - exp(-x))`` for x > 0, without cancellation.

    Args:
      x: an array; integers become floats.

    Returns:
      An array of the shape of `x`; -inf at 0, NaN below.

    Source: Maechler, "Accurately Computing log(1 - exp(-|a|))", 2012.

    Example:
      >>> ev.nn.log1mexp(jnp.array([1e-10, 1.0, 10.0]))
      Array([-2.3025850e+01, -4.5867509e-01, -4.5400953e-05], dtype=float32)
    """
    x = _inexact("log1mexp", x)
    # Each branch sees 1 where it is not chosen, so that its derivative is finite there.
    is_small = x < math.log(2)
    small, large = where(is_small, x, 1), where(is_small, 1, x)
    return where(is_small, ufuncs.log(-ufuncs.expm1(-small)), ufuncs.log1p(-ufuncs.exp(-large)))
