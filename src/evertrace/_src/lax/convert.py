"""Conversions between dtypes, by value and by bits."""

from __future__ import annotations

import operator
from typing import TypeVar

import numpy as np

from evertrace._src import dtypes, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.core.jaxpr import Literal
from evertrace._src.errors import user_error
from evertrace._src.ops.convert import (
    bitcast_convert_type_p,
    convert,
    reduce_precision_p,
    stop_gradient_p,
)
from evertrace._src.ops.elementwise import real_p

T = TypeVar("T")


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Convert to another dtype by value.

    Args:
      operand: an array of any dtype of numbers or booleans.
      new_dtype: a dtype; 64-bit ones are narrowed unless x64 is on.

    Returns:
      an array of the shape of `operand`, not weakly typed.

    Integers wrap around; floats to integers are truncated and saturate, NaN gives 0; complex to
    real drops the imaginary part; all but zero is True, of Python's complex numbers too.

    Example:
      >>> lax.convert_element_type(jnp.array([1.9, -1.9, 300.0, jnp.nan]), "uint8")
      Array([  1,   0, 255,   0], dtype=uint8)
    """
    operand = as_operand(operand, "convert_element_type")
    dtype = dtypes.canonicalize_dtype(new_dtype, allow_extended_dtype=True)
    if dtype == np.dtype(bool) and operand.aval.dtype.kind == "c" and type(operand) is not Literal:
        operand = real_p.bind(operand)
    return convert(operand, dtype)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Take the bits of numbers as numbers of another dtype.

    Args:
      operand: an integer or floating array of shape ``[...]``.
      new_dtype: an integer or floating dtype.

    Returns:
      an array of shape ``[...]`` for a dtype of the same width; a narrower dtype adds a last
      dimension for the pieces of each number, a wider one consumes it.

    Example:
      >>> lax.bitcast_convert_type(jnp.array([1.0, -0.0]), "uint32")
      Array([1065353216, 2147483648], dtype=uint32)
      >>> lax.bitcast_convert_type(jnp.uint32(0x01020304), "uint8")
      Array([4, 3, 2, 1], dtype=uint8)
    """
    operand = as_operand(operand, "bitcast_convert_type")
    dtype = dtypes.canonicalize_dtype(new_dtype)
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to a format with fewer bits, and keep the dtype.

    Args:
      operand: a floating array.
      exponent_bits: width of the exponent, at least 1.
      mantissa_bits: width of the mantissa without its leading one, at least 0.

    Returns:
      an array of the shape and dtype of `operand`.

    Numbers that are too large become infinite, subnormal ones zero. The derivative is that of the
    identity, rounded as well.

    Example:
      >>> lax.reduce_precision(jnp.array([1.01, 1e20]), exponent_bits=5, mantissa_bits=4)
      Array([ 1., inf], dtype=float32)
    """
    operand = as_operand(operand, "reduce_precision")
    exponent_bits, mantissa_bits = operator.index(exponent_bits), operator.index(mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise user_error(
            ValueError,
            f"reduce_precision: a format of {exponent_bits} exponent bits and {mantissa_bits} "
            "mantissa bits does not exist.",
            fix="use at least 1 exponent bit and 0 mantissa bits.",
        )
    return reduce_precision_p.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def stop_gradient(x: T) -> T:
    """Return `x` as a constant for every derivative.

    Args:
      x: a pytree of arrays.

    Returns:
      the same tree with the same values.

    Example:
      >>> ev.grad(lambda x: x * lax.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return tree.map(lambda leaf: stop_gradient_p.bind(as_operand(leaf, "stop_gradient")), x)
