"""Values of any kind as arrays: numbers, arrays of NumPy, nested lists, and what says how itself.

Nested lists are read by NumPy, unless they hold tracers.
"""

import numpy as np

from evertrace._src import doors, dtypes, errors
from evertrace._src.arrays.array import from_host
from evertrace._src.arrays.interop import (
    as_array,
    copied,
    from_numpy,
    is_column,
    not_an_array_error,
)
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import Tracer
from evertrace._src.numpy.promotion import SCALARS, is_operand
from evertrace._src.ops.convert import convert, copy_p
from evertrace._src.ops.slicing import stack_p


def as_given(x, dtype, copy):
    """Return any accepted value as an array of `dtype`, or of its own if that is None."""
    kind = type(x)
    if is_operand[kind]:
        return converted(as_array(x), dtype, copy)
    if kind in SCALARS:
        default = dtypes.default_dtype(kind)
        made = literal(x, default if dtype is None else dtype, dtype is None and kind is not bool)
        return from_host(np.asarray(made.val), made.aval)
    if isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype)
    if issubclass(type(x), (np.ndarray, np.generic)):
        return _from_numpy(x, dtype)
    if hasattr(x, "__jax_array__"):
        return converted(as_array(x.__jax_array__()), dtype, copy)
    if x is None:
        raise errors.user_error(
            ValueError,
            "array: None is not a valid value for an array.",
            fix="pass numbers; `nan` stands for a missing float.",
            anchor="not-an-array",
        )
    made = np.asarray(x)
    if made.dtype.kind == "O" and not is_column(kind):
        raise not_an_array_error(x, "array")  # of what was given, not of what NumPy made of it
    return _from_numpy(made, dtype)


def converted(x, dtype, copy=False):
    """Return an operand in `dtype`, strongly typed, or as it is if that is None."""
    if dtype is None or (x.aval.dtype == dtype and not x.aval.weak_type):
        return copy_p.bind(x) if copy else x
    return convert_to(x, dtype)


def convert_to(x, dtype):
    """Return an operand in a dtype that the user chose; complex numbers lose what is imaginary."""
    if isinstance(x.aval.dtype, dtypes.ExtendedDType) or isinstance(dtype, dtypes.ExtendedDType):
        if x.aval.dtype == dtype:
            return x
        raise errors.user_error(
            errors.DTypeError,
            f"astype: cannot convert {x.aval.dtype} to {dtype}.",
            fix="take the numbers of a key with `random.key_data`.",
            anchor="extended-dtype",
        )
    return convert(x, dtype)


def _from_numpy(x, dtype):
    """Copy a NumPy array; floats become integers as XLA converts them."""
    if dtype is None or x.dtype == dtype:
        return from_numpy(x, "array")
    truncates = dtypes.issubdtype(dtype, np.integer) and x.dtype.kind not in "iub"
    if truncates or x.dtype.kind in "cOSUMmV":
        return convert_to(from_numpy(x, "array"), dtype)
    return from_host(copied(x, dtype))


def _from_sequence(x, dtype):
    """Make an array of nested lists, by NumPy unless they hold arrays."""
    leaves = _leaves(x)
    kinds = set(map(type, leaves))
    if str in kinds or bytes in kinds:
        raise _text_error(next(leaf for leaf in leaves if isinstance(leaf, str | bytes)))
    if dtype is None and leaves:
        dtype = dtypes.result_type(*(kinds if kinds <= SCALARS else map(_typed, leaves)))
    if not any(is_operand[kind] or hasattr(kind, "__jax_array__") for kind in kinds):
        return _from_numpy_values(x, dtype)
    if any(issubclass(kind, Tracer) or hasattr(kind, "__jax_array__") for kind in kinds):
        return stack_p.bind(*_same_shape([as_given(e, dtype, False) for e in x]), axis=0)
    return _from_numpy_values([_host(e, dtype) for e in x], dtype)


def _host(x, dtype):
    return as_given(x, dtype, False)._contents()


def _from_numpy_values(x, dtype):
    """Read nested lists; integers that do not fit raise OverflowError."""
    try:
        if dtype is not None and dtypes.issubdtype(dtype, np.integer):
            found = np.array(x)
            if found.dtype.kind in "fc":
                return _from_numpy(found, dtype)
        if dtype is None:
            return from_numpy(np.array(x), "array")
        return from_host(np.array(x, dtype=dtype, order="C"))
    except ValueError:
        if (ragged := _ragged(x, "")) is None:
            raise
    raise errors.user_error(
        errors.ShapeError,
        f"array: {ragged}; all rows of an array have one shape.",
        fix="fill the shorter rows up (`row + [0] * (n - len(row))`), or keep a list of arrays.",
        anchor="shape",
    )


def _ragged(x, path):
    """Return in words where nested lists differ in length, None where they do not."""
    first = _length(x[0]) if x else ""
    for i, item in enumerate(x):
        if _length(item) != first:
            return f"{path}[0] {first}, but {path}[{i}] {_length(item)}"
    rows = [(i, item) for i, item in enumerate(x) if isinstance(item, list | tuple)]
    return next(filter(None, (_ragged(item, f"{path}[{i}]") for i, item in rows)), None)


def _length(item):
    if not isinstance(item, list | tuple) and np.ndim(item) == 0:
        return "is a number"
    return f"has length {len(item)}"


def _text_error(text):
    return errors.user_error(
        TypeError,
        f"array: {doors.shown(text)} is a text, and arrays hold numbers.",
        fix="read numbers by `float(text)`, or number the texts, as "
        "`np.unique(texts, return_inverse=True)` does.",
        anchor="not-an-array",
    )


_MOST_LEVELS = 64  # NumPy has no more dimensions


def _leaves(x):
    """Return what nested lists and tuples hold."""
    found, pending = [], [(x, 1)]
    while pending:
        items, level = pending.pop()
        if level > _MOST_LEVELS:
            raise errors.user_error(
                ValueError,
                f"array: a list is nested in more than {_MOST_LEVELS} others, or contains itself.",
                fix=f"take out the cycle; arrays have up to {_MOST_LEVELS} dimensions.",
                anchor="tree-depth",
            )
        for item in items:
            if isinstance(item, (list, tuple)):
                pending.append((item, level + 1))
            else:
                found.append(item)
    return found


def _typed(leaf):
    """Return a leaf, or its aval if that has to be found first."""
    if leaf is None:
        raise errors.user_error(
            ValueError,
            "array: None is not a valid value for an array.",
            fix="say what is missing by a number, e.g. `jnp.nan`, or leave it out.",
            anchor="not-an-array",
        )
    if hasattr(leaf, "__jax_array__") and not is_operand[type(leaf)]:
        return leaf.__jax_array__()
    return leaf


def _same_shape(xs):
    shapes = [x.aval.shape for x in xs]
    if len(set(shapes)) > 1:
        raise errors.user_error(
            errors.ShapeError,
            f"array: the elements of a list must have one shape, got {shapes}.",
            fix="pad them, or use `concatenate`.",
            anchor="shape-concatenate",
        )
    return xs
