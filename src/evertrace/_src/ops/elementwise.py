"""Elementwise arithmetic and functions, one statement per primitive.

Rules: `deriv` gives the derivative by each operand as a function of the output and the operands;
`linear` names the operands an operation is linear in. An operand of rank 0 may stand beside larger
ones, so a derivative by it has to have the shape of the output.

Complex functions are differentiated as holomorphic ones; those that are not (abs, real, imag, conj)
are linear over the reals, or say how they push a tangent.
"""

import functools
from typing import Any

import numpy as np

from evertrace._src import doors, dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import ARITHMETIC, JOINTLY, TRANSCENDENTAL, Primitive, undefined
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.bits import and_p
from evertrace._src.ops.builders import (
    ANY,
    COMPLEX,
    FLOATING,
    INEXACT,
    NUMERIC,
    ORDERED,
    REAL,
    SIGNED,
    check_dtype,
    check_same_dtype,
    computed_in_float32,
    elementwise,
    in_bytes,
)
from evertrace._src.ops.compare import eq_p, ge_p, gt_p, lt_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import broadcast_in_dim_p, full, move_batch_dim, spread, zeros

# ---------------------------------------------------------------- helpers for rules


def const(x, value):
    """Return the literal `value` in the dtype of `x`."""
    return literal(value, x.aval.dtype)


def scale(x, value):
    """Return `value` times `x`."""
    return mul_p.bind(x, const(x, value))


def add_any(*terms: Any) -> Any:
    """Add arrays of one aval, as gradients are added up."""
    total = terms[0]
    for term in terms[1:]:
        total = add_any_p.bind(total, term)
    return total


def both(ct):
    """Transpose of a sum."""
    return ct, ct


def reciprocal(x):
    """Return 1 / x."""
    return integer_pow_p.bind(x, y=-1)


def is_complex(x):
    """Whether `x` is of a complex dtype."""
    return dtypes.issubdtype(x.aval.dtype, np.complexfloating)


def _one_minus(x):
    return sub_p.bind(const(x, 1), x)


def _one_plus(x):
    return add_p.bind(x, const(x, 1))


# ---------------------------------------------------------------- sums and products


def _spread_over(tangent, operands):
    """Give the only tangent of a sum the shape of the sum."""
    shape = next((x.aval.shape for x in operands if x.aval.shape), ())
    return spread(tangent, shape)


def _add_jvp(tangents, primals, out):
    """Push tangents through a sum without adding zeros."""
    dx, dy = tangents
    if dx is not None and dy is not None:
        return add_any_p.bind(dx, dy)
    return _spread_over(dy if dx is None else dx, primals)


def _sub_jvp(tangents, primals, out):
    dx, dy = tangents
    if dx is not None and dy is not None:
        return sub_p.bind(dx, dy)
    return _spread_over(neg_p.bind(dy) if dx is None else dx, primals)


def _mul_transpose(ct, x, y):
    if is_linear(x):
        return mul_p.bind(ct, y), None
    return None, mul_p.bind(x, ct)


add_any_p: Primitive = elementwise(
    "add_any",
    ANY,
    counts=ARITHMETIC,
    host=np.add,
    linear=JOINTLY,
    jvp=_add_jvp,
    transpose=lambda ct, x, y: both(ct),
)
add_p: Primitive = elementwise(
    "add",
    NUMERIC,
    counts=ARITHMETIC,
    host=np.add,
    linear=JOINTLY,
    jvp=_add_jvp,
    transpose=lambda ct, x, y: both(ct),
)
neg_p: Primitive = elementwise(
    "neg",
    NUMERIC,
    counts=ARITHMETIC,
    moves=True,
    host=in_bytes(np.negative),
    linear=JOINTLY,
    transpose=lambda ct, x: [neg_p.bind(ct)],
)
sub_p: Primitive = elementwise(
    "sub",
    NUMERIC,
    counts=ARITHMETIC,
    host=np.subtract,
    linear=JOINTLY,
    jvp=_sub_jvp,
    transpose=lambda ct, x, y: (ct, neg_p.bind(ct) if is_linear(y) else None),
)
mul_p: Primitive = elementwise(
    "mul", NUMERIC, counts=ARITHMETIC, host=np.multiply, linear=(0, 1), transpose=_mul_transpose
)

