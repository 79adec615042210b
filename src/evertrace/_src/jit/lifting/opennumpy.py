"""NumPy arrays of which a trace leaves sizes open: operands of our functions, and nothing else."""

from typing import Any

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.core.operators import Operators
from evertrace._src.core.tracer import Tracer


class OpenNumpyError(Exception):
    """That code asks of a NumPy array what has no answer for all sizes; it is traced as it is."""


class OpenNumpy:
    """A NumPy array while a function is traced for open sizes.

    Our functions take it, and its type can be asked for. For all else it would have to be NumPy's,
    of one size: the trace is then good for nothing, and ends.

    Args:
      aval: its type, with symbolic sizes.
      as_input: function that returns the traced array, of an aval.
    """

    __slots__ = ("__weakref__", "_as_input", "_aval", "_current")

    def __init__(self, aval, as_input):
        self._aval, self._as_input, self._current = aval, as_input, None

    __class__ = property(lambda self: np.ndarray)  # pyright: ignore[reportIncompatibleMethodOverride]

    # This file is one for users: what they are given for open sizes are numbers.
    shape = property(lambda self: self._aval.shape)
    size = property(lambda self: self._aval.size)
    ndim = property(lambda self: self._aval.ndim)
    dtype = property(lambda self: self._aval.dtype)

    def __jax_array__(self) -> Any:
        """Return the traced array, in the dtype that our operations take."""
        if self._current is None:
            dtype = dtypes.canonicalize_dtype(self._aval.dtype)
            self._current = self._as_input(self._aval.update(dtype=dtype))
        return self._current

    def __getattr__(self, name):
        self._refuse(name)

    def _refuse(self, name):
        """End the trace, also if the user's code catches the error."""
        self._aval.cache["open"].show()
        raise OpenNumpyError(name)


def _refused(name):
    return lambda self, *args: self._refuse(name)


def _operator(name):
    """Return an operator: beside an array of ours it is our operator."""

    def method(self, other):
        wide = dtypes.canonicalize_dtype(self._aval.dtype) != self._aval.dtype
        if wide or not (type(other) is Array or isinstance(other, Tracer)):
            self._refuse(name)
        return getattr(self.__jax_array__(), name)(other)

    return method


_BINARY = {
    f"__{r}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    for r in ("", "r")
} | {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_OTHERS = (
    "__array__", "__array_function__", "__array_ufunc__", "__bool__", "__complex__",
    "__contains__", "__copy__", "__deepcopy__", "__delitem__", "__float__", "__format__",
    "__getitem__", "__index__", "__int__", "__iter__", "__len__", "__reduce_ex__", "__repr__",
    "__setitem__", "__str__",
)  # fmt: skip
for _name in (*Operators.__annotations__, *_OTHERS):
    if _name in _BINARY:
        setattr(OpenNumpy, _name, _operator(_name))
    elif _name.startswith("__"):
        setattr(OpenNumpy, _name, _refused(_name))
OpenNumpy.__hash__ = object.__hash__
