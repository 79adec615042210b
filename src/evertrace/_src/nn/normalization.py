"""Functions that look at whole axes: log-sum-exp, softmax, standardisation, one-hot.

Sums of exponentials are taken relative to the largest term, so that they neither overflow nor
vanish. Masked elements are replaced before an exponential sees them, so that derivatives are right
whatever they hold.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.core.aval import ShapedArray
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.numpy import reductions, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    canonical_axis,
    operand,
    static_count,
)
from evertrace._src.numpy.elementary import clip, isfinite, where
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import real_p, rsqrt_p
from evertrace._src.ops.structural import expand_dims, full, squeeze
from evertrace._src.support import set_module

public = set_module("evertrace.nn")

choose = where  # `where` is also the name of an argument


def _masked(x, mask, value):
    """Return `x` with `value` where the mask, if there is one, is false."""
    return x if mask is None else choose(mask, x, value)


def _largest(x, axis, mask):
    """Return the largest elements along axes, kept with size 1, as constants."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        x = real_p.bind(x)
    top = reductions.max(x, axis, keepdims=True, initial=-np.inf, where=mask)
    return stop_gradient(top)


def _finite_or_zero(x):
    """Return `x` with 0 in place of infinities, of which no difference can be taken."""
    return choose(isfinite(x), x, 0)


# ---------------------------------------------------------------- sums of exponentials


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...


@public
@native.planned(by_type=False)
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Return ``log(sum(b * exp(a)))`` along axes, without overflow.

    Args:
      a: array; integers become floats.
      axis: int, tuple of ints or None (all axes).
      b: factors that broadcast with `a`, by default 1.
      keepdims: whether to keep the reduced axes, with size 1.
      return_sign: whether to return also the sign of the sum, whose absolute value is then taken.
        Otherwise the logarithm of a negative sum is NaN.
      where: boolean mask, broadcast to `a`, of the elements that count.

    Returns:
      The logarithms, or a tuple of logarithms and signs.

    Example:
      >>> ev.nn.logsumexp(jnp.array([1000.0, 1000.0]))
      Array(1000.6932, dtype=float32)
      >>> ev.nn.logsumexp(jnp.array([0.0, 0.0]), b=jnp.array([1.0, -3.0]), return_sign=True)
      (Array(0.6931472, dtype=float32), Array(-1., dtype=float32))
    """
    if b is None:
        (x,), factors = promote_inexact("logsumexp", operand("logsumexp", a)), None
    else:
        x, factors = promote_inexact("logsumexp", a, b)
        x = choose(factors != 0, x, -np.inf)
    x = _masked(x, where, -np.inf)
    top = _finite_or_zero(_largest(x, axis, where))
    # Of complex numbers `top` is real, the largest real part.
    terms = ufuncs.exp(x - convert(top, x.aval.dtype))
    if factors is not None:
        terms = terms * factors
    total = reductions.sum(terms, axis, keepdims=True, where=where)
    axes = () if keepdims else canonical_axes("logsumexp", axis, x.ndim)
    if not return_sign:
        return squeeze(ufuncs.log(total) + convert(top, total.aval.dtype), axes)
    logarithm = ufuncs.log(ufuncs.abs(total)) + top
    return squeeze(logarithm, axes), squeeze(ufuncs.sign(total), axes)


@public
@native.planned(by_type=False)
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Return ``log(mean(exp(x)))`` along axes, without overflow.

    Args:
      x: array; integers become floats.
      axis: int, tuple of ints or None (all axes).
      where: boolean mask, broadcast to `x`, of the elements that count.
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      The logarithms.

    Example:
      >>> ev.nn.logmeanexp(jnp.array([1000.0, 1000.0, -1000.0, -1000.0]))
      Array(999.3069, dtype=float32)
    """
    total = logsumexp(x, axis=axis, keepdims=keepdims, where=where)
    aval = operand("logmeanexp", x).aval
    count = reductions.sum(
        full(ShapedArray(aval.shape, total.dtype), 1), axis, keepdims=keepdims, where=where
    )
    return total - ufuncs.log(count)


# ---------------------------------------------------------------- softmax


def _shifted(name, x, axis, mask):
    """Return x minus its largest element, masked elements being -inf."""
    (x,) = promote_inexact(name, operand(name, x))
    try:
        top = _largest(x, axis, mask)
    except errors.AxisError:
        canonical_axes(name, axis, x.ndim)  # says it of the function that was called
        raise
    if mask is None:
        return x - top
    return choose(mask, x, -np.inf) - _finite_or_zero(top)


