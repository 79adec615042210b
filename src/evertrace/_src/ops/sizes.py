"""Symbolic sizes as arrays: `dim_as_value`, for what computes with a size and not with a shape."""

import operator
from typing import Any

from evertrace._src import dims, dtypes
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.dims import expression

dim_as_value_p = Primitive(
    "dim_as_value",
    abstract=lambda *, dim: ShapedArray((), dtypes.default_dtype(int), True),
    host=lambda *, dim: operator.index(dim),  # which says that there is no value
    jvp=undefined("has no operands"),
    transpose=undefined("has no operands"),
    batch=undefined("has no operands"),
)


def dim_as_value(dim: dims.Dim) -> Any:
    """Return a symbolic size as a weakly typed integer of rank 0."""
    return dim_as_value_p.bind(dim=dim)


expression.as_operand = dim_as_value
