"""StableHLO of elementwise operations: one row each where there is an operation for it."""

import math

import numpy as np

from evertrace._src import dtypes
from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import Builder, lowering
from evertrace._src.engines.xla.rules.compare import compare
from evertrace._src.ops import elementwise as ops


def direct(prim, name):
    """Register the operation that does just what the primitive means."""
    write = Builder.elementwise if name.startswith("stablehlo.") else Builder.op

    def rule(b, out, *operands, **_):
        shape = out.shape
        operands = [x if x.aval.shape == shape else b.spread(x, out) for x in operands]
        return write(b, name, operands, out)

    lowering.define(prim)(rule)


direct(ops.add_any_p, "stablehlo.add")
direct(ops.add_p, "stablehlo.add")
direct(ops.sub_p, "stablehlo.subtract")
direct(ops.mul_p, "stablehlo.multiply")
direct(ops.div_p, "stablehlo.divide")
direct(ops.rem_p, "stablehlo.remainder")
direct(ops.neg_p, "stablehlo.negate")
direct(ops.abs_p, "stablehlo.abs")
direct(ops.floor_p, "stablehlo.floor")
direct(ops.ceil_p, "stablehlo.ceil")
direct(ops.nextafter_p, "chlo.next_after")

direct(ops.real_p, "stablehlo.real")
direct(ops.imag_p, "stablehlo.imag")
direct(ops.complex_p, "stablehlo.complex")

direct(ops.rsqrt_p, "stablehlo.rsqrt")
direct(ops.cbrt_p, "stablehlo.cbrt")
direct(ops.log_p, "stablehlo.log")
direct(ops.atan2_p, "stablehlo.atan2")


def mirrored(prim, name, real=None, above=True):
    """Register a function whose complex results depend on the signs of zeros.

    By them an argument is on one side of a cut or the other, which XLA gets wrong. So it is asked
    on one side of the real axis, for all of these are real there: f(conj(z)) is conj(f(z)).

    Args:
      prim: the primitive.
      name: the operation.
      real: "odd" or "even" for what is so, and is asked right of the imaginary axis only.
      above: whether XLA is right above the real axis, with a zero too, or below.
    """

    def rule(b, out, x):
        if out.dtype.kind != "c":
            y = b.elementwise(name, [x], out) if name[0] == "s" else b.op(name, [x], out)
            return _keeping_nan(b, x, y)
        return _mirrored(b, out, x, name, real, above)

    lowering.define(prim)(rule)


def _keeping_nan(b, x, y):
    """Return `y`, but `x` where that is NaN, in programs in which NaN is written.

    XLA takes exponentials apart with a conversion to integers, which of a constant NaN is anything
    for its compiler: the program would return what its memory held before.
    """
    if not b.module.has_nan:
        return y
    return b.op("stablehlo.select", [compare(b, "NE", x, x), x, y], y.aval)


def _mirrored(b, out, x, name, real=None, above=True):
    re, im = _parts(b, x)
    is_left, is_below = _has_sign(b, re), _has_sign(b, im)
    im = b.op("stablehlo.abs", [im], im.aval)
    im = im if above else b.op("stablehlo.negate", [im], im.aval)
    re = b.op("stablehlo.abs", [re], re.aval) if real else re
    y_re, y_im = _parts(b, b.op(name, [b.op("stablehlo.complex", [re, im], out)], out))
    y_im = _negated(b, y_im, is_below, above)
    if real == "odd":
        y_re = _negated(b, y_re, is_left)
    elif real == "even":
        y_im = _negated(b, y_im, is_left)
    return b.op("stablehlo.complex", [y_re, y_im], out)


def _parts(b, z):
    aval = ShapedArray(z.aval.shape, ops.real_dtype(z.aval.dtype))
    return [b.op(f"stablehlo.{which}", [z], aval) for which in ("real", "imag")]


def _has_sign(b, x):
    """Return whether the sign is set, of zeros too."""
    bits = x.aval.update(dtype=np.dtype(f"i{x.aval.dtype.itemsize}"))
    x = b.op("stablehlo.bitcast_convert", [x], bits)
    return compare(b, "LT", x, b.full_like(x, 0))


def _negated(b, x, where, when=True):
    """Return -x where `where` is `when`, else x."""
    pair = [b.op("stablehlo.negate", [x], x.aval), x]
    return b.op("stablehlo.select", [where, *(pair if when else pair[::-1])], x.aval)


