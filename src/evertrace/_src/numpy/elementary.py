"""Elementwise functions of several operations: rounding, special cases of floats, choosing, parts.

They are written with the functions of `ufuncs` and with operators, as a user would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.aval import ShapedArray
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.promotion import (
    check_arraylike,
    promote,
    promote_inexact,
)
from evertrace._src.numpy.ufunc import COMMON, unary
from evertrace._src.numpy.ufuncs import BOOL, choose_by, is_complex, is_discrete, is_integer
from evertrace._src.ops import elementwise as ops
from evertrace._src.ops import structural
from evertrace._src.ops.compare import is_finite_p, ne_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.special import bessel_i0e_p

if TYPE_CHECKING:
    from evertrace._src.numpy.ufunc import Unary

nonzeros: Any = LazyModule("evertrace._src.numpy.nonzeros")


def _operand(name, x):
    check_arraylike(name, x)
    return as_array(x, name)


def default_inexact(x, weak_type=False) -> Array:
    """Return an array; booleans and integers, of any width, as the default float dtype."""
    if not is_discrete(x.aval.dtype):
        return x
    return convert(x, dtypes.default_dtype(float), weak_type)


def promoted(promotion, name, *args) -> list[Array]:
    """Return the arguments as arrays that are promoted to one dtype and shape."""
    return [as_array(x) for x in promotion(name, *args)]


def is_inexact(dtype):
    """Whether the dtype is a float or complex one."""
    return dtypes.issubdtype(dtype, np.inexact)


def real_only(name, x):
    """Raise for complex arrays."""
    if is_complex(x.dtype):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: is not defined for complex numbers, got dtype {x.dtype}.",
            fix="take `.real` and `.imag`, or the magnitude with `abs`.",
            anchor="dtype",
        )
    return x


def _all(x, value):
    """Return an array of booleans of the shape of `x`, all of one value."""
    return structural.full(ShapedArray(x.shape, BOOL), value)


# ---------------------------------------------------------------- choosing


@overload
def where(
    condition: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]: ...


@overload
def where(
    condition: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...


@native.planned(by_type=True)
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Return `x` where the condition holds, else `y`; with one argument, where it holds.

    Args:
      condition: boolean array; other dtypes are compared with 0.
      x: array broadcast with the others.
      y: the same, promoted with `x`.
      size: static number of indices, for the form of one argument while tracing.
      fill_value: what pads the indices to `size`.

    Returns:
      An array of the common shape; for one argument a tuple with an array of indices per axis.

    Raises:
      ValueError: only one of `x` and `y` is given.
      ConcretizationTypeError: the form of one argument is traced without `size`.

    Both `x` and `y` are computed, and so are their derivatives: a NaN in the derivative of
    the one that is not taken reaches the gradient.

    Example:
      >>> x = jnp.array([-1.0, 4.0])
      >>> jnp.where(x > 0, jnp.sqrt(x), 0)
      Array([0., 2.], dtype=float32)
      >>> jnp.where(x > 0)
      (Array([1], dtype=int32),)
    """
    if x is None and y is None:
        return nonzeros.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise errors.user_error(
            ValueError,
            "where: takes either the condition alone or the condition, x and y.",
            fix="pass both x and y.",
        )
    return choose_by(condition, x, y)


@native.planned(by_type=True)
def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """Return the array with values below `min` raised to it and above `max` lowered to it.

    Args:
      arr: real array.
      min: lower bound, broadcast with the array, or None.
      max: upper bound, or None. It wins where it is below `min`.

    Returns:
      Array of the common shape and dtype.

    Raises:
      DTypeError: the array is complex.

    Example:
      >>> jnp.clip(jnp.array([-1, 2, 7]), 0, 5)
      Array([0, 2, 5], dtype=int32)
    """
    if arr is None:
        raise errors.user_error(ValueError, "clip: needs an array.", fix="pass one.")
    check_arraylike("clip", arr, *[bound for bound in (min, max) if bound is not None])
    for x in (arr, min, max):
        if x is not None:
            real_only("clip", as_array(x))
    out = as_array(arr)
    if min is not None:
        out = ufuncs.maximum(min, out)
    if max is not None:
        out = ufuncs.minimum(max, out)
    return out


