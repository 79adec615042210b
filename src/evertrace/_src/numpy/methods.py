"""Operators and methods of arrays and tracers, put in place when the first of them is used.

Operators give way (`NotImplemented`) to types they do not know, so that a user's class can define
``__radd__``. Lists and tuples are refused, since a silent conversion of a long list is slow.
"""

import importlib

import numpy as np

from evertrace._src import errors
from evertrace._src.core.operators import install
from evertrace._src.numpy import concrete, ufuncs
from evertrace._src.numpy.promotion import SCALARS, is_arraylike, is_operand

# ---------------------------------------------------------------- binary operators


class _Accepted(dict):
    """Memo from a class to whether operators take its instances."""

    def __missing__(self, kind):
        found = kind in SCALARS or is_operand[kind] or issubclass(kind, (np.ndarray, np.generic))
        if issubclass(kind, (list, tuple)):
            return False
        self[kind] = found = found or hasattr(kind, "__jax_array__") or issubclass(
            kind, (int, float, complex)
        )
        return found


_accepted = _Accepted()


def _operator(symbol, function):
    """Return the method for ``self <symbol> other`` and the reflected one."""

    def forward(self, other):
        if _accepted[type(other)]:
            return function(self, other)
        return _not_accepted(symbol, self, other)

    def reflected(self, other):
        if _accepted[type(other)]:
            return function(other, self)
        return _not_accepted(symbol, other, self)

    return forward, reflected


def _not_accepted(symbol, left, right):
    """Leave the operation to the other operand, but for lists and tuples."""
    if isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)):
        names = f"{type(left).__name__!r} and {type(right).__name__!r}"
        raise errors.user_error(
            TypeError,
            f"unsupported operand type(s) for {symbol}: {names}.",
            fix="convert the list first with `evertrace.numpy.asarray`.",
            anchor="not-an-array",
        )
    return NotImplemented


_BINARY = {
    "add": ("+", ufuncs.add),
    "sub": ("-", ufuncs.subtract),
    "mul": ("*", ufuncs.multiply),
    "truediv": ("/", ufuncs.divide),
    "floordiv": ("//", ufuncs.floor_divide),
    "mod": ("%", ufuncs.remainder),
    "divmod": ("divmod", ufuncs.divmod),
    "pow": ("**", ufuncs.power),
    "and": ("&", ufuncs.bitwise_and),
    "or": ("|", ufuncs.bitwise_or),
    "xor": ("^", ufuncs.bitwise_xor),
    "lshift": ("<<", ufuncs.left_shift),
    "rshift": (">>", ufuncs.right_shift),
}

_COMPARISONS = {
    "__eq__": ("==", ufuncs.equal),
    "__ne__": ("!=", ufuncs.not_equal),
    "__lt__": ("<", ufuncs.less),
    "__le__": ("<=", ufuncs.less_equal),
    "__gt__": (">", ufuncs.greater),
    "__ge__": (">=", ufuncs.greater_equal),
}


def _install_operators():
    for name, (symbol, function) in _BINARY.items():
        forward, reflected = _operator(symbol, function)
        install(**{f"__{name}__": forward, f"__r{name}__": reflected})
    for name, (symbol, function) in _COMPARISONS.items():
        install(**{name: _operator(symbol, function)[0]})


# ---------------------------------------------------------------- sequences


def _len(self):
    if not self.aval.shape:
        raise TypeError("len() of unsized object")
    return self.aval.shape[0]


def _setitem(self, index, value):
    raise errors.user_error(
        TypeError,
        f"{type(self).__name__} object does not support item assignment: arrays are immutable.",
        fix="use `x = x.at[index].set(value)`, which returns a changed copy; see also "
        "`.at[...].add()`.",
        anchor="immutable",
    )


# ---------------------------------------------------------------- others


def _namespace(self, *, api_version=None):
    return importlib.import_module("evertrace.numpy")


_install_operators()
install(
    __abs__=ufuncs.absolute,
    __array__=concrete.to_numpy,
    __array_namespace__=_namespace,
    __bool__=concrete.to_bool,
    __complex__=concrete.to_complex,
    __float__=concrete.to_float,
    __format__=concrete.format_array,
    __index__=concrete.to_index,
    __int__=concrete.to_int,
    __invert__=ufuncs.invert,
    __len__=_len,
    __neg__=ufuncs.negative,
    __setitem__=_setitem,
    item=concrete.item,
    tolist=concrete.tolist,
)
