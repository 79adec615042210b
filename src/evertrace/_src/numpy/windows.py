"""Window functions: weights that fall off to both ends of a vector of M samples."""

from __future__ import annotations

import numpy as np

from evertrace._src import dtypes, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, elementary
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.promotion import as_operands


def _window(name, M, window):
    """Return a window computed in NumPy: its size is known, so all of it is."""
    size = static_int(name, "M", M)
    return creation.asarray(window(max(0, size)).astype(dtypes.default_dtype(float)))


@native.planned(by_type=False)
def bartlett(M: int) -> Array:
    """Return the triangular window of `M` samples that is 0 at both ends.

    Example:
      >>> jnp.bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("bartlett", M, np.bartlett)


@native.planned(by_type=False)
def blackman(M: int) -> Array:
    """Return the Blackman window of `M` samples.

    Example:
      >>> jnp.blackman(5)[1:4]
      Array([0.34, 1.  , 0.34], dtype=float32)
    """
    return _window("blackman", M, np.blackman)


@native.planned(by_type=False)
def hamming(M: int) -> Array:
    """Return the Hamming window of `M` samples.

    Example:
      >>> jnp.hamming(5)
      Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _window("hamming", M, np.hamming)


@native.planned(by_type=False)
def hanning(M: int) -> Array:
    """Return the Hann window of `M` samples.

    Example:
      >>> jnp.hanning(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("hanning", M, np.hanning)


@native.planned(by_type=False)
def kaiser(M: int, beta: ArrayLike) -> Array:
    """Return the Kaiser window of `M` samples with shape parameter `beta`, which may be traced.

    Example:
      >>> jnp.kaiser(5, 2.0).round(4)
      Array([0.4387, 0.8348, 1.    , 0.8348, 0.4387], dtype=float32)
    """
    size = static_int("kaiser", "M", M)
    if size <= 1:
        return creation.ones(max(0, size))
    half = (size - 1) / 2
    root = np.sqrt(np.maximum(0, 1 - ((np.arange(size) - half) / half) ** 2))
    (root,) = as_operands("kaiser", root.astype(dtypes.default_dtype(float)))
    return elementary.i0(beta * root) / elementary.i0(beta)
