"""Elementwise functions that are one primitive after promotion, and those of arithmetic.

Each statement names the primitive that a function binds, where need be by the promoted dtype.
Python's operators on arrays call these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.numpy.promotion import (
    as_operands,
    check_arraylike,
    promote,
    promote_dtypes_numeric,
    promote_selection,
    promote_shapes,
)
from evertrace._src.numpy.ufunc import COMMON, INEXACT, LOGICAL, NUMERIC, binary, unary
from evertrace._src.ops.bits import (
    and_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from evertrace._src.ops.compare import eq_p, ge_p, gt_p, le_p, lt_p, ne_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import (
    abs_p,
    acos_p,
    acosh_p,
    add_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cbrt_p,
    complex_p,
    cos_p,
    cosh_p,
    div_p,
    exp2_p,
    exp_p,
    expm1_p,
    floor_p,
    imag_p,
    integer_pow_p,
    log1p_p,
    log_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    nextafter_p,
    pow_p,
    real_p,
    rem_p,
    round_p,
    sign_p,
    sin_p,
    sinh_p,
    sqrt_p,
    square_p,
    sub_p,
    tan_p,
    tanh_p,
)
from evertrace._src.ops.random import same_keys
from evertrace._src.ops.select import select_n_p

if TYPE_CHECKING:
    from evertrace._src.numpy.ufunc import Binary, Unary

BOOL = np.dtype(bool)


def is_integer(dtype):
    """Whether the dtype is an integer one."""
    return dtypes.issubdtype(dtype, np.integer)


def is_discrete(dtype):
    """Whether the dtype is an integer one or bool."""
    return dtype == BOOL or is_integer(dtype)


def is_complex(dtype):
    """Whether the dtype is a complex one."""
    return dtypes.issubdtype(dtype, np.complexfloating)


# ---------------------------------------------------------------- sums and products

add: Binary = binary(
    "add",
    doc="Return ``x + y``; for booleans their logical or.",
    choose=lambda dtype: or_p.bind if dtype == BOOL else add_p.bind,
)
subtract: Binary = binary("subtract", sub_p.bind, "Return ``x - y``.")
multiply: Binary = binary(
    "multiply",
    doc="Return ``x * y``; for booleans their logical and.",
    choose=lambda dtype: and_p.bind if dtype == BOOL else mul_p.bind,
)
divide: Binary = binary(
    "divide",
    div_p.bind,
    "Return the quotient ``x / y``, in floats for integers.",
    promotion=INEXACT,
)
negative: Unary = unary("negative", neg_p.bind, "Return ``-x``.", promotion=COMMON)
square: Unary = unary("square", square_p.bind, "Return ``x * x``.", promotion=NUMERIC)


def _choose_abs(dtype):
    return as_array if dtype == BOOL or dtypes.issubdtype(dtype, np.unsignedinteger) else abs_p.bind


absolute: Unary = unary(
    "absolute",
    doc="Return the absolute value, real for complex numbers.",
    choose=_choose_abs,
    promotion=promote,
)
fabs: Unary = unary(
    "fabs",
    doc="Return the absolute value of real numbers as floats.",
    choose=lambda dtype: _no_complex("fabs", dtype, abs_p.bind),
)
sign: Unary = unary(
    "sign",
    sign_p.bind,
    "Return -1, 0 or 1 by the sign; for complex numbers ``x / abs(x)``, or 0.",
    promotion=COMMON,
)
reciprocal: Unary = unary(
    "reciprocal", lambda x: integer_pow_p.bind(x, y=-1), "Return ``1 / x``, a float for integers."
)


def _no_complex(name, dtype, bind):
    """Return `bind`, after raising for complex dtypes."""
    if is_complex(dtype):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: complex numbers have no order, got dtype {dtype}.",
            fix="take the real part with `.real`, or the magnitude with `abs`.",
            anchor="dtype",
        )
    return bind


# ---------------------------------------------------------------- division with remainder


def _is_nonzero_literal(x):
    return type(x) is Literal and x.val != 0


def _floor_divide_integers(x, y):
    """Round the truncated quotient down where the signs differ and something remains."""
    x, y = as_array(x), as_array(y)
    quotient = div_p.bind(x, y)
    is_inexact = not_equal(subtract(x, multiply(quotient, y)), 0)  # `rem` would divide again
    is_down = logical_and(not_equal(sign(x), sign(y)), is_inexact)
    return choose_by(is_down, subtract(quotient, 1), quotient)


def _floor_divide_floats(x, y):
    """Divide what is left without the remainder, so that the quotient is whole but for rounding."""
    rest = rem_p.bind(x, y)
    dividend = choose_by(equal(y, 0), x, subtract(x, rest))
    quotient = divide(dividend, y)
    is_down = logical_and(not_equal(rest, 0), not_equal(sign(y), sign(rest)))
    return nearest(choose_by(is_down, subtract(quotient, 1), quotient))


def nearest(x):
    """Round to the nearest integer, halves away from zero."""
    return round_p.bind(x, rounding_method=0)


def nearest_below(x):
    """Round floats down."""
    return floor_p.bind(x)


def _choose_floor_divide(dtype):
    _no_complex("floor_divide", dtype, None)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return div_p.bind
    return _floor_divide_integers if is_integer(dtype) else _floor_divide_floats


floor_divide: Binary = binary(
    "floor_divide",
    doc="Return ``x // y``, the quotient rounded down. Integers over 0 give -1.",
    choose=_choose_floor_divide,
    promotion=NUMERIC,
    by_type=False,
)


def _nonzero_divisor(y):
    """Return an integer divisor with 1 in place of 0, so that what remains is 0 as in NumPy."""
    if not is_integer(y.aval.dtype) or _is_nonzero_literal(y):
        return y
    return choose_by(equal(y, 0), 1, y)


def _fmod(x, y):
    return rem_p.bind(x, _nonzero_divisor(y))


def _remainder(x, y):
    """Give the truncated remainder the sign of the divisor."""
    y = _nonzero_divisor(y)
    rest = rem_p.bind(x, y)
    if dtypes.issubdtype(rest.aval.dtype, np.unsignedinteger):
        return rest
    is_other_sign = not_equal(less(rest, 0), less(y, 0))
    # Chosen is what is added, not the sum: then the slope by x is 1 without a choice.
    return add(rest, choose_by(logical_and(is_other_sign, not_equal(rest, 0)), y, 0))


fmod: Binary = binary(
    "fmod",
    _fmod,
    "Return the remainder of ``x / y`` with the sign of `x`; of integers over 0, 0.",
    promotion=NUMERIC,
    by_type=False,
)
remainder: Binary = binary(
    "remainder",
    _remainder,
    "Return ``x % y``, with the sign of `y`; of integers over 0, 0.",
    promotion=NUMERIC,
    by_type=False,
)


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Return ``(x1 // x2, x1 % x2)``.

    The operands are those of `floor_divide` and `remainder`.

    Example:
      >>> jnp.divmod(jnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def choose_by(condition, x, y):
    """Return `x` where the condition holds, else `y`: `where` of three arguments."""
    condition, x, y = promote_selection("where", condition, x, y)
    return select_n_p.bind(condition, y, x)


# ---------------------------------------------------------------- powers


@native.planned(by_type=False)
def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``x1 ** x2``.

    Args:
      x1: base.
      x2: exponent. A Python integer is repeated multiplication, and may be negative for floats.

    Integer powers of integers wrap around. Differs from NumPy: an array of negative exponents of
    integers is not an error; they count modulo 64, as in JAX.

    Example:
      >>> jnp.power(jnp.array([1, 2, 3]), 2)
      Array([1, 4, 9], dtype=int32)
      >>> jnp.power(2.0, jnp.array([-1, 0.5]))
      Array([0.5      , 1.4142135], dtype=float32)
    """
    check_arraylike("power", x1, x2)
    if type(x2) is int:
        base, _ = promote_dtypes_numeric("power", x1, x2)
        return integer_pow_p.bind(base, y=x2)
    if is_integer(dtypes.dtype(x2)) and not is_discrete(dtypes.dtype(x1)):
        # The primitive takes integer exponents as they are: they have a sign, but no tangent.
        base, exponent = as_operands("power", x1, x2)
    else:
        base, exponent = promote_dtypes_numeric("power", x1, x2)
    bind = _integer_power if is_integer(base.aval.dtype) else pow_p.bind
    return bind(*promote_shapes("power", base, exponent))


