"""From what users pass to what primitives take: arrays, tracers and literals.

NumPy arrays are copied: their owner may write to them later. Python scalars become weakly typed
literals. 64-bit dtypes become 32-bit ones unless x64 is on.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from evertrace._src import config, dtypes, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.core import transfers
from evertrace._src.core.aval import ShapedArray, ShapeDtypeStruct
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.core.tracer import Tracer

_SCALARS: tuple[Any, ...] = (bool, int, float, complex)

foreign: dict[type, Any] = {}
"""Types of others that stand for arrays -> function that returns what NumPy takes."""

Operand = Array | Tracer | Literal
"""What primitives take."""


def as_operand(x: Any, where: str = "array") -> Array:
    """Return `x` as a primitive's operand: an array, or what annotations take for one.

    That is a tracer or a literal.

    Args:
      x: an array, a tracer, a NumPy array or scalar, a Python scalar, a column of a table, or an
        object with ``__jax_array__``.
      where: name of the operation, for the error.
    """
    kind = type(x)
    if kind is Array or isinstance(x, (Tracer, Literal)):
        return cast("Array", x)
    if kind in _SCALARS:
        return cast("Array", literal(x, dtypes.default_dtype(kind), kind is not bool))
    if issubclass(kind, (np.ndarray, np.generic)):
        return from_numpy(x, where)
    if hasattr(x, "__jax_array__"):
        return as_operand(x.__jax_array__(), where)
    for scalar in _SCALARS:  # enums and other subclasses
        if isinstance(x, scalar):
            return cast("Array", literal(scalar(x), dtypes.default_dtype(scalar), True))
    if kind in foreign:
        return from_numpy(np.asarray(foreign[kind](x)), where)
    if is_column(kind):
        return from_numpy(np.asarray(x), where)
    raise not_an_array_error(x, where)


def is_column(kind: type) -> bool:
    """Whether a type is that of columns of pandas, Polars or Arrow: NumPy reads them.

    Arrow reads them, too, but for indices and arrays of pandas. Tables are no columns: what is
    taken out of one by name would be lost.
    """
    arrow = hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")
    known = arrow or is_of_pandas(kind)
    return known and hasattr(kind, "__array__") and not hasattr(kind, "__dataframe__")


def is_of_pandas(kind: type) -> bool:
    """Whether a type is that of columns, indices, arrays or tables of pandas."""
    return hasattr(kind, "isna")


def as_array(x: Any, where: str = "array") -> Array:
    """Return `x` as an array; to annotations a tracer is one."""
    made: Any = as_operand(x, where)
    return from_host(np.asarray(made.val), made.aval) if type(made) is Literal else made


def rows_of(name: str, arrays: Any) -> Array | None:
    """Return an array that stands for the sequence of its rows; None for what is a sequence.

    A million rows are no million arrays.
    """
    is_array = isinstance(arrays, np.ndarray) or hasattr(arrays, "aval")
    if not is_array or np.ndim(arrays) == 0 or arrays.shape[0] == 0:
        return None
    return as_array(arrays, name)


def from_numpy(x, where="array"):
    """Return an array with a copy of a NumPy array's or scalar's contents."""
    dtype = x.dtype
    if dtype.kind in "OSUMmV" and (
        dtype.kind != "V" or dtype.names is not None or dtype.type is np.void
    ):
        raise not_an_array_error(x, where)
    dtype = dtypes.canonicalize_dtype(dtype)
    if config.current().watched:
        transfers.check("host_to_device", ShapedArray(x.shape, dtype))
    return from_host(copied(x, dtype))


def copied(x: Any, dtype: Any) -> np.ndarray:
    """Return a NumPy array of one's own, with the contents of another in rows."""
    try:
        return np.array(x, dtype=dtype, order="C")
    except MemoryError as error:
        raise errors.numpys_out_of_memory(error) from None


def computed(fn: Callable[..., Any], number: Any, *settings: Any) -> Any:
    """Return ``fn(number, *settings)``; a jitted call computes it anew for each value of `number`.

    What is to be done to a Python number before it becomes an operand (counting an index from the
    front, checking a range) goes through here, so that another number is no other program.

    Args:
      fn: a function of ours, defined in a module, of nothing but its arguments, that returns a
        number. Explanations pass over it.
      number: a Python number, or what stands for one while tracing.
      *settings: constants.
    """
    record = getattr(type(number), "__computed__", None)
    return fn(number, *settings) if record is None else record(number, fn, *settings)


def type_of_number(x: Any) -> type | None:
    """Return the type of the Python number that `x` is or stands for, None for all else."""
    kind = type(x)
    if kind in _SCALARS:
        return kind
    return x.__class__ if hasattr(kind, "__computed__") else None


