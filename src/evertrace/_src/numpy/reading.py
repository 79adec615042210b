"""Making arrays of numbers that stand in buffers, files, iterators and text."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.numpy.creation import asarray, user_dtype


def frombuffer(buffer: Any, dtype: Any = float, count: Any = -1, offset: Any = 0) -> Array:
    """Return the bytes of a buffer as an array, see `numpy.frombuffer`.

    Raises:
      ValueError: the size of the buffer is no multiple of the element size.

    The contents are copied: unlike in NumPy, a change of the buffer is not seen.

    Example:
      >>> jnp.frombuffer(b"abc", dtype=jnp.uint8)
      Array([97, 98, 99], dtype=uint8)
    """
    dtype = user_dtype("frombuffer", dtype)
    return asarray(np.frombuffer(buffer, dtype, count=count, offset=offset))


def fromiter(*args: Any, **kwargs: Any) -> Array:
    """Return the numbers of an iterator as an array, see `numpy.fromiter`.

    Args:
      *args: the iterable, its dtype and, if known, the count; the dtype is required.
      **kwargs: the same by name.

    Differs from JAX, which refuses: an iterator is used up when a function is traced.

    Example:
      >>> jnp.fromiter((n * n for n in range(4)), dtype=jnp.int32)
      Array([0, 1, 4, 9], dtype=int32)
    """
    return asarray(np.fromiter(*args, **kwargs))


def fromfile(*args: Any, **kwargs: Any) -> Array:
    """Read an array from a file of numbers, see `numpy.fromfile`.

    Differs from JAX, which refuses: the contents are constants of a traced function.

    Example:
      >>> np.arange(3, dtype=np.int16).tofile("numbers.bin")
      >>> jnp.fromfile("numbers.bin", dtype=jnp.int16)
      Array([0, 1, 2], dtype=int16)
    """
    return asarray(np.fromfile(*args, **kwargs))


def fromstring(string: Any, dtype: Any = float, count: Any = -1, *, sep: Any) -> Array:
    """Read an array from text, see `numpy.fromstring`.

    Args:
      string: the numbers as text.
      dtype: dtype of the result, the default float unless given.
      count: how many to read; -1 for all.
      sep: what stands between them.

    Example:
      >>> jnp.fromstring("1 2 3", dtype=int, sep=" ")
      Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string, dtype=dtype, count=count, sep=sep))
