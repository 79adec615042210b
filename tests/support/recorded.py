"""Arrays in JSON files of results that JAX computed, written where JAX is installed.

Complex numbers stand as pairs; floats with as many digits as tell them apart.
"""

import ml_dtypes
import numpy as np


def record(x):
    """Return an array as JSON holds it."""
    x = np.asarray(x)
    parts = np.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
    if x.dtype.kind in "iub":
        contents = parts.tolist()
    else:  # nine digits are enough for 32 bits, and short
        digits = 17 if x.real.dtype == np.float64 else 9
        contents = [float(f"{float(v):.{digits}g}") for v in parts.reshape(-1)]
    return {"dtype": x.dtype.name, "shape": x.shape, "contents": contents}


def recorded_array(recorded):
    """Return the array that `record` described."""
    dtype = np.dtype(getattr(ml_dtypes, recorded["dtype"], recorded["dtype"]))
    if dtype.kind == "c":
        contents = np.array(recorded["contents"]).view(np.complex128)
    else:
        contents = np.array(recorded["contents"], dtype)
    return contents.reshape(recorded["shape"]).astype(dtype)


def assert_as_recorded(actual, recorded, ulps):
    """Compare exactly, or floats up to `ulps` of themselves or of 1, whichever is more."""
    actual, expected = np.asarray(actual), recorded_array(recorded)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    error = ulps * float(ml_dtypes.finfo(expected.dtype).eps)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=error, atol=error)
