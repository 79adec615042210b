"""Cumulative operations as loops: what a turn does with an element and what came before it."""

from typing import Any

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Eqn, literal
from evertrace._src.engines.fused.flat import Copy
from evertrace._src.ops import cumulative as ops
from evertrace._src.ops import elementwise
from evertrace._src.ops.compare import eq_p, gt_p
from evertrace._src.ops.convert import convert_element_type_p
from evertrace._src.ops.identities import accumulation_dtype
from evertrace._src.ops.select import select_n_p

_DOUBLE, _BOOL = np.dtype(np.float64), np.dtype(bool)


class Turn:
    """The turn of a cumulative operation: its equations, for one place along the axis.

    Attributes:
      x: the variable of the element.
      carries: (variable, first value, next one).
      out: the variable of the result.
    """

    def __init__(self, eqn):
        aval, axis = eqn.invars[0].aval, eqn.params["axis"]
        self._shape = aval.shape[:axis] + aval.shape[axis + 1 :]
        self.makers, self.carries, self.x = {}, [], self._variable(aval.dtype)
        wide = accumulation_dtype(aval.dtype)
        y = _TURNS[eqn.primitive](self, self.cast(self.x, wide), wide)
        self.out = self.cast(self.cast(y, wide), aval.dtype)

    def _variable(self, dtype):
        return Copy(ShapedArray(self._shape, dtype))

    def do(self, prim, *xs, dtype=None):
        """Return the result of an operation, of the dtype of the first operand if none is given."""
        out = self._variable(dtype or xs[0].aval.dtype)
        self.makers[out] = Eqn(prim, list(xs), [out], {})
        return out

    def cast(self, x, dtype):
        """Return a value in a dtype."""
        return x if x.aval.dtype == dtype else self.do(convert_element_type_p, x, dtype=dtype)

    def before(self, first, dtype):
        """Return what a carry is before the turn; `goes_on` says what it is after it."""
        self.carries.append((self._variable(dtype), literal(first, dtype), None))
        return self.carries[-1][0]

    def goes_on(self, n, after):
        """Say what a carry is after the turn; returns that."""
        self.carries[n] = (*self.carries[n][:2], after)
        return after

    def joined(self, prim, x, first, dtype):
        """Have an operation join an element with what came before."""
        x = self.cast(x, dtype)
        return self.goes_on(0, self.do(prim, self.before(first, dtype), x))


def _sum(t, x, dtype):
    first = -0.0 if dtype.kind == "f" else 0  # a zero with its sign stays what it is
    return t.joined(elementwise.add_p, x, first, _DOUBLE if dtype == np.float32 else dtype)


def _product(t, x, dtype):
    return t.joined(elementwise.mul_p, x, 1, dtype)


def _extreme(prim, is_max):
    def turn(t, x, dtype):
        limits: Any = (-np.inf, np.inf)
        if dtype.kind != "f":
            limits = np.iinfo(dtype).min, np.iinfo(dtype).max
        return t.joined(prim, x, limits[0 if is_max else 1], dtype)

    return turn


def _log_sum_exp(t, x, dtype):
    """Add exponentials up relative to the largest one so far; a NaN stays in the sum."""
    del dtype
    x = t.cast(x, _DOUBLE)
    top, total = t.before(-np.inf, _DOUBLE), t.before(0, _DOUBLE)
    zero, one = literal(0, _DOUBLE), literal(1, _DOUBLE)
    is_new = t.do(gt_p, x, top, dtype=_BOOL)
    is_same = t.do(eq_p, x, top, dtype=_BOOL)  # equal infinities have no difference
    apart = t.do(elementwise.neg_p, t.do(elementwise.abs_p, t.do(elementwise.sub_p, x, top)))
    less = t.do(elementwise.exp_p, _where(t, is_same, zero, apart))
    grown = t.do(elementwise.add_p, total, less)
    moved = t.do(elementwise.add_p, t.do(elementwise.mul_p, total, less), one)
    top = t.goes_on(0, _where(t, is_new, x, top))
    total = t.goes_on(1, _where(t, is_new, moved, grown))
    size = t.do(elementwise.abs_p, top)
    is_endless = t.do(eq_p, size, literal(np.inf, _DOUBLE), dtype=_BOOL)
    found = t.do(elementwise.add_p, top, t.do(elementwise.log_p, total))
    is_number = t.do(eq_p, total, total, dtype=_BOOL)
    return _where(t, is_number, _where(t, is_endless, top, found), total)


def _where(t, which, x, y):
    return t.do(select_n_p, which, y, x, dtype=_DOUBLE)


_TURNS: Any = {
    ops.cumsum_p: _sum,
    ops.cumprod_p: _product,
    ops.cummax_p: _extreme(elementwise.max_p, True),
    ops.cummin_p: _extreme(elementwise.min_p, False),
    ops.cumlogsumexp_p: _log_sum_exp,
}

CUMULATIVE = tuple(_TURNS)
"""The operations."""
