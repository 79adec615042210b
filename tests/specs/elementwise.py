"""Rows of elementwise arithmetic and functions."""

import numpy as np

from evertrace._src.lax import elementwise as lax
from evertrace._src.lax import functions as fn
from evertrace._src.ops import elementwise as ops
from tests.specs.opspec import (
    BITS,
    COMPLEX,
    FLOATING,
    INEXACT,
    NUMERIC,
    REAL,
    SIGNED,
    WIDE_FLOATING,
    OpSpec,
    case,
    elementwise_cases,
)

ONE, TWO, THREE = elementwise_cases(1), elementwise_cases(2), elementwise_cases(3)


def unary(name, prim, fun, oracle, dtypes=INEXACT, **rest):
    """Return a row for a function of one array."""
    return OpSpec(name, [prim], fun, oracle, ONE, dtypes, **{"special": True} | rest)


def binary(name, prim, fun, oracle, dtypes=NUMERIC, **rest):
    """Return a row for a function of two arrays."""
    return OpSpec(name, [prim], fun, oracle, TWO, dtypes, **{"special": True} | rest)


def nonzero(rng, shape, dtype):
    """Draw numbers that are safe to divide by."""
    sign = np.where(rng.random(shape) < 0.5, -1, 1) if dtype.kind != "u" else 1
    return sign * rng.uniform(1, 9, shape)


def integers_with_zeros(rng, shape, dtype):
    """Draw small integers, zeros among them."""
    if dtype.kind not in "iu":
        return nonzero(rng, shape, dtype)
    return rng.integers(0 if dtype.kind == "u" else -4, 5, shape)


# ---------------------------------------------------------------- oracles


def int_div(x, y):
    """Divide as XLA does: towards zero, x / 0 = -1 for integers."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    out = np.array(
        [
            -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            for a, b in np.broadcast(x.astype(object), y.astype(object))
        ],
        object,
    ).reshape(np.broadcast_shapes(x.shape, y.shape))
    bits = 8 * x.dtype.itemsize
    wrapped = np.array([int(v) % 2**bits for v in out.reshape(-1)], f"u{x.dtype.itemsize}")
    return wrapped.view(x.dtype).reshape(out.shape)


def int_rem(x, y):
    """Return the remainder as XLA does: x % 0 = x for integers."""
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))


def sign(x):
    """Keep the sign of zero."""
    return np.where(x == 0, x, np.sign(x))


def round_away(x):
    """Round halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def nextafter(x, y):
    """Return the second of two zeros, as C does and NumPy does for all but float16."""
    return np.where(x == y, y, np.nextafter(x, y))


