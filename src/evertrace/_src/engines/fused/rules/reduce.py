"""Reductions: what joins two elements, and what they are."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.engines.fused.index import Index
from evertrace._src.engines.fused.rules import UNROLLED, Rule, fusion
from evertrace._src.engines.fused.rules.elementwise import (
    greater_or_nan,
    is_float,
    is_unsigned,
)
from evertrace._src.engines.fused.writer import type_of
from evertrace._src.ops import reduce as ops
from evertrace._src.ops import windows
from evertrace._src.ops.structural import reduce_sum_p


class Reduction(NamedTuple):
    """How elements are joined.

    Attributes:
      identity: (number, type) of each part of what joins with anything to that.
      join: from the kernel and two elements, tuples of their parts, what both make.
      adds: whether the error grows with the number of elements.
      finish: from the kernel and what all elements make, the result.
      follow: `join` where all elements of the second lie behind those of the first, or None.
    """

    identity: tuple
    join: Callable[..., tuple]
    adds: bool = False
    finish: Callable[..., Any] = lambda k, xs: xs[0]
    follow: Callable[..., tuple] | None = None

    def followed(self, k, x, y):
        """Return what elements make, of which those of `y` lie behind those of `x`."""
        return (self.follow or self.join)(k, x, y)


def _element(k, eqn, index, place):
    """Return the element of the operand that a place in the reduced dimensions stands for."""
    axes, kept, found = eqn.params["axes"], iter(index), []
    inner = dict(zip(axes, place, strict=True))
    for d in range(eqn.invars[0].aval.ndim):
        found.append(inner[d] if d in inner else next(kept))
    return (k.at(eqn.invars[0], tuple(found)),)


def _extents(eqn):
    return tuple([eqn.invars[0].aval.shape[d] for d in eqn.params["axes"]])


def _is_dear(eqn):
    """Whether it is written out, but has more than a few elements; others are loops anyhow."""
    return math.prod(_extents(eqn)) in range(FEW, UNROLLED + 1)


def _is_along_rows(eqn):
    shape = eqn.invars[0].aval.shape
    return max([d for d, n in enumerate(shape) if n > SHORT], default=0) in eqn.params["axes"]


SHORT = 16
"""Elements of a dimension that does not decide."""

FEW = 4


def _is_not_empty(eqn):
    return eqn.invars[0].aval.size > 0


def _reduction(prim, make, element=_element):
    """Register a reduction; `make` has it from the equation."""

    def value(k, eqn, index):
        return k.reduced(eqn, index, _extents(eqn), make(eqn))

    fusion.rules[prim] = Rule(value, _is_not_empty, _extents, element, _is_along_rows, _is_dear)


def _limits(dtype):
    """Return the least and the greatest number of a dtype."""
    if is_float(dtype):
        return -np.inf, np.inf
    if dtype.kind == "b":
        return False, True
    info = np.iinfo(dtype)
    return info.min, info.max


def _sum(eqn):
    dtype = eqn.outvars[0].aval.dtype
    op = "fadd" if is_float(dtype) else "add"
    kind = type_of(dtype)
    return Reduction(((0, kind),), lambda k, x, y: (k.binary(op, x[0], y[0]),), is_float(dtype))


def _prod(eqn):
    dtype = eqn.outvars[0].aval.dtype
    op = "fmul" if is_float(dtype) else "mul"
    kind = type_of(dtype)
    return Reduction(((1, kind),), lambda k, x, y: (k.binary(op, x[0], y[0]),), is_float(dtype))


def _bitwise(op, identity):
    def make(eqn):
        kind = type_of(eqn.outvars[0].aval.dtype)
        value = identity if kind != "i1" else bool(identity)
        return Reduction(((value, kind),), lambda k, x, y: (k.binary(op, x[0], y[0]),))

    return make


def _extreme(is_max):
    def make(eqn):
        dtype = eqn.outvars[0].aval.dtype
        least, greatest = _limits(dtype)

        def join(k, x, y):
            above = _comes_first(k, y[0], x[0], dtype, is_max)
            return (k.choose(above, y[0], x[0]),)

        return Reduction(((least if is_max else greatest, type_of(dtype)),), join)

    return make


def _comes_first(k, x, y, dtype, is_max):
    """Whether x is greater (or less) than y, or NaN."""
    if is_float(dtype):
        return greater_or_nan(k, x, y, "ogt" if is_max else "olt")
    sign = "u" if is_unsigned(dtype) else "s"
    return k.compare(sign + ("gt" if is_max else "lt"), x, y)


def _place(is_max):
    """The first place of the greatest or least element; a NaN is beyond all."""

    def make(eqn):
        dtype, out = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
        least, greatest = _limits(dtype)
        kind, counted = type_of(dtype), type_of(out)

        def is_beyond(k, x, y):
            """Whether y is beyond x; no NaN is beyond another."""
            if not is_float(dtype):
                return _comes_first(k, y, x, dtype, is_max)
            first = k.compare("ugt" if is_max else "ult", y, x)
            return k.binary("and", first, k.compare("ord", x, x))

        def follow(k, x, y):
            taken = is_beyond(k, x[0], y[0])
            return k.choose(taken, y[0], x[0]), k.choose(taken, y[1], x[1])

        def join(k, x, y):
            if is_float(dtype):
                nans = k.binary("and", k.compare("uno", x[0], x[0]), k.compare("uno", y[0], y[0]))
                tied = k.binary("or", k.compare("oeq", x[0], y[0]), nans)
            else:
                tied = k.compare("eq", x[0], y[0])
            earlier = k.binary("and", tied, k.compare("slt", y[1], x[1]))
            taken = k.binary("or", is_beyond(k, x[0], y[0]), earlier)
            return k.choose(taken, y[0], x[0]), k.choose(taken, y[1], x[1])

        # If no element is beyond the worst, all are as bad, and the first of them is at 0.
        worst = (least if is_max else greatest, kind), (0, counted)
        return Reduction(worst, join, False, lambda k, xs: xs[1], follow)

    return make


def _placed(k, eqn, index, place):
    (x,) = _element(k, eqn, index, place)
    return x, k.number(place[0], type_of(eqn.outvars[0].aval.dtype))


_reduction(reduce_sum_p, _sum)
_reduction(ops.reduce_prod_p, _prod)
_reduction(ops.reduce_max_p, _extreme(True))
_reduction(ops.reduce_min_p, _extreme(False))
_reduction(ops.reduce_and_p, _bitwise("and", -1))
_reduction(ops.reduce_or_p, _bitwise("or", 0))
_reduction(ops.reduce_xor_p, _bitwise("xor", 0))
_reduction(ops.argmax_p, _place(True), _placed)
_reduction(ops.argmin_p, _place(False), _placed)


# ---------------------------------------------------------------- windows


def _window(eqn):
    return eqn.params["window_dimensions"]


def _in_window(k, eqn, index, place):
    """Return the element that lies at a place of a window."""
    p, found = eqn.params, []
    for d, (at, inside) in enumerate(zip(index, place, strict=True)):
        first = at.moved(0, p["window_strides"][d])
        more = inside.moved(0, p["window_dilation"][d])
        found.append(Index(first.first + more.first, first.terms + more.terms))
    return (k.at(eqn.invars[0], tuple(found)),)


def _is_unpadded(eqn):
    p = eqn.params
    padding = [n for low_high in p["padding"] for n in low_high]
    return not any(padding) and all(n == 1 for n in p["base_dilation"])


def _of_windows(prim, make):
    """Register a reduction of windows that lie within the array."""

    def value(k, eqn, index):
        return k.reduced(eqn, index, _window(eqn), make(eqn))

    fusion.rules[prim] = Rule(
        value,
        _is_unpadded,
        _window,
        _in_window,
        lambda eqn: _window(eqn)[-1] > SHORT,
        lambda eqn: math.prod(_window(eqn)) in range(FEW, UNROLLED + 1),
    )


_of_windows(windows.reduce_window_sum_p, _sum)
_of_windows(windows.reduce_window_max_p, _extreme(True))
_of_windows(windows.reduce_window_min_p, _extreme(False))
