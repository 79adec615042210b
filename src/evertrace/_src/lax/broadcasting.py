"""From arguments of elementwise functions to operands of one dtype and shape.

`lax` does not promote: arrays keep their dtypes, which the operation then wants to be equal. Only a
Python scalar takes the dtype of the arrays beside it, where that holds its kind of number (an int
anything, a float a floating or complex dtype). Shapes of one rank broadcast where sizes are 1; an
operand of rank 0 goes with any shape.
"""

from __future__ import annotations

import numpy as np

from evertrace._src import dims, dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, type_of_number
from evertrace._src.ops.builders import broadcast_error
from evertrace._src.ops.convert import number
from evertrace._src.ops.structural import broadcast_in_dim_p

# The dtypes that a Python scalar of each type may take.
_HOLDS = {
    bool: (np.bool_,),
    int: (np.number,),
    float: (np.inexact,),
    complex: (np.complexfloating,),
}


def same_dtype_operands(name, *args) -> list[Array]:
    """Return operands of shapes that go together; Python scalars take the arrays' dtype.

    Args:
      name: of the operation, for errors.
      *args: arrays, tracers, NumPy arrays and scalars, Python scalars.
    """
    return broadcast_operands(name, scalars_like_arrays(name, args))


def scalars_like_arrays(name, args):
    """Return operands, Python scalars in the dtype of the first array beside them."""
    operands = [None if type_of_number(x) else as_operand(x, name) for x in args]
    dtype = next((x.aval.dtype for x in operands if x is not None), None)
    return [
        _scalar(x, dtype, name) if made is None else made
        for x, made in zip(args, operands, strict=True)
    ]


def _scalar(value, dtype, name):
    """Return a Python scalar as an operand of `dtype` if that holds it, else of its own dtype."""
    kind = type_of_number(value)
    if dtype is None or not any(dtypes.issubdtype(dtype, held) for held in _HOLDS[kind]):
        return as_operand(value, name)
    return number(value, dtype, kind is not bool)


def broadcast_operands(name, operands) -> list[Array]:
    """Broadcast sizes of 1 among operands of one rank; those of rank 0 stay as they are."""
    shapes = {x.aval.shape for x in operands if x.aval.shape}
    if len(shapes) <= 1:
        return operands
    if len({len(shape) for shape in shapes}) > 1:
        raise broadcast_error(name, [x.aval.shape for x in operands])
    try:
        shape = dims.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(name, [x.aval.shape for x in operands]) from None
    kept = tuple(range(len(shape)))
    return [
        x
        if x.aval.shape in ((), shape)
        else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept, sharding=None)
        for x in operands
    ]
