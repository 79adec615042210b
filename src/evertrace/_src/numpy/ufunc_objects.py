"""The functions of `evertrace.numpy` that are of class `ufunc`, and their methods by primitives.

The library's own code and operators use the functions that these objects call.
"""

import functools
from typing import Any

import numpy as np

from evertrace._src import dtypes
from evertrace._src.lax import cumulative as lax_cumulative
from evertrace._src.lax.reduce import reduce_and, reduce_or, reduce_xor
from evertrace._src.numpy import cumulative, elementary, reductions, ufuncs
from evertrace._src.numpy.arguments import canonical_axes, canonical_axis, operand
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.numpy.shape import expand_dims
from evertrace._src.numpy.ufunc_class import one_axis_error, ufunc, with_options
from evertrace._src.ops.convert import convert


def _extreme(function, a, *, axis, dtype, keepdims, initial, where):
    """Reduce by `max` or `min`, which have no dtype."""
    if dtype is not None:
        a = convert(a, dtypes.check_user_dtype_supported(dtype, function.__name__))
    return function(a, axis=axis, keepdims=keepdims, initial=initial, where=where)


def _by_bits(function, lax_reduce, identity, a, *, axis, dtype, keepdims, initial, where):
    """Reduce integers or booleans by a reduction that knows the identity."""
    name = f"{function.__name__}.reduce"
    axes = canonical_axes(name, axis, a.aval.ndim)
    dtype = None if dtype is None else dtypes.check_user_dtype_supported(dtype, name)
    if function in _LOGICAL:
        a = convert(a, np.dtype(bool))
    elif dtype is not None:
        a = convert(a, dtype)
    if where is not None:
        a = elementary.where(broadcast_to(operand(name, where), a.aval.shape), a, identity)
    out = lax_reduce(a, axes)
    if initial is not None:
        out = function(initial, out)
    if dtype is not None:
        out = convert(out, dtype)
    return expand_dims(out, axes) if keepdims else out


def _running(function, lax_function, a, *, axis, dtype):
    """Accumulate by a primitive of running extremes, which has no dtype and takes numbers."""
    name = f"{function.__name__}.accumulate"
    if axis is None or isinstance(axis, tuple | list):
        raise one_axis_error(function, "accumulate", axis)
    dtype = a.aval.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, name)
    numbers = convert(a, np.dtype(np.int8) if dtype == np.bool_ else dtype)
    return convert(lax_function(numbers, canonical_axis(name, axis, a.aval.ndim)), dtype)


def _update(method, a, indices, values):
    return getattr(a.at[indices], method)(values)


def _object(function: Any, nin=2, identity=None, update=None, **methods):
    if update is not None:
        methods["at"] = functools.partial(_update, update)
    name = function.__name__
    return ufunc(function, nin, 1, name=name, identity=identity, call=function, **methods)


def _bits(function, lax_reduce, identity):
    reduce = functools.partial(_by_bits, function, lax_reduce, identity)
    return _object(function, identity=identity, reduce=reduce)


def _of_extreme(function, reduction, running, update):
    return _object(
        function,
        update=update,
        reduce=functools.partial(_extreme, reduction),
        accumulate=functools.partial(_running, function, running),
    )


def _log_of_sum(function):
    call = with_options(function.__name__, function)
    return _object(call, identity=-np.inf)


_LOGICAL = (ufuncs.logical_and, ufuncs.logical_or, ufuncs.logical_xor)

add: ufunc = _object(
    ufuncs.add, identity=0, update="add", reduce=reductions.sum, accumulate=cumulative.cumsum
)
multiply: ufunc = _object(
    ufuncs.multiply,
    identity=1,
    update="multiply",
    reduce=reductions.prod,
    accumulate=cumulative.cumprod,
)
subtract: ufunc = _object(ufuncs.subtract, update="subtract")
negative: ufunc = _object(ufuncs.negative, nin=1)
maximum: ufunc = _of_extreme(ufuncs.maximum, reductions.max, lax_cumulative.cummax, "max")
minimum: ufunc = _of_extreme(ufuncs.minimum, reductions.min, lax_cumulative.cummin, "min")
logaddexp: ufunc = _log_of_sum(elementary.logaddexp)
logaddexp2: ufunc = _log_of_sum(elementary.logaddexp2)
logical_and: ufunc = _bits(ufuncs.logical_and, reduce_and, True)
logical_or: ufunc = _bits(ufuncs.logical_or, reduce_or, False)
logical_xor: ufunc = _bits(ufuncs.logical_xor, reduce_xor, False)
bitwise_and: ufunc = _bits(ufuncs.bitwise_and, reduce_and, -1)
bitwise_or: ufunc = _bits(ufuncs.bitwise_or, reduce_or, 0)
bitwise_xor: ufunc = _bits(ufuncs.bitwise_xor, reduce_xor, 0)