mirrored(ops.sqrt_p, "stablehlo.sqrt")
mirrored(ops.exp_p, "stablehlo.exponential")
mirrored(ops.tan_p, "stablehlo.tan", "odd")
mirrored(ops.asin_p, "chlo.asin", "odd")
mirrored(ops.acos_p, "chlo.acos")
mirrored(ops.atan_p, "chlo.atan", "odd", above=False)
mirrored(ops.sinh_p, "chlo.sinh", "odd")
mirrored(ops.cosh_p, "chlo.cosh", "even")
mirrored(ops.tanh_p, "stablehlo.tanh", "odd")
mirrored(ops.asinh_p, "chlo.asinh", "odd")
mirrored(ops.acosh_p, "chlo.acosh")


@lowering.define(ops.sin_p)
def _sin(b, out, x):
    if out.dtype.kind != "c":
        return b.elementwise("stablehlo.sine", [x], out)
    y_re, y_im = _parts(b, _mirrored(b, out, _turned(b, x), "chlo.sinh", "odd"))
    far = b.op("stablehlo.complex", [y_im, b.op("stablehlo.negate", [y_re], y_re.aval)], out)
    return _unless_far(b, x, _mirrored(b, out, x, "stablehlo.sine", "odd"), far)


@lowering.define(ops.cos_p)
def _cos(b, out, x):
    if out.dtype.kind != "c":
        return b.elementwise("stablehlo.cosine", [x], out)
    far = _mirrored(b, out, _turned(b, x), "chlo.cosh", "even")
    return _unless_far(b, x, _mirrored(b, out, x, "stablehlo.cosine", "even", above=False), far)


def _turned(b, z):
    """Return i z, of which the hyperbolic functions are those of z."""
    re, im = _parts(b, z)
    return b.op("stablehlo.complex", [b.op("stablehlo.negate", [im], im.aval), re], z.aval)


def _unless_far(b, z, y, far):
    """Return `far` where the imaginary part is large, else `y`.

    XLA's own sine and cosine, which round better, multiply 0 by infinity there.
    """
    im = b.op("stablehlo.abs", [_parts(b, z)[1]], _parts(b, z)[1].aval)
    most = b.full_like(im, math.floor(math.log(float(np.finfo(im.aval.dtype).max))))
    return b.op("stablehlo.select", [compare(b, "GT", im, most), far, y], y.aval)


@lowering.define(ops.logistic_p)
def _logistic(b, out, x):
    return _keeping_nan(b, x, b.elementwise("stablehlo.logistic", [x], out))


@lowering.define(ops.expm1_p)
def _expm1(b, out, x):
    if out.dtype.kind != "c":
        return _keeping_nan(b, x, b.elementwise("stablehlo.exponential_minus_one", [x], out))
    y = _mirrored(b, out, x, "stablehlo.exponential_minus_one")
    is_zero = compare(b, "EQ", x, b.full_like(x, 0))
    return b.op("stablehlo.select", [is_zero, x, y], out)


@lowering.define(ops.sign_p)
def _sign(b, out, x):
    if out.dtype.kind == "c":
        return _sign_of_complex(b, out, x)
    if not dtypes.issubdtype(out.dtype, np.unsignedinteger):
        return b.op("stablehlo.sign", [x], out)
    # StableHLO has no sign of unsigned integers: it is 0 or 1.
    return b.op("stablehlo.minimum", [x, b.constant(1, out)], out)


def _sign_of_complex(b, out, x):
    """Write z / |z|, and the sign of a part that is infinite alone: XLA divides it by infinity."""
    parts = _parts(b, x)
    sizes = [b.op("stablehlo.abs", [part], part.aval) for part in parts]
    is_infinite = [compare(b, "EQ", n, b.full_like(n, np.inf)) for n in sizes]
    is_finite = [compare(b, "LT", n, b.full_like(n, np.inf)) for n in sizes]
    found = []
    for i, y in enumerate(_parts(b, b.op("stablehlo.sign", [x], out))):
        is_alone = b.op("stablehlo.and", [is_infinite[i], is_finite[1 - i]], is_finite[i].aval)
        sign = b.op("stablehlo.sign", [parts[i]], y.aval)
        found.append(b.op("stablehlo.select", [is_alone, sign, y], y.aval))
    return b.op("stablehlo.complex", found, out)


