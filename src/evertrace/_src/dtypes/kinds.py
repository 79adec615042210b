"""Which dtypes there are, their names, their canonical forms and the kinds they belong to.

A dtype is an ``np.dtype`` instance, or an `ExtendedDType` instance for types that NumPy does not
have (random keys). A dtype is *canonical* if it can occur in the current mode: without
``enable_x64`` the 64-bit types stand for their 32-bit counterparts.

A value is *weakly typed* if only Python scalars decided its dtype.
"""

import functools
from typing import Any, Protocol, TypeAlias, cast

import ml_dtypes
import numpy as np

from evertrace._src import config
from evertrace._src.dtypes.extension import ExtendedDType
from evertrace._src.errors import (
    DTypeError,
    EvertraceError,
    suggestion,
    user_error,
    user_warning,
)

# Their stubs leave the types of attributes open.
finfo: Any = ml_dtypes.finfo
iinfo: Any = ml_dtypes.iinfo

bfloat16: type[Any] = ml_dtypes.bfloat16

float0: np.dtype = np.dtype([("float0", np.void, 0)])
"""Dtype of the tangents of integers and booleans: no bits, so only zero."""

DType: TypeAlias = np.dtype | ExtendedDType


class HasDType(Protocol):
    """What says its dtype, as the scalar types ``jnp.float32`` do."""

    @property
    def dtype(self) -> Any:
        """The dtype."""
        ...


DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | ExtendedDType | HasDType
"""A dtype, its name, a NumPy scalar type or a Python scalar type."""


def _available(*names: str) -> tuple[str, ...]:
    """Return those of `names` that this release of ml_dtypes has."""
    return tuple(name for name in names if hasattr(ml_dtypes, name))


NARROW_INTS = _available("int1", "int2", "int4", "uint1", "uint2", "uint4")
NARROW_FLOATS = _available(
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
)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


def named(name: str) -> np.dtype:
    """Return the dtype of that name, from ml_dtypes if NumPy has none."""
    return np.dtype(getattr(ml_dtypes, name, name))


NAMES = ("bool", *NARROW_INTS, *SIGNED, *UNSIGNED, *NARROW_FLOATS, *FLOATS, *COMPLEX)
# Equal dtypes of other C types (long and long long) map to one instance.
_SUPPORTED: dict[np.dtype, np.dtype] = {d: d for d in map(named, NAMES)}
_SUPPORTED[float0] = float0

_NARROWED = {
    named(wide): named(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}

# Where the types of ml_dtypes belong among NumPy's abstract scalar types.
_ABSTRACT: dict[Any, Any] = {
    **{named(n).type: np.signedinteger for n in NARROW_INTS if n.startswith("int")},
    **{named(n).type: np.unsignedinteger for n in NARROW_INTS if n.startswith("uint")},
    **{named(n).type: np.floating for n in (*NARROW_FLOATS, "bfloat16")},
}

PYTHON_SCALARS = frozenset({bool, int, float, complex})
"""The Python types whose values are scalars; all but ``bool`` are weakly typed."""

python_scalar_dtypes: dict[type, np.dtype] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
"""Dtype of each Python scalar type, before `canonicalize_dtype`."""

_SHORT_PREFIXES = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))


