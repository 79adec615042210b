"""Operations that make arrays from nothing: iota, constants."""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.structural import check_dims


def _iota_abstract(*, dtype, shape, dimension, sharding):
    check_dims("iota", (dimension,), len(shape))
    if not dtypes.issubdtype(dtype, np.number):
        raise errors.user_error(
            errors.DTypeError,
            f"iota: does not make arrays of dtype {dtypes.short_name(dtype)}.",
            fix="use an integer, floating or complex dtype.",
            anchor="dtype",
        )
    if any(size < 0 for size in shape):
        raise errors.user_error(
            errors.ShapeError,
            f"iota: sizes must not be negative, got {shape}.",
            fix="pass sizes of 0 or more.",
            anchor="shape",
        )
    return ShapedArray(shape, dtype)


def _iota_host(*, dtype, shape, dimension, sharding):
    line = np.arange(shape[dimension]).astype(dtype)
    aligned = [1] * len(shape)
    aligned[dimension] = shape[dimension]
    return np.broadcast_to(line.reshape(aligned), shape)


iota_p: Primitive = Primitive(
    "iota",
    dtypes=("dtype",),
    abstract=_iota_abstract,
    host=_iota_host,
    jvp=undefined("has no operands"),
    transpose=undefined("has no operands"),
    batch=undefined("has no operands"),
)


def iota(dtype, shape, dimension=0):
    """Return an array of `shape` that counts 0, 1, 2, ... along one dimension."""
    return iota_p.bind(dtype=np.dtype(dtype), shape=shape, dimension=dimension, sharding=None)


# An array that is part of a program. Programs capture arrays as inputs instead where they can; this
# is for derived ones, made by running a rule of the user's that uses an array.
constant_p = Primitive(
    "constant",
    moves=True,
    abstract=lambda *, value: value.aval,
    host=lambda *, value: value._contents(),
    jvp=undefined("has no operands"),
    transpose=undefined("has no operands"),
    batch=undefined("has no operands"),
    cache_types=False,
)