# ---------------------------------------------------------------- quotients


def _div_host(x, y):
    return _truncated_quotient(x, y) if x.dtype.kind in "iu" else np.divide(x, y)


def _truncated_quotient(x, y):
    """Divide integers, rounding towards zero; x / 0 is -1 (all bits set)."""
    by_zero = y == 0
    y = np.where(by_zero, x.dtype.type(1), y)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":
        inexact = np.multiply(quotient, y) != x
        quotient = quotient + (inexact & ((x < 0) != (y < 0)))
    return np.where(by_zero, ~x.dtype.type(0), quotient)


def _rem_host(x, y):
    """Return the remainder with the sign of `x`; for integers x % 0 is x."""
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    by_zero = y == 0
    return np.where(by_zero, x, np.fmod(x, np.where(by_zero, x.dtype.type(1), y)))


div_p: Primitive = elementwise(
    "div",
    NUMERIC,
    counts=ARITHMETIC,
    host=in_bytes(_div_host),
    linear=(0,),
    deriv=(None, lambda out, x, y: neg_p.bind(div_p.bind(out, y))),
    transpose=lambda ct, x, y: (div_p.bind(ct, y), None),
)
# x - y * trunc(x / y): the truncated quotient is (x - out) / y.
rem_p: Primitive = elementwise(
    "rem",
    REAL,
    counts=ARITHMETIC,
    host=in_bytes(_rem_host),
    deriv=(
        lambda out, x, y: full(out.aval, 1),
        lambda out, x, y: div_p.bind(sub_p.bind(out, x), y),
    ),
)

# ---------------------------------------------------------------- sign, rounding, extremes


def _sign_host(x):
    # Zeros and NaN are returned as they are, the sign of a zero included.
    return np.where(x == 0, x, np.sign(x)) if dtypes.issubdtype(x.dtype, np.inexact) else np.sign(x)


def _sign_jvp(tangents, primals, out):
    """For s = z / |z|, ds = i s Im(conj(s) dz) / |z|; signs of reals are constant."""
    (dz,), (z,) = tangents, primals
    if not is_complex(z):
        return None
    turned = imag_p.bind(mul_p.bind(dz, conj(out)))
    turned = div_p.bind(turned, _nonzero(abs_p.bind(z)))
    return mul_p.bind(out, complex_p.bind(const(turned, 0), turned))


def _abs_jvp(tangents, primals, out):
    """For complex numbers d|z| = Re(conj(z) dz) / |z|, taken as 0 at 0; at a real 0 it is 1."""
    (dx,), (x,) = tangents, primals
    if is_complex(x):
        return div_p.bind(real_p.bind(mul_p.bind(dx, conj(x))), _nonzero(out))
    slope = select(ge_p.bind(x, const(x, 0)), full(x.aval, 1), full(x.aval, -1))
    return mul_p.bind(dx, slope)  # one operation in reverse, where a choice of tangents is three


def _nonzero(x):
    """Return `x` with 1 in place of 0."""
    return select(eq_p.bind(x, const(x, 0)), full(x.aval, 1), x)


def _nextafter_host(x, y):
    # As C's: of two zeros the second is returned; NumPy does not for float16.
    return np.where(x == y, y, np.nextafter(x, y))


def _round_dtype(dtype, *, rounding_method):
    if not isinstance(rounding_method, int) or rounding_method not in (0, 1):
        raise errors.user_error(
            TypeError,
            "round: `rounding_method` is one of lax.RoundingMethod, not "
            f"{doors.shown(rounding_method)}.",
            fix="pass `lax.RoundingMethod.TO_NEAREST_EVEN` or `AWAY_FROM_ZERO`.",
            anchor="choice",
        )
    return dtype