def _integer_power(x, n):
    """Multiply the squares ``x ** (2 ** k)`` that the bits of `n` name."""
    n = as_array(n)
    if dtypes.issubdtype(n.aval.dtype, np.signedinteger):
        n = choose_by(less(n, 0), bitwise_and(n, 63), n)
    out = choose_by(equal(n, 0), 1, 1)
    for k in range(dtypes.itemsize_bits(n.aval.dtype)):
        bit = bitwise_and(shift_right_logical_p.bind(n, literal(k, n.aval.dtype)), 1)
        is_set = not_equal(bit, 0)
        out = choose_by(is_set, multiply(out, x), out)
        x = multiply(x, x)
    return out


float_power: Binary = binary(
    "float_power", pow_p.bind, "Return ``x ** y`` in floats, also for integers.", promotion=INEXACT
)

# ---------------------------------------------------------------- extremes

maximum: Binary = binary(
    "maximum", max_p.bind, "Return the larger of both; NaN where either is NaN."
)
minimum: Binary = binary(
    "minimum", min_p.bind, "Return the smaller of both; NaN where either is NaN."
)

# ---------------------------------------------------------------- functions

exp: Unary = unary("exp", exp_p.bind, "Return ``e ** x``.")
exp2: Unary = unary("exp2", exp2_p.bind, "Return ``2 ** x``.")
expm1: Unary = unary("expm1", expm1_p.bind, "Return ``e ** x - 1``, precisely near 0.")
log: Unary = unary("log", log_p.bind, "Return the natural logarithm.")
log1p: Unary = unary("log1p", log1p_p.bind, "Return ``log(1 + x)``, precisely near 0.")


