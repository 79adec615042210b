"""Reductions of the NumPy interface: sums, products, extremes, means and counts.

A reduction is described by a `_Reduction`: the primitive, its identity and its rules about dtypes.
What a call amounts to (which axes, which conversions before and after) depends on the aval and the
static arguments only; it is worked out once and kept as a `_Resolved`.

Dtypes are JAX's: sums and products of booleans and narrow integers are taken in the default
integer type, of 16-bit floats in float32 and then rounded; means of integers are floats.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from evertrace._src import config, dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    canonical_axis,
    no_out,
    operand,
    scalar_of,
)
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import div_p
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.ops.reduce import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
)
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import expand_dims, reduce_sum_p, reshape
from evertrace._src.support import Cache

# ---------------------------------------------------------------- the one mechanism


class _Reduction:
    """What distinguishes one reduction from another.

    Attributes:
      bind: function of an operand and the axes.
      identity: function of a dtype.
      combine: function of two operands.
      accumulates: whether narrow integers and 16-bit floats are widened while reducing.
    """

    __slots__ = (
        "accumulates", "bind", "combine", "has_identity", "identity", "name", "to_bool",
    )  # fmt: skip

    def __init__(
        self, name, bind, identity, combine, accumulates=False, to_bool=False, has_identity=True
    ):
        self.name, self.bind, self.identity, self.combine = name, bind, identity, combine
        self.accumulates, self.to_bool, self.has_identity = accumulates, to_bool, has_identity


class _Resolved:
    """What to do with arrays of one aval under some static arguments.

    Attributes:
      axes: to be reduced.
      compute, result: dtypes.
      kept: axes of size 1 to put back.
    """

    __slots__ = ("axes", "compute", "kept", "result")

    def __init__(self, axes, compute, result, kept):
        self.axes, self.compute, self.result, self.kept = axes, compute, result, kept


_known = Cache("resolved reductions", 20_000)


def _bind_sum(x, axes):
    return reduce_sum_p.bind(x, axes=axes, out_sharding=None)


def _binder(prim):
    return lambda x, axes: prim.bind(x, axes=axes)


_SUM = _Reduction("sum", _bind_sum, lambda dtype: 0, ufuncs.add, accumulates=True)
_PROD = _Reduction(
    "prod", _binder(reduce_prod_p), lambda dtype: 1, ufuncs.multiply, accumulates=True
)
_MAX = _Reduction("max", _binder(reduce_max_p), lowest, ufuncs.maximum, has_identity=False)
_MIN = _Reduction("min", _binder(reduce_min_p), highest, ufuncs.minimum, has_identity=False)
_ANY = _Reduction("any", _binder(reduce_or_p), lambda dtype: False, ufuncs.logical_or, to_bool=True)
_ALL = _Reduction(
    "all", _binder(reduce_and_p), lambda dtype: True, ufuncs.logical_and, to_bool=True
)


def _reduce(
    kind, a, axis=None, dtype=None, keepdims=False, initial=None, where=None, promote_integers=True
):
    """Carry out a reduction as NumPy describes it."""
    x = operand(kind.name, a)
    key = kind.name, x.aval, axis, dtype, keepdims, promote_integers, config.current().enable_x64
    try:
        how = _known.data[key]
    except KeyError:
        how = _known.put(key, _resolve(kind, x.aval, axis, dtype, keepdims, promote_integers))
    except TypeError:  # axes in a list, or a dtype that cannot be hashed
        how = _resolve(kind, x.aval, axis, dtype, keepdims, promote_integers)
    _check_nonempty(kind, x.aval, how.axes, initial, where)
    x = convert(x, how.compute)
    if where is not None:
        x = masked(kind.name, x, where, kind.identity(how.compute))
    out = kind.bind(x, how.axes)
    if initial is not None:
        out = kind.combine(_initial_operand(kind.name, initial, how.compute), out)
    return convert(expand_dims(out, how.kept), how.result)


def _initial_operand(name, initial, dtype):
    if type(initial) in dtypes.PYTHON_SCALARS:
        return scalar_of(initial, dtype)
    x = operand(name, initial)
    if x.ndim != 0:
        raise errors.user_error(
            ValueError,
            f"{name}: `initial` must be a scalar, not an array of shape {x.shape}.",
            fix=f"combine the result of `{name}` with the array afterwards.",
            anchor="shape",
        )
    return convert(x, dtype)


def _resolve(kind, aval, axis, dtype, keepdims, promote_integers):
    axes = canonical_axes(kind.name, axis, aval.ndim)
    if kind.to_bool:
        compute = result = np.dtype(np.bool_)
    else:
        if dtype is not None:
            result = dtypes.check_user_dtype_supported(dtype, kind.name)
        elif kind.accumulates:
            result = sum_dtype(aval.dtype, promote_integers)
        else:
            result = aval.dtype
        compute = accumulation_dtype(result) if kind.accumulates else result
    return _Resolved(axes, compute, result, axes if keepdims else ())


def sum_dtype(dtype, promote_integers):
    """Return the dtype of a sum: at least the default width for integers."""
    if dtype == np.bool_:
        return dtypes.default_dtype(int)
    if promote_integers and dtypes.issubdtype(dtype, np.integer):
        wide = np.uint64 if dtypes.issubdtype(dtype, np.unsignedinteger) else np.int64
        wide = dtypes.canonicalize_dtype(wide)
        return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype
    return dtype


def accumulation_dtype(dtype):
    """Return the dtype in which to add up numbers of `dtype`: float32 for narrower floats."""
    if dtypes.issubdtype(dtype, np.floating) and dtypes.itemsize_bits(dtype) < 32:
        return np.dtype(np.float32)
    return dtype


def _check_nonempty(kind, aval, axes, initial, where):
    if kind.has_identity or initial is not None:
        return
    if where is not None:
        raise errors.user_error(
            ValueError,
            f"{kind.name}: has no identity, so `where` needs a value for the case that nothing is "
            "selected.",
            fix="pass `initial=`.",
            anchor="empty-reduction",
        )
    if aval.size == 0 and builtins.any(aval.shape[i] == 0 for i in axes):
        raise errors.user_error(
            ValueError,
            f"{kind.name}: zero-size array of shape {aval.shape} has no {kind.name}imum, since the "
            "reduction has no identity.",
            fix="pass `initial=`, or leave empty arrays out.",
            anchor="empty-reduction",
        )


def masked(name, x, where, fill):
    """Return `x` with `fill`, a Python or NumPy scalar, where the mask `where` does not hold."""
    where = convert(operand(name, where), np.dtype(np.bool_))
    shape = dims.broadcast_shapes(x.aval.shape, where.aval.shape)
    x, where = broadcast_to(x, shape), broadcast_to(where, shape)
    fill = broadcast_to(scalar_of(fill, x.aval.dtype), shape)
    return select_n_p.bind(where, fill, x)


# ---------------------------------------------------------------- sums, products, extremes, bits


@native.planned(by_type=False)
def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Sum the elements along axes.

    Args:
      a: array of shape ``[...]``.
      axis: int, tuple of ints or None (all axes).
      dtype: of the result; default as `a`, but at least the default integer for integers (unless
        `promote_integers` is false) and booleans. 16-bit floats are added in float32.
      out: must be None.
      keepdims: whether to keep the reduced axes, with size 1.
      initial: number that is added to each sum.
      where: boolean mask, broadcast to `a`, of the elements that count.
      promote_integers: see `dtype`.

    Returns:
      Array of the shape of `a` without `axis`.

    Raises:
      TypeError: `a` is a list; call `array` first.
      AxisError: there is no such axis.

    Example:
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]))
      Array(10, dtype=int32)
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=1, keepdims=True)
      Array([[3],
             [7]], dtype=int32)
      >>> jnp.sum(jnp.array([1.0, 2.0, 3.0]), where=jnp.array([True, False, True]))
      Array(4., dtype=float32)
    """
    no_out("sum", out)
    return _reduce(_SUM, a, axis, dtype, keepdims, initial, where, promote_integers)


