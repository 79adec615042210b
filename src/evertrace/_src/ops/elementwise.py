"""Elementwise arithmetic and functions, one statement per primitive.

Rules: `deriv` gives the derivative by each operand as a function of the output and the operands;
`linear` names the operands an operation is linear in.
"""

import numpy as np

from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.builders import (
    ANY,
    INEXACT,
    NUMERIC,
    elementwise,
)
from evertrace._src.ops.structural import spread

# ---------------------------------------------------------------- helpers for rules


def const(x, value):
    """Return the literal `value` in the dtype of `x`."""
    return literal(value, x.aval.dtype)


def scale(x, value):
    """Return `value` times `x`."""
    return mul_p.bind(x, const(x, value))


def add_any(*terms):
    """Add arrays of one aval, as gradients are added up."""
    total = terms[0]
    for term in terms[1:]:
        total = add_any_p.bind(total, term)
    return total


def both(ct):
    """Transpose of a sum."""
    return ct, ct


# ---------------------------------------------------------------- sums and products


def _add_jvp(tangents, primals, out):
    """The one tangent there is passes through, spread if its operand is of rank 0."""
    dx, dy = tangents
    if dx is None:
        return spread(dy, out.aval.shape) if out is not None else dy
    if dy is None:
        return spread(dx, out.aval.shape) if out is not None else dx
    return add_any_p.bind(dx, dy)


add_any_p = elementwise(
    "add_any", ANY, host=np.add, linear=JOINTLY, transpose=lambda ct, x, y: both(ct)
)
add_p = elementwise("add", ANY, host=np.add, linear=JOINTLY, transpose=lambda ct, x, y: both(ct))
neg_p = elementwise(
    "neg", NUMERIC, host=np.negative, linear=JOINTLY, transpose=lambda ct, x: [neg_p.bind(ct)]
)
sub_p = elementwise(
    "sub", NUMERIC, host=np.subtract, linear=JOINTLY,
    transpose=lambda ct, x, y: (ct, neg_p.bind(ct) if is_linear(y) else None),
)  # fmt: skip


def _mul_transpose(ct, x, y):
    if is_linear(x):
        return mul_p.bind(ct, y), None
    return None, mul_p.bind(x, ct)


mul_p = elementwise("mul", ANY, host=np.multiply, linear=(0, 1), transpose=_mul_transpose)

# ---------------------------------------------------------------- functions

sin_p = elementwise("sin", INEXACT, host=np.sin, deriv=(lambda y, x: cos_p.bind(x),))
cos_p = elementwise("cos", INEXACT, host=np.cos, deriv=(lambda y, x: neg_p.bind(sin_p.bind(x)),))
tanh_p = elementwise(
    "tanh", INEXACT, host=np.tanh,
    deriv=(lambda y, x: sub_p.bind(const(y, 1), mul_p.bind(y, y)),),
)  # fmt: skip
