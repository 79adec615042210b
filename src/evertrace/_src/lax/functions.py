"""Elementwise powers, exponentials, logarithms, circular and hyperbolic functions.

Operands must have one dtype, in contrast to the functions of `numpy`.
"""

from __future__ import annotations

import enum
import operator
from typing import Any, NamedTuple

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.errors import user_error
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import elementwise as ops


class AccuracyMode(enum.Enum):
    """How exact a function of the engine is to be.

    Only ``DEFAULT`` is supported; another accuracy raises NotImplementedError.

    Example:
      >>> lax.exp(jnp.array([0.0, 1.0]), accuracy=lax.AccuracyMode.DEFAULT)
      Array([1.      , 2.718282], dtype=float32)
    """

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """Error that a function may have: absolute, relative, or in units of the last place.

    Not supported yet: functions raise NotImplementedError.

    Example:
      >>> lax.exp(1.0, accuracy=lax.Tolerance(ulps=1))
      Traceback (most recent call last):
          ...
      NotImplementedError: exp: accuracy Tolerance(atol=0.0, rtol=0.0, ulps=1) is not supported...
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


def check_accuracy(name, accuracy):
    """Refuse an accuracy other than the engine's own, rather than ignore it."""
    if accuracy not in (None, AccuracyMode.DEFAULT):
        raise user_error(
            NotImplementedError,
            f"{name}: accuracy {accuracy} is not supported.",
            fix="leave `accuracy` out.",
            anchor="accuracy",
        )


def square(x: ArrayLike) -> Array:
    """Return x * x.

    Args:
      x: an integer, floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.square(jnp.array([-3, 4]))
      Array([ 9, 16], dtype=int32)
    """
    return ops.square_p.bind(as_operand(x, "square"))


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Return x ** y for a Python int y.

    Args:
      x: an integer, floating or complex array.
      y: exponent, not negative if `x` is an integer.

    Returns:
      an array of the shape and dtype of `x`.

    Raises:
      DTypeError: `y` is negative and `x` an integer.

    Computed by repeated multiplication.

    Example:
      >>> lax.integer_pow(jnp.array([2, 3]), 3)
      Array([ 8, 27], dtype=int32)
    """
    return ops.integer_pow_p.bind(as_operand(x, "integer_pow"), y=operator.index(y))


def reciprocal(x: ArrayLike) -> Array:
    """Return 1 / x.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.reciprocal(jnp.array([2.0, -4.0, 0.0]))
      Array([ 0.5 , -0.25,   inf], dtype=float32)
    """
    return integer_pow(x, -1)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x ** y.

    Args:
      x: a floating or complex array.
      y: an array of the same dtype, or of integers.

    Returns:
      an array of the dtype of `x` and the common shape.

    Raises:
      DTypeError: `x` is an integer, or `y` neither of its dtype nor an integer.

    The derivative by `y` is 0 at x = 0 < y, and the one by `x` is 0 at y = 0.

    Example:
      >>> lax.pow(jnp.array([4.0, 9.0]), jnp.array([0.5, 2.0]))
      Array([ 2., 81.], dtype=float32)
    """
    y_operand = as_operand(y, "pow") if type(y) is int else y
    return ops.pow_p.bind(*same_dtype_operands("pow", x, y_operand))