def _total(terms, axis, mask):
    """Return the sum of exponentials; 1 where all of them are masked."""
    total = reductions.sum(terms, axis, keepdims=True)
    return total if mask is None else choose(total == 0, 1, total)


@public
@native.planned(by_type=False)
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return ``exp(x) / sum(exp(x))`` along axes, without overflow.

    Args:
      x: array; integers become floats.
      axis: int, tuple of ints or None (all axes).
      where: boolean mask, broadcast to `x`, of the elements that count; the others give 0.

    Returns:
      An array of the shape of `x`, whose sums along the axes are 1.

    Example:
      >>> ev.nn.softmax(jnp.array([1.0, 2.0, 3.0]))
      Array([0.09003057, 0.24472846, 0.66524094], dtype=float32)
      >>> ev.nn.softmax(jnp.array([1.0, 2.0, 3.0]), where=jnp.array([True, True, False]))
      Array([0.2689414, 0.7310586, 0.       ], dtype=float32)
    """
    terms = ufuncs.exp(_shifted("softmax", x, axis, where))
    return terms / _total(terms, axis, where)


@public
@native.planned(by_type=False)
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return ``log(softmax(x))``, without overflow or underflow.

    Args:
      x: array; integers become floats.
      axis: int, tuple of ints or None (all axes).
      where: boolean mask, broadcast to `x`, of the elements that count; the others give -inf.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> ev.nn.log_softmax(jnp.array([0.0, 0.0, 1000.0]))
      Array([-1000., -1000.,     0.], dtype=float32)
    """
    shifted = _shifted("log_softmax", x, axis, where)
    return shifted - ufuncs.log(_total(ufuncs.exp(shifted), axis, where))


# ---------------------------------------------------------------- standardisation


@public
@native.planned(by_type=False)
def standardize(
    x: ArrayLike,
    axis: int | tuple[int, ...] | None = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: float = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: Any = "fast",
) -> Array:
    """Return `x` shifted and scaled to mean 0 and variance 1 along axes.

    Args:
      x: array; integers become floats.
      axis: int, tuple of ints or None (all axes).
      mean: what to subtract, by default the mean along `axis`.
      variance: its square root is what to divide by; by default the variance along `axis`.
      epsilon: added to the variance.
      where: boolean mask, broadcast to `x`, of the elements that mean and variance are taken of.
      algorithm: ``"fast"`` takes the variance as the mean square minus the squared mean, in one
        pass; ``"stable"`` as the mean squared difference from the mean.

    Returns:
      An array of the shape of `x`.

    Raises:
      ValueError: there is no such algorithm.

    Example:
      >>> ev.nn.standardize(jnp.array([1.0, 2.0, 3.0]), epsilon=0)
      Array([-1.224745,  0.      ,  1.224745], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise errors.user_error(
            ValueError,
            f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}.",
            fix="leave it out.",
            anchor="choice",
        )
    (x,) = promote_inexact("standardize", operand("standardize", x))
    if mean is None:
        mean = reductions.mean(x, axis, keepdims=True, where=where)
    if variance is None and algorithm == "fast":
        square = reductions.mean(ufuncs.square(x), axis, keepdims=True, where=where)
        variance = clip(square - ufuncs.square(mean), 0)
    elif variance is None:
        variance = reductions.mean(ufuncs.square(x - mean), axis, keepdims=True, where=where)
    return (x - mean) * rsqrt_p.bind(variance + epsilon)


# ---------------------------------------------------------------- one-hot


@public
@native.planned(by_type=False)
def one_hot(
    x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: Any = -1
) -> Array:
    """Return vectors that are 1 at an index and 0 elsewhere.

    Args:
      x: indices; those outside of 0 to ``num_classes - 1`` give zeros.
      num_classes: length of the vectors.
      dtype: of the result, by default float32 (float64 if x64 is on).
      axis: of the result, along which the vectors lie.

    Returns:
      Array of the shape of `x` with the new axis.

    Example:
      >>> ev.nn.one_hot(jnp.array([2, 0, 7]), 3)
      Array([[0., 0., 1.],
             [1., 0., 0.],
             [0., 0., 0.]], dtype=float32)
    """
    count = static_count("one_hot", "num_classes", num_classes)
    x = operand("one_hot", x)
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, "one_hot")
    axis = canonical_axis("one_hot", axis, x.ndim + 1)
    others = tuple(i for i in range(x.ndim + 1) if i != axis)
    classes = expand_dims(iota(np.dtype(np.int32), (count,)), others)
    return convert(expand_dims(x, (axis,)) == classes, dtype)