def _scaled_log(scale):
    """Return the function that scales logarithms, of complex ones each part for itself."""

    def scaled(x):
        out = log_p.bind(x)
        if not is_complex(out.aval.dtype):
            return scale(out)
        return complex_p.bind(scale(real_p.bind(out)), scale(imag_p.bind(out)))

    return scaled


log2: Unary = unary(
    "log2", _scaled_log(lambda x: divide(x, float(np.log(2)))), "Return the base-2 logarithm."
)
log10: Unary = unary(
    "log10",
    _scaled_log(lambda x: multiply(x, float(1 / np.log(10)))),
    "Return the base-10 logarithm.",
)
sqrt: Unary = unary("sqrt", sqrt_p.bind, "Return the square root; NaN for negative numbers.")
cbrt: Unary = unary("cbrt", cbrt_p.bind, "Return the cube root, negative for negative numbers.")

sin: Unary = unary("sin", sin_p.bind, "Return the sine of an angle in radians.")
cos: Unary = unary("cos", cos_p.bind, "Return the cosine of an angle in radians.")
tan: Unary = unary("tan", tan_p.bind, "Return the tangent of an angle in radians.")
arcsin: Unary = unary("arcsin", asin_p.bind, "Return the angle in radians whose sine is `x`.")
arccos: Unary = unary("arccos", acos_p.bind, "Return the angle in radians whose cosine is `x`.")
arctan: Unary = unary("arctan", atan_p.bind, "Return the angle in radians whose tangent is `x`.")
arctan2: Binary = binary(
    "arctan2",
    atan2_p.bind,
    "Return the angle in radians, from -pi to pi, of the point with ordinate `x` and abscissa `y`.",
    promotion=INEXACT,
)
sinh: Unary = unary("sinh", sinh_p.bind, "Return the hyperbolic sine.")
cosh: Unary = unary("cosh", cosh_p.bind, "Return the hyperbolic cosine.")
tanh: Unary = unary("tanh", tanh_p.bind, "Return the hyperbolic tangent.")
arcsinh: Unary = unary("arcsinh", asinh_p.bind, "Return the inverse hyperbolic sine.")
arccosh: Unary = unary("arccosh", acosh_p.bind, "Return the inverse hyperbolic cosine.")
arctanh: Unary = unary("arctanh", atanh_p.bind, "Return the inverse hyperbolic tangent.")
nextafter: Binary = binary(
    "nextafter",
    nextafter_p.bind,
    "Return the float next to `x` in the direction of `y`.",
    promotion=INEXACT,
)

# ---------------------------------------------------------------- comparisons


def _complex_order(compare):
    """Compare complex numbers by real part, then by imaginary part, as NumPy does."""

    def compared(x, y):
        x, y = as_array(x), as_array(y)
        return choose_by(equal(x.real, y.real), compare(x.imag, y.imag), compare(x.real, y.real))

    return compared