def sqrt(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the square root.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.sqrt(jnp.array([4.0, 2.0, -1.0]))
      Array([2.       , 1.4142135,       nan], dtype=float32)
    """
    check_accuracy("sqrt", accuracy)
    return ops.sqrt_p.bind(as_operand(x, "sqrt"))


def rsqrt(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return 1 / sqrt(x).

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.rsqrt(jnp.array([4.0, 0.0]))
      Array([0.5, inf], dtype=float32)
    """
    check_accuracy("rsqrt", accuracy)
    return ops.rsqrt_p.bind(as_operand(x, "rsqrt"))


def cbrt(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the real cube root.

    Args:
      x: a floating array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.cbrt(jnp.array([8.0, -8.0]))
      Array([ 2., -2.], dtype=float32)
    """
    check_accuracy("cbrt", accuracy)
    return ops.cbrt_p.bind(as_operand(x, "cbrt"))


def exp(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return e ** x.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.exp(jnp.array([0.0, 1.0, -jnp.inf]))
      Array([1.      , 2.718282, 0.      ], dtype=float32)
    """
    check_accuracy("exp", accuracy)
    return ops.exp_p.bind(as_operand(x, "exp"))


def exp2(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return 2 ** x.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.exp2(jnp.array([3.0, -1.0]))
      Array([8. , 0.5], dtype=float32)
    """
    check_accuracy("exp2", accuracy)
    return ops.exp2_p.bind(as_operand(x, "exp2"))


def expm1(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return e ** x - 1, precise near x = 0.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.expm1(jnp.array([1e-10, 1.0]))
      Array([1.0000000e-10, 1.7182819e+00], dtype=float32)
    """
    check_accuracy("expm1", accuracy)
    return ops.expm1_p.bind(as_operand(x, "expm1"))


def log(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the natural logarithm.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.log(jnp.array([1.0, 10.0, 0.0]))
      Array([0.       , 2.3025851,      -inf], dtype=float32)
    """
    check_accuracy("log", accuracy)
    return ops.log_p.bind(as_operand(x, "log"))


def log1p(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return log(1 + x), precise near x = 0.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.log1p(jnp.array([1e-10, 1.0]))
      Array([1.000000e-10, 6.931472e-01], dtype=float32)
    """
    check_accuracy("log1p", accuracy)
    return ops.log1p_p.bind(as_operand(x, "log1p"))


def logistic(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return 1 / (1 + exp(-x)).

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.logistic(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.11920293, 0.5       , 0.880797  ], dtype=float32)
    """
    check_accuracy("logistic", accuracy)
    return ops.logistic_p.bind(as_operand(x, "logistic"))


def sin(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the sine.

    Args:
      x: a floating or complex array, in radians.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.sin(jnp.array([0.0, jnp.pi / 6, jnp.pi / 2]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    check_accuracy("sin", accuracy)
    return ops.sin_p.bind(as_operand(x, "sin"))


def cos(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the cosine.

    Args:
      x: a floating or complex array, in radians.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.cos(jnp.array([0.0, jnp.pi / 4, jnp.pi]))
      Array([ 1.        ,  0.70710677, -1.        ], dtype=float32)
    """
    check_accuracy("cos", accuracy)
    return ops.cos_p.bind(as_operand(x, "cos"))


def tan(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the tangent.

    Args:
      x: a floating or complex array, in radians.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.tan(jnp.array([0.0, jnp.pi / 4, jnp.pi / 3]))
      Array([0.       , 1.       , 1.7320509], dtype=float32)
    """
    check_accuracy("tan", accuracy)
    return ops.tan_p.bind(as_operand(x, "tan"))


def asin(x: ArrayLike) -> Array:
    """Return the inverse sine, in radians.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.asin(jnp.array([0.5, 1.0, 2.0]))
      Array([0.5235988, 1.5707964,       nan], dtype=float32)
    """
    return ops.asin_p.bind(as_operand(x, "asin"))


def acos(x: ArrayLike) -> Array:
    """Return the inverse cosine, in radians.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.acos(jnp.array([1.0, 0.5, 0.0]))
      Array([0.       , 1.0471976, 1.5707964], dtype=float32)
    """
    return ops.acos_p.bind(as_operand(x, "acos"))


def atan(x: ArrayLike) -> Array:
    """Return the inverse tangent, in radians.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.atan(jnp.array([1.0, jnp.inf]))
      Array([0.7853982, 1.5707964], dtype=float32)
    """
    return ops.atan_p.bind(as_operand(x, "atan"))


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the angle of the point (y, x) in radians: the inverse tangent of x / y.

    Args:
      x: a floating or complex array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together.

    Example:
      >>> lax.atan2(jnp.array([1.0, 1.0, -1.0]), jnp.array([1.0, -1.0, -1.0]))
      Array([ 0.7853981,  2.3561945, -2.3561945], dtype=float32)
    """
    return ops.atan2_p.bind(*same_dtype_operands("atan2", x, y))


def sinh(x: ArrayLike) -> Array:
    """Return the hyperbolic sine.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.sinh(jnp.array([0.0, 1.0]))
      Array([0.       , 1.1752012], dtype=float32)
    """
    return ops.sinh_p.bind(as_operand(x, "sinh"))


def cosh(x: ArrayLike) -> Array:
    """Return the hyperbolic cosine.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.cosh(jnp.array([0.0, 1.0]))
      Array([1.       , 1.5430807], dtype=float32)
    """
    return ops.cosh_p.bind(as_operand(x, "cosh"))


def tanh(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Return the hyperbolic tangent.

    Args:
      x: a floating or complex array.
      accuracy: None or ``AccuracyMode.DEFAULT``.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.tanh(jnp.array([0.0, 1.0, 20.0]))
      Array([0.       , 0.7615942, 1.       ], dtype=float32)
    """
    check_accuracy("tanh", accuracy)
    return ops.tanh_p.bind(as_operand(x, "tanh"))


def asinh(x: ArrayLike) -> Array:
    """Return the inverse hyperbolic sine.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.asinh(jnp.array([0.0, 1.0]))
      Array([0.       , 0.8813736], dtype=float32)
    """
    return ops.asinh_p.bind(as_operand(x, "asinh"))


def acosh(x: ArrayLike) -> Array:
    """Return the inverse hyperbolic cosine.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.acosh(jnp.array([1.0, 2.0, 0.5]))
      Array([0.      , 1.316958,      nan], dtype=float32)
    """
    return ops.acosh_p.bind(as_operand(x, "acosh"))


def atanh(x: ArrayLike) -> Array:
    """Return the inverse hyperbolic tangent.

    Args:
      x: a floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.atanh(jnp.array([0.0, 0.5, 1.0]))
      Array([0.        , 0.54930615,        inf], dtype=float32)
    """
    return ops.atanh_p.bind(as_operand(x, "atanh"))
