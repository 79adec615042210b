"""Identities of max and min: the least and the greatest value of a dtype."""

import numpy as np

from evertrace._src import dtypes


def lowest(dtype):
    """Return the identity of max in a NumPy dtype, as a NumPy scalar array of it."""
    return _extreme(dtype, upper=False)


def highest(dtype):
    """Return the identity of min in a NumPy dtype."""
    return _extreme(dtype, upper=True)


def _extreme(dtype, upper):
    if dtype.kind == "b":
        value = upper
    elif dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        value = info.max if upper else info.min
    elif dtypes.issubdtype(dtype, np.complexfloating):
        value = complex(np.inf, np.inf) if upper else complex(-np.inf, -np.inf)
    else:
        value = np.inf if upper else -np.inf
        if not np.isinf(np.asarray(value, dtype).astype(np.float64)):  # a float without infinities
            info = dtypes.finfo(dtype)
            value = info.max if upper else info.min
    return np.asarray(value, dtype)


def with_signs(out, largest, join):
    """Return extremes of floats whose zeros have the sign that they have as numbers in order.

    Of two zeros the positive one is the greater, which NumPy does not look at. All elements are on
    a side of a zero: it is negative if all of them are (the largest), or if any is (the smallest).

    Args:
      out: the extremes.
      largest: whether they are the largest.
      join: function (ufunc of booleans) that joins the elements' signs as they were joined.
    """
    if not dtypes.issubdtype(out.dtype, np.floating) or np.all(out):
        return out
    negative = join(np.logical_and if largest else np.logical_or)
    signed = np.where(negative, -np.zeros((), out.dtype), np.zeros((), out.dtype))
    return np.where(out == 0, signed, out)


def all_ones(dtype):
    """Return the identity of the bitwise and: True, or the integer whose bits are all set."""
    return np.invert(np.zeros((), dtype))


def accumulation_dtype(dtype):
    """Return the dtype to accumulate in: float32 for narrower floats, bytes for parts of them."""
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 4:
        return np.dtype(np.float32)
    if dtype.kind == "V":  # integers of fewer than 8 bits
        return np.dtype(np.int8 if dtypes.issubdtype(dtype, np.signedinteger) else np.uint8)
    return dtype
