"""XLA's stateful generator: numbers of a stream that nobody can name or repeat.

Every run of the operation draws anew, and so has no effect that could be told from another draw:
one that is not read may be removed. The host draws from NumPy's generator, a program from XLA's.
"""

import functools

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.builders import REAL, check_dtype, check_same_dtype


def _abstract(a, b, *, shape):
    for bound in (a, b):
        check_dtype("rng_uniform", bound, REAL)
    check_same_dtype("rng_uniform", (a, b))
    if a.shape or b.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"rng_uniform: the bounds must be scalars, got shapes {a.shape} and {b.shape}.",
            fix="scale numbers between 0 and 1, or draw with `random.uniform`, which broadcasts.",
            anchor="shape",
        )
    bits = dtypes.itemsize_bits(a.dtype)
    if bits < 8 or (bits < 16 and dtypes.issubdtype(a.dtype, np.floating)):
        raise errors.user_error(
            errors.DTypeError,
            f"rng_uniform: XLA does not draw numbers of dtype {a.dtype}.",
            fix="draw float32 or int32, and convert.",
            anchor="dtype",
        )
    return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


@functools.cache
def _generator():
    return np.random.default_rng()


def _host(a, b, *, shape):
    dtype = a.dtype
    if dtype.kind in "iu":
        return _generator().integers(a, max(int(b), int(a) + 1), shape, dtype)
    wide = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    drawn = _generator().random(shape).astype(wide)
    low, high = (np.asarray(x, wide) for x in (a, b))
    return np.asarray(low + drawn * (high - low)).astype(dtype)


rng_uniform_p: Primitive = Primitive(
    "rng_uniform",
    abstract=_abstract,
    host=_host,
    deriv=undefined("the numbers of a hidden generator have no derivative"),
    batch=undefined("one call draws one array: XLA takes scalar bounds only"),
)
