"""Dtypes as they are named in user programs, questions about dtypes, and constants.

``float32`` and its like are classes that are never instantiated: calling one makes an array of that
dtype, and it compares and converts like NumPy's scalar type of the same name.
"""

from typing import Any

import ml_dtypes
import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.numpy.creation import asarray

__all__ = [
    "ComplexWarning",
    "bfloat16",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "flexible",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "inf",
    "int1",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "isdtype",
    "issubdtype",
    "nan",
    "newaxis",
    "number",
    "object_",
    "pi",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint1",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]  # fmt: skip

pi = np.pi
e = np.e
inf = np.inf
nan = np.nan
euler_gamma = np.euler_gamma
newaxis = None

# ---------------------------------------------------------------- scalar types


class ScalarType(type):
    """Metaclass of the scalar types.

    Attributes:
      dtype: the NumPy dtype; by this attribute `numpy.dtype` takes the class for one.
    """

    dtype: np.dtype

    def __call__(cls, x):
        """Return `x` as an array of this dtype."""
        return asarray(x, dtype=cls.dtype)

    def __eq__(cls, other):
        return cls is other or cls.dtype.type == other

    def __ne__(cls, other):
        return not cls == other

    def __hash__(cls):
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name):
    """Make the scalar type of that name; None if this release of ml_dtypes has no such dtype."""
    scalar = getattr(ml_dtypes, name, None) or getattr(np, name, None)
    if scalar is None:
        return None
    doc = f"Scalar type {name}: ``{name}(x)`` is `x` as an array of that dtype."
    members = {"dtype": np.dtype(scalar), "__doc__": doc, "__module__": "evertrace.numpy"}
    return ScalarType(name, (), members)


bool_ = _scalar_type("bool")
int1 = _scalar_type("int1")
int2 = _scalar_type("int2")
int4 = _scalar_type("int4")
int8 = _scalar_type("int8")
int16 = _scalar_type("int16")
int32 = _scalar_type("int32")
int64 = _scalar_type("int64")
uint1 = _scalar_type("uint1")
uint2 = _scalar_type("uint2")
uint4 = _scalar_type("uint4")
uint8 = _scalar_type("uint8")
uint16 = _scalar_type("uint16")
uint32 = _scalar_type("uint32")
uint64 = _scalar_type("uint64")
float4_e2m1fn = _scalar_type("float4_e2m1fn")
float6_e2m3fn = _scalar_type("float6_e2m3fn")
float6_e3m2fn = _scalar_type("float6_e3m2fn")
float8_e3m4 = _scalar_type("float8_e3m4")
float8_e4m3 = _scalar_type("float8_e4m3")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e4m3fn = _scalar_type("float8_e4m3fn")
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz")
float8_e5m2 = _scalar_type("float8_e5m2")
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz")
float8_e8m0fnu = _scalar_type("float8_e8m0fnu")
bfloat16 = _scalar_type("bfloat16")
float16 = _scalar_type("float16")
float32 = _scalar_type("float32")
float64 = _scalar_type("float64")
complex64 = _scalar_type("complex64")
complex128 = _scalar_type("complex128")

# NumPy's other names; without `enable_x64` the 64-bit ones give 32-bit arrays.
int_ = int64
uint = uint64
single = float32
double = float_ = float64
csingle = complex64
cdouble = complex_ = complex128

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

promote_types = dtypes.promote_types


def issubdtype(arg1, arg2):
    """Return whether a dtype belongs to another, or to one of NumPy's abstract scalar types.

    bfloat16 and the 8-bit floats are `floating`, in contrast to NumPy.
    """
    return dtypes.issubdtype(arg1, arg2)


def result_type(*args):
    """Return the dtype that an operation on the arguments computes in.

    Args:
      *args: arrays, scalars or dtypes.

    Returns:
      The least dtype above all in the promotion lattice; Python scalars give way to arrays.
    """
    return dtypes.result_type(*args)


def can_cast(from_, to, casting: Any = "safe"):
    """Return whether NumPy converts between two dtypes under a rule, see `numpy.can_cast`."""
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


def isdtype(dtype, kind):
    """Return whether a dtype is of a kind.

    Args:
      dtype: a dtype.
      kind: a dtype, one of "bool", "signed integer", "unsigned integer", "integral",
        "real floating", "complex floating" and "numeric", or a tuple of these.
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
            ValueError,
            f"isdtype: {kind!r} is neither a kind nor a dtype.",
            fix="use one of " + ", ".join(map(repr, _KINDS)) + ".",
        ) from None
