"""searchsorted: the places of values in sorted rows.

Numbers are ordered as `sort` orders keys: NaNs are alike and above all else, zeros are equal.
"""

import numpy as np

from evertrace._src import dims, dtypes, errors, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import batched
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.bits import and_p, not_p, or_p, shift_right_arithmetic_p
from evertrace._src.ops.builders import ORDERED, check_dtype, no_tangent
from evertrace._src.ops.compare import eq_p, lt_p, ne_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import add_p, const, imag_p, real_p
from evertrace._src.ops.indexing import take_along
from evertrace._src.ops.select import select
from evertrace._src.ops.sizes import dim_as_value
from evertrace._src.ops.structural import broadcast_in_dim_p, full, move_batch_dim, reshape


def _abstract(ordered, values, *, right, dtype):
    check_dtype("searchsorted", ordered, ORDERED)
    same = ordered.dtype == values.dtype and ordered.ndim == values.ndim > 0
    if not same or ordered.shape[:-1] != values.shape[:-1]:
        raise errors.user_error(
            errors.ShapeError,
            f"searchsorted: got {ordered} to search in and {values} to search for.",
            fix="pass arrays of one dtype, which differ in their last dimensions at most.",
            anchor="shape",
        )
    return ShapedArray(values.shape, dtype)


def _host(ordered, values, *, right, dtype):
    if kernels.use(values.shape, values.dtype, known=kernels.REALS):
        return kernels.search(ordered, values, right=right, dtype=dtype)
    if values.dtype.isbuiltin != 1:  # a dtype of ml_dtypes, which NumPy cannot search in
        is_float = dtypes.issubdtype(values.dtype, np.floating)
        wide = np.float32 if is_float else np.int16
        ordered, values = ordered.astype(wide), values.astype(wide)
    out = np.empty(values.shape, dtype)
    for row in np.ndindex(*values.shape[:-1]):
        out[row] = np.searchsorted(ordered[row], values[row], "right" if right else "left")
    return out


def _batch(size, args, places, **params):
    ordered, values = args
    if places[0] is None and ordered.aval.ndim == 1:  # one row for all: its values are more
        values = move_batch_dim(values, places[1], 0, size)
        out = searchsorted_p.bind(ordered, reshape(values, (values.aval.size,)), **params)
        return reshape(out, values.aval.shape), 0
    args = [move_batch_dim(x, d, 0, size) for x, d in zip(args, places, strict=True)]
    return searchsorted_p.bind(*args, **params), 0


searchsorted_p = Primitive(
    "searchsorted",
    dtypes=("dtype",),
    is_tape_of_plans=True,
    factors=batched(1),
    abstract=_abstract,
    host=_host,
    batch=_batch,
    jvp=no_tangent,
    transpose=undefined("it is not linear"),
)


def by_halving(ordered, values, *, right, dtype):
    """Write `searchsorted_p`, also of complex numbers, as a binary search in other primitives.

    What is left to search is equally long for all values, whatever they compare to.
    """
    aval = values.aval.update(dtype=dtype, weak_type=False)
    low, left = full(aval, 0), ordered.aval.shape[-1]
    if dims.is_unknown(left):
        return _by_bounds(ordered, values, right, low)
    while left:
        half = max(1, left // 2)
        middle = add_p.bind(low, const(low, half - 1))
        below = _is_below(take_along(ordered, middle, aval.ndim - 1), values, right)
        low = select(below, add_p.bind(low, const(low, half)), low)
        left = left - half if left > 1 else 0
    return low


def _by_bounds(ordered, values, right, low):
    """As `by_halving`, of as many turns as the longest array that there can be needs."""
    size = ordered.aval.shape[-1]
    aval, one = low.aval, const(low, 1)
    last = broadcast_in_dim_p.bind(
        convert(dim_as_value(size - 1), aval.dtype),
        shape=aval.shape,
        broadcast_dimensions=(),
        sharding=None,
    )
    high = add_p.bind(last, one)
    for _ in range(int(dims.most_of(size)).bit_length()):
        half = shift_right_arithmetic_p.bind(add_p.bind(low, high), one)
        middle = select(lt_p.bind(half, last), half, last)
        is_open = lt_p.bind(low, high)
        below = _is_below(take_along(ordered, middle, aval.ndim - 1), values, right)
        low, high = (
            select(and_p.bind(is_open, below), add_p.bind(middle, one), low),
            select(and_p.bind(is_open, not_p.bind(below)), middle, high),
        )
    return low


def _is_below(element, value, right):
    """Whether a value is to be inserted after an element."""
    return not_p.bind(_less(value, element)) if right else _less(element, value)


def _less(x, y):
    """Return ``x < y`` where NaN is larger than all numbers; complex ones go by their parts."""
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        return lt_p.bind(x, y)
    return or_p.bind(_ordered_less(x, y), and_p.bind(ne_p.bind(y, y), eq_p.bind(x, x)))


def _ordered_less(x, y):
    if not dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        return lt_p.bind(x, y)
    (a, b), (c, d) = [(real_p.bind(z), imag_p.bind(z)) for z in (x, y)]
    return or_p.bind(lt_p.bind(a, c), and_p.bind(eq_p.bind(a, c), lt_p.bind(b, d)))