@lowering.define(ops.round_p)
def _round(b, out, x, *, rounding_method):
    name = "round_nearest_even" if rounding_method else "round_nearest_afz"
    return b.op(f"stablehlo.{name}", [x], out)


@lowering.define(ops.clamp_p)
def _clamp(b, out, lo, x, hi):
    return b.op("stablehlo.clamp", [lo, x, hi], out)


def _extreme(prim, name, direction):
    """Register an extreme; complex numbers are ordered by real part, then by imaginary part."""

    def rule(b, out, x, y):
        x, y = b.spread(x, out), b.spread(y, out)
        if out.dtype.kind != "c":
            return b.op(name, [x, y], out)
        (x_re, x_im), (y_re, y_im) = _parts(b, x), _parts(b, y)
        wins = compare(b, direction, x_re, y_re)
        tie = compare(b, "EQ", x_re, y_re)
        wins_tie = compare(b, direction, x_im, y_im)
        first = b.op("stablehlo.select", [tie, wins_tie, wins], wins.aval)
        return b.op("stablehlo.select", [first, x, y], out)

    lowering.define(prim)(rule)


_extreme(ops.max_p, "stablehlo.maximum", "GT")
_extreme(ops.min_p, "stablehlo.minimum", "LT")


@lowering.define(ops.conj_p)
def _conj(b, out, x, *, input_dtype):
    if input_dtype.kind == "c":
        return b.op("chlo.conj", [x], out)
    return b.op("stablehlo.complex", [x, b.full_like(x, 0)], out)


@lowering.define(ops.integer_pow_p)
def _integer_pow(b, out, x, *, y):
    if y == 0:
        return b.constant(1, out)
    # Like the host, so that narrow floats are rounded once.
    narrow = out.dtype.itemsize == 2 and out.dtype.kind not in "iu"
    aval = out.update(dtype=np.dtype(np.float32)) if narrow else out
    power = ops.repeated_product(
        b.convert(x, aval.dtype), abs(y), lambda u, v: b.op("stablehlo.multiply", [u, v], aval)
    )
    if y < 0:
        power = b.op("stablehlo.divide", [b.constant(1, aval), power], aval)
    return b.convert(power, out.dtype)


@lowering.define(ops.square_p)
def _square(b, out, x):
    return b.op("stablehlo.multiply", [x, x], out)


@lowering.define(ops.pow_p)
def _pow(b, out, x, y):
    x, y = b.spread(x, out), b.spread(b.convert(y, out.dtype), out)
    return b.op("stablehlo.power", [x, y], out)


@lowering.define(ops.exp2_p)
def _exp2(b, out, x):
    if out.dtype.kind != "c":
        return b.op("stablehlo.power", [b.constant(2, out), x], out)
    parts = [
        b.op("stablehlo.multiply", [part, b.full_like(part, math.log(2))], part.aval)
        for part in _parts(b, x)
    ]  # a product of complex numbers would be NaN where one part is infinite
    return _mirrored(b, out, b.op("stablehlo.complex", parts, out), "stablehlo.exponential")


@lowering.define(ops.log1p_p)
def _log1p(b, out, x):
    if out.dtype != np.float64:
        return b.op("stablehlo.log_plus_one", [x], out)
    return _log1p_of_float64(b, x)


def _log1p_of_float64(b, x):
    """Write log(1 + x) below -1/4, where XLA's own operation is off by up to 100 ulps."""
    aval = x.aval
    direct = b.op("stablehlo.log_plus_one", [x], aval)
    by_log = b.op("stablehlo.log", [b.op("stablehlo.add", [x, b.full_like(x, 1)], aval)], aval)
    is_low = compare(b, "LT", x, b.full_like(x, -0.25))
    return b.op("stablehlo.select", [is_low, by_log, direct], aval)


@lowering.define(ops.atanh_p)
def _atanh(b, out, x):
    if out.dtype.kind == "c":
        return _mirrored(b, out, x, "chlo.atanh", "odd")
    if out.dtype != np.float64:
        return b.op("chlo.atanh", [x], out)
    logs = [_log1p_of_float64(b, y) for y in (x, b.op("stablehlo.negate", [x], out))]
    twice = b.op("stablehlo.subtract", logs, out)
    return b.op("stablehlo.multiply", [twice, b.full_like(x, 0.5)], out)
