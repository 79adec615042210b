"""The kernels in C++, called on NumPy arrays; see `src/native`.

They are in an extension module that an installation without a compiler does not have. Everything
works without it: each caller has another way, in NumPy or in XLA, and asks `use` which to take.
"""

from typing import Any

import numpy as np

from evertrace._src import config, errors

try:
    from evertrace._src import _native  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:  # it was not built, or for another Python
    _native: Any = None

REALS = frozenset([
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64",
])  # fmt: skip
"""Names of the dtypes of which an element is one number, that kernels take; `scan` knows fewer."""

DTYPES = REALS | {"complex64", "complex128"}

_MISSED_FROM = 1 << 18  # elements: from here on the kernels save milliseconds
_ROW_LIMIT = 1 << 31  # positions in a row are 32-bit integers


def is_built() -> bool:
    """Whether the extension module is there."""
    return _native is not None


def use(shape: tuple[int, ...], *dtypes: np.dtype, known: frozenset[str] = DTYPES) -> bool:
    """Whether to call a kernel on arrays of such a shape and dtypes.

    Warns once where the extension module would be used, is missing, and the difference counts.

    Args:
      shape: of the arrays; the last dimension is the one that is worked along.
      *dtypes: of all arrays.
      known: names of the dtypes that the kernel takes.
    """
    if not shape or shape[-1] >= _ROW_LIMIT or not config.current().native_kernels:
        return False
    if any(dtype.name not in known for dtype in dtypes):
        return False
    if _native is None and np.prod(shape) >= _MISSED_FROM:
        _warn_missing()
    return _native is not None


def _warn_missing() -> None:
    """Say once per process that the kernels are missing."""
    global _warn_missing
    _warn_missing = lambda: None  # noqa: E731
    errors.user_warning(
        errors.PerformanceWarning,
        "evertrace was installed without its C++ extension module, so sorting, searching and "
        "running sums of large arrays are up to a hundred times slower.",
        fix="install a C++ compiler and evertrace again, or set the option native_kernels to False "
        "to accept it.",
        anchor="native-kernels",
    )


def xla_handlers() -> dict[str, Any]:
    """Return the handlers of XLA custom calls, capsules by the name of their target."""
    return _native.xla_handlers()


def release_memory() -> None:
    """Give working memory that kernels keep for their next call back to the system."""
    if _native is not None:
        _native.release_memory()


def sort(xs: list[np.ndarray], num_keys: int) -> list[np.ndarray]:
    """Sort arrays of one shape along the last dimension by the first `num_keys`, stably."""
    outs = [np.empty(x.shape, x.dtype) for x in xs]
    _native.sort([_dense(x) for x in xs], [_dense(x) for x in outs], num_keys)
    return outs


def top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest elements along the last dimension, and their positions (int32)."""
    shape = (*x.shape[:-1], k)
    outs = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    _native.top_k([_dense(x)], [_dense(y) for y in outs])
    return outs


def search(ordered: np.ndarray, values: np.ndarray, *, right: bool, dtype: np.dtype) -> np.ndarray:
    """Return the places, of a dtype, of values in sorted rows; see `ops.search`."""
    out = np.empty(values.shape, dtype)
    _native.search([_dense(ordered), _dense(values)], [_dense(out)], right)
    return out


def threefry(keys: np.ndarray, x0: np.ndarray, x1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counters encrypted under each key: ``[n, 2]``, ``[1 or n, m]`` to two ``[n, m]``."""
    shape = len(keys), x0.shape[1]
    y0, y1 = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
    words = [("uint32", np.ascontiguousarray(x)) for x in (keys, x0, x1)]
    _native.threefry(words, [("uint32", y0), ("uint32", y1)])
    return y0, y1


def _dense(x: np.ndarray) -> tuple[str, np.ndarray]:
    """Return a dtype's name, and the array in a dtype that has a buffer format."""
    name = x.dtype.name
    x = np.ascontiguousarray(x)
    return name, x if x.dtype.kind == "c" else x.view(f"u{x.dtype.itemsize}")
