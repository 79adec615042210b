"""Formulas: operators on operands of one dtype, for methods that are many operations long.

A `Formula` writes ``a * x + 1`` where a rule writes ``add_p.bind(mul_p.bind(a, x), const(x, 1))``,
and means just that: there is no promotion, and a Python number takes the dtype of its neighbour.
"""

import functools

import numpy as np

from evertrace._src.core.jaxpr import literal
from evertrace._src.ops import bits, compare, elementwise, special
from evertrace._src.ops.convert import convert
from evertrace._src.ops.reduce import reduce_or_p
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import full


def _unary(prim):
    return lambda self: Formula(prim.bind(self.x))


def _binary(prim):
    return lambda self, other: Formula(prim.bind(self.x, self.operand(other)))


def _reflected(prim):
    return lambda self, other: Formula(prim.bind(self.operand(other), self.x))


class Formula:
    """An operand `x` with operators."""

    __slots__ = ("x",)
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, x):
        self.x = x

    def operand(self, other):
        """Return another formula's operand, or a Python number as a literal."""
        return other.x if type(other) is Formula else literal(other, self.x.aval.dtype)

    def like(self, value):
        """Return a constant of this shape and dtype; a formula is returned as it is."""
        return value if type(value) is Formula else Formula(full(self.x.aval, value))

    def to(self, dtype):
        """Return the same numbers in another dtype."""
        return Formula(convert(self.x, np.dtype(dtype)))

    def any(self):
        """Return whether any of these booleans is true, a formula of rank 0."""
        axes = tuple(range(self.x.aval.ndim))
        return Formula(reduce_or_p.bind(self.x, axes=axes)) if axes else self

    __add__, __radd__ = _binary(elementwise.add_p), _reflected(elementwise.add_p)
    __sub__, __rsub__ = _binary(elementwise.sub_p), _reflected(elementwise.sub_p)
    __mul__, __rmul__ = _binary(elementwise.mul_p), _reflected(elementwise.mul_p)
    __truediv__, __rtruediv__ = _binary(elementwise.div_p), _reflected(elementwise.div_p)
    __neg__, __abs__ = _unary(elementwise.neg_p), _unary(elementwise.abs_p)
    __lt__, __le__ = _binary(compare.lt_p), _binary(compare.le_p)
    __gt__, __ge__ = _binary(compare.gt_p), _binary(compare.ge_p)
    __eq__ = _binary(compare.eq_p)  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary(compare.ne_p)  # pyright: ignore[reportAssignmentType]
    __and__, __or__ = _binary(bits.and_p), _binary(bits.or_p)
    __invert__ = _unary(bits.not_p)


exp = _unary(elementwise.exp_p)
log = _unary(elementwise.log_p)
expm1 = _unary(elementwise.expm1_p)
log1p = _unary(elementwise.log1p_p)
sqrt = _unary(elementwise.sqrt_p)
sin = _unary(elementwise.sin_p)
cos = _unary(elementwise.cos_p)
tan = _unary(elementwise.tan_p)
floor = _unary(elementwise.floor_p)
real = _unary(elementwise.real_p)
imag = _unary(elementwise.imag_p)
power = _binary(elementwise.pow_p)
maximum = _binary(elementwise.max_p)
minimum = _binary(elementwise.min_p)
complex_of = _binary(elementwise.complex_p)
erf = _unary(special.erf_p)
erf_inv = _unary(special.erf_inv_p)
erfc = _unary(special.erfc_p)
lgamma = _unary(special.lgamma_p)
digamma = _unary(special.digamma_p)


def choose(condition, x, y):
    """Return `x` where the condition holds, else `y`; one of them may be a Python number."""
    x = x if type(x) is Formula else y.like(x)
    return Formula(select(condition.x, x.x, x.like(y).x))


def polynomial(coefficients, x):
    """Return the polynomial with these coefficients, constant first, by Horner's rule."""
    *rest, last = coefficients
    return functools.reduce(lambda total, c: total * x + c, reversed(rest), x.like(last))