@native.planned(by_type=True)
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the larger of both; NaN only where both are NaN.

    Differs from `maximum`, where NaN wins. The arrays broadcast.

    Example:
      >>> jnp.fmax(jnp.array([1.0, jnp.nan]), jnp.array([0.5, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return _ignoring_nan("fmax", x1, x2, ufuncs.maximum)


@native.planned(by_type=True)
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the smaller of both; NaN only where both are NaN.

    Differs from `minimum`, where NaN wins. The arrays broadcast.

    Example:
      >>> jnp.fmin(jnp.array([1.0, jnp.nan]), jnp.array([0.5, 2.0]))
      Array([0.5, 2. ], dtype=float32)
    """
    return _ignoring_nan("fmin", x1, x2, ufuncs.minimum)


def _ignoring_nan(name, x1, x2, extreme):
    x, y = promoted(promote, name, x1, x2)
    out = extreme(x, y)
    if not is_inexact(x.dtype):
        return out
    return choose_by(isnan(x), y, choose_by(isnan(y), x, out))


# ---------------------------------------------------------------- rounding

# Integers are returned as they are: so NumPy arrays have to be copied.
floor: Unary = unary(
    "floor",
    doc="Return the largest integer not above, as a float.",
    promotion=promote,
    choose=lambda dtype: ops.floor_p.bind if not is_discrete(dtype) else as_array,
)
ceil: Unary = unary(
    "ceil",
    doc="Return the smallest integer not below, as a float.",
    promotion=promote,
    choose=lambda dtype: ops.ceil_p.bind if not is_discrete(dtype) else as_array,
)


@native.planned(by_type=True)
def trunc(x: ArrayLike) -> Array:
    """Return the number without its fraction, rounded towards zero.

    Integers are returned as they are.

    Example:
      >>> jnp.trunc(jnp.array([1.7, -1.7]))
      Array([ 1., -1.], dtype=float32)
    """
    x = real_only("trunc", _operand("trunc", x))
    if is_discrete(x.dtype):
        return x
    return choose_by(ufuncs.less(x, 0), ceil(x), floor(x))


def _nearest_even(x):
    """Round to the nearest integer, halves to even ones, both parts of complex numbers."""
    if is_complex(x.dtype):
        return ops.complex_p.bind(_nearest_even(real(x)), _nearest_even(imag(x)))
    return ops.round_p.bind(x, rounding_method=1)


@native.planned(by_type=False)
def rint(x: ArrayLike, /) -> Array:
    """Return the nearest integer as a float, halves rounded to even ones.

    Example:
      >>> jnp.rint(jnp.array([0.5, 1.5, -2.7]))
      Array([ 0.,  2., -3.], dtype=float32)
    """
    return _nearest_even(default_inexact(_operand("rint", x)))


@native.planned(by_type=False)
def round(a: ArrayLike, decimals: int = 0, out: Any = None) -> Array:
    """Round to a number of decimals, halves to even ones.

    Args:
      a: an array; integers are returned as they are.
      decimals: static number of decimals; negative ones round to tens, hundreds, ...
      out: not supported.

    Returns:
      Array of the shape and dtype of `a`.

    Raises:
      DTypeError: the array is of booleans.

    Example:
      >>> jnp.round(jnp.array([1.234, 2.5]), 1)
      Array([1.2, 2.5], dtype=float32)
      >>> jnp.round(jnp.array([0.5, 1.5, 2.5]))
      Array([0., 2., 2.], dtype=float32)
    """
    x = _operand("round", a)
    decimals = static_int("round", "decimals", decimals)
    if is_integer(x.dtype):
        return x if decimals >= 0 else _round_integer(x, 10**-decimals)
    if x.dtype == BOOL:
        raise errors.user_error(
            errors.DTypeError, "round: has no meaning for booleans.", fix="convert to a number."
        )
    if decimals == 0:
        return _nearest_even(x)
    # Scale in float32 at least: 10 ** decimals may not fit a float16.
    wide = convert(x, np.dtype(np.float32)) if x.dtype.itemsize == 2 else x
    factor = 10.0 ** abs(decimals)
    scaled = wide * factor if decimals > 0 else wide / factor
    rounded = _nearest_even(scaled)
    out = rounded / factor if decimals > 0 else rounded * factor
    return convert(out, x.dtype, x.aval.weak_type)


around = round
native.rename(globals(), "around")


def _round_integer(x, unit):
    """Round to multiples of `unit`, halves to even multiples."""
    quotient, rest = ufuncs.divmod(x, unit)
    twice = rest * 2
    is_up = (twice > unit) | ((twice == unit) & (quotient % 2 == 1))
    return (quotient + convert(is_up, x.dtype)) * unit


# ---------------------------------------------------------------- kinds of floats

isnan: Unary = unary(
    "isnan", lambda x: ne_p.bind(x, x), "Return whether it is NaN.", promotion=COMMON
)


def _parts(test, join):
    """Return `test` of floats, and for complex numbers the join of that of both parts."""

    def tested(x):
        if is_complex(x.aval.dtype):
            return join(test(real(x)), test(imag(x)))
        if not is_inexact(x.aval.dtype):
            return _all(x.aval, join is ufuncs.logical_and)
        return test(x)

    return tested


isfinite: Unary = unary(
    "isfinite",
    _parts(is_finite_p.bind, ufuncs.logical_and),
    "Return whether it is neither infinite nor NaN.",
    promotion=COMMON,
)
isinf: Unary = unary(
    "isinf",
    _parts(lambda x: ufuncs.equal(ufuncs.absolute(x), np.inf), ufuncs.logical_or),
    "Return whether it is infinite.",
    promotion=COMMON,
)


@native.planned(by_type=False)
def isposinf(x: ArrayLike, /, out: Any = None) -> Array:
    """Return whether it is plus infinity.

    Raises:
      DTypeError: the array is complex.

    Example:
      >>> jnp.isposinf(jnp.array([1.0, jnp.inf, -jnp.inf]))
      Array([False,  True, False], dtype=bool)
    """
    return _is_infinity("isposinf", x, np.inf)


@native.planned(by_type=False)
def isneginf(x: ArrayLike, /, out: Any = None) -> Array:
    """Return whether it is minus infinity.

    Raises:
      DTypeError: the array is complex.

    Example:
      >>> jnp.isneginf(jnp.array([1.0, jnp.inf, -jnp.inf]))
      Array([False, False,  True], dtype=bool)
    """
    return _is_infinity("isneginf", x, -np.inf)


def _is_infinity(name, x, value):
    x = real_only(name, _operand(name, x))
    return ufuncs.equal(x, value) if is_inexact(x.dtype) else _all(x, False)


@native.planned(by_type=False)
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Return the array with NaN and infinities replaced.

    Args:
      x: an array.
      copy: ignored; arrays are never changed.
      nan: what replaces NaN.
      posinf: what replaces plus infinity, by default the largest number.
      neginf: what replaces minus infinity, by default the lowest number.

    Example:
      >>> jnp.nan_to_num(jnp.array([jnp.nan, jnp.inf, 1.0]), nan=-1.0, posinf=9.0)
      Array([-1.,  9.,  1.], dtype=float32)
    """
    x = _operand("nan_to_num", x)
    if not is_inexact(x.dtype):
        return x
    if is_complex(x.dtype):
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (real(x), imag(x))]
        return ops.complex_p.bind(*parts)
    info = dtypes.finfo(x.dtype)
    posinf = float(info.max) if posinf is None else posinf
    neginf = float(info.min) if neginf is None else neginf
    out = where(isnan(x), asarray(nan, x.dtype), x)
    out = where(isposinf(out), asarray(posinf, x.dtype), out)
    return where(isneginf(out), asarray(neginf, x.dtype), out)


# ---------------------------------------------------------------- sums of exponentials, lengths


@native.planned(by_type=True)
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``log(exp(x1) + exp(x2))`` without overflow.

    Example:
      >>> jnp.logaddexp(1000.0, 1000.0)
      Array(1000.6932, dtype=float32, weak_type=True)
    """
    return _log_of_sum("logaddexp", x1, x2, lambda x: ufuncs.log1p(ufuncs.exp(x)), 1.0)


@native.planned(by_type=True)
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``log2(2 ** x1 + 2 ** x2)`` without overflow.

    Example:
      >>> jnp.logaddexp2(3.0, 3.0)
      Array(4., dtype=float32, weak_type=True)
    """
    unit = float(1 / np.log(2))
    return _log_of_sum("logaddexp2", x1, x2, lambda x: ufuncs.log1p(ufuncs.exp2(x)) * unit, unit)


def _principal(x, unit):
    """Return a logarithm with its imaginary part from -pi to pi, in units of its base."""
    period = 2 * np.pi * unit
    turns = floor(imag(x) / period + 0.5)
    return ops.complex_p.bind(real(x), imag(x) - period * turns)


def _log_of_sum(name, x1, x2, excess, unit):
    """Add what the sum is more than its larger term, a function of the distance of both.

    Of complex terms the one with the larger real part is the larger, and the result is principal.

    Derivatives of all orders are right also where the terms are equal: the larger one and the
    distance change branch together, and each branch is the sum itself.
    """
    x, y = promoted(promote_inexact, name, x1, x2)
    # Equal infinities have a NaN difference, but a sum.
    difference = where((x == y) & isinf(x), 0.0, x - y)
    is_larger = real(difference) >= 0
    out = where(is_larger, x, y) + excess(where(is_larger, -difference, difference))
    return _principal(out, unit) if is_complex(out.dtype) else out


@native.planned(by_type=True)
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``sqrt(x1 ** 2 + x2 ** 2)`` without overflow.

    Example:
      >>> jnp.hypot(jnp.array([3.0, 3e30]), jnp.array([4.0, 4e30]))
      Array([5.e+00, 5.e+30], dtype=float32)
    """
    x, y = promoted(promote_inexact, "hypot", x1, x2)
    x, y = ufuncs.absolute(real_only("hypot", x)), ufuncs.absolute(y)
    large, small = ufuncs.maximum(x, y), ufuncs.minimum(x, y)
    ratio = small / where(large == 0, 1.0, large)
    length = large * ufuncs.sqrt(1.0 + ufuncs.square(ratio))
    return where((x == np.inf) | (y == np.inf), np.inf, length)


@native.planned(by_type=True)
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return 0 for negative numbers, 1 for positive ones, `x2` for zero.

    Example:
      >>> jnp.heaviside(jnp.array([-1.5, 0.0, 2.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = promoted(promote_inexact, "heaviside", x1, x2)
    inner = where(isnan(x), x, y)
    return where(x < 0, 0.0, where(x > 0, 1.0, inner))


@native.planned(by_type=True)
def sinc(x: ArrayLike, /) -> Array:
    """Return ``sin(pi x) / (pi x)``, which is 1 at 0.

    Near 0 the series is used, since derivatives of the quotient are lost in rounding there.

    Example:
      >>> jnp.sinc(jnp.array([0.0, 0.5, 1.5]))
      Array([ 1.        ,  0.63661975, -0.21220659], dtype=float32)
    """
    (x,) = promoted(promote_inexact, "sinc", x)
    t = x * np.pi
    is_near = ufuncs.absolute(t) < 1e-2
    safe = where(is_near, 1.0, t)
    square = ufuncs.square(where(is_near, t, 0.0))
    # sin(t) / t = 1 - t^2/3! + t^4/5! - t^6/7!, to 1e-21 for |t| < 0.01.
    series = 1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0))
    return where(is_near, series, ufuncs.sin(safe) / safe)


@native.planned(by_type=False)
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind of order 0.

    Example:
      >>> jnp.i0(jnp.array([0.0, 1.0]))
      Array([1.      , 1.266066], dtype=float32)
    """
    (x,) = promoted(promote_inexact, "i0", x)
    x = ufuncs.absolute(real_only("i0", x))
    return ufuncs.exp(x) * bessel_i0e_p.bind(x)


deg2rad: Unary = unary(
    "deg2rad", lambda x: ufuncs.multiply(x, np.pi / 180), "Convert degrees to radians."
)
rad2deg: Unary = unary(
    "rad2deg", lambda x: ufuncs.multiply(x, 180 / np.pi), "Convert radians to degrees."
)
radians: Unary = native.alias("radians", deg2rad)
degrees: Unary = native.alias("degrees", rad2deg)
positive: Unary = unary("positive", as_array, "Return the number as it is.", promotion=promote)

# ---------------------------------------------------------------- complex numbers


@native.planned(by_type=False)
def real(val: Any, /) -> Array:
    """Return the real part; real numbers are returned as they are.

    Example:
      >>> jnp.real(jnp.array([1 + 2j, 3]))
      Array([1., 3.], dtype=float32)
    """
    x = _operand("real", val)
    return ops.real_p.bind(x) if is_complex(x.aval.dtype) else x


@native.planned(by_type=False)
def imag(val: Any, /) -> Array:
    """Return the imaginary part, 0 for real numbers.

    Example:
      >>> jnp.imag(jnp.array([1 + 2j, 3]))
      Array([2., 0.], dtype=float32)
    """
    x = _operand("imag", val)
    return ops.imag_p.bind(x) if is_complex(x.aval.dtype) else structural.full(x.aval, 0)


@native.planned(by_type=False)
def conj(x: ArrayLike, /) -> Array:
    """Return the complex conjugate; real numbers are returned as they are.

    Example:
      >>> jnp.conj(jnp.array([1 + 2j, 3]))
      Array([1.-2.j, 3.-0.j], dtype=complex64)
    """
    x = _operand("conj", x)
    return ops.conj(x) if is_complex(x.aval.dtype) else x


conjugate = conj
native.rename(globals(), "conjugate")


@native.planned(by_type=False)
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers with the positive real axis, in radians or degrees.

    Example:
      >>> jnp.angle(jnp.array([1.0, 1j, -1.0]), deg=True)
      Array([  0.,  90., 180.], dtype=float32)
    """
    x = default_inexact(_operand("angle", z))
    out = ufuncs.arctan2(imag(x), real(x))
    return rad2deg(out) if deg else out


@native.planned(by_type=False)
def isreal(x: ArrayLike) -> Array:
    """Return whether the imaginary part is 0.

    Example:
      >>> jnp.isreal(jnp.array([1 + 2j, 3 + 0j]))
      Array([False,  True], dtype=bool)
    """
    x = _operand("isreal", x)
    return ufuncs.equal(imag(x), 0) if is_complex(x.dtype) else _all(x, True)


@native.planned(by_type=False)
def iscomplex(x: ArrayLike) -> Array:
    """Return whether the imaginary part is not 0.

    Example:
      >>> jnp.iscomplex(jnp.array([1 + 2j, 3 + 0j]))
      Array([ True, False], dtype=bool)
    """
    x = _operand("iscomplex", x)
    return ufuncs.not_equal(imag(x), 0) if is_complex(x.dtype) else _all(x, False)