@native.planned(by_type=False)
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Multiply the elements along axes; the arguments are those of `sum`.

    Example:
      >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([3, 8], dtype=int32)
    """
    no_out("prod", out)
    return _reduce(_PROD, a, axis, dtype, keepdims, initial, where, promote_integers)


@native.planned(by_type=False)
def max(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element along axes; NaN if there is one.

    Args:
      a: array; must not be empty along `axis` unless `initial` is given.
      axis: int, tuple of ints or None (all axes).
      out: must be None.
      keepdims: whether to keep the reduced axes, with size 1.
      initial: least possible result; required with `where`.
      where: boolean mask, broadcast to `a`, of the elements that count.

    Raises:
      ValueError: the array is empty along `axis`, or there is a mask, and `initial` is missing.

    Example:
      >>> jnp.max(jnp.array([[1, 5], [4, 2]]), axis=0)
      Array([4, 5], dtype=int32)
    """
    no_out("max", out)
    return _reduce(_MAX, a, axis, None, keepdims, initial, where)


@native.planned(by_type=False)
def min(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the smallest element along axes; NaN if there is one. Arguments as in `max`.

    Example:
      >>> jnp.min(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([1, 2], dtype=int32)
    """
    no_out("min", out)
    return _reduce(_MIN, a, axis, None, keepdims, initial, where)


def amax(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element along axes: another name of `max`.

    Example:
      >>> jnp.amax(jnp.array([1, 5, 3]))
      Array(5, dtype=int32)
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the smallest element along axes: another name of `min`.

    Example:
      >>> jnp.amin(jnp.array([4, 1, 3]))
      Array(1, dtype=int32)
    """
    return min(a, axis, out, keepdims, initial, where)


@native.planned(by_type=False)
def any(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether any element along axes is true (not zero).

    Example:
      >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    no_out("any", out)
    return _reduce(_ANY, a, axis, None, keepdims, None, where)


@native.planned(by_type=False)
def all(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether all elements along axes are true (not zero).

    Example:
      >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    no_out("all", out)
    return _reduce(_ALL, a, axis, None, keepdims, None, where)


@native.planned(by_type=False)
def ptp(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Array:
    """Return the difference between the largest and the smallest element along axes.

    Example:
      >>> jnp.ptp(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([4, 2], dtype=int32)
    """
    no_out("ptp", out)
    return ufuncs.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@native.planned(by_type=False)
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements along axes that are not zero, as the default integer type.

    Example:
      >>> jnp.count_nonzero(jnp.array([[0, 5], [4, 2]]), axis=1)
      Array([1, 2], dtype=int32)
    """
    nonzero = ufuncs.not_equal(operand("count_nonzero", a), 0)
    return sum(nonzero, axis, dtypes.default_dtype(int), keepdims=keepdims)


# ---------------------------------------------------------------- positions of extremes


@native.planned(by_type=False)
def argmax(
    a: ArrayLike, axis: int | None = None, out: Any = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first largest element, or of the first NaN.

    Args:
      a: array, not empty along `axis`.
      axis: int; None takes the index into the flattened array.
      out: must be None.
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      int32 array (int64 with ``enable_x64``).

    Raises:
      ValueError: the array is empty.

    Example:
      >>> jnp.argmax(jnp.array([[1, 5], [4, 2]]))
      Array(1, dtype=int32)
      >>> jnp.argmax(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    no_out("argmax", out)
    return arg_reduce("argmax", argmax_p, a, axis, keepdims)


@native.planned(by_type=False)
def argmin(
    a: ArrayLike, axis: int | None = None, out: Any = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first smallest element, or of the first NaN; see `argmax`.

    Example:
      >>> jnp.argmin(jnp.array([[1, 5], [4, 2]]), axis=1)
      Array([0, 1], dtype=int32)
    """
    no_out("argmin", out)
    return arg_reduce("argmin", argmin_p, a, axis, keepdims)


def arg_reduce(name, prim, a, axis, keepdims):
    """Return where along an axis, or in the flattened array, `prim` finds its extremum."""
    x = operand(name, a)
    kept = canonical_axes(name, axis, x.aval.ndim) if keepdims else ()
    if axis is None:
        x, axis = reshape(x, (x.aval.size,)), 0
    axis = canonical_axis(name, axis, x.aval.ndim)
    if x.aval.shape[axis] == 0:
        raise errors.user_error(
            ValueError,
            f"{name}: attempt to get {name} of an empty sequence, axis {axis} of shape "
            f"{x.aval.shape}.",
            fix="leave empty arrays out.",
            anchor="empty-reduction",
        )
    out = prim.bind(x, axes=(axis,), index_dtype=dtypes.default_dtype(int))
    return expand_dims(out, kept)


# ---------------------------------------------------------------- means


@native.planned(by_type=False)
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return the arithmetic mean along axes.

    Args:
      a: array.
      axis: int, tuple of ints or None (all axes).
      dtype: of the result; default as `a`, float32 for integers. 16-bit floats are added in
        float32.
      out: must be None.
      keepdims: whether to keep the reduced axes, with size 1.
      where: boolean mask, broadcast to `a`, of the elements that count.

    Returns:
      Floating array of the shape of `a` without `axis`; NaN where there are no elements.

    Example:
      >>> jnp.mean(jnp.array([[1, 2], [3, 5]]), axis=0)
      Array([2. , 3.5], dtype=float32)
    """
    no_out("mean", out)
    x = operand("mean", a)
    how, count = _resolve_mean(x.aval, axis, dtype, keepdims)
    if where is not None:
        count = count_selected("mean", x, how.axes, keepdims, where, how.compute)
        total = sum(x, how.axes, how.compute, keepdims=keepdims, where=where)
        return convert(ufuncs.divide(total, count), how.result)
    total = _bind_sum(convert(x, how.compute), how.axes)
    return convert(div_p.bind(expand_dims(total, how.kept), count), how.result)


def _resolve_mean(aval, axis, dtype, keepdims):
    """Return the resolved arguments of a mean and the number of its elements as a literal."""
    key = "mean", aval, axis, dtype, keepdims, config.current().enable_x64
    try:
        return _known.data[key]
    except (KeyError, TypeError):
        pass
    axes = canonical_axes("mean", axis, aval.ndim)
    result, compute = inexact_dtypes("mean", aval.dtype, dtype)
    how = _Resolved(axes, compute, result, axes if keepdims else ())
    count = number_along(aval, axes)
    made = how, scalar_of(count, compute)
    if dims.is_dim(count):  # whose operand is of this trace
        return made
    return made if isinstance(axis, list) else _known.put(key, made)


def number_along(aval, axes):
    """Return the number of elements along axes, as a float or a symbolic size."""
    count = math.prod([aval.shape[i] for i in axes])
    return count if dims.is_dim(count) else float(count)


def inexact_dtypes(name, dtype, wanted):
    """Return the dtype of a mean or variance, and the one to compute it in."""
    if wanted is None:
        result = dtypes.to_inexact_dtype(dtype)
    else:
        result = dtypes.check_user_dtype_supported(wanted, name)
    return result, accumulation_dtype(dtypes.to_inexact_dtype(result))


def count_selected(name, x, axis, keepdims, where, dtype):
    """Return how many elements that a mask selects each result is made of."""
    where = convert(operand(name, where), np.dtype(np.bool_))
    return sum(broadcast_to(where, x.aval.shape), axis, dtype, keepdims=keepdims)
