"""Bits of bytes as arrays of zeros and ones, and back."""

from __future__ import annotations

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.dims import ceildiv
from evertrace._src.numpy import creation, reductions, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, static_int
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import aligned
from evertrace._src.numpy.shape import moveaxis, ravel, reshape
from evertrace._src.ops.convert import convert


def _places(bitorder):
    """Return how far each of the 8 bits of a byte is shifted."""
    if bitorder not in ("big", "little"):
        raise errors.user_error(
            ValueError,
            f"packbits: no bitorder {bitorder!r}.",
            fix='use "big" or "little".',
            anchor="choice",
        )
    places = np.arange(8, dtype=np.uint8)
    return creation.asarray(places[::-1].copy() if bitorder == "big" else places)


@native.planned(by_type=False)
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Make bytes of each 8 elements along an axis.

    Args:
      a: boolean or integer array; what is not zero is a set bit.
      axis: int, or None to flatten the array first. Its end is filled up with zeros.
      bitorder: whether the first element is the highest bit ("big") or the lowest ("little").

    Returns:
      uint8 array, the size along `axis` divided by 8, rounded up.

    Raises:
      DTypeError: `a` is of floats.

    Example:
      >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 1, 0, 1, 1]))
      Array([133, 128], dtype=uint8)
    """
    x = operand("packbits", a)
    if x.aval.dtype.kind not in "biu":
        raise errors.user_error(
            errors.DTypeError,
            f"packbits: takes booleans and integers, got {x.aval.str_short()}.",
            fix="compare first, e.g. `x > 0`.",
            anchor="dtype",
        )
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("packbits", axis, x.aval.ndim)
    bits = moveaxis(convert(convert(x, np.dtype(bool)), np.dtype(np.uint8)), axis, -1)
    size = bits.shape[-1]
    count = ceildiv(size, 8)
    bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, 8 * count - size)])
    bits = reshape(bits, (*bits.shape[:-1], count, 8))
    shifted = ufuncs.left_shift(*aligned(bits, _places(bitorder)))
    return moveaxis(reductions.sum(shifted, -1, np.uint8), -1, axis)


@native.planned(by_type=False)
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Make 8 elements, zeros and ones, of each byte along an axis.

    Args:
      a: uint8 array.
      axis: int, or None to flatten the array first.
      count: how many elements to keep; negative: how many to leave out at the end.
      bitorder: see `packbits`.

    Returns:
      uint8 array.

    Raises:
      DTypeError: `a` is not of uint8.

    Example:
      >>> jnp.unpackbits(jnp.array([133], dtype=jnp.uint8))
      Array([1, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    x = operand("unpackbits", a)
    if x.aval.dtype != np.uint8:
        raise errors.user_error(
            errors.DTypeError,
            f"unpackbits: takes uint8, got {x.aval.str_short()}.",
            fix="convert it, or take its bytes with `view`.",
            anchor="dtype",
        )
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("unpackbits", axis, x.aval.ndim)
    x = moveaxis(x, axis, -1)
    bits = ufuncs.bitwise_and(ufuncs.right_shift(*aligned(x[..., None], _places(bitorder))), 1)
    bits = reshape(convert(bits, np.dtype(np.uint8)), (*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        count = static_int("unpackbits", "count", count)
        bits = pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, max(0, count - bits.shape[-1]))])
        bits = bits[..., :count]
    return moveaxis(bits, -1, axis)
