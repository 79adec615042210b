"""Floats taken apart: signs, mantissas and exponents, whole parts, distances of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.jaxpr import literal
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.creation import zeros
from evertrace._src.numpy.elementary import isfinite, isinf, promoted, real_only, trunc, where
from evertrace._src.numpy.promotion import check_arraylike, promote_inexact
from evertrace._src.numpy.ufuncs import BOOL, choose_by, is_integer
from evertrace._src.ops.bits import shift_right_logical_p
from evertrace._src.ops.convert import bitcast_convert_type_p, convert


@native.planned(by_type=True)
def signbit(x: ArrayLike, /) -> Array:
    """Return whether the sign is negative, also that of zero and NaN.

    Example:
      >>> jnp.signbit(jnp.array([-2.0, -0.0, 0.0]))
      Array([ True,  True, False], dtype=bool)
    """
    x = real_only("signbit", operand("signbit", x))
    if x.dtype == BOOL:
        return zeros(x.shape, BOOL)
    if is_integer(x.dtype):
        return ufuncs.less(x, 0)
    word = np.dtype(f"int{8 * x.dtype.itemsize}")
    return ufuncs.less(bitcast_convert_type_p.bind(x, new_dtype=word), 0)


@native.planned(by_type=True)
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the magnitude of `x1` with the sign of `x2`.

    Example:
      >>> jnp.copysign(jnp.array([1.0, -2.0]), jnp.array([-0.0, 3.0]))
      Array([-1.,  2.], dtype=float32)
    """
    x, y = promoted(promote_inexact, "copysign", x1, x2)
    real_only("copysign", x)
    magnitude = ufuncs.absolute(x)
    return choose_by(signbit(y), -magnitude, magnitude)


@native.planned(by_type=False)
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Split floats into mantissas of magnitude in [0.5, 1) and exponents of 2, as int32.

    Returns:
      ``(mantissas, exponents)``, both of the shape of `x`.

    Example:
      >>> jnp.frexp(jnp.array([8.0, -0.75]))
      (Array([ 0.5 , -0.75], dtype=float32), Array([4, 0], dtype=int32))
    """
    (x,) = promoted(promote_inexact, "frexp", x)
    real_only("frexp", x)
    info = dtypes.finfo(x.dtype)
    # Scale subnormal numbers into the normal range, where the exponent's bits are read off.
    is_small = ufuncs.absolute(x) < float(info.smallest_normal)
    shift = int(info.nmant) + 2
    scaled = where(is_small, x * 2.0**shift, x)
    word = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = bitcast_convert_type_p.bind(scaled, new_dtype=word)
    mask, bias = (1 << int(info.nexp)) - 1, (1 << (int(info.nexp) - 1)) - 2
    field = shift_right_logical_p.bind(bits, literal(int(info.nmant), word)) & mask
    exponent = convert(field, np.dtype(np.int32)) - bias
    exponent = where(is_small, exponent - shift, exponent)
    kept = bits & ~(mask << int(info.nmant))
    mantissa = bitcast_convert_type_p.bind(kept | (bias << int(info.nmant)), new_dtype=x.dtype)
    is_special = (x == 0) | ~isfinite(x)
    return where(is_special, x, mantissa), where(is_special, 0, exponent)


@native.planned(by_type=True)
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``x1 * 2 ** x2``, for integers `x2`.

    Raises:
      DTypeError: `x2` is not of integers.

    Example:
      >>> jnp.ldexp(jnp.array([0.5, -0.75]), jnp.array([4, 0]))
      Array([ 8.  , -0.75], dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    n = as_array(x2, "ldexp")
    if not is_integer(n.dtype):
        raise errors.user_error(
            errors.DTypeError,
            f"ldexp: the exponent must be an integer, got {n.dtype}.",
            fix="convert it, e.g. `x2.astype(int)`.",
            anchor="dtype",
        )
    (x,) = promoted(promote_inexact, "ldexp", x1)
    info = dtypes.finfo(x.dtype)
    settled = 2 * int(info.maxexp) + int(info.nmant) + 2  # beyond it all is zero or infinite
    least, greatest = dtypes.int_range(n.dtype)
    n = n if greatest < settled else ufuncs.minimum(n, settled)
    n = n if least > -settled else ufuncs.maximum(n, -settled)
    # In three factors, each of them in range wherever the result is.
    third = n // 3
    scale, rest = (ufuncs.exp2(convert(k, x.dtype)) for k in (third, n - 2 * third))
    return x * scale * scale * rest


@native.planned(by_type=False)
def modf(x: ArrayLike, /, out: Any = None) -> tuple[Array, Array]:
    """Split floats into fractions and whole parts, both with the sign of `x`.

    Example:
      >>> jnp.modf(jnp.array([1.25, -2.5]))
      (Array([ 0.25, -0.5 ], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    (x,) = promoted(promote_inexact, "modf", x)
    whole = trunc(x)
    fraction = choose_by(isinf(x), 0.0, x - whole)
    return copysign(fraction, x), copysign(whole, x)


@native.planned(by_type=True)
def spacing(x: ArrayLike, /) -> Array:
    """Return the distance from `x` to the next float away from zero.

    Example:
      >>> jnp.spacing(jnp.array([1.0, 1000.0]))
      Array([1.1920929e-07, 6.1035156e-05], dtype=float32)
    """
    (x,) = promoted(promote_inexact, "spacing", x)
    real_only("spacing", x)
    infinity = copysign(np.array(np.inf, x.dtype), x)
    return ufuncs.nextafter(x, infinity) - x