SPECS = [
    # ------------------------------------------------------------ arithmetic
    binary("add", ops.add_p, lax.add, np.add, linear=[(0, 1)], ulps=1),
    binary("sub", ops.sub_p, lax.sub, np.subtract, linear=[(0, 1)], ulps=1),
    binary("mul", ops.mul_p, lax.mul, np.multiply, linear=[(0,), (1,)]),
    OpSpec(
        "mul out_dtype",
        [ops.mul_p],
        lambda x, y: lax.mul(x, y, out_dtype=np.float32),
        np.multiply,
        TWO,
        ("float16", "float32"),
        grads=(),
    ),
    OpSpec(
        "add_any",
        [ops.add_any_p],
        lambda x, y: ops.add_any_p.bind(x, y),
        np.add,
        elementwise_cases(2)[:4],
        INEXACT,
        linear=[(0, 1)],
        ulps=1,
    ),
    binary(
        "div",
        ops.div_p,
        lax.div,
        int_div,
        domain=[(-9, 9), integers_with_zeros],
        grad_domain=[(-9, 9), nonzero],
        linear=[(0,)],
    ),
    OpSpec(
        "div integers",
        [ops.div_p],
        lax.div,
        int_div,
        [
            case(
                lambda rng, t: np.array([np.iinfo(t).min, np.iinfo(t).max, 7], t),
                lambda rng, t: np.array([-1, 0, 0], t),
            )
        ],
        SIGNED,
    ),
    binary(
        "rem",
        ops.rem_p,
        lax.rem,
        int_rem,
        REAL,
        domain=[(-9, 9), integers_with_zeros],
        grad_domain=[(-9, 9), nonzero],
    ),
    OpSpec(
        "rem integers",
        [ops.rem_p],
        lax.rem,
        lambda x, y: np.array([0, x[1], 7], x.dtype),
        [
            case(
                lambda rng, t: np.array([np.iinfo(t).min, np.iinfo(t).max, 7], t),
                lambda rng, t: np.array([-1, 0, 0], t),
            )
        ],
        SIGNED,
    ),
    unary("neg", ops.neg_p, lax.neg, np.negative, NUMERIC, ulps=0, linear=[(0,)]),
    unary("sign", ops.sign_p, lax.sign, sign, REAL, ulps=0, grad_domain=(0.5, 3)),
    unary(
        "sign complex",
        ops.sign_p,
        lax.sign,
        lambda x: x / np.abs(x),
        COMPLEX,
        special=False,
        domain=(0.5, 3),
        grads=(),
    ),
    unary("abs", ops.abs_p, lax.abs, np.abs, SIGNED + INEXACT, grad_domain=(0.5, 3)),
    # ------------------------------------------------------------ extremes and rounding
    binary(
        "max",
        ops.max_p,
        lax.max,
        np.maximum,
        BITS + INEXACT,
        ulps=1,
        special=(np.nan, np.inf, -np.inf, 0.0, 1.0, -2.5),
    ),
    binary(
        "min",
        ops.min_p,
        lax.min,
        np.minimum,
        BITS + INEXACT,
        ulps=1,
        special=(np.nan, np.inf, -np.inf, 0.0, 1.0, -2.5),
    ),
    OpSpec(
        "clamp",
        [ops.clamp_p],
        lax.clamp,
        lambda lo, x, hi: np.minimum(np.maximum(x, lo), hi),
        [
            case(*[(5,)] * 3),
            case((), (2, 3), ()),
            case((), (), ()),
            case((0,), (0,), ()),
            case((2, 2), (2, 2), ()),
        ],
        BITS + FLOATING,
        domain=[(-1, 0), (-3, 4), (1, 2)],
        ulps=1,
        special=(np.nan, np.inf, -np.inf, 0.0, 1.0, -2.5),
    ),
    unary("floor", ops.floor_p, lax.floor, np.floor, FLOATING, ulps=0, wide=False),
    unary("ceil", ops.ceil_p, lax.ceil, np.ceil, FLOATING, ulps=0, wide=False),
    unary("round", ops.round_p, lax.round, round_away, FLOATING, ulps=0),
    OpSpec(
        "round halves",
        [ops.round_p],
        lax.round,
        round_away,
        [case(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0], np.float32))],
        ("float32",),
        ulps=0,
        vmap=False,
        grads=(),
    ),
    unary(
        "round to even",
        ops.round_p,
        lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        np.rint,
        FLOATING,
        ulps=0,
        wide=False,
    ),
    binary(
        "nextafter",
        ops.nextafter_p,
        lax.nextafter,
        nextafter,
        FLOATING,
        wide=False,
        ulps=0,
        grads=(),
    ),
    # ------------------------------------------------------------ complex numbers
    unary("real", ops.real_p, lax.real, np.real, COMPLEX, linear=[(0,)], special=False),
    unary("imag", ops.imag_p, lax.imag, np.imag, COMPLEX, linear=[(0,)], special=False),
    unary("conj", ops.conj_p, lax.conj, np.conj, COMPLEX, linear=[(0,)], special=False),
    unary(
        "conj of reals",
        ops.conj_p,
        lax.conj,
        lambda x: x + 0j,
        WIDE_FLOATING,
        linear=[(0,)],
        special=False,
    ),
    binary(
        "complex",
        ops.complex_p,
        lax.complex,
        lambda x, y: x + 1j * y,
        WIDE_FLOATING,
        linear=[(0, 1)],
        special=False,
    ),
    # ------------------------------------------------------------ powers
    unary("square", ops.square_p, fn.square, np.square, NUMERIC),
    *[
        unary(
            f"integer_pow {y}",
            ops.integer_pow_p,
            lambda x, y=y: fn.integer_pow(x, y),
            lambda x, y=y: x**y if x.dtype.kind != "u" else x ** np.asarray(y, x.dtype),
            NUMERIC if y >= 0 else INEXACT,
            domain=(0.5, 2),
            ulps={"bfloat16": 4, "float16": 4, "complex64": 8, "complex128": 8}
            | dict.fromkeys(WIDE_FLOATING, 4),
        )
        for y in (0, 1, 2, 3, 7, -1, -3)
    ],
    binary(
        "pow",
        ops.pow_p,
        fn.pow,
        np.power,
        INEXACT,
        domain=[(0.5, 3), (-3, 3)],
        ulps=4,
        engine_ulps=32,
    ),
    OpSpec(
        "pow integers",
        [ops.pow_p],
        fn.pow,
        lambda x, y: np.power(x, y.astype(np.float64)),
        [case((7,), np.arange(-3, 4)), case((7,), np.int32(2)), case((), np.arange(3))],
        INEXACT,
        domain=(0.5, 3),
        ulps=8,
    ),
    unary("sqrt", ops.sqrt_p, fn.sqrt, np.sqrt, domain=(0.1, 9)),
    unary("rsqrt", ops.rsqrt_p, fn.rsqrt, lambda x: 1 / np.sqrt(x), domain=(0.1, 9)),
    unary("cbrt", ops.cbrt_p, fn.cbrt, np.cbrt, FLOATING, grad_domain=(0.1, 9)),
    # ------------------------------------------------------------ exponentials and logarithms
    unary("exp", ops.exp_p, fn.exp, np.exp),
    unary(
        "exp2", ops.exp2_p, fn.exp2, lambda x: np.exp2(x) if x.dtype.kind == "f" else np.power(2, x)
    ),
    unary("expm1", ops.expm1_p, fn.expm1, np.expm1),
    unary("log", ops.log_p, fn.log, np.log, domain=(0.1, 9)),
    unary("log1p", ops.log1p_p, fn.log1p, np.log1p, domain=(-0.9, 9), engine_ulps=4),
    unary("logistic", ops.logistic_p, fn.logistic, lambda x: 1 / (1 + np.exp(-x))),
    # ------------------------------------------------------------ circular and hyperbolic functions
    unary("sin", ops.sin_p, fn.sin, np.sin),
    unary("cos", ops.cos_p, fn.cos, np.cos),
    unary("tan", ops.tan_p, fn.tan, np.tan, domain=(-1, 1)),
    unary("asin", ops.asin_p, fn.asin, np.arcsin, domain=(-0.9, 0.9)),
    unary("acos", ops.acos_p, fn.acos, np.arccos, domain=(-0.9, 0.9)),
    unary("atan", ops.atan_p, fn.atan, np.arctan, domain=(-0.9, 0.9)),
    binary("atan2", ops.atan2_p, fn.atan2, np.arctan2, FLOATING, grad_domain=(0.5, 3)),
    unary("sinh", ops.sinh_p, fn.sinh, np.sinh, engine_ulps=16),
    unary("cosh", ops.cosh_p, fn.cosh, np.cosh, engine_ulps=16),
    unary("tanh", ops.tanh_p, fn.tanh, np.tanh, domain=(-1, 1)),
    unary("asinh", ops.asinh_p, fn.asinh, np.arcsinh, domain=(-0.9, 0.9)),
    unary("acosh", ops.acosh_p, fn.acosh, np.arccosh, domain=(1.2, 9)),
    unary("atanh", ops.atanh_p, fn.atanh, np.arctanh, domain=(-0.9, 0.9), engine_ulps=16),
]

# All four quadrants, where branches can go wrong; the real axis, where the cuts are, is not met.
SPECS += [
    OpSpec(
        f"{prim.name} in the plane",
        [prim],
        fun,
        oracle,
        TWO if prim is ops.atan2_p else ONE,
        COMPLEX,
        domain=(-2, 2),
        ulps=8,
        engine_ulps=16,
    )
    for prim, fun, oracle in (
        (ops.sqrt_p, fn.sqrt, np.sqrt),
        (ops.rsqrt_p, fn.rsqrt, lambda x: 1 / np.sqrt(x)),
        (ops.log_p, fn.log, np.log),
        (ops.log1p_p, fn.log1p, np.log1p),
        (ops.asin_p, fn.asin, np.arcsin),
        (ops.acos_p, fn.acos, np.arccos),
        (ops.atan_p, fn.atan, np.arctan),
        (ops.atan2_p, fn.atan2, lambda x, y: -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))),
        (ops.asinh_p, fn.asinh, np.arcsinh),
        (ops.acosh_p, fn.acosh, np.arccosh),
        (ops.atanh_p, fn.atanh, np.arctanh),
        (ops.tan_p, fn.tan, np.tan),
        (ops.tanh_p, fn.tanh, np.tanh),
    )
]
