"""Dtypes as they are named in user programs, questions about dtypes, and constants.

``float32`` and its like are classes that are never instantiated: calling one makes an array of that
dtype, and it compares and converts like NumPy's scalar type of the same name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import ml_dtypes
import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.dtypes import promote_types as promote_types
from evertrace._src.numpy.creation import asarray
from evertrace._src.tracebacks import shortened

F = TypeVar("F", bound=Callable[..., Any])

pi: float = np.pi
e: float = np.e
inf: float = np.inf
nan: float = np.nan
euler_gamma: float = np.euler_gamma
newaxis = None

# ---------------------------------------------------------------- scalar types


def _of_one_value(make: F) -> F:
    """Decorate what makes an array of one value, which is called by the name of its dtype."""

    @functools.wraps(make)
    def outer(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) > 1 or kwargs.keys() - {"x"}:
            count = len(args) + len(kwargs)
            what = f"one value, got {count}" if len(args) > 1 else f"no {', '.join(kwargs.keys())}"
            raise errors.user_error(
                TypeError,
                f"{cls.__name__}: it takes {what}.",
                fix=f"pass one value, or a list: `jnp.{cls.__name__}([1, 2])`.",
                anchor="arguments",
            )
        return make(cls, *args, **kwargs)

    return cast("F", outer)


class ScalarType(type):
    """Metaclass of the scalar types.

    Attributes:
      dtype: the NumPy dtype; by this attribute `numpy.dtype` takes the class for one.
    """

    dtype: np.dtype

    @shortened
    @_of_one_value
    def __call__(cls, x: Any = 0) -> Array:
        """Return `x` as an array of this dtype."""
        return asarray(x, dtype=cls.dtype)

    def __eq__(cls, other: Any) -> bool:
        # NumPy's scalar types raise beside its arrays, see `ndarray.__eq__`.
        is_array = isinstance(other, np.ndarray)
        return cls is other or (not is_array and cls.dtype.type == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> Any:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, held: str, value: str, shown: str) -> Any:
    """Make the scalar type of that name; None if this release of ml_dtypes has no such dtype.

    Args:
      name: of the dtype.
      held: what numbers it holds, for the docstring.
      value: source of a number, for the example.
      shown: what that number is in the dtype.
    """
    scalar = getattr(ml_dtypes, name, None) or getattr(np, name, None)
    if scalar is None:
        return None
    dtype = np.dtype(scalar)
    lines = [f">>> jnp.{name}({value})", f"Array({shown}, dtype={dtype.name})"]
    note = ""
    if name in _WIDE:
        lines[0] = f">>> with ev.enable_x64():\n  ...     jnp.{name}({value})"
        note = f"\n\nWithout ``enable_x64`` the array is of {_WIDE[name]}, and a warning says so."
    doc = (
        f"Scalar type of {held}: ``{name}(x)`` is `x` as an array of that dtype.{note}\n\n"
        "Example:\n  " + "\n  ".join(lines)
    )
    members = {"dtype": dtype, "__doc__": doc, "__module__": "evertrace.numpy"}
    return ScalarType(name, (), members)


_WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _integers(name: str) -> Any:
    """Make the scalar type of an integer dtype; its example is the largest number."""
    bits = int(name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return _scalar_type(name, f"integers from {low} to {high}", str(high), str(high))


def _floats(name: str, held: str, shown: str) -> Any:
    """Make the scalar type of a floating dtype; its example is what is left of pi."""
    return _scalar_type(name, f"floats ({held})", "jnp.pi", shown)


bool_: ScalarType = _scalar_type("bool", "truth values", "2", "True")
int1: ScalarType = _integers("int1")
int2: ScalarType = _integers("int2")
int4: ScalarType = _integers("int4")
int8: ScalarType = _integers("int8")
int16: ScalarType = _integers("int16")
int32: ScalarType = _integers("int32")
int64: ScalarType = _integers("int64")
uint1: ScalarType = _integers("uint1")
uint2: ScalarType = _integers("uint2")
uint4: ScalarType = _integers("uint4")
uint8: ScalarType = _integers("uint8")
uint16: ScalarType = _integers("uint16")
uint32: ScalarType = _integers("uint32")
uint64: ScalarType = _integers("uint64")
float4_e2m1fn: ScalarType = _floats("float4_e2m1fn", "up to 6, no infinity, no NaN", "3")
float6_e2m3fn: ScalarType = _floats("float6_e2m3fn", "up to 7.5, no infinity, no NaN", "3.25")
float6_e3m2fn: ScalarType = _floats("float6_e3m2fn", "up to 28, no infinity, no NaN", "3")
float8_e3m4: ScalarType = _floats("float8_e3m4", "up to 15.5", "3.125")
float8_e4m3: ScalarType = _floats("float8_e4m3", "up to 240", "3.25")
float8_e4m3b11fnuz: ScalarType = _floats(
    "float8_e4m3b11fnuz", "up to 30, NaN, no infinity, no -0", "3.25"
)
float8_e4m3fn: ScalarType = _floats("float8_e4m3fn", "up to 448, NaN, no infinity", "3.25")
float8_e4m3fnuz: ScalarType = _floats(
    "float8_e4m3fnuz", "up to 240, NaN, no infinity, no -0", "3.25"
)
float8_e5m2: ScalarType = _floats("float8_e5m2", "up to 57344", "3")
float8_e5m2fnuz: ScalarType = _floats(
    "float8_e5m2fnuz", "up to 57344, NaN, no infinity, no -0", "3"
)
float8_e8m0fnu: ScalarType = _floats(
    "float8_e8m0fnu", "powers of 2 with exponents from -127 to 127, NaN", "4"
)
bfloat16: ScalarType = _floats("bfloat16", "the range of float32, 8 significant bits", "3.14062")
float16: ScalarType = _floats("float16", "up to 65504, 11 significant bits", "3.14")
float32: ScalarType = _floats("float32", "24 significant bits", "3.1415927")
float64: ScalarType = _floats("float64", "53 significant bits", "3.14159265")
complex64: ScalarType = _scalar_type("complex64", "pairs of float32", "2 + 1j", "2.+1.j")
complex128: ScalarType = _scalar_type("complex128", "pairs of float64", "2 + 1j", "2.+1.j")

# NumPy's other names; without `enable_x64` the 64-bit ones give 32-bit arrays.
int_ = int64
uint = uint64
single = float32
double = float64
float_: type[Any] = float64
csingle = complex64
cdouble = complex128
complex_: type[Any] = complex128

generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_
dtype = np.dtype
ComplexWarning = np.exceptions.ComplexWarning

finfo = dtypes.finfo
iinfo = dtypes.iinfo

# ---------------------------------------------------------------- questions


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype belongs to another, or to one of NumPy's abstract scalar types.

    bfloat16 and the 8-bit floats are `floating`, in contrast to NumPy.

    Example:
      >>> jnp.issubdtype(jnp.int8, jnp.integer)
      True
      >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
      True
    """
    return dtypes.issubdtype(arg1, arg2)


