"""The Fourier transform as one operation; `evertrace.numpy.fft` has NumPy's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops import fft as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.fft import FftType
from evertrace._src.ops.fft import fft_p as fft_p


def fft(x: ArrayLike, fft_type: Any, fft_lengths: Sequence[int]) -> Array:
    """Return the discrete Fourier transform over the last dimensions of an array.

    Args:
      x: array of shape ``[..., *fft_lengths]``; for IRFFT the last size is
        ``fft_lengths[-1] // 2 + 1``. FFT, IFFT and IRFFT compute in complex64 or complex128, RFFT
        in float32 or float64: other numbers are converted.
      fft_type: an `FftType` or its name, "FFT", "IFFT", "RFFT" or "IRFFT",
        in letters of any case.
      fft_lengths: sizes of the transformed dimensions on the real (or complex) side: none to three.

    Returns:
      An array of shape ``[..., *fft_lengths]``, complex for FFT and IFFT, real for IRFFT; for RFFT
      complex, of last size ``fft_lengths[-1] // 2 + 1``. The inverse transforms divide by the
      number of elements. RFFT of length 0 (zeros) and RFFT of half precision (computed as float32)
      are errors in JAX.

    Raises:
      ShapeError: if the array does not have the sizes that `fft_lengths` says.
      ValueError: for RFFT of complex numbers, and where there is no such `fft_type`.

    Example:
      >>> lax.fft(jnp.array([1.0, 2.0, 0.0, 0.0]), "RFFT", (4,))
      Array([ 3.+0.j,  1.-2.j, -1.+0.j], dtype=complex64)
    """
    kind = _fft_type(fft_type)
    x = as_operand(x, "fft")
    dtype = x.aval.dtype
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    if kind is FftType.RFFT and is_complex:
        raise errors.user_error(
            ValueError,
            f"fft: RFFT takes real numbers, got dtype {dtypes.short_name(dtype)}.",
            fix="use FFT (`numpy.fft.fft`), or the real part `x.real`.",
            anchor="dtype",
        )
    if not is_complex:
        dtype = dtypes.to_inexact_dtype(dtype)
        dtype = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        if kind is not FftType.RFFT:
            dtype = np.result_type(dtype, np.complex64)
    return ops.fft(convert(x, dtype), kind, as_shape(fft_lengths))


def _fft_type(fft_type):
    try:
        return FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    except (KeyError, ValueError):
        raise errors.user_error(
            ValueError,
            f"fft: there is no fft_type {fft_type!r}.",
            fix="use FFT, IFFT, RFFT or IRFFT of `lax.FftType`.",
            anchor="choice",
        ) from None
