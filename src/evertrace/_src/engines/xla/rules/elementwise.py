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

direct(ops.sqrt_p, "stablehlo.sqrt")
direct(ops.rsqrt_p, "stablehlo.rsqrt")
direct(ops.cbrt_p, "stablehlo.cbrt")

direct(ops.exp_p, "stablehlo.exponential")
direct(ops.log_p, "stablehlo.log")
direct(ops.logistic_p, "stablehlo.logistic")

direct(ops.sin_p, "stablehlo.sine")
direct(ops.cos_p, "stablehlo.cosine")
direct(ops.tan_p, "stablehlo.tan")
direct(ops.asin_p, "chlo.asin")
direct(ops.acos_p, "chlo.acos")
direct(ops.atan_p, "chlo.atan")
direct(ops.atan2_p, "stablehlo.atan2")
direct(ops.sinh_p, "chlo.sinh")
direct(ops.cosh_p, "chlo.cosh")
direct(ops.tanh_p, "stablehlo.tanh")
direct(ops.asinh_p, "chlo.asinh")
direct(ops.acosh_p, "chlo.acosh")


@lowering.define(ops.sign_p)
def _sign(b, out, x):
    if not dtypes.issubdtype(out.dtype, np.unsignedinteger):
        return b.op("stablehlo.sign", [x], out)
    # StableHLO has no sign of unsigned integers: it is 0 or 1.
    return b.op("stablehlo.minimum", [x, b.constant(1, out)], out)


@lowering.define(ops.expm1_p)
def _expm1(b, out, x):
    y = b.elementwise("stablehlo.exponential_minus_one", [x], out)
    if out.dtype.kind != "c":
        return y
    # XLA's zeros have no signs, by which a logarithm then is on one side of its cut or the other.
    is_zero = compare(b, "EQ", x, b.full_like(x, 0))
    return b.op("stablehlo.select", [is_zero, x, y], out)


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
        part = ShapedArray(out.shape, ops.real_dtype(out.dtype))
        (x_re, y_re), (x_im, y_im) = (
            [b.op(f"stablehlo.{which}", [z], part) for z in (x, y)] for which in ("real", "imag")
        )
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
    return b.op(
        "stablehlo.exponential",
        [b.op("stablehlo.multiply", [x, b.constant(math.log(2), out)], out)],
        out,
    )


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
    if out.dtype != np.float64:
        return b.op("chlo.atanh", [x], out)
    logs = [_log1p_of_float64(b, y) for y in (x, b.op("stablehlo.negate", [x], out))]
    twice = b.op("stablehlo.subtract", logs, out)
    return b.op("stablehlo.multiply", [twice, b.full_like(x, 0.5)], out)
