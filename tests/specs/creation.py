"""Rows of operations that make arrays from nothing."""

import numpy as np

from evertrace._src.lax import creation as lax
from evertrace._src.ops import creation as ops
from evertrace._src.ops.structural import broadcast_in_dim_p
from tests.specs.opspec import NUMERIC, OpSpec, case, numpy_dtype
from tests.support.runtime import array


def counted(shape, dimension, dtype):
    """Count along one dimension."""
    return np.indices(shape)[dimension].astype(numpy_dtype(dtype))


def iota_row(dtype):
    """Return the row of iota for a dtype; it has an operand only for the sake of the laws."""
    return OpSpec(
        f"iota {dtype}",
        [ops.iota_p],
        lambda x, shape, dimension: lax.broadcasted_iota(numpy_dtype(dtype), shape, dimension),
        lambda x, shape, dimension: counted(shape, dimension, dtype),
        [
            case((), shape=(4,), dimension=0),
            case((), shape=(2, 3, 0), dimension=1),
            case((), shape=(2, 3), dimension=1),
        ],
        ["float32"],
        ulps=0,
        grads=(),
        vmap=False,
        wide=False,
    )


def constant_row(dtype):
    """Return the row of constants in derived programs; the operand is there for the laws alone."""
    values = np.arange(6).reshape(2, 3).astype(numpy_dtype(dtype))
    return OpSpec(
        f"constant {dtype}",
        [ops.constant_p],
        lambda x, rows: ops.constant_p.bind(value=array(values[:rows])),
        lambda x, rows: values[:rows],
        [case((), rows=2), case((), rows=0)],
        ["float32"],
        ulps=0,
        grads=(),
        vmap=False,
        wide=False,
    )


SPECS = [
    *[constant_row(dtype) for dtype in ("float32", "bfloat16", "int32", "bool", "complex64")],
    *[iota_row(dtype) for dtype in NUMERIC if not dtype.endswith(("64", "128"))],
    OpSpec(
        "full_like",
        [broadcast_in_dim_p],
        lambda x, value, shape: lax.full_like(x, value, shape=shape),
        lambda x, value, shape: np.full(shape, value, x.dtype),
        [case((2, 3), (), shape=(2, 3)), case((2,), (), shape=(4,)), case((), (), shape=())],
        NUMERIC,
        ulps=0,
        wide=False,
        grads=(1,),
        order=1,
        linear=[(1,)],
        batched=(1,),
    ),
]