@functools.lru_cache(maxsize=256)
def short_name(dtype: DType) -> str:
    """Return the name of `dtype` in a printed jaxpr: ``f32``, ``key<fry>``, ``float0``."""
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    if dtype == float0:
        return "float0"
    for prefix, short in _SHORT_PREFIXES:
        if dtype.name.startswith(prefix):
            return short + dtype.name.removeprefix(prefix)
    return dtype.name


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits that an element of `dtype` has.

    Example:
      >>> ev.dtypes.itemsize_bits("int4"), ev.dtypes.itemsize_bits("complex64")
      (4, 64)
    """
    dtype = as_dtype(dtype)
    if isinstance(dtype, ExtendedDType) or dtype == float0:
        raise user_error(
            ValueError,
            f"itemsize_bits: {short_name(dtype)} has no width of its own.",
            fix="ask for that of the array of its words: `random.key_data(key).dtype`.",
            anchor="dtype",
        )
    if issubdtype(dtype, np.integer):
        return int(iinfo(dtype).bits)
    if issubdtype(dtype, np.floating):
        return int(finfo(dtype).bits)
    return dtype.itemsize * 8


def as_dtype(dtype: DTypeLike) -> DType:
    """Return the dtype that `dtype` names, 64-bit ones as they are; TypeError if it names none."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    try:
        parsed = np.dtype(dtype)
    except Exception as error:
        if isinstance(error, EvertraceError) or "\n  at " in str(error):
            raise
        raise user_error(
            TypeError,
            f"dtype: {str(error)[:200]}.",
            fix=suggestion(
                dtype.replace("fp", "float") if isinstance(dtype, str) else "",
                NAMES,
                "give a dtype, its name, or a scalar type, such as `jnp.float32`.",
            ),
            anchor="dtype-unsupported",
        ) from None
    return _SUPPORTED.get(parsed, parsed)


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype that stands for `dtype` in the current mode.

    Args:
      dtype: a dtype, its name or a scalar type; None is NumPy's default, ``float64``.
      allow_extended_dtype: whether to return extended dtypes as they are.

    Returns:
      `dtype` as ``np.dtype`` in native byte order; without ``enable_x64``, the 32-bit counterpart
      of a 64-bit dtype.

    Raises:
      ValueError: `dtype` is extended and that was not allowed.
      TypeError: `dtype` does not name a dtype.

    Example:
      >>> ev.dtypes.canonicalize_dtype("int64")
      dtype('int32')
    """
    if isinstance(dtype, np.dtype) and (known := _SUPPORTED.get(dtype)) is not None:
        return in_current_mode(known)  # which nearly all are
    parsed = as_dtype(dtype)
    if isinstance(parsed, ExtendedDType):
        if allow_extended_dtype:
            return parsed
        raise user_error(
            ValueError,
            f"canonicalize_dtype: {parsed} is an extended dtype, which NumPy does not have.",
            fix="pass `allow_extended_dtype=True`.",
            anchor="extended-dtype",
        )
    if not parsed.isnative:  # elements in the order of other machines are copied on their way in
        parsed = parsed.newbyteorder("=")
    if parsed.itemsize > _MOST_BYTES.get(parsed.kind, parsed.itemsize):
        raise user_error(
            DTypeError,
            f"canonicalize_dtype: arrays cannot have dtype {parsed}.",
            fix=f"convert it first: `x.astype({'complex' if parsed.kind == 'c' else 'float'})`.",
            anchor="dtype-unsupported",
        )
    return in_current_mode(parsed)


_MOST_BYTES = {"f": 8, "c": 16}
"""Of a number by its kind: no engine computes in C's longest floats."""


def in_current_mode(dtype: Any) -> Any:
    """Return the counterpart of a parsed dtype in the current mode."""
    return dtype if config.current().enable_x64 else _NARROWED.get(dtype, dtype)


def default_dtype(scalar_type: type) -> np.dtype:
    """Return the dtype of values of a Python scalar type in the current mode."""
    return in_current_mode(python_scalar_dtypes[scalar_type])


def check_user_dtype_supported(dtype: DTypeLike | None, fun_name: str) -> Any:
    """Return the canonical form of a dtype that a user asked for in ``fun_name(..., dtype=...)``.

    Raises:
      TypeError: arrays cannot have this dtype.

    A 64-bit dtype without ``enable_x64`` is a warning, and its 32-bit counterpart is returned.
    """
    parsed = None if dtype is None else as_dtype(dtype)
    if isinstance(parsed, ExtendedDType):
        return parsed
    if parsed not in _SUPPORTED:
        raise user_error(
            DTypeError,
            f"{fun_name}: arrays cannot have dtype {dtype!r}.",
            fix="use a bool, integer, floating or complex dtype in native byte order.",
            anchor="dtype-unsupported",
        )
    canonical = in_current_mode(parsed)
    # Python's int, float and complex ask for a kind of number, not for 64 bits.
    if canonical != parsed and not (isinstance(dtype, type) and dtype in PYTHON_SCALARS):
        user_warning(
            UserWarning,
            f"{fun_name}: the requested dtype {parsed} is not available, {canonical} is used.",
            fix='call `config.update("enable_x64", True)` or set EVERTRACE_ENABLE_X64=1.',
            anchor="x64",
        )
    return canonical


def _scalar_class(dtype: DTypeLike) -> Any:
    """Return the NumPy scalar class of a dtype; abstract classes such as np.floating stay."""
    is_scalar_class = isinstance(dtype, type) and issubclass(cast("type", dtype), np.generic)
    return cast("Any", dtype) if is_scalar_class else as_dtype(dtype).type


@functools.lru_cache(maxsize=4096)
def issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Return whether dtype `a` belongs to `b`, a dtype or one of NumPy's abstract scalar types.

    Unlike in NumPy, bfloat16 and the 8-bit floats are `np.floating`, and the narrow integers are
    `np.signedinteger` or `np.unsignedinteger`. Keys are `prng_key`, which is an `extended`.

    Example:
      >>> [ev.dtypes.issubdtype(d, np.integer) for d in ("int4", "uint8", "bfloat16")]
      [True, True, False]
      >>> np.issubdtype(jnp.bfloat16, np.floating)
      False
    """
    if isinstance(b, ExtendedDType):
        return a == b
    a_class, b_class = _scalar_class(a), _scalar_class(b)
    above: type = _ABSTRACT.get(a_class, a_class)
    return a_class is b_class or issubclass(above, b_class)


_KINDS = (
    (np.bool_, bool),
    (np.integer, int),
    (np.floating, float),
    (np.complexfloating, complex),
)


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar type, ``bool``, ``int``, ``float`` or ``complex``, like `x`.

    Args:
      x: an array, a scalar or a dtype.

    Example:
      >>> ev.dtypes.scalar_type_of(jnp.ones(3, "bfloat16"))
      <class 'float'>
    """
    found = dtype(x)
    if not isinstance(found, ExtendedDType):
        for kind, scalar_type in _KINDS:
            if issubdtype(found, kind):
                return scalar_type
    raise user_error(
        DTypeError,
        f"scalar_type_of: no Python scalar is like {short_name(found)}.",
        fix="pass a dtype of booleans or numbers.",
        anchor="dtype",
    )