def result_type(*args: Any) -> Any:
    """Return the dtype that an operation on the arguments computes in.

    Args:
      *args: arrays, scalars or dtypes.

    Returns:
      The least dtype above all in the promotion lattice; Python scalars give way to arrays.

    Raises:
      TypePromotionError: there is none.

    Example:
      >>> jnp.result_type(jnp.array([1, 2]), 2.5)
      dtype('float32')
      >>> jnp.result_type(jnp.float16, jnp.bfloat16)
      dtype('float32')
    """
    return dtypes.result_type(*args)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether NumPy converts between two dtypes under a rule, see `numpy.can_cast`.

    Raises:
      TypeError: `from_` is a Python number, whose value would decide.

    Example:
      >>> jnp.can_cast(jnp.int32, jnp.float32)
      False
      >>> jnp.can_cast(jnp.int32, jnp.float32, casting="same_kind")
      True
    """
    return np.can_cast(np.dtype(from_) if hasattr(from_, "dtype") else from_, to, casting)


_KINDS = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind.

    Args:
      dtype: a dtype.
      kind: a dtype, one of "bool", "signed integer", "unsigned integer", "integral",
        "real floating", "complex floating" and "numeric", or a tuple of these.

    Raises:
      ValueError: `kind` is a string that names neither a kind nor a dtype.
      TypeError: `kind` is something else.

    Example:
      >>> jnp.isdtype(jnp.int8, "integral")
      True
      >>> jnp.isdtype(jnp.float32, ("integral", "complex floating"))
      False
    """
    found = dtypes.as_dtype(dtype)
    for wanted in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(wanted, str) and wanted in _KINDS:
            if any(dtypes.issubdtype(found, scalar) for scalar in _KINDS[wanted]):
                return True
        elif found == _as_dtype(wanted):
            return True
    return False


def _as_dtype(kind):
    try:
        return dtypes.as_dtype(kind)
    except TypeError:
        raise errors.user_error(
            ValueError if isinstance(kind, str) else TypeError,
            f"isdtype: {kind!r} is neither a kind nor a dtype.",
            fix="use one of " + ", ".join(map(repr, _KINDS)) + ".",
            anchor="dtype",
        ) from None