def aval_of(x: Any, where: str = "array") -> Any:
    """Return the aval that `x` has as an operand, without converting it.

    Example:
      >>> from evertrace.api_util import shaped_abstractify
      >>> shaped_abstractify(np.zeros((2, 3))), shaped_abstractify(1.0)
      (ShapedArray(float32[2,3]), ShapedArray(float32[], weak_type=True))
    """
    if isinstance(x, (Array, Tracer, Literal, ShapeDtypeStruct)):
        return x.aval
    if issubclass(type(x), (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
    if type(x) in _SCALARS:
        return ShapedArray((), dtypes.default_dtype(type(x)), type(x) is not bool)
    return as_operand(x, where).aval


_TEXT = "pass numbers; the number that a text says is `float(text)`."
_REPAIRS: dict[type, str] = {
    str: _TEXT,
    bytes: _TEXT,
    list: "make it one array with `jnp.asarray(x)`.",
    tuple: "make it one array with `jnp.asarray(x)`.",
    type(None): "pass an array; a function that changes its argument in place returns None.",
    dict: "pass its values, `jnp.asarray(list(x.values()))`, or make an array of each, "
    "`tree.map(jnp.asarray, x)`.",
    range: "make it one array with `jnp.asarray(x)`.",
    set: "make one array of its elements, `jnp.asarray(sorted(x))`.",
    frozenset: "make one array of its elements, `jnp.asarray(sorted(x))`.",
}


_NUMBER_TEXTS = (
    "number the texts, `np.unique(x, return_inverse=True)[1]`, or read `x.astype(float)`."
)
_REPAIRS_OF_KINDS = {
    "U": _NUMBER_TEXTS,
    "S": _NUMBER_TEXTS,
    "O": "make it an array of numbers, `x.astype(float)`; texts are numbered by "
    "`np.unique(x, return_inverse=True)[1]`.",
    "M": "count from a time, `(x - x[0]) / np.timedelta64(1, 's')`.",
    "m": "count units of time, `x / np.timedelta64(1, 's')`.",
    "V": "take its fields one by one, `x['name']`.",
}
"""What to do about arrays of NumPy's that hold no numbers, by the kind of their dtype."""


def can_be_written(kind: type) -> bool:
    """Whether values of a class are hijax's that can be written to: what they hold is noted."""
    return hasattr(kind, "cur_qdd")


def repair_of(x: Any, otherwise: str) -> str:
    """Return what to do about a value that is no array."""
    kind = type(x)
    if can_be_written(kind):
        return "pass on what it holds, such as `x[...]`, or leave out JAX's rules (`strict`)."
    if isinstance(x, (np.ndarray, np.generic)):
        return _REPAIRS_OF_KINDS.get(x.dtype.kind, otherwise)
    if hasattr(kind, "__dataclass_fields__"):
        return f"make {kind.__name__} a tree: `ev.tree_util.register_dataclass({kind.__name__})`."
    if kind in _REPAIRS:
        return _REPAIRS[kind]
    if isinstance(x, dict):
        return _REPAIRS[dict]
    if is_of_pandas(kind) and hasattr(kind, "select_dtypes"):
        return "take its columns of numbers: `x.select_dtypes('number').to_numpy()`."
    if hasattr(kind, "__dataframe__"):
        return "take its columns of numbers, each by its name, or `x.to_numpy()` of all."
    if hasattr(kind, "__next__"):
        return "make one array of what it yields, `jnp.asarray(list(x))`."
    if callable(x):
        return "pass what the function returns; one that is to be called comes before the arrays."
    return "convert it, `float(x)`." if hasattr(kind, "__float__") else otherwise


def kind_in_words(x: Any) -> str:
    """Return what a value that is no array is: its type, and the dtype that it has."""
    if is_of_pandas(type(x)) and hasattr(x, "columns"):
        kinds = {name: getattr(getattr(x[name], "dtype", None), "kind", "") for name in x.columns}
        others = [f" with a column {k!r} that is no number" for k in kinds if kinds[k] in "OSUMmV"]
        return type(x).__name__ + "".join(others[:1])
    detail = f" with dtype {x.dtype}" if isinstance(x, (np.ndarray, np.generic)) else ""
    return type(x).__name__ + detail


def not_an_array_error(x, where):
    """Build the error for an argument that is no array."""
    if isinstance(x, np.ndarray) and (missing := _missing_booleans(x)):
        return errors.user_error(
            TypeError,
            f"{where}: {missing} of {x.size} booleans are missing, and no boolean says so.",
            fix="fill them, `x.fillna(False)` (pandas) or `x.fill_null(False)` (Polars, Arrow), "
            "or leave them out.",
            anchor="not-an-array",
        )
    return errors.user_error(
        TypeError,
        f"{where}: {kind_in_words(x)} is not an array type. It takes arrays, NumPy arrays "
        "of numbers or booleans, and Python scalars.",
        fix=repair_of(x, "convert it with `numpy.asarray`, or pass its leaves one by one."),
        anchor="not-an-array",
    )


def _missing_booleans(x: Any) -> int:
    """Return how many are missing of what NumPy makes of a column of booleans, 0 for all else.

    A number that is missing is NaN there.
    """
    if x.dtype.kind != "O":
        return 0
    held = [v for v in x.flat if v is not None and type(v).__name__ != "NAType"]
    return x.size - len(held) if {type(v) for v in held} <= {bool, np.bool_} else 0
