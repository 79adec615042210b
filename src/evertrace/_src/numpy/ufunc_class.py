"""`ufunc`: elementwise functions as objects, with the methods of NumPy's universal functions.

The methods call the function in a loop over the elements along an axis (`scan`), from left to
right as NumPy does, since nothing is known of it; `ufunc_objects` gives those of NumPy's own
functions that have a primitive. `call` stands in the slot ``__call__`` of the object itself, where
Python finds it without a frame of ours in between.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.tracing import eval_shape
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.tracer import concrete_value
from evertrace._src.doors import door
from evertrace._src.lax.loops import scan
from evertrace._src.numpy import elementary, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, no_out, operand
from evertrace._src.numpy.creation import arange, full
from evertrace._src.numpy.functional import vectorize
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import aligned, broadcast_to, check_arraylike
from evertrace._src.numpy.shape import expand_dims, moveaxis, ravel, reshape
from evertrace._src.numpy.ufunc import refused_option
from evertrace._src.ops.convert import convert
from evertrace._src.support import listed


class ufunc:  # NumPy's name
    """An elementwise function of arrays that broadcast, with methods that apply it in other ways.

    Some functions of `evertrace.numpy`, such as `add`, are of this class; `frompyfunc` makes more.

    Args:
      func: function of scalars, or of arrays where `call` is given.
      nin: number of its arguments.
      nout: number of its results.
      name: default that of `func`.
      nargs: default `nin`.
      identity: what leaves the other argument as it is, or None.
      call: the function of arrays; default `func` by `vectorize`.
      reduce: what does the work of the method of that name, with its arguments; and so on.
      accumulate: likewise.
      at: likewise.
      reduceat: likewise.

    Attributes:
      nin, nout, nargs, identity: as given.

    Two of them are equal if they were made from the same arguments. Differs from NumPy: there are
    no `out` and `where` in calls, `types`, `signature` and `resolve_dtypes`.

    Example:
      >>> jnp.maximum.accumulate(jnp.array([1, 3, 2, 5]))
      Array([1, 3, 3, 5], dtype=int32)
      >>> jnp.multiply.outer(jnp.arange(3), jnp.arange(3))[2]
      Array([0, 2, 4], dtype=int32)
    """

    __slots__ = ("__call__", "__dict__", "__weakref__", "_made_of", "_methods")

    def __init__(
        self,
        func: Any,
        /,
        nin: Any,
        nout: Any,
        *,
        name: Any = None,
        nargs: Any = None,
        identity: Any = None,
        call: Any = None,
        reduce: Any = None,
        accumulate: Any = None,
        at: Any = None,
        reduceat: Any = None,
    ) -> None:
        if not callable(func):
            raise errors.user_error(
                TypeError,
                f"ufunc: func must be callable, got {func!r} of type {type(func).__name__}.",
                fix="pass a function of scalars.",
                anchor="not-callable",
            )
        nin, nout = operator.index(nin), operator.index(nout)
        nargs = nin if nargs is None else operator.index(nargs)
        kind = type(func)
        name = getattr(func, "__name__", kind.__name__) if name is None else name
        self.__name__ = self.__qualname__ = name
        self.__module__ = getattr(func, "__module__", kind.__module__)
        self.__doc__, self.__wrapped__ = func.__doc__, func
        self._made_of = (func, nin, nout, self.__name__, nargs, identity, call)
        self._methods = (reduce, accumulate, at, reduceat)
        self.__call__ = _vectorized(self.__name__, func, nin) if call is None else call

    if TYPE_CHECKING:
        nin: int
        nout: int
        nargs: int
        identity: Any
        __name__: str
        __wrapped__: Any

        __call__: Any
    else:
        nin = property(lambda self: self._made_of[1], doc="The number of arguments.")
        nout = property(lambda self: self._made_of[2], doc="The number of results.")
        nargs = property(lambda self: self._made_of[4], doc="The number of arguments.")
        identity = property(lambda self: self._made_of[5], doc="What changes nothing, or None.")

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, ufunc):
            return NotImplemented
        return (self._made_of, self._methods) == (other._made_of, other._methods)

    def __hash__(self) -> int:
        return hash((self._made_of, self._methods))

    def __reduce__(self) -> Any:
        """Pickle and copy the library's own by name, others by what they were made of."""
        if self.__module__ == "evertrace.numpy":
            return self.__name__
        return _remade, (self._made_of, self._methods)

    # ------------------------------------------------------------ methods

    def reduce(
        self,
        a: Any,
        axis: int = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Combine the elements along an axis, from left to right.

        Args:
          a: array; must not be empty along `axis` unless there are `initial` or an identity.
          axis: int, or None for all elements.
          dtype: of the result; default what the function returns.
          out: must be None.
          keepdims: keep the axis, with size 1.
          initial: value to start with.
          where: mask, broadcast with `a`, of the elements that count. Needs `initial` or an
            identity.

        Example:
          >>> jnp.subtract.reduce(jnp.array([10, 1, 2]))
          Array(7, dtype=int32)
        """
        x = self._binary_operand("reduce", a)
        no_out(f"{self.__name__}.reduce", out)
        if where is not None and initial is None and self.identity is None:
            raise errors.user_error(
                ValueError,
                f"{self.__name__}.reduce: it does not have an identity, which stands for elements "
                "that `where` leaves out.",
                fix="pass `initial`.",
                anchor="empty-reduction",
            )
        reduce = self._methods[0] or functools.partial(_reduce_in_a_loop, self)
        return reduce(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Return all that `reduce` passes on its way along an axis.

        Args:
          a: array.
          axis: int; of `add` and `multiply` also None, for all elements in order.
          dtype: of the result; default what the function returns.
          out: must be None.

        Example:
          >>> jnp.bitwise_or.accumulate(jnp.array([1, 2, 4]))
          Array([1, 3, 7], dtype=int32)
        """
        x = self._binary_operand("accumulate", a)
        no_out(f"{self.__name__}.accumulate", out)
        accumulate = self._methods[1] or functools.partial(_accumulate_in_a_loop, self)
        return accumulate(x, axis=axis, dtype=dtype)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """Return a copy of an array with the function applied at some indices, one after the other.

        Args:
          a: array.
          indices: index, slice, integer or boolean array, or a tuple of them. An element that is
            named twice is changed twice.
          b: second arguments of a binary function, broadcast with the elements named.
          inplace: must be False, since arrays cannot be changed.

        Example:
          >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False)
          Array([2., 0., 1.], dtype=float32)
        """
        name = f"{self.__name__}.at"
        if inplace:
            raise errors.user_error(
                NotImplementedError,
                f"{name}: arrays cannot be changed in place.",
                fix="pass `inplace=False`, and use the returned array.",
                anchor="immutable",
            )
        if (b is None) is not (self.nin == 1):
            raise errors.user_error(
                TypeError,
                f"{name}: a function of {self.nin} arguments cannot be applied to elements and "
                f"{'nothing else' if b is None else 'values'}.",
                fix="pass values exactly for a binary function.",
            )
        at = self._methods[2] or functools.partial(_at_in_a_loop, self)
        return at(operand(name, a), indices, *(() if b is None else (b,)))

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Combine the elements of slices along an axis.

        Args:
          a: array.
          indices: ``[k]`` integers. Slice number `i` is ``indices[i]:indices[i + 1]``, or the one
            element ``indices[i]`` where that would be empty; the last slice ends with the axis.
          axis: int.
          dtype: of the result; default what the function returns.
          out: must be None.

        Returns:
          `a` with size `k` along the axis. The work is that of `k` reductions of the whole axis.

        Differs from NumPy: an index that is out of range is an IndexError only where it is known;
        the elements are unspecified otherwise.

        Example:
          >>> jnp.add.reduceat(jnp.arange(5), jnp.array([0, 2, 4]))
          Array([1, 5, 4], dtype=int32)
        """
        name = f"{self.__name__}.reduceat"
        x = self._binary_operand("reduceat", a)
        no_out(name, out)
        if axis is None or isinstance(axis, tuple | list):
            raise one_axis_error(self, "reduceat", axis)
        positions = operand(name, indices)
        if positions.aval.ndim != 1 or not dtypes.issubdtype(positions.aval.dtype, np.integer):
            raise errors.user_error(
                ValueError,
                f"{name}: indices must be a vector of integers, got {positions.aval.str_short()}.",
                fix="pass where the slices start.",
                anchor="index",
            )
        axis = canonical_axis(name, axis, x.aval.ndim)
        _check_positions(name, positions, x.aval.shape[axis])
        reduceat = self._methods[3] or functools.partial(_reduceat_in_a_loop, self)
        return reduceat(x, positions, axis=axis, dtype=dtype)

    def outer(self, A: Any, B: Any, /) -> Any:  # NumPy's names
        """Apply the function to all pairs of elements.

        Args:
          A: array.
          B: array.

        Returns:
          Array of shape ``A.shape + B.shape``.

        Example:
          >>> jnp.maximum.outer(jnp.arange(2), jnp.arange(3))
          Array([[0, 1, 2],
                 [1, 1, 2]], dtype=int32)
        """
        x, y = self._binary_operand("outer", A), self._binary_operand("outer", B)
        return self(*aligned(reshape(x, x.aval.shape + (1,) * y.aval.ndim), y))

    def _binary_operand(self, method, a):
        """Return the operand of a method that only binary functions have."""
        if (self.nin, self.nout) != (2, 1):
            raise errors.user_error(
                ValueError,
                f"{self.__name__}.{method}: only functions of two arguments and one result have "
                f"this method, not of {self.nin} and {self.nout}.",
                fix="apply it with `vectorize` or `vmap`.",
            )
        return operand(f"{self.__name__}.{method}", a)


ufunc.__module__ = "evertrace.numpy"


def frompyfunc(func: Callable[..., Any], /, nin: Any, nout: Any, *, identity: Any = None) -> ufunc:
    """Make a `ufunc` of a function of scalars.

    Args:
      func: function of `nin` scalars that returns `nout` of them; it is traced by `vmap`.
      nin: int.
      nout: int.
      identity: what leaves the other argument of a binary function as it is, or None.

    Differs from NumPy: results have the dtypes that the function returns, not dtype object.

    Example:
      >>> gcd = jnp.frompyfunc(jnp.gcd, 2, 1, identity=0)
      >>> gcd.reduce(jnp.array([12, 18, 30]))
      Array(6, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def _remade(made_of, methods):
    func, nin, nout, name, nargs, identity, call = made_of
    reduce, accumulate, at, reduceat = methods
    return ufunc(
        func,
        nin,
        nout,
        name=name,
        nargs=nargs,
        identity=identity,
        call=call,
        reduce=reduce,
        accumulate=accumulate,
        at=at,
        reduceat=reduceat,
    )


def with_options(name, function):
    """Return a function that refuses NumPy's `out` and `where`, as those of `ufunc.py` do."""

    @door
    @functools.wraps(function)
    def call(*args, out=None, where=None):
        if out is not None or where is not None:
            raise refused_option(name, out)
        return function(*args)

    return call


def _vectorized(name, func, nin):
    mapped = vectorize(func)

    def call(*args):
        if len(args) != nin:
            raise errors.user_error(
                TypeError,
                f"{name}: takes {nin} arguments, got {len(args)}.",
                fix=f"pass {nin} arrays.",
            )
        check_arraylike(name, *args)
        return mapped(*args)

    return with_options(name, call)


# ---------------------------------------------------------------- loops


def _result_dtype(function, x, dtype):
    """Return the dtype of results: as asked for, or as the function returns of two elements."""
    if dtype is not None:
        return dtypes.check_user_dtype_supported(dtype, function.__name__)
    element = ShapeDtypeStruct((), x.aval.dtype)
    return eval_shape(function, element, element).dtype


def _reduce_in_a_loop(function, x, *, axis, dtype, keepdims, initial, where):
    """Carry the result along the axis."""
    name, rank = f"{function.__name__}.reduce", x.aval.ndim
    if isinstance(axis, tuple | list):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: takes one axis or None, not the tuple {listed(axis)}: the result would "
            "depend on the order.",
            fix="reduce one axis after the other.",
            anchor="axis",
        )
    mask = None if where is None else broadcast_to(operand(name, where), x.aval.shape)
    kept = tuple(range(rank)) if axis is None else (canonical_axis(name, axis, rank),)
    parts = [x] if mask is None else [x, mask]
    rows = [ravel(part) if axis is None else moveaxis(part, kept[0], 0) for part in parts]
    dtype = _result_dtype(function, x, dtype)
    start, rows = _start(function, name, rows, dtype, initial)

    def step(out, row):
        new = convert(function(out, convert(row[0], dtype)), dtype)
        return (new if mask is None else elementary.where(row[1], new, out)), None

    out, _ = scan(step, start, rows)
    return expand_dims(out, kept) if keepdims else out


def _start(function, name, rows, dtype, initial):
    """Return what a loop starts with and the rows that remain."""
    shape = rows[0].aval.shape
    if initial is None and len(rows) == 1 and shape[0]:
        return convert(rows[0][0], dtype), [rows[0][1:]]
    start = function.identity if initial is None else initial
    if start is None:
        raise errors.user_error(
            ValueError,
            f"{name}: zero-size array to a reduction which has no identity.",
            fix="pass `initial`.",
            anchor="empty-reduction",
        )
    return full(shape[1:], start, dtype), rows


def _accumulate_in_a_loop(function, x, *, axis, dtype):
    name = f"{function.__name__}.accumulate"
    if axis is None or isinstance(axis, tuple | list):
        raise one_axis_error(function, "accumulate", axis)
    axis = canonical_axis(name, axis, x.aval.ndim)
    dtype = _result_dtype(function, x, dtype)
    rows = moveaxis(x, axis, 0)
    if not rows.aval.shape[0]:
        return convert(x, dtype)

    def step(out, row):
        new = convert(function(out, convert(row, dtype)), dtype)
        return new, new

    first = convert(rows[:1], dtype)
    _, rest = scan(step, first[0], rows[1:])
    return moveaxis(concatenate([first, rest]), 0, axis)


def _reduceat_in_a_loop(function, x, positions, *, axis, dtype):
    """Carry the results of all slices along the whole axis."""
    dtype = _result_dtype(function, x, dtype)
    rows = moveaxis(x, axis, 0)
    size, *rest = rows.aval.shape
    start = elementary.where(ufuncs.less(positions, 0), positions + size, positions)
    ends = concatenate([start[1:], full((1,), size, start.aval.dtype)])
    start, ends = (reshape(part, (-1, *(1,) * len(rest))) for part in (start, ends))

    def step(out, numbered):
        i, row = numbered
        row = convert(row, dtype)
        inside = ufuncs.logical_and(ufuncs.less(start, i), ufuncs.less(i, ends))
        out, row, inside, at_start = aligned(out, row, inside, ufuncs.equal(start, i))
        later = elementary.where(inside, convert(function(out, row), dtype), out)
        return elementary.where(at_start, row, later), None

    numbers = arange(size, dtype=start.aval.dtype)
    out, _ = scan(step, full((positions.aval.size, *rest), 0, dtype), (numbers, rows))
    return moveaxis(out, 0, axis)


def _check_positions(name, positions, size):
    known = concrete_value(positions)
    if known is None:
        return
    host = np.asarray(known)
    if ((host < -size) | (host >= size)).any():
        raise errors.user_error(
            IndexError,
            f"{name}: an index is out of range for an axis of size {size}.",
            fix=f"use indices from {-size} to {size - 1}." if size else "pass no indices.",
            anchor="index",
        )


def _at_in_a_loop(function, x, indices, *values):
    """Change one element after the other, in the order of the indices."""
    shape, dtype = x.aval.shape, x.aval.dtype
    places = reshape(arange(x.aval.size), shape)[indices]
    name = f"{function.__name__}.at"
    rows = [ravel(broadcast_to(operand(name, v), places.shape)) for v in values]

    def step(flat, row):
        place, *others = row
        return flat.at[place].set(convert(function(flat[place], *others), dtype)), None

    flat, _ = scan(step, ravel(x), [ravel(places), *rows])
    return reshape(flat, shape)


def one_axis_error(function, method, axis):
    """Build the error for None or a tuple in place of an axis."""
    return errors.user_error(
        ValueError,
        f"{function.__name__}.{method}: does not allow multiple axes, got {axis}.",
        fix="pass one integer.",
        anchor="axis",
    )