def _ordering(prim):
    return lambda dtype: _complex_order(prim.bind) if is_complex(dtype) else prim.bind


def _is_keys(dtype):
    return isinstance(dtype, dtypes.KeyType)


equal: Binary = binary(
    "equal",
    doc="Return ``x == y``, element by element; of random keys too.",
    choose=lambda dtype: same_keys if _is_keys(dtype) else eq_p.bind,
)
not_equal: Binary = binary(
    "not_equal",
    doc="Return ``x != y``, element by element; of random keys too.",
    choose=lambda dtype: _other_keys if _is_keys(dtype) else ne_p.bind,
)


def _other_keys(x, y):
    return not_p.bind(same_keys(x, y))


less: Binary = binary("less", doc="Return ``x < y``, element by element.", choose=_ordering(lt_p))
less_equal: Binary = binary(
    "less_equal", doc="Return ``x <= y``, element by element.", choose=_ordering(le_p)
)
greater: Binary = binary(
    "greater", doc="Return ``x > y``, element by element.", choose=_ordering(gt_p)
)
greater_equal: Binary = binary(
    "greater_equal", doc="Return ``x >= y``, element by element.", choose=_ordering(ge_p)
)

# ---------------------------------------------------------------- logic and bits

logical_and: Binary = binary(
    "logical_and", and_p.bind, "Return whether both are true, that is not 0.", promotion=LOGICAL
)
logical_or: Binary = binary(
    "logical_or", or_p.bind, "Return whether one of them is true, that is not 0.", promotion=LOGICAL
)
logical_xor: Binary = binary(
    "logical_xor",
    xor_p.bind,
    "Return whether exactly one is true, that is not 0.",
    promotion=LOGICAL,
)
logical_not: Unary = unary("logical_not", not_p.bind, "Return whether it is 0.", promotion=LOGICAL)
bitwise_and: Binary = binary("bitwise_and", and_p.bind, "Return ``x & y``, bit by bit.")
bitwise_or: Binary = binary("bitwise_or", or_p.bind, "Return ``x | y``, bit by bit.")
bitwise_xor: Binary = binary("bitwise_xor", xor_p.bind, "Return ``x ^ y``, bit by bit.")
bitwise_not: Unary = unary(
    "bitwise_not", not_p.bind, "Return ``~x``, bit by bit.", promotion=COMMON
)
left_shift: Binary = binary(
    "left_shift",
    shift_left_p.bind,
    "Return ``x << y``; 0 for shifts by the width or more.",
    promotion=NUMERIC,
)


def _choose_right_shift(dtype):
    is_unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
    return (shift_right_logical_p if is_unsigned else shift_right_arithmetic_p).bind


right_shift: Binary = binary(
    "right_shift",
    doc="Return ``x >> y``, which keeps the sign of signed integers.",
    choose=_choose_right_shift,
    promotion=NUMERIC,
)


def _count_bits(x):
    if dtypes.issubdtype(x.aval.dtype, np.signedinteger):
        x = absolute(x)
    return convert(population_count_p.bind(x), np.dtype(np.uint8))


bitwise_count: Unary = unary(
    "bitwise_count",
    _count_bits,
    "Return the number of bits set in the absolute value, as uint8.",
    promotion=NUMERIC,
)

# ------------------------------------------------------------------------ other names

abs: Unary = native.alias("abs", absolute)
acos: Unary = native.alias("acos", arccos)
acosh: Unary = native.alias("acosh", arccosh)
asin: Unary = native.alias("asin", arcsin)
asinh: Unary = native.alias("asinh", arcsinh)
atan: Unary = native.alias("atan", arctan)
atan2: Binary = native.alias("atan2", arctan2)
atanh: Unary = native.alias("atanh", arctanh)
bitwise_invert: Unary = native.alias("bitwise_invert", bitwise_not)
bitwise_left_shift: Binary = native.alias("bitwise_left_shift", left_shift)
bitwise_right_shift: Binary = native.alias("bitwise_right_shift", right_shift)
invert: Unary = native.alias("invert", bitwise_not)
mod: Binary = native.alias("mod", remainder)
pow = power
native.rename(globals(), "pow")
true_divide: Binary = native.alias("true_divide", divide)