def _round_host(x, *, rounding_method):
    if rounding_method:
        return np.rint(x)
    # Adding a half first would round 0.49999997 up.
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def real_dtype(dtype):
    """Return the dtype of the parts of a complex dtype, other dtypes as they are."""
    return np.zeros((), dtype).real.dtype


def _share(mine, other, out):
    """Derivative of an extreme by the operand `mine`: a half where both operands attain it."""
    alone = select(eq_p.bind(other, out), full(out.aval, 0.5), full(out.aval, 1))
    return select(eq_p.bind(mine, out), alone, zeros(out.aval))


def _clamp_abstract(lo, x, hi):
    """Check that only bounds are of rank 0 beside a larger operand."""
    for aval in (lo, x, hi):
        check_dtype("clamp", aval, ORDERED)
    check_same_dtype("clamp", (lo, x, hi))
    if any(bound.shape not in ((), x.shape) for bound in (lo, hi)):
        raise errors.user_error(
            errors.ShapeError,
            f"clamp: bounds of shapes {lo.shape} and {hi.shape} do not fit an operand of shape "
            f"{x.shape}.",
            fix="give bounds of rank 0 or of the operand's shape.",
            anchor="shape-broadcast",
        )
    return ShapedArray(x.shape, x.dtype, lo.weak_type and x.weak_type and hi.weak_type)


def _clamp_batch(size, args, dims):
    """Keep bounds of rank 0 where they are unbatched; all else gets its batch dim in front."""
    lo, x, hi = args
    x = move_batch_dim(x, dims[1], 0, size)

    def bound(y, dim):
        if y.aval.ndim == 0:
            return y
        if dim is not None and y.aval.ndim == 1:
            return broadcast_in_dim_p.bind(
                y, shape=x.aval.shape, broadcast_dimensions=(0,), sharding=None
            )
        return move_batch_dim(y, dim, 0, size)

    return clamp_p.bind(bound(lo, dims[0]), x, bound(hi, dims[2])), 0


def _clamp_jvp(tangents, primals, out):
    """Each tangent passes where its operand is the result; at a bound, none does."""
    lo, x, hi = primals
    masks = (
        lambda: gt_p.bind(lo, x),
        lambda: and_p.bind(gt_p.bind(x, lo), lt_p.bind(x, hi)),
        lambda: lt_p.bind(hi, x),
    )
    zero = zeros(out.aval)
    return add_any(
        *[
            select(mask(), spread(t, out.aval.shape), zero)
            for t, mask in zip(tangents, masks, strict=True)
            if t is not None
        ]
    )


sign_p: Primitive = elementwise("sign", NUMERIC, counts=ARITHMETIC, host=_sign_host, jvp=_sign_jvp)
abs_p: Primitive = elementwise(
    "abs",
    SIGNED + INEXACT,
    counts=ARITHMETIC,
    host=in_bytes(np.abs),
    result=real_dtype,
    jvp=_abs_jvp,
)
floor_p: Primitive = elementwise("floor", FLOATING, counts=ARITHMETIC, host=np.floor, deriv=(None,))
ceil_p: Primitive = elementwise("ceil", FLOATING, counts=ARITHMETIC, host=np.ceil, deriv=(None,))
round_p: Primitive = elementwise(
    "round", FLOATING, counts=ARITHMETIC, result=_round_dtype, host=_round_host, deriv=(None,)
)


def _extremum_host(ufunc, of_zeros):
    """Return the host rule of max or min: zeros of both signs are ordered, unlike by NumPy."""

    def host(x, y):
        out = ufunc(x, y)
        if out.dtype.kind in "biu" or np.all(out):
            return out
        return np.where((x == 0) & (y == 0), of_zeros(x, y), out)

    return host


_max_host = _extremum_host(np.maximum, np.add)  # only -0 + -0 is -0
_min_host = _extremum_host(np.minimum, lambda x, y: -(-x - y))

