"""What the library's kernels take: arrays of a kind, whose shapes go together."""

import functools
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.tracing import jit
from evertrace._src.arrays.interop import as_array


def as_floats(name, x, least_ndim=1):
    """Return an argument as an array of floats of at least some rank."""
    x = as_array(x, name)
    if x.ndim < least_ndim or not dtypes.issubdtype(x.dtype, np.floating):
        raise errors.user_error(
            TypeError,
            f"{name}: takes floating point arrays of rank {least_ndim} and more, got "
            f"{x.aval.str_short()}.",
            fix="convert it by `x.astype('float32')`, or add dimensions.",
            anchor="kernel-specs",
        )
    return x


def as_numbers(name, x):
    """Return an argument as an array of floats or integers, of rank 1 at least."""
    x = as_array(x, name)
    is_number = any(dtypes.issubdtype(x.dtype, kind) for kind in (np.floating, np.integer))
    if not x.ndim or not is_number:
        raise errors.user_error(
            TypeError,
            f"{name}: takes arrays of floats or integers of rank 1 and more, got "
            f"{x.aval.str_short()}.",
            fix="convert it by `x.astype('float32')`, or add dimensions.",
            anchor="kernel-specs",
        )
    return x


def wide_dtype(dtype):
    """Return the dtype to compute in: float32 for shorter floats, else the same.

    Sums and squares of short floats overflow, or lose whatever is small beside them.
    """
    is_short = dtypes.issubdtype(dtype, np.floating) and np.dtype(dtype).itemsize < 4
    return np.dtype(np.float32) if is_short else dtype


def wide(x):
    """Return an array in the dtype to compute in."""
    return x.astype(wide_dtype(x.dtype))


def as_integers(name, x):
    """Return an argument as an array of integers."""
    x = as_array(x, name)
    if x.dtype.kind not in "iu":
        raise errors.user_error(
            TypeError,
            f"{name}: takes integers, got {x.aval.str_short()}.",
            fix="convert them by `x.astype(int)`.",
            anchor="kernel-specs",
        )
    return x


def shape_error(name, *arrays):
    """Return the error of arguments whose shapes do not go together."""
    shapes = ", ".join([str(tuple(x.shape)) for x in arrays])
    return errors.user_error(
        ValueError,
        f"{name}: the shapes {shapes} do not fit.",
        fix="see its docstring for the shapes of its arguments.",
        anchor="kernel-specs",
    )


_PLAIN = (bool, int, float, str, type(None))


def kept(fun: Any) -> Any:
    """Return a function of a tuple of options and of arrays that is compiled once for each tuple.

    A call of a kernel is traced wherever it is made, so it is made within, and options are static.
    Where one is no plain value (a number that is traced, a size that a trace leaves open), the
    function runs as it is.
    """
    run = jit(fun, static_argnums=0)

    @functools.wraps(fun)
    def call(options, *arrays):
        is_plain = all(type(x) in _PLAIN for x in options)
        return (run if is_plain else fun)(options, *arrays)

    return call
