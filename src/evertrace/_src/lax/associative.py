"""associative_scan: all prefixes of a sequence under an associative operation, in log depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from evertrace._src import dims, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.lifted import unchanging
from evertrace._src.jit.observe import stateful
from evertrace._src.jit.opened import opened
from evertrace._src.lax.compare import ge
from evertrace._src.lax.creation import broadcasted_iota, full
from evertrace._src.lax.loops import while_loop
from evertrace._src.lax.slicing import dynamic_slice_in_dim
from evertrace._src.ops.convert import convert
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import concatenate_p, slice_p
from evertrace._src.ops.structural import reshape, rev_p

T = TypeVar("T")


@stateful
def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Return the running results of an associative operation along an axis.

    Element k of the result is ``fn(... fn(fn(e0, e1), e2) ..., ek)``, computed in a tree of about
    log2(n) steps, each of which combines many elements at once.

    Args:
      fn: associative function ``(a, b) -> c`` of trees like `elems`; it is applied to slices along
        `axis` of any size and must work on their elements independently.
      elems: tree of arrays with one size along `axis`.
      reverse: whether to run from the end.
      axis: the axis, from ``-n`` to ``n - 1``.

    Returns:
      A tree like `elems`.

    Raises:
      TypeError: `fn` is no function.
      ValueError: sizes along `axis` differ.

    Source: the recursion over pairs of R. E. Ladner and M. J. Fischer, "Parallel prefix
    computation", Journal of the ACM 27(4), 1980.

    Example:
      >>> lax.associative_scan(jnp.multiply, jnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
      >>> lax.associative_scan(jnp.maximum, jnp.array([1, 3, 2, 0]), reverse=True)
      Array([3, 3, 2, 0], dtype=int32)
    """
    if not callable(fn):
        raise errors.user_error(
            TypeError,
            f"associative_scan: fn must be a function, got {type(fn).__name__}.",
            fix="pass the operation first, then the elements.",
            anchor="associative-scan",
        )
    leaves, treedef = tree.flatten(opened(elems))
    leaves = [as_operand(x, "associative_scan") for x in leaves]
    if not leaves:
        return elems
    axes = [_axis(x.aval, axis) for x in leaves]
    sizes = {x.aval.shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(sizes) > 1:
        raise errors.user_error(
            ValueError,
            f"associative_scan: sizes along axis {axis} differ: {sorted(sizes)}.",
            fix="pass arrays of one size along the axis.",
            anchor="associative-scan",
        )

    combined = unchanging("associative_scan", fn)

    def combine(a, b):
        out = tree.leaves(opened(combined(tree.unflatten(treedef, a), tree.unflatten(treedef, b))))
        return [as_operand(x, "associative_scan") for x in out]

    if reverse:
        leaves = _reversed(leaves, axes)
    outs = _prefixes(combine, leaves, axes)
    return tree.unflatten(treedef, _reversed(outs, axes) if reverse else outs)


def _axis(aval, axis):
    if not -aval.ndim <= axis < aval.ndim:
        raise errors.user_error(
            errors.AxisError,
            f"associative_scan: axis {axis} is out of range for an array of shape {aval.shape}.",
            fix="use an axis that all arrays have.",
            anchor="axis",
        )
    return axis % aval.ndim


def _reversed(xs, axes):
    return [rev_p.bind(x, dimensions=(a,)) for x, a in zip(xs, axes, strict=True)]


def _prefixes(combine, xs, axes):
    """Return all prefixes: those of even length from pairs, the others by one more element.

    A trace that leaves the size open asks nothing of it but how often it can be halved, and whether
    two or three are left then: so it is one for all sizes of half an octave.
    """
    n = xs[0].aval.shape[axes[0]]
    if dims.is_unknown(n):
        return _by_doubling(combine, xs, axes, n)
    if n < 2:
        return xs
    pairs = combine(_take(xs, axes, 0, n - 1, 2), _take(xs, axes, 1, n, 2))
    odd = _prefixes(combine, pairs, axes)
    even = _take(xs, axes, 0, 1, 1)
    if n > 2:
        rest = _take(xs, axes, 2, n, 2)
        count = rest[0].aval.shape[axes[0]]
        is_all = not dims.is_dim(n) and n % 2
        later = combine(odd if is_all else _take(odd, axes, 0, count, 1), rest)
        even = [_join([x, y], a) for x, y, a in zip(even, later, axes, strict=True)]
    woven = _woven if dims.is_dim(n) else _interleaved
    return [woven(x, y, a, n) for x, y, a in zip(even, odd, axes, strict=True)]


def _by_doubling(combine, xs, axes, n):
    """Return all prefixes of as many elements as there are: each turn doubles what they hold."""

    def turn(state):
        step, ys = state
        twice = [(_join([y, y], axis), axis) for y, axis in zip(ys, axes, strict=True)]
        begin = n - step
        earlier = [
            dynamic_slice_in_dim(y, begin, n, axis, allow_negative_indices=False)
            for y, axis in twice
        ]
        return 2 * step, [
            select(_is_from(step, y.aval, axis), whole, y)
            for y, whole, axis in zip(ys, combine(earlier, ys), axes, strict=True)
        ]

    return while_loop(lambda state: state[0] < n, turn, (np.int32(1), xs))[1]


def _is_from(step, aval, axis):
    """Return where along an axis elements have so many before them."""
    places = broadcasted_iota(np.int32, aval.shape, axis)
    return ge(places, full(aval.shape, step, np.int32))


def _take(xs, axes, start, limit, stride):
    """Return slices with a stride along each array's axis."""
    return [_slice(x, a, start, limit, stride) for x, a in zip(xs, axes, strict=True)]


def _slice(x, axis, start, limit, stride):
    rank, shape = x.aval.ndim, x.aval.shape
    return slice_p.bind(
        x,
        start_indices=tuple(start if i == axis else 0 for i in range(rank)),
        limit_indices=tuple(limit if i == axis else shape[i] for i in range(rank)),
        strides=None if stride == 1 else tuple(stride if i == axis else 1 for i in range(rank)),
    )


def _join(xs, axis):
    return concatenate_p.bind(*xs, dimension=axis)


def _interleaved(even, odd, axis, n):
    """Return the n elements of both in turn, strongly typed; there may be one more even one."""
    count = odd.aval.shape[axis]
    out = _in_turn(_slice(even, axis, 0, count, 1) if n % 2 else even, odd, axis)
    if n % 2:
        out = _join([out, _slice(even, axis, count, count + 1, 1)], axis)
    return convert(out, out.aval.dtype)


def _woven(even, odd, axis, n):
    """Do what `_interleaved` does, whether there is one more even one or not."""
    count = even.aval.shape[axis]
    longer = _join([odd, _slice(odd, axis, 0, 1, 1)], axis)
    out = _in_turn(even, _slice(longer, axis, 0, count, 1), axis)
    return convert(_slice(out, axis, 0, n, 1), out.aval.dtype)


def _in_turn(even, odd, axis):
    """Return the elements of both in turn."""
    shape = even.aval.shape
    column = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    pairs = _join([reshape(even, column), reshape(odd, column)], axis + 1)
    return reshape(pairs, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))
