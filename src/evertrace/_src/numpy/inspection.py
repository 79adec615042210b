"""Questions about arrays, their text and their files."""

from __future__ import annotations

import collections.abc
import math
from typing import Any

import numpy as np
from numpy import get_printoptions as get_printoptions
from numpy import printoptions as printoptions
from numpy import set_printoptions as set_printoptions

from evertrace._src import dims, doors, dtypes
from evertrace._src.arrays.interop import type_of_number
from evertrace._src.dtypes import kinds
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy.arguments import canonical_axes
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.promotion import check_arraylike, is_operand


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, of nested lists or of a scalar, as a tuple.

    Example:
      >>> jnp.shape([[1, 2, 3], [4, 5, 6]])
      (2, 3)
    """
    if type_of_number(a):
        return ()
    return dims.shown(tuple(a.shape)) if hasattr(a, "shape") else np.shape(a)


def ndim(a: Any) -> int:
    """Return the rank of an array, of nested lists or of a scalar.

    Example:
      >>> jnp.ndim(jnp.ones((2, 3)))
      2
    """
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, in all or along some axes.

    Example:
      >>> jnp.size(jnp.ones((2, 3))), jnp.size(jnp.ones((2, 3)), axis=1)
      (6, 3)
    """
    sizes = shape(a)
    return math.prod([sizes[i] for i in canonical_axes("size", axis, len(sizes))])


def isscalar(element: Any) -> bool:
    """Return whether the argument is a number or an array of rank 0.

    Differs from NumPy, where an array of rank 0 is none.

    Example:
      >>> jnp.isscalar(3.0), jnp.isscalar(jnp.array(3.0)), jnp.isscalar(jnp.array([3.0]))
      (True, True, False)
    """
    if isinstance(element, np.ndarray):
        return element.ndim == 0
    return np.isscalar(element) or (is_operand[type(element)] and element.aval.ndim == 0)


def iterable(y: Any) -> bool:
    """Return whether the argument can be iterated over.

    Example:
      >>> jnp.iterable(jnp.arange(3)), jnp.iterable(jnp.array(3))
      (True, False)
    """
    if is_operand[type(y)]:
        return y.aval.ndim > 0
    try:
        iter(y)
    except TypeError:  # NumPy's arrays have a method for it, at rank 0 too
        return False
    return True


def iscomplexobj(x: Any) -> bool:
    """Return whether the argument is of a complex dtype, whatever its imaginary part.

    Example:
      >>> jnp.iscomplexobj(jnp.array([1 + 0j])), jnp.iscomplexobj(jnp.array([1.0]))
      (True, False)
    """
    if x is None:
        return False
    if not hasattr(x, "dtype"):
        return np.iscomplexobj(x)
    return dtypes.issubdtype(x.dtype, np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Return whether the argument is not of a complex dtype.

    Example:
      >>> jnp.isrealobj(jnp.array([1.0])), jnp.isrealobj(jnp.array([1 + 0j]))
      (True, False)
    """
    return not iscomplexobj(x)


# NumPy's own, which arrays are printed with.


def array_repr(
    arr: Any,
    max_line_width: Any = None,
    precision: PrecisionLike = None,
    suppress_small: Any = None,
) -> str:
    """Return the text of an array as `repr` writes it, by the given options.

    Example:
      >>> jnp.array_repr(jnp.array([1.23456, 2.0]), precision=2)
      'Array([1.23, 2.  ], dtype=float32)'
    """
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return repr(arr)


def array_str(
    a: Any,
    max_line_width: Any = None,
    precision: PrecisionLike = None,
    suppress_small: Any = None,
) -> str:
    """Return the text of an array's contents, by the given options.

    Example:
      >>> jnp.array_str(jnp.array([1.23456, 2.0]), precision=2)
      '[1.23 2.  ]'
    """
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return str(a)


def _options(linewidth, precision, suppress):
    options = {"linewidth": linewidth, "precision": precision, "suppress": suppress}
    return {name: value for name, value in options.items() if value is not None}


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a file in NumPy's format, see `numpy.save`.

    Raises:
      TracerArrayConversionError: the array is traced.

    Example:
      >>> jnp.save("x.npy", jnp.arange(3))
      >>> jnp.load("x.npy")
      Array([0, 1, 2], dtype=int32)
    """
    check_arraylike("save", arr)
    np.save(file, _writable(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to one file, see `numpy.savez`.

    Arrays given by position are named ``arr_0``, ``arr_1``, and so on.

    Example:
      >>> jnp.savez("xy.npz", x=jnp.arange(3), y=jnp.ones(2))
      >>> jnp.load("xy.npz")["y"]
      array([1., 1.], dtype=float32)
    """
    arrays = [_writable(x) for x in args]
    named = {name: _writable(x) for name, x in kwds.items()}
    np.savez(file, *arrays, allow_pickle=allow_pickle, **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read what `save` or `savez` wrote, see `numpy.load`.

    Elements of a dtype that NumPy has not are written as a field of that name, so that any NumPy
    can read their bits; bfloat16 as two bytes without a name, as JAX writes and reads it.

    Returns:
      An array; of a file by `savez` a mapping of names to NumPy arrays, with the attributes of what
      NumPy returns.

    Example:
      >>> jnp.save("x.npy", jnp.arange(3))
      >>> jnp.load("x.npy")
      Array([0, 1, 2], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    return asarray(_read(found)) if isinstance(found, np.ndarray) else _Archive(found)


def _writable(x):
    x = np.asarray(x)
    if x.dtype.isbuiltin != 2 or x.dtype == dtypes.bfloat16:  # 2: a dtype that NumPy has not
        return x
    return x.view([(x.dtype.name, f"V{x.itemsize}")])


def _read(x):
    if x.dtype == np.dtype("V2"):
        return x.view(dtypes.bfloat16)
    names = x.dtype.names or ()
    if len(names) == 1 and names[0] in kinds.NAMES and x.dtype[0].kind == "V":
        return x.view(kinds.named(names[0]))
    return x


class _Archive(collections.abc.Mapping):
    """What `numpy.load` returns of a file by `savez`, with the dtypes that NumPy has not."""

    def __init__(self, found):
        self._found = found

    def __getitem__(self, name):
        try:
            found = self._found[name]
        except Exception as error:  # each is read, and may fail, when it is asked for
            made = doors.worded(error, "load", (name,), {})
            if made is None:
                raise
            raise made from None
        return _read(found) if isinstance(found, np.ndarray) else found

    def __iter__(self):
        return iter(self._found)

    def __len__(self):
        return len(self._found)

    def __getattr__(self, name):
        return getattr(self._found, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._found.close()

    def __repr__(self):
        return repr(self._found)
