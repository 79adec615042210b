"""Types, numbers and attributes as MLIR writes them."""

import functools
import math

import numpy as np

from evertrace._src import dims, dtypes

_ELEMENT_TYPES = {
    "bool": "i1", "complex64": "complex<f32>", "complex128": "complex<f64>", "float16": "f16",
    "float32": "f32", "float64": "f64", "bfloat16": "bf16",
}  # fmt: skip

# XLA ends the process at most operations on the first two, and knows no integers of one bit: what
# MLIR calls `i1` are its booleans.
NOT_IN_XLA = {
    "float6_e2m3fn": "float8_e4m3fn", "float6_e3m2fn": "float8_e4m3fn",
    "int1": "int2", "uint1": "uint2",
}  # fmt: skip
"""The dtypes that no program for XLA may have, and the narrowest that hold their numbers."""

PARTS_OF_BYTES = frozenset(["int2", "uint2", "int4", "uint4"])
"""Integers that XLA computes with in bytes: converted to a byte, a sum keeps what went over."""


class NotInXLA(Exception):
    """A program has elements of a dtype that XLA does not take.

    Attributes:
      dtype: it.
    """

    def __init__(self, dtype):
        super().__init__(dtype)
        self.dtype = dtype


class TooManyPlaces(Exception):
    """A program has an array of no elements in so many rows that XLA counts them for ever.

    Attributes:
      aval: of the array.
    """

    def __init__(self, aval):
        super().__init__(aval)
        self.aval = aval


_MOST_ROWS = 1 << 25
"""Of an array without elements: XLA makes a constant of it, and goes through its other axes, some
millions of rows in a second."""


@functools.cache
def element_type(dtype):
    """Return the MLIR element type of a dtype: ``f32``, ``ui8``, ``f8E4M3FN``, ...

    Raises:
      NotInXLA: there is none that XLA takes.
    """
    name = dtype.name
    if name in NOT_IN_XLA:
        raise NotInXLA(dtype)
    if name in _ELEMENT_TYPES:
        return _ELEMENT_TYPES[name]
    if name.startswith("uint"):
        return "ui" + name[4:]
    if name.startswith("int"):
        return "i" + name[3:]
    kind, _, rest = name.partition("_")  # float8_e4m3fn -> f8E4M3FN
    return "f" + kind.removeprefix("float") + rest.upper()


def physical_aval(aval):
    """Return shape and NumPy dtype of the memory behind an aval."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return (*aval.shape, *aval.dtype.physical_suffix), aval.dtype.physical_dtype
    return aval.shape, aval.dtype


def mlir_type(aval):
    """Return the tensor type of an aval, or the type of a token for None."""
    if aval is None:
        return "!stablehlo.token"
    try:
        return aval.cache["mlir"]
    except KeyError:
        if type(aval.size) is int and not aval.size and _rows(aval.shape) > _MOST_ROWS:
            raise TooManyPlaces(aval) from None
        text = aval.cache["mlir"] = tensor_type(*physical_aval(aval))
        return text


def _rows(shape):
    return math.prod(n for n in shape if n)


def tensor_type(shape, dtype):
    """Return the tensor type of a shape and dtype."""
    return f"tensor<{''.join(f'{s}x' for s in shape)}{element_type(dtype)}>"


def scalar_text(value, dtype):
    """Return a scalar as MLIR writes it inside ``dense<...>``, exact to the bit."""
    if dims.is_dim(value):
        return f"{value}" if dtype.kind in "iu" else f"{value}.0"
    value = np.asarray(value, dtype)
    kind = dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu" or (kind == "V" and dtype.name.startswith(("int", "uint"))):
        return str(int(value))
    if kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        return f"({scalar_text(np.real(value), part)}, {scalar_text(np.imag(value), part)})"
    bits = value.reshape(1).view(f"u{dtype.itemsize}")[0]
    return f"0x{int(bits):0{2 * dtype.itemsize}X}"


def dense_scalar(value, aval):
    """Return the attribute of a constant: a scalar spread over the shape."""
    return f"dense<{scalar_text(value, aval.dtype)}> : {mlir_type(aval)}"


def ints(values):
    """Return an ``array<i64: ...>`` attribute."""
    values = ", ".join(map(str, values))
    return f"array<i64: {values}>" if values else "array<i64>"


def pairs(values):
    """Return an ``[n, 2]`` attribute of i64, such as the padding of windows."""
    rows = ", ".join(f"[{low}, {high}]" for low, high in values)
    return f"dense<{f'[{rows}]' if rows else ''}> : tensor<{len(values)}x2xi64>"


def shardy(division, rank, open_dims=frozenset()):
    """Return the attribute that says by which axes of the mesh dimensions are divided.

    Args:
      division: for each dimension, its axes; dimensions beyond are not divided.
      rank: how many dimensions there are.
      open_dims: those that the partitioner may divide as it likes.
    """
    dims = ["{?}" if d in open_dims else f"{{{_axes(axes)}}}" for d, axes in enumerate(division)]
    dims += ["{}"] * (rank - len(dims))
    return f"#sdy.sharding<@mesh, [{', '.join(dims)}]>"


def per_value(divisions):
    """Return the attribute that says it of several values, by pairs (division, rank)."""
    texts = [shardy(division, rank).removeprefix("#sdy.sharding") for division, rank in divisions]
    return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"


def shardy_mesh(sizes):
    """Return the operation that declares a mesh by pairs (axis, size)."""
    return f"sdy.mesh @mesh = <[{', '.join(f'{quoted(str(a))}={n}' for a, n in sizes)}]>"


def _axes(axes):
    return ", ".join([quoted(str(a)) for a in axes])


def quoted(text):
    """Return a string as MLIR writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def int_attr(value):
    """Return an i64 attribute."""
    return f"{value} : i64"


def bool_attr(value):
    """Return a boolean attribute."""
    return "true" if value else "false"
