"""Conversions: between dtypes by value and by bits, rounding to fewer bits, copies.

Conversion by value follows XLA: integers wrap around; floats to integers are truncated and
saturate, with NaN going to 0; a complex number loses its imaginary part; everything but zero is
True.
"""

from __future__ import annotations

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, computed, type_of_number
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import pointwise, shared_lead
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.ops.builders import (
    ANY,
    FLOATING,
    batching_of,
    check_dtype,
    elementwise,
    no_tangent,
)
from evertrace._src.ops.compare import ne_p
from evertrace._src.ops.structural import moveaxis

# ---------------------------------------------------------------- convert_element_type


def _convert_abstract(x, *, new_dtype, weak_type, sharding):
    check_dtype("convert_element_type", x, ANY)
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_host(x, *, new_dtype, weak_type, sharding):
    if dtypes.issubdtype(x.dtype, np.complexfloating) and new_dtype.kind != "c":
        x = x.real
    if new_dtype.kind == "b":
        return x != 0
    if dtypes.issubdtype(new_dtype, np.integer) and dtypes.issubdtype(x.dtype, np.floating):
        return saturated(x, new_dtype)
    if x.dtype.isbuiltin == new_dtype.isbuiltin == 2:  # of ml_dtypes: few convert to each other
        x = x.astype(np.int8 if dtypes.issubdtype(x.dtype, np.integer) else np.float32)
    return x.astype(new_dtype)


def saturated(x, dtype):
    """Truncate floats to integers; what is out of range becomes the nearest integer."""
    if x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    least, greatest = dtypes.int_range(dtype)
    lowest, beyond = float(least), float(greatest + 1)  # powers of two, so exact
    is_low, is_high = x < lowest, x >= beyond
    is_outside = is_low | is_high | np.isnan(x)
    wide = np.uint64 if greatest > np.iinfo(np.int64).max else np.int64
    if not is_outside.any():
        return x.astype(wide).astype(dtype)
    out = np.where(is_outside, 0, x).astype(wide).astype(dtype)
    out = np.where(is_low, dtype.type(least), out)
    return np.where(is_high, dtype.type(greatest), out)


def _convert_jvp(tangents, primals, out, *, new_dtype, **params):
    if not dtypes.issubdtype(new_dtype, np.inexact):
        return None
    return convert_element_type_p.bind(tangents[0], new_dtype=new_dtype, **params)


def _convert_transpose(ct, x, *, new_dtype, weak_type, sharding):
    return [convert(ct, x.aval.dtype, x.aval.weak_type)]


convert_element_type_p: Primitive = Primitive(
    "convert_element_type",
    dtypes=("new_dtype",),
    moves=True,
    elementwise=True,
    show=("new_dtype", "weak_type"),
    abstract=_convert_abstract,
    host=_convert_host,
    linear=JOINTLY,
    jvp=_convert_jvp,
    transpose=_convert_transpose,
)
convert_element_type_p.define("batch")(batching_of(convert_element_type_p))


_BOOL = np.dtype(bool)


def convert(x, dtype, weak_type=False) -> Array:
    """Return `x` in `dtype`, itself if it is already of that type.

    A complex number is true if either part is: the primitive itself drops the imaginary part.
    """
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    if dtype == _BOOL and x.aval.dtype.kind == "c":
        return ne_p.bind(x, literal(0, x.aval.dtype))
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def number(value, dtype, weak_type=False):
    """Return a Python number as an operand of `dtype`; one that `jit` traces stays traced.

    Args:
      value: a number, or something that stands for one.
      dtype: of the operand; not boolean.
      weak_type: whether it is weakly typed.

    Raises:
      OverflowError: an integer dtype does not hold it.
    """
    kind = type_of_number(value)
    is_integer = kind is int and dtypes.issubdtype(dtype, np.integer)
    if kind is type(value):
        if is_integer:
            dtypes.coerce_python_scalar(value, dtype)
        return literal(value, dtype, weak_type)
    if kind is int:
        if is_integer:  # by its bits, in the dtype that ints enter by
            bits = dtypes.itemsize_bits(dtypes.default_dtype(int))
            value = computed(_held, value, *dtypes.int_range(dtype), bits, dtype)
        else:
            value = computed(_as_float, value)
    return convert(as_operand(value), dtype, weak_type)


def _held(value, least, greatest, bits, dtype):
    """Return the signed integer of some bits that an integer dtype's number is."""
    if not least <= value <= greatest:
        dtypes.coerce_python_scalar(value, dtype)  # raises
    return value if not value >> (bits - 1) else wrapped(value, bits)


def _as_float(value):
    return float(value)