max_p: Primitive = elementwise(
    "max",
    ANY,
    counts=ARITHMETIC,
    moves=True,
    host=_max_host,
    deriv=(lambda out, x, y: _share(x, y, out), lambda out, x, y: _share(y, x, out)),
)
min_p: Primitive = elementwise(
    "min",
    ANY,
    counts=ARITHMETIC,
    moves=True,
    host=_min_host,
    deriv=(lambda out, x, y: _share(x, y, out), lambda out, x, y: _share(y, x, out)),
)
clamp_p: Primitive = elementwise(
    "clamp",
    ORDERED,
    counts=ARITHMETIC,
    host=lambda lo, x, hi: _min_host(_max_host(x, lo), hi),
    jvp=_clamp_jvp,
    moves=True,
)
clamp_p.define("abstract")(_clamp_abstract)
clamp_p.define("batch")(_clamp_batch)
nextafter_p: Primitive = elementwise(
    "nextafter",
    FLOATING,
    counts=ARITHMETIC,
    host=_nextafter_host,
    deriv=undefined("it moves by one unit in the last place"),
)

# ---------------------------------------------------------------- complex numbers


def _complex_dtype(dtype, *_, **__):
    return np.result_type(dtype, np.complex64)


def _complex_host(x, y):
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), _complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


def _conj_transpose(ct, x, *, input_dtype):
    ct = conj(ct)
    return [ct if is_complex(x) else real_p.bind(ct)]


def conj(x):
    """Return the complex conjugate of a complex operand."""
    return conj_p.bind(x, input_dtype=x.aval.dtype)


# The cotangent `ct` of a real-linear map L is defined by Re(ct * L(t)) = Re(transpose(ct) * t).
real_p: Primitive = elementwise(
    "real",
    COMPLEX,
    moves=True,
    host=np.real,
    result=real_dtype,
    linear=JOINTLY,
    transpose=lambda ct, x: [complex_p.bind(ct, const(ct, 0))],
)
imag_p: Primitive = elementwise(
    "imag",
    COMPLEX,
    moves=True,
    host=np.imag,
    result=real_dtype,
    linear=JOINTLY,
    transpose=lambda ct, x: [complex_p.bind(const(ct, 0), neg_p.bind(ct))],
)
complex_p: Primitive = elementwise(
    "complex",
    (np.float32, np.float64),
    moves=True,
    host=_complex_host,
    result=_complex_dtype,
    linear=JOINTLY,
    transpose=lambda ct, x, y: (real_p.bind(ct), neg_p.bind(imag_p.bind(ct))),
)
conj_p: Primitive = elementwise(
    "conj",
    (np.float32, np.float64, *COMPLEX),
    dtypes=("input_dtype",),
    moves=True,
    result=_complex_dtype,
    linear=JOINTLY,
    host=lambda x, *, input_dtype: np.conj(x).astype(_complex_dtype(x.dtype)),
    transpose=_conj_transpose,
)

# ---------------------------------------------------------------- powers and roots


def _integer_pow_dtype(dtype, *, y):
    if not isinstance(y, int | np.integer):
        raise errors.user_error(
            TypeError,
            f"integer_pow: y is {y!r}, not an int.",
            fix="use `pow_p`, or `lax.pow`, for other powers.",
            anchor="arguments",
        )
    if y < 0 and not dtypes.issubdtype(dtype, np.inexact):
        raise errors.user_error(
            errors.DTypeError,
            f"integer_pow: cannot raise {dtype} to the negative power {y}.",
            fix="convert to a float first, e.g. `x.astype(float)`.",
            anchor="dtype",
        )
    return dtype


def repeated_product(x, y, multiply):
    """Return ``x ** y`` for y > 0 by squaring; both engines multiply in this order."""
    factors = []  # the powers of x, with powers of 2 as exponents, that make it up
    while y:
        if y & 1:
            factors.append(x)
        y >>= 1
        if y:
            x = multiply(x, x)
    return functools.reduce(multiply, factors)


@computed_in_float32
def _integer_pow_host(x, *, y):
    if y == 0:
        return np.ones_like(x)
    power = repeated_product(x, abs(y), np.multiply)
    return power if y > 0 else np.divide(x.dtype.type(1), power)


def _integer_pow_deriv(out, x, *, y):
    if y == 0:
        return zeros(out.aval)
    if y == -1:
        return neg_p.bind(square_p.bind(out))
    return scale(integer_pow_p.bind(x, y=y - 1), y)


