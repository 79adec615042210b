"""Arguments of the NumPy functions: arrays, and what must be known while tracing.

Axes, shapes and sizes are static, since the shapes of results depend on them. Axes may be negative,
and count from the end then.
"""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from evertrace._src import dims, doors, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, computed, type_of_number
from evertrace._src.core.aval import check_rank
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy.promotion import check_arraylike
from evertrace._src.ops.convert import convert
from evertrace._src.support import listed


def operand(name, a) -> Array:
    """Return an argument as an array or tracer; lists are refused, as everywhere."""
    if type(a) is Array or isinstance(a, Tracer):
        return cast("Array", a)
    check_arraylike(name, a)
    return as_array(a, name)


def scalar_of(value, dtype):
    """Return a Python or NumPy scalar as a literal of exactly `dtype`, a size as an operand."""
    value = dims.bare(value)
    if dims.is_dim(value):
        return convert(as_operand(value, "size"), np.dtype(dtype))
    return literal(value.item() if isinstance(value, np.generic | np.ndarray) else value, dtype)


def no_out(name, out):
    """Raise if the caller gave an array to write the result to."""
    if out is not None:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: arrays cannot be changed, so there is no `out` argument.",
            fix="use the returned array.",
            anchor="immutable",
        )


def canonical_axis(name, axis, ndim) -> int:
    """Return one axis as an int from 0 to ``ndim - 1``; AxisError if there is no such axis."""
    position = static_int(name, "axis", axis)
    if -ndim <= position < ndim:
        return position + ndim if position < 0 else position
    raise errors.user_error(
        errors.AxisError,
        f"{name}: axis {position} is out of bounds for array of dimension {ndim}.",
        fix=f"use an axis from {-ndim} to {ndim - 1}." if ndim else "pass no axis.",
        anchor="axis",
    )


def canonical_axes(name, axis, ndim):
    """Return the axes named by an int, a sequence of ints or None (all axes) as a sorted tuple."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(distinct_axes(name, listed_axes(axis), ndim)))


def listed_axes(axis):
    """Return the axes that an int or a sequence of ints names, as given."""
    return tuple(axis) if isinstance(axis, tuple | list | range) else (axis,)


def distinct_axes(name, axes, ndim):
    """Return several axes as ints from 0 on, in the order given; AxisError if one is repeated."""
    found = tuple(canonical_axis(name, axis, ndim) for axis in axes)
    if len(set(found)) != len(found):
        raise errors.user_error(
            errors.AxisError,
            f"{name}: duplicate value in axes {listed(axes)} for array of dimension {ndim}.",
            fix="name each axis once.",
            anchor="axis",
        )
    return found


def static_int(name, argument, value) -> int:
    """Return an argument that must be known while tracing as an int."""
    if isinstance(value, Tracer) and concrete_value(value) is None and not value.ndim:
        raise traced_argument(name, argument, value)
    try:
        return operator.index(value)
    except TypeError:
        raise _no_integer_error(name, argument, value) from None


_OF_LISTS = ("concat", "concatenate", "stack", "unstack")
"""Functions of several arrays, one list, with an axis after it."""


def _no_integer_error(name, argument, value):
    if dims.is_dim(value):
        return errors.user_error(
            errors.InconclusiveDimensionOperation,
            f"{name}: {argument} must be known while tracing, but it is the symbolic size {value}.",
            fix="give a number, or export for a size that is one.",
            anchor="symbolic-shapes",
        )
    if getattr(value, "ndim", 0) and name in _OF_LISTS:
        fix = f"give several arrays as one list: `{name}([a, b])`."
    elif isinstance(value, tuple | list):
        fix = "give one number, without brackets."
    else:
        fix = "convert it with `int(...)`." if hasattr(value, "__int__") else "give a whole number."
    return errors.user_error(
        TypeError,
        f"{name}: {argument} must be an integer, got {doors.shown(value)} of type "
        f"{type(value).__name__}.",
        fix=fix,
        anchor="arguments",
    )


def integer(name, argument, value) -> Any:
    """Return an integer that need not be known while tracing: an int, or a traced scalar."""
    if isinstance(value, Tracer) and concrete_value(value) is None and not value.ndim:
        return value
    if type_of_number(value) is int is not type(value):
        return as_array(computed(_held, value, dtypes.default_dtype(int)), name)
    return static_int(name, argument, value)


def _held(value, dtype):
    """Return an integer; OverflowError unless `dtype` holds it."""
    dtypes.coerce_python_scalar(value, dtype)
    return value


def static_size(name, argument, value):
    """Return a number of results that must be known while tracing as a size of at least zero."""
    size = static_count(name, argument, value)
    if size < 0:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: {argument} must not be negative, got {size}.",
            fix="pass a number of 0 or more.",
            anchor="shape",
        )
    return size


def traced_argument(name, argument, value, instead=""):
    """Build the error for a traced value in place of a static argument.

    Args:
      name: of the function.
      argument: of the argument.
      value: the traced value.
      instead: what else can be given, in words, if anything.
    """
    return errors.user_error(
        errors.ConcretizationTypeError,
        f"{name}: {argument} must be known while tracing, but it is a traced value "
        f"{value.aval.str_short()}. Shapes of results depend on it.",
        fix=instead
        or "compute it from shapes with NumPy or Python, e.g. `np.prod(x.shape)`, or mark the "
        "argument it comes from static with `static_argnums`.",
        anchor="ConcretizationTypeError",
    )


def static_shape(name, shape) -> tuple[int, ...]:
    """Return a shape, given as an int or a sequence of ints, as a tuple of ints.

    Sizes are not checked to be positive: -1 means "what is left" to some functions.
    """
    if type(shape) is tuple and all(type(size) is int for size in shape):
        check_rank(len(shape))
        return shape
    if isinstance(shape, Tracer) and concrete_value(shape) is None:
        raise traced_argument(name, "shape", shape)
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = (shape,)
    check_rank(len(sizes))
    return tuple([static_count(name, "shape", size) for size in sizes])


def static_count(name, argument, value) -> Any:
    """Return a size that must be known while tracing: an int, or a symbolic size."""
    value = dims.bare(value)
    return value if dims.is_dim(value) else static_int(name, argument, value)
