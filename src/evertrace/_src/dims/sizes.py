"""What our functions ask of sizes, which may be numbers or expressions."""

from operator import index
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.dims.bounds import extrema
from evertrace._src.dims.expression import (
    Dim,
    apply,
    bare,
    evaluate,
    max_of,
    min_of,
    size_of,
    terms_of,
    variables,
)
from evertrace._src.support import set_module

public = set_module("evertrace.core")


def shown(sizes: Any) -> Any:
    """Return sizes as the user's code is given them: numbers where a trace leaves them open."""
    for n in sizes:
        if type(n) is Dim and n.scope.gives_numbers:
            return type(sizes)([n.scope.number(m) if type(m) is Dim else m for m in sizes])
    return sizes


def is_dim(x: Any) -> bool:
    """Whether a size is an expression rather than a number."""
    return type(x) is Dim


@public
def max_dim(d1: int, d2: int) -> int:
    """Return the larger of two sizes, an expression where either may be the larger one.

    Example:
      >>> (b,) = ev.export.symbolic_shape("b")
      >>> ev.core.max_dim(b, 4), ev.core.max_dim(b, 1), ev.core.max_dim(3, 4)
      (max(b, 4), b, 4)
    """
    return shown((max_of(size_of(d1), size_of(d2)),))[0]


@public
def min_dim(d1: int, d2: int) -> int:
    """Return the smaller of two sizes, an expression where either may be the smaller one.

    Example:
      >>> (b,) = ev.export.symbolic_shape("b")
      >>> ev.core.min_dim(b, 4), ev.core.min_dim(b, 1), ev.core.min_dim(3, 4)
      (min(b, 4), 1, 3)
    """
    return shown((min_of(size_of(d1), size_of(d2)),))[0]


def is_same_shape(a, b) -> bool:
    """Whether two shapes are one; nothing is asked of sizes where ranks differ, as tuples do."""
    return len(a) == len(b) and a == b


def least_of(x: Any) -> float:
    """Return a lower bound of a size."""
    return x.scope.bounds(x)[0] if type(x) is Dim else x


def most_of(x: Any) -> float:
    """Return an upper bound of a size."""
    return x.scope.bounds(x)[1] if type(x) is Dim else x


def estimated(x: Any) -> int:
    """Return a number for a size, of which nothing may depend but how long something takes."""
    if type(x) is not Dim:
        return x
    scope: Any = x.scope
    values = scope.hints if scope.is_open else dict.fromkeys(variables(x), _TYPICAL)
    try:
        return max(1, evaluate(x, values))
    except ZeroDivisionError:
        return _TYPICAL


_TYPICAL = 64  # of sizes without a number


def is_unknown(x) -> bool:
    """Whether a size has no number: where a trace leaves it open, there is one to ask for."""
    return is_dim(x) and not x.scope.is_open


def is_below(x, y) -> bool:
    """Whether a size is known to be less than another."""
    difference = x - y
    if type(difference) is not Dim or difference.scope.is_open:
        return difference < 0
    return most_of(difference) < 0


def broadcast_shapes(*shapes) -> Any:
    """Return the shape that shapes broadcast to, aligned at their last dimensions.

    A symbolic size goes with itself and with 1.

    Raises:
      ValueError: sizes differ and none is 1.
    """
    if not any(type(n) is Dim for shape in shapes for n in shape):
        return np.broadcast_shapes(*shapes)
    rank = max(map(len, shapes))
    out = []
    aligned = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    for column in zip(*aligned, strict=True):
        size = 1
        for n in column:
            if n != 1 and size not in (1, n):
                raise errors.user_error(
                    ValueError,
                    f"sizes {size} and {n} do not broadcast.",
                    fix="make them equal, or one of them 1.",
                    anchor="shape-broadcast",
                )
            size = size if n == 1 else n
        out.append(size)
    return tuple(out)


def ceildiv(a, b):
    """Return the quotient of sizes, rounded up."""
    if type(a) is not Dim or type(b) is Dim or b == 1:
        return -(-a // b)
    if b < 0:
        a, b = -a, -b
    for fn, cases in extrema(a):
        if all(c % b == 0 for case in cases for m, c in terms_of(case).items() if m):
            return apply(fn, *[ceildiv(case, b) for case in cases])  # which are no quotients
    return (a + b - 1) // b


def slice_bounds(part: slice, size) -> Any:
    """Return start, step and count of a slice of a dimension, any of which may be symbolic.

    Raises:
      TypeError: a bound is no integer.
      ValueError: the step is zero.
    """
    ends = tuple(map(bare, (part.start, part.stop, part.step)))
    if ends[2] is not None and type(ends[2]) is not Dim and index(ends[2]) == 0:
        raise errors.user_error(
            ValueError, "slice step cannot be zero.", fix="use 1, or -1 for the reversed order."
        )
    if not any(type(n) is Dim for n in (size, *ends)):
        start, stop, step = part.indices(size)
        return start, step, len(range(start, stop, step))
    start, stop, step = [None if n is None else size_of(n) for n in ends]
    step = 1 if step is None else index(step)
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def place(n, otherwise):
        if n is None:
            return otherwise
        if is_below(n, 0):
            return max_of(low, n + size)
        return min_of(high, n)

    first, last = (low, high) if step > 0 else (high, low)
    start, stop = place(start, first), place(stop, last)
    distance = stop - start if step > 0 else start - stop
    return start, step, max_of(0, ceildiv(distance, abs(step)))