def _pow_dtype(x, y):
    if dtypes.issubdtype(y, np.inexact) and x != y:
        raise errors.user_error(
            errors.DTypeError,
            f"pow: base {x} and exponent {y} must have the same dtype, or the exponent be integer.",
            fix="convert one of them, or use `numpy.power`, which promotes.",
            anchor="dtype",
        )
    return x


_NANS = np.complex64(complex(np.nan, np.nan))


def _pow_host(x, y):
    out = np.power(x, y.astype(x.dtype))
    if x.dtype.kind != "c":
        return out
    # As of real numbers, 1 to the power of NaN is 1, and NaN to the power of 0; all other powers
    # with a NaN in them are NaN in both parts. NumPy's are so of some exponents.
    is_one = (x == 1) | (y == 0)
    return np.where(is_one, x.dtype.type(1), np.where(np.isnan(x) | np.isnan(y), _NANS, out))


def _pow_deriv_base(out, x, y):
    """Return y * x ** (y - 1), and 0 where y = 0 also at x = 0."""
    y = convert(y, x.aval.dtype, y.aval.weak_type)
    exponent = select(eq_p.bind(y, const(y, 0)), full(y.aval, 1), sub_p.bind(y, const(y, 1)))
    return mul_p.bind(y, pow_p.bind(x, exponent))


def _pow_deriv_exponent(out, x, y):
    """Return out * log(x), and out * 0 at x = 0."""
    return mul_p.bind(out, log_p.bind(_nonzero(x)))


def _is_c(x):
    return x.dtype.kind == "c"


def _of_parts(dtype, re, im):
    """Return complex numbers of their parts: no product of these makes NaN of what is infinite."""
    found = np.empty(np.shape(re), dtype)
    found.real, found.imag = re, im
    return found


def _square_host(x):
    if not _is_c(x):
        return np.square(x)
    re, im = x.real, x.imag  # in one order: NumPy's depends on where an element lies
    return _of_parts(x.dtype, re * re - im * im, 2 * (re * im))


square_p: Primitive = elementwise(
    "square", NUMERIC, counts=ARITHMETIC, host=_square_host, deriv=(lambda out, x: scale(x, 2),)
)
integer_pow_p: Primitive = elementwise(
    "integer_pow",
    NUMERIC,
    counts=ARITHMETIC,
    host=_integer_pow_host,
    result=_integer_pow_dtype,
    deriv=(_integer_pow_deriv,),
)
pow_p: Primitive = elementwise(
    "pow",
    [INEXACT, NUMERIC],
    counts=TRANSCENDENTAL,
    host=_pow_host,
    result=_pow_dtype,
    deriv=(_pow_deriv_base, _pow_deriv_exponent),
)
sqrt_p: Primitive = elementwise(
    "sqrt",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.sqrt,
    deriv=(lambda out, x: div_p.bind(const(x, 0.5), out),),
)
rsqrt_p: Primitive = elementwise(
    "rsqrt",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=computed_in_float32(lambda x: np.divide(x.dtype.type(1), np.sqrt(x))),
    deriv=(lambda out, x: scale(div_p.bind(out, x), -0.5),),
)
cbrt_p: Primitive = elementwise(
    "cbrt",
    FLOATING,
    counts=TRANSCENDENTAL,
    host=np.cbrt,
    deriv=(lambda out, x: reciprocal(scale(square_p.bind(out), 3)),),
)

# ---------------------------------------------------------------- exponentials and logarithms


def _exp2_host(x):
    if not _is_c(x):
        return np.exp2(x)
    factor = real_dtype(x.dtype).type(np.log(2))
    return np.exp(_of_parts(x.dtype, x.real * factor, x.imag * factor))


def _expm1_host(x):
    y = np.expm1(x)  # real on the real axis, where NumPy multiplies 0 by infinity
    return _of_parts(x.dtype, y.real, np.where(x.imag == 0, x.imag, y.imag)) if _is_c(x) else y