def wrapped(value, bits):
    """Return the signed integer that has the low bits of another one."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


# ---------------------------------------------------------------- bitcast_convert_type


def _bitcast_abstract(x, *, new_dtype):
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if x.dtype != new_dtype and any(d.kind in "bc" for d in (x.dtype, new_dtype)):
        raise errors.user_error(
            errors.DTypeError,
            f"bitcast_convert_type: cannot take bits of {x.dtype} as {new_dtype}.",
            fix="use integers or floats; for booleans and complex numbers `Array.view`.",
            anchor="dtype",
        )
    if old >= new:
        shape = x.shape if old == new else (*x.shape, old // new)
        return ShapedArray(shape, new_dtype)
    if not x.shape or x.shape[-1] * old != new:
        raise errors.user_error(
            errors.ShapeError,
            f"bitcast_convert_type: {x.str_short()} cannot become {new_dtype}: the last dimension "
            f"must hold the {new // old} pieces of one number.",
            fix=f"reshape the array to `(..., {new // old})`.",
            anchor="shape-bitcast",
        )
    return ShapedArray(x.shape[:-1], new_dtype)


def _bitcast_host(x, *, new_dtype):
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if old < 8 or new < 8:
        return _repacked(x, old, new_dtype)
    if old == new:
        return x.view(new_dtype)
    shape = _bitcast_abstract(ShapedArray(x.shape, x.dtype), new_dtype=new_dtype).shape
    return np.ascontiguousarray(x).reshape(-1).view(new_dtype).reshape(shape)


def _repacked(x, width, new_dtype):
    """Cast bits where numbers are narrower than the bytes that each of them has in memory."""
    shape = _bitcast_abstract(ShapedArray(x.shape, x.dtype), new_dtype=new_dtype).shape
    new = dtypes.itemsize_bits(new_dtype)
    memory = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
    bits = np.unpackbits(memory, axis=1, count=width, bitorder="little").reshape(-1, new)
    made = np.packbits(bits, axis=1, bitorder="little")
    if new < 8 and dtypes.issubdtype(new_dtype, np.signedinteger):
        made |= bits[:, -1:] * np.uint8(-(2**new) % 256)  # the sign fills the byte
    return made.view(new_dtype).reshape(shape)


def _bitcast_batch(size, args, dims, *, new_dtype):
    x = moveaxis(args[0], dims[0], 0)
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), 0


def _bitcast_jvp(tangents, primals, out, *, new_dtype):
    """Bits have no derivative; only a cast to the same dtype passes tangents on."""
    return tangents[0] if primals[0].aval.dtype == new_dtype else None


bitcast_convert_type_p: Primitive = Primitive(
    "bitcast_convert_type",
    dtypes=("new_dtype",),
    moves=True,
    factors=shared_lead,
    abstract=_bitcast_abstract,
    host=_bitcast_host,
    jvp=_bitcast_jvp,
    batch=_bitcast_batch,
)

# ---------------------------------------------------------------- reduce_precision


def _reduce_precision_host(x, *, exponent_bits, mantissa_bits):
    """Round to even on the bits, then replace what the shorter exponent cannot hold.

    Too large becomes infinite; what would be subnormal becomes zero, as XLA does.
    """
    info = dtypes.finfo(x.dtype)
    word = np.dtype(f"u{x.dtype.itemsize}")
    one = word.type(1)
    bits = np.asarray(x).view(word)
    if mantissa_bits < info.nmant:
        shift = word.type(info.nmant - mantissa_bits)
        last = (bits >> shift) & one
        bits = (bits + ((one << (shift - one)) - one) + last) >> shift << shift
    if exponent_bits < info.nexp:
        sign = bits & word.type(1 << (info.bits - 1))
        exponent = (bits & ~sign) >> word.type(info.nmant)
        bias, new_bias = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        infinity = word.type(((1 << info.nexp) - 1) << info.nmant)
        bits = np.where(exponent > bias + new_bias, sign | infinity, bits)
        bits = np.where(exponent <= bias - new_bias, sign, bits)
    return np.where(np.isnan(x), x, bits.astype(word).view(x.dtype))


def _reduce_precision_transpose(ct, x, **params):
    return [reduce_precision_p.bind(ct, **params)]


# Rounding is not linear; for derivatives it is taken as the identity, rounded like the values.
reduce_precision_p: Primitive = elementwise(
    "reduce_precision",
    FLOATING,
    moves=True,
    host=_reduce_precision_host,
    linear=JOINTLY,
    transpose=_reduce_precision_transpose,
)

# ---------------------------------------------------------------- copies


def _same(x):
    return x


copy_p: Primitive = Primitive(
    "copy",
    moves=True,
    factors=pointwise,
    abstract=_same,
    host=np.array,
    linear=JOINTLY,
    transpose=lambda ct, x: [copy_p.bind(ct)],
    physical=lambda avals: {},
)
copy_p.define("batch")(batching_of(copy_p))

stop_gradient_p: Primitive = Primitive(
    "stop_gradient",
    moves=True,
    factors=pointwise,
    abstract=_same,
    host=_same,
    jvp=no_tangent,
    physical=lambda avals: {},
    divide=lambda divisions, divide_jaxpr: divisions,  # also of what is yet to be summed
    # The unknown of a linear map goes in where a batch of branches shields some examples.
    transpose=lambda ct, x: [None],
)
stop_gradient_p.define("batch")(batching_of(stop_gradient_p))
