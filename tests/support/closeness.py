"""How the laws compare results: exact for integers and booleans, in ulps for floats."""

import ml_dtypes
import numpy as np

from tests.specs.opspec import is_inexact


def assert_same(got, want, ulps=0, ulps_of="element", label=""):
    """Fail unless two ndarrays have one shape and dtype and equal contents up to `ulps`.

    Args:
      got: ndarray.
      want: ndarray.
      ulps: units in the last place that floats may differ by: of each element, or with `ulps_of`
        "array" of the largest element. Complex numbers count by modulus. 0 asks for the same
        bits, but any NaN equals any other.
      ulps_of: see there.
      label: shown before a failure.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{label}: shape {got.shape}, want {want.shape}"
    assert got.dtype == want.dtype, f"{label}: dtype {got.dtype}, want {want.dtype}"
    if not is_inexact(want.dtype):
        wrong = got != want
    elif ulps == 0:
        wrong = ~same_numbers(got, want)
    else:
        wrong = ~(errors_in_ulps(got, want, ulps_of) <= ulps)
    if np.any(wrong):
        where = np.argwhere(wrong)[0] if want.ndim else ()
        place = tuple(int(i) for i in where)
        off = ""
        if is_inexact(want.dtype):
            off = f" ({np.max(errors_in_ulps(got, want, ulps_of)):.3g} ulps at most)"
        raise AssertionError(
            f"{label}: {np.sum(wrong)} of {want.size} differ{off}; at {place} got "
            f"{got[place]!r}, want {want[place]!r}"
        )


def same_numbers(x, y):
    """Return where two inexact arrays have the same numbers, signs of zeros included."""
    if x.dtype.kind == "c":
        return same_numbers(x.real, y.real) & same_numbers(x.imag, y.imag)
    same = (x == y) & (np.signbit(x) == np.signbit(y))
    return same | (np.isnan(x) & np.isnan(y))


def errors_in_ulps(got, want, ulps_of="element"):
    """Return the distance in units of the last place of `want`, inf where only one is finite."""
    info = ml_dtypes.finfo(want.real.dtype if want.dtype.kind == "c" else want.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        both = np.isfinite(got) & np.isfinite(want)
        size = np.where(np.isfinite(want), np.abs(want), 0)
        if ulps_of == "array":
            size = np.max(size, initial=0)
        unit = float(info.eps) * np.maximum(size, float(info.smallest_normal))
        return np.where(same, 0.0, np.where(both, np.abs(got - want) / unit, np.inf))
