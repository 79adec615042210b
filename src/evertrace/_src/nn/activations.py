"""Activation functions: elementwise, and `glu`, which halves an axis.

Those with a kink at 0 have derivative 0 there, as JAX's do: they are written as choices between
values, whose derivatives are those of the value chosen. NaN stays NaN in value and derivative.
"""

import math

from evertrace._src import errors
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.elementary import clip, logaddexp, where
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops.elementwise import logistic_p
from evertrace._src.ops.slicing import split_p
from evertrace._src.ops.special import erfc_p
from evertrace._src.support import set_module

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "leaky_relu", "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu",
    "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus",
    "swish", "tanh",
]  # fmt: skip

public = set_module("evertrace.nn")

# Klambauer et al., "Self-Normalizing Neural Networks", 2017: the fixed point is mean 0, variance 1.
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _inexact(name, x):
    """Return the argument as a floating or complex operand."""
    return promote_inexact(name, operand(name, x))[0]


@public
def identity(x):
    """Return `x`, as an array."""
    return operand("identity", x)


@public
def relu(x):
    """Return ``max(x, 0)``, with derivative 0 at 0."""
    x = operand("relu", x)
    return where(x <= 0, 0, x)


@public
def relu6(x):
    """Return ``min(max(x, 0), 6)``, with derivative 0 at 0 and at 6."""
    x = operand("relu6", x)
    return where(x <= 0, 0, where(x >= 6, 6.0, x))


@public
def squareplus(x, b=4):
    """Return ``(x + sqrt(x**2 + b)) / 2``, a smooth `relu`."""
    x = _inexact("squareplus", x)
    return (x + ufuncs.sqrt(ufuncs.square(x) + b)) / 2


@public
def softplus(x):
    """Return ``log(1 + exp(x))`` without overflow."""
    return logaddexp(x, 0)


@public
def sparse_plus(x):
    """Return 0 below -1, `x` above 1, and ``(x + 1)**2 / 4`` between."""
    x = _inexact("sparse_plus", x)
    return where(x <= -1, 0, where(x >= 1, x, ufuncs.square(x + 1) / 4))


@public
def soft_sign(x):
    """Return ``x / (abs(x) + 1)``."""
    x = _inexact("soft_sign", x)
    return x / (ufuncs.abs(x) + 1)


@public
def sigmoid(x):
    """Return ``1 / (1 + exp(-x))``."""
    return logistic_p.bind(_inexact("sigmoid", x))


@public
def sparse_sigmoid(x):
    """Return 0 below -1, 1 above 1, and ``(x + 1) / 2`` between."""
    return clip(_inexact("sparse_sigmoid", x) + 1, 0, 2) / 2


@public
def silu(x):
    """Return ``x * sigmoid(x)``, also known as swish."""
    x = _inexact("silu", x)
    return x * logistic_p.bind(x)


swish = silu


@public
def mish(x):
    """Return ``x * tanh(softplus(x))``."""
    x = _inexact("mish", x)
    return x * ufuncs.tanh(softplus(x))


@public
def log_sigmoid(x):
    """Return ``log(sigmoid(x))`` without underflow."""
    return -softplus(-_inexact("log_sigmoid", x))


@public
def tanh(x, /):
    """Return the hyperbolic tangent."""
    return ufuncs.tanh(x)


@public
def elu(x, alpha=1.0):
    """Return `x` where it is positive, else ``alpha * (exp(x) - 1)``."""
    x = _inexact("elu", x)
    # Where x is large, exp(x) must not overflow, though it is not chosen: inf times 0 is NaN.
    return where(x > 0, x, alpha * ufuncs.expm1(where(x > 0, 0, x)))


@public
def selu(x):
    """Return ``scale * elu(x, alpha)`` with the constants of self-normalising networks."""
    return SELU_SCALE * elu(x, SELU_ALPHA)


@public
def celu(x, alpha=1.0):
    """Return ``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``."""
    x = _inexact("celu", x)
    return ufuncs.maximum(x, 0) + alpha * ufuncs.expm1(ufuncs.minimum(x, 0) / alpha)


@public
def leaky_relu(x, negative_slope=1e-2):
    """Return `x` where it is not negative, else ``negative_slope * x``."""
    x = _inexact("leaky_relu", x)
    return where(x >= 0, x, negative_slope * x)


@public
def hard_tanh(x):
    """Return `x` limited to -1 and 1."""
    x = operand("hard_tanh", x)
    return where(x > 1, 1, where(x < -1, -1, x))


@public
def hard_sigmoid(x):
    """Return ``relu6(x + 3) / 6``."""
    return relu6(_inexact("hard_sigmoid", x) + 3) / 6


@public
def hard_silu(x):
    """Return ``x * hard_sigmoid(x)``."""
    x = _inexact("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@public
def gelu(x, approximate=True):
    """Return `x` times the standard normal distribution function of `x`.

    Args:
      x: array; integers become floats.
      approximate: whether to take the common approximation by `tanh`, which is off by at most
        0.0005, or the error function.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.
    """
    x = _inexact("gelu", x)
    if not approximate:
        return 0.5 * x * erfc_p.bind(-x * math.sqrt(0.5))
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * ufuncs.power(x, 3))
    return x * (0.5 * (1 + ufuncs.tanh(inner)))


@public
def glu(x, axis=-1):
    """Return the first half along an axis times the sigmoid of the second half.

    Args:
      x: array of even size along `axis`.
      axis: which is halved.
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
def log1mexp(x):
    """Return ``log(1 - exp(-x))`` for x > 0, without cancellation.

    Source: Maechler, "Accurately Computing log(1 - exp(-|a|))", 2012.
    """
    x = _inexact("log1mexp", x)
    # Each branch sees 1 where it is not chosen, so that its derivative is finite there.
    is_small = x < math.log(2)
    small, large = where(is_small, x, 1), where(is_small, 1, x)
    return where(
        is_small, ufuncs.log(-ufuncs.expm1(-small)), ufuncs.log1p(-ufuncs.exp(-large))
    )  # fmt: skip
