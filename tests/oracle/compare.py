"""What differs between two outcomes: ours, and the one it is held against."""

import builtins

import ml_dtypes
import numpy as np

from tests.oracle.cases import BadCaseError, Case, Leaf, Outcome

# Where JAX raises one of these, its users catch it by name; elsewhere they catch the built-in.
NAMED_ERRORS = {
    "ConcretizationTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
}


def differences(case: Case, ours: Outcome, theirs: Outcome) -> list[str]:
    """Return one line for each difference; none where the outcomes agree."""
    if ours.error or theirs.error:
        return _error_differences(ours, theirs)
    if ours.structure != theirs.structure:
        return [f"structure: {ours.structure}, not {theirs.structure}"]
    pairs = enumerate(zip(ours.leaves, theirs.leaves, strict=True))
    return [
        f"result {index}: {difference}"
        for index, (x, y) in pairs
        for difference in _leaf_differences(x, y, case.tolerance)
    ]


def _error_differences(ours: Outcome, theirs: Outcome) -> list[str]:
    if theirs.error[:1] == (BadCaseError.__name__,):
        return [f"the case is wrong, JAX cannot run it: {theirs.message}"]
    if not theirs.error:
        return [f"raises {ours.error[0]}: {ours.message}"]
    expected = caught_as(theirs.error)
    if not ours.error:
        return [f"does not raise {expected}: {theirs.message}"]
    if expected in ours.error:
        return []
    return [f"raises {ours.error[0]} ({ours.message}), which is no {expected}"]


def caught_as(error: tuple[str, ...]) -> str:
    """Return the name under which a program would catch an error, given its class names."""
    return next(name for name in error if name in NAMED_ERRORS or hasattr(builtins, name))


def _leaf_differences(x: Leaf, y: Leaf, tolerance: float) -> list[str]:
    found = []
    if x.dtype != y.dtype:
        found.append(f"dtype {x.dtype}, not {y.dtype}")
    if x.weak_type != y.weak_type:
        found.append(f"weak_type {x.weak_type}, not {y.weak_type}")
    if isinstance(x.value, str) or isinstance(y.value, str):
        return found if x.value == y.value else [*found, f"{x.value}, not {y.value}"]
    if x.value.shape != y.value.shape:
        return [*found, f"shape {x.value.shape}, not {y.value.shape}"]
    # Values of different dtypes are not worth comparing.
    return found if found else _value_differences(x.value, y.value, tolerance)


def _value_differences(x: np.ndarray, y: np.ndarray, tolerance: float) -> list[str]:
    wrong = ~close(x, y, tolerance)
    if not wrong.any():
        return []
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"{wrong.sum()} of {wrong.size} values differ"
    return [f"{where}, first at {first}: {x[first]!r}, not {y[first]!r}"]


def close(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Say which values agree: exactly, or within `tolerance` spacings of the largest magnitude.

    The largest finite magnitude of `y` is the scale, because sums and products of matrices cannot
    do better in their small results. Infinities and NaNs agree with their like only.
    """
    same = (x == y) | ((x != x) & (y != y))
    eps = spacing(y.dtype)
    if eps == 0 or tolerance == 0:
        return same
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    scale = np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
    with np.errstate(invalid="ignore"):
        return same | (finite & (np.abs(x - y) <= tolerance * eps * scale))


def spacing(dtype: np.dtype) -> float:
    """Return the distance from one to the next number of a dtype; zero for exact dtypes."""
    is_float0 = dtype.names is not None
    if is_float0 or dtype.kind in "biu" or dtype.name in ("int2", "int4", "uint2", "uint4"):
        return 0.0
    return float(ml_dtypes.finfo(dtype).eps)