@computed_in_float32
def _logistic_host(x):
    one = x.dtype.type(1)
    return np.divide(one, one + np.exp(-x))


exp_p: Primitive = elementwise(
    "exp", INEXACT, counts=TRANSCENDENTAL, host=np.exp, deriv=(lambda out, x: out,)
)
exp2_p: Primitive = elementwise(
    "exp2",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=_exp2_host,
    deriv=(lambda out, x: scale(out, float(np.log(2))),),
)
expm1_p: Primitive = elementwise(
    "expm1",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=_expm1_host,
    deriv=(lambda out, x: _one_plus(out),),
)
log_p: Primitive = elementwise(
    "log", INEXACT, counts=TRANSCENDENTAL, host=np.log, deriv=(lambda out, x: reciprocal(x),)
)
log1p_p: Primitive = elementwise(
    "log1p",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.log1p,
    deriv=(lambda out, x: reciprocal(_one_plus(x)),),
)
logistic_p: Primitive = elementwise(
    "logistic",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=_logistic_host,
    deriv=(lambda out, x: mul_p.bind(out, _one_minus(out)),),
)

# ---------------------------------------------------------------- circular and hyperbolic functions


def _atan2_host(x, y):
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    return -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))


def _over_squared_radius(z, x, y):
    return div_p.bind(z, add_p.bind(square_p.bind(x), square_p.bind(y)))


sin_p: Primitive = elementwise(
    "sin", INEXACT, counts=TRANSCENDENTAL, host=np.sin, deriv=(lambda out, x: cos_p.bind(x),)
)
cos_p: Primitive = elementwise(
    "cos",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.cos,
    deriv=(lambda out, x: neg_p.bind(sin_p.bind(x)),),
)
tan_p: Primitive = elementwise(
    "tan",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.tan,
    deriv=(lambda out, x: _one_plus(square_p.bind(out)),),
)
asin_p: Primitive = elementwise(
    "asin",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arcsin,
    deriv=(lambda out, x: rsqrt_p.bind(_one_minus(square_p.bind(x))),),
)
acos_p: Primitive = elementwise(
    "acos",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arccos,
    deriv=(lambda out, x: neg_p.bind(rsqrt_p.bind(_one_minus(square_p.bind(x)))),),
)
atan_p: Primitive = elementwise(
    "atan",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arctan,
    deriv=(lambda out, x: reciprocal(_one_plus(square_p.bind(x))),),
)
atan2_p: Primitive = elementwise(
    "atan2",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=_atan2_host,
    deriv=(
        lambda out, x, y: _over_squared_radius(y, x, y),
        lambda out, x, y: _over_squared_radius(neg_p.bind(x), x, y),
    ),
)
sinh_p: Primitive = elementwise(
    "sinh", INEXACT, counts=TRANSCENDENTAL, host=np.sinh, deriv=(lambda out, x: cosh_p.bind(x),)
)
cosh_p: Primitive = elementwise(
    "cosh", INEXACT, counts=TRANSCENDENTAL, host=np.cosh, deriv=(lambda out, x: sinh_p.bind(x),)
)
tanh_p: Primitive = elementwise(
    "tanh",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.tanh,
    deriv=(lambda out, x: _one_minus(square_p.bind(out)),),
)
asinh_p: Primitive = elementwise(
    "asinh",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arcsinh,
    deriv=(lambda out, x: rsqrt_p.bind(_one_plus(square_p.bind(x))),),
)
# Two roots rather than one of (x - 1) (x + 1): that one is on another branch where Re x < 0.
acosh_p: Primitive = elementwise(
    "acosh",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arccosh,
    deriv=(
        lambda out, x: mul_p.bind(
            rsqrt_p.bind(sub_p.bind(x, const(x, 1))), rsqrt_p.bind(_one_plus(x))
        ),
    ),
)
atanh_p: Primitive = elementwise(
    "atanh",
    INEXACT,
    counts=TRANSCENDENTAL,
    host=np.arctanh,
    deriv=(lambda out, x: reciprocal(mul_p.bind(_one_minus(x), _one_plus(x))),),
)