def to_numeric_dtype(dtype: DTypeLike) -> Any:
    """Return `dtype`, or int32 for bool."""
    dtype = as_dtype(dtype)
    return np.dtype(np.int32) if dtype == np.bool_ else dtype


def to_inexact_dtype(dtype: DTypeLike) -> Any:
    """Return `dtype`, or for bool and integers a float: float64 for 64-bit ones, else float32."""
    dtype = as_dtype(dtype)
    if issubdtype(dtype, np.integer) or dtype == np.bool_:
        return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    return dtype


def to_complex_dtype(dtype: DTypeLike) -> Any:
    """Return the complex dtype whose parts hold `dtype`: complex128 for 64-bit ones."""
    inexact = to_inexact_dtype(dtype)
    is_wide = inexact in (np.float64, np.complex128)
    return np.dtype(np.complex128 if is_wide else np.complex64)


def dtype(x: Any) -> Any:
    """Return the canonical dtype of an array, a scalar or a dtype.

    Args:
      x: an array, a Python or NumPy scalar, or a dtype in any form.

    Returns:
      A `numpy.dtype`, or that of keys; 64-bit ones are narrowed unless x64 is on.

    Raises:
      TypeError: `x` has no dtype, or one that arrays cannot have.

    Example:
      >>> lax.dtype(2.5), lax.dtype(jnp.ones(2, "int8"))
      (dtype('float32'), dtype('int8'))
    """
    return dtype_and_weak(x)[0]


def is_weakly_typed(x: Any) -> bool:
    """Return whether only Python scalars decided the dtype of the value or scalar type `x`."""
    return dtype_and_weak(x)[1]


def dtype_and_weak(x: Any) -> tuple[Any, bool]:
    """Return the canonical dtype of a value or dtype, and whether it is weak."""
    kind = x if isinstance(x, type) else type(x)
    if kind in PYTHON_SCALARS:
        return default_dtype(kind), kind is not bool
    if isinstance(x, ExtendedDType):
        return x, False
    if isinstance(x, np.dtype | str | type):
        found, weak = as_dtype(cast("Any", x)), False
    elif hasattr(x, "dtype"):
        found = as_dtype(x.dtype)
        weak = bool(getattr(x, "weak_type", False))
    elif isinstance(x, int | float | complex):  # enum members and other subclasses
        mro = x.__class__.__mro__  # not the type's: a host scalar says what it stands for
        return dtype_and_weak(next(base for base in mro if base in PYTHON_SCALARS))
    else:
        found, weak = None, False
    if found not in _SUPPORTED and not isinstance(found, ExtendedDType):
        raise user_error(
            DTypeError,
            f"dtype: {x!r} of type {kind.__name__} is neither an array, a number nor a dtype.",
            fix="convert it with `evertrace.numpy.asarray`.",
            anchor="not-an-array",
        )
    return in_current_mode(found), weak


@functools.lru_cache(maxsize=64)
def int_range(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest integer of an integer dtype."""
    limits = iinfo(dtype)
    return int(limits.min), int(limits.max)


def coerce_python_scalar(value: complex, dtype: DTypeLike) -> np.generic:
    """Return a Python scalar as a NumPy scalar of `dtype`, which must hold it.

    Floats lose digits and fractions silently, as everywhere in NumPy; integers must fit. A weak
    operand is first coerced to its default dtype and then converted with wrap-around, so
    ``int8_array + 1000`` is not this function's business.

    Raises:
      OverflowError: an integer lies outside the range of `dtype`.
      TypeError: a complex value for a real `dtype`.
    """
    target: Any = as_dtype(dtype)
    if not issubdtype(target, np.integer):
        return target.type(value)
    number = int(value)  # type: ignore[arg-type]
    least, greatest = int_range(target)
    if least <= number <= greatest:
        return target.type(number)
    raise user_error(
        OverflowError,
        f"Python {type(value).__name__} {value} too large to convert to {target}.",
        fix="use a wider dtype; 64-bit ones need `enable_x64`.",
        anchor="integer-overflow",
    )
