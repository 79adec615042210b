"""Rows of conversions."""

import ml_dtypes
import numpy as np

from evertrace._src.lax import convert as lax
from evertrace._src.ops import convert as ops
from tests.specs.opspec import (
    ALL,
    FLOATING,
    OpSpec,
    case,
    elementwise_cases,
    is_floating,
    numpy_dtype,
)

ONE = elementwise_cases(1)
# Beyond the ranges of int8 and uint8, within those of float16.
DOMAIN = (-500, 500)


def saturated(value, info):
    """Return a float as the nearest integer towards zero that a dtype has, NaN as 0."""
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return int(info.max if value > 0 else info.min)
    return min(max(int(value), int(info.min)), int(info.max))


def converted(name):
    """Return the oracle of a conversion: NumPy's, with saturation from floats to integers."""
    dtype = numpy_dtype(name)

    def oracle(x):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real
        if name.startswith(("int", "uint")) and is_floating(x.dtype):
            info = ml_dtypes.iinfo(dtype)
            exact = [saturated(v, info) for v in x.astype(np.float64).reshape(-1)]
            return np.array(exact, dtype).reshape(x.shape)
        return x.astype(dtype)

    return oracle


def convert_row(target):
    """Return the row of conversions to one dtype, from all others.

    Derivatives are checked where the numbers keep all their digits.
    """
    keeps_digits = target in ("float64", "complex128")
    dtype = numpy_dtype(target)
    return OpSpec(
        f"convert_element_type to {target}",
        [ops.convert_element_type_p],
        lambda x: ops.convert_element_type_p.bind(
            x, new_dtype=dtype, weak_type=False, sharding=None
        ),
        converted(target),
        ONE,
        ALL,
        domain=DOMAIN,
        special=True,
        wide=False,
        ulps=1,
        linear=[(0,)] if keeps_digits else [],
        grads=None if keeps_digits else (),
    )


def rounded_to(exponent_bits, mantissa_bits, smallest, largest):
    """Return the oracle of reduce_precision, by arithmetic instead of bits."""

    def oracle(x, **_):
        x = x.astype(np.float64)
        mantissa, exponent = np.frexp(x)
        step = 2.0 ** (mantissa_bits + 1)
        out = np.ldexp(np.rint(mantissa * step) / step, exponent)
        out = np.where(np.abs(out) > largest, np.copysign(np.inf, x), out)
        return np.where(np.abs(out) < smallest, np.copysign(0.0, x), out)

    return oracle


def of_many_sizes(rng, shape, dtype):
    """Draw numbers that are normal ones in float16."""
    return np.ldexp(rng.uniform(1, 2, shape), rng.integers(-13, 13, shape))


def reduce_precision_row(exponent_bits, mantissa_bits, dtypes):
    bias = 2 ** (exponent_bits - 1) - 1
    smallest, largest = 2.0 ** (1 - bias), 2.0**bias * (2 - 2.0**-mantissa_bits)
    return OpSpec(
        f"reduce_precision {exponent_bits} {mantissa_bits}",
        [ops.reduce_precision_p],
        lambda x: lax.reduce_precision(x, exponent_bits, mantissa_bits),
        rounded_to(exponent_bits, mantissa_bits, smallest, largest),
        ONE,
        dtypes,
        domain=of_many_sizes,
        special=True,
        ulps=0,
        grads=(),
    )


SPECS = [
    *map(convert_row, (*ALL, "float8_e4m3fn", "float8_e5m2", "int4", "uint4")),
    OpSpec(
        "convert_element_type through lax", [ops.convert_element_type_p],
        lambda x: lax.convert_element_type(x, "int16"), converted("int16"), ONE, FLOATING,
        domain=DOMAIN, special=True, grads=(),
    ),
    *[
        OpSpec(
            f"bitcast_convert_type to {target}", [ops.bitcast_convert_type_p],
            lambda x, t=target: lax.bitcast_convert_type(x, t),
            lambda x, t=target: x.view(numpy_dtype(t)), [case((2, 3)), case((0, 2)), case(())],
            dtypes, wide=False, grads=(),
        )
        for target, dtypes in (
            ("int32", ("float32", "uint32")), ("float32", ("int32",)),
            ("bfloat16", ("uint16", "float16")),
        )
    ],
    OpSpec(
        "bitcast_convert_type narrower", [ops.bitcast_convert_type_p],
        lambda x: lax.bitcast_convert_type(x, "uint8"),
        lambda x: np.atleast_1d(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize),
        [case((2, 3)), case((0, 2)), case(())], ("float32", "float64", "uint16"), wide=False,
        grads=(),
    ),
    OpSpec(
        "bitcast_convert_type wider", [ops.bitcast_convert_type_p],
        lambda x: lax.bitcast_convert_type(x, "float32"),
        lambda x: x.view(np.float32).reshape(x.shape[:-1]),
        [case((2, 2)), case((0, 2)), case((2,))], ("int16", "uint16"), wide=False, grads=(),
    ),
    reduce_precision_row(5, 10, ("float32", "float64")),
    reduce_precision_row(8, 7, FLOATING),
    reduce_precision_row(4, 3, FLOATING),
    OpSpec(
        "reduce_precision derivative", [ops.reduce_precision_p],
        lambda x: lax.reduce_precision(x, 11, 52), lambda x: x, ONE, ("float64",), linear=[(0,)],
    ),
    OpSpec(
        "copy", [ops.copy_p], lambda x: ops.copy_p.bind(x), np.array, ONE, ALL, ulps=0,
        linear=[(0,)], wide=False,
    ),
    OpSpec(
        "stop_gradient", [ops.stop_gradient_p], lax.stop_gradient, np.array, ONE, ALL, ulps=0,
        grads=(), wide=False,
    ),
]  # fmt: skip
