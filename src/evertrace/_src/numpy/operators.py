"""Operators of arrays and tracers, put in place when the first of them is used.

Operators give way (`NotImplemented`) to types they do not know, so that a user's class can define
``__radd__``. Lists and tuples are refused, since a silent conversion of a long list is slow.
"""

from typing import Any

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.interop import is_column, is_of_pandas
from evertrace._src.core.aval import no_sequence
from evertrace._src.core.operators import install, install_later
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import concrete, ufuncs
from evertrace._src.numpy.promotion import is_operand

elementary: Any = LazyModule("evertrace._src.numpy.elementary")
indexing: Any = LazyModule("evertrace._src.numpy.indexing")
namespace_info: Any = LazyModule("evertrace._src.numpy.namespace_info")
products: Any = LazyModule("evertrace._src.numpy.products")
shape: Any = LazyModule("evertrace._src.numpy.shape")

# ---------------------------------------------------------------- binary operators


class _Accepted(dict):
    """Memo from a class to whether operators take its instances."""

    def __missing__(self, kind):
        known = (np.ndarray, np.generic, int, float, complex)
        found = is_operand[kind] or issubclass(kind, known) or hasattr(kind, "__jax_array__")
        # pandas makes a column of the sum of a column and an array.
        found = found or (is_column(kind) and not is_of_pandas(kind))
        self[kind] = found
        return found


_accepted = _Accepted()


def _make_operator(symbol, function):
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
        forward, reflected = _make_operator(symbol, function)
        install(**{f"__{name}__": forward, f"__r{name}__": reflected})
    for name, (symbol, function) in _COMPARISONS.items():
        install(**{name: _make_operator(symbol, function)[0]})


# ---------------------------------------------------------------- sequences


def _len(self):
    if not self.aval.shape:
        raise no_sequence("len() of unsized object", self.aval.str_short())
    return self.aval.shape[0]


def _iter(self):
    if not self.aval.shape:
        raise no_sequence("iteration over a 0-d array", self.aval.str_short())
    return iter(shape.unstack(self))


def _reversed(self):
    return reversed(list(_iter(self)))


def _setitem(self, index, value):
    raise errors.user_error(
        TypeError,
        "Array object does not support item assignment: arrays are immutable.",
        fix="use `x = x.at[index].set(value)`, which returns a changed copy; see also "
        "`.at[...].add()`.",
        anchor="immutable",
    )


def _delitem(self, index):
    raise errors.user_error(
        TypeError,
        "Array object does not support item deletion: arrays are immutable.",
        fix="use `x = jnp.delete(x, index)`, which returns a shorter array.",
        anchor="immutable",
    )


def _round(self, ndigits=None):
    return elementary.round(self, 0 if ndigits is None else ndigits)


def _matmul(index):
    """Return what makes the method of ``@`` (0), or the reflected one (1)."""

    def make():
        native.set_operators({"__matmul__": products.matmul})
        return _make_operator("@", products.matmul)[index]

    return make


def _positive():
    native.set_operators({"__pos__": elementary.positive})
    return elementary.positive


_NATIVE = {
    **{f"__{name}__": function for name, (_, function) in _BINARY.items()},
    **{name: function for name, (_, function) in _COMPARISONS.items()},
    "__neg__": ufuncs.negative,
    "__abs__": ufuncs.absolute,
    "__invert__": ufuncs.invert,
}
"""What operators call, by the names of their methods."""

_install_operators()
native.set_operators(_NATIVE)
install(
    __abs__=ufuncs.absolute,
    __array__=concrete.to_numpy,
    __bool__=concrete.to_bool,
    __buffer__=concrete.to_buffer,
    __complex__=concrete.to_complex,
    __delitem__=_delitem,
    __float__=concrete.to_float,
    __format__=concrete.format_array,
    __index__=concrete.to_index,
    __int__=concrete.to_int,
    __invert__=ufuncs.invert,
    __iter__=_iter,
    __len__=_len,
    __neg__=ufuncs.negative,
    __reversed__=_reversed,
    __round__=_round,
    __setitem__=_setitem,
)
install_later(
    __array_namespace__=lambda: namespace_info.namespace_of,
    __getitem__=lambda: indexing.getitem,
    __matmul__=_matmul(0),
    __pos__=_positive,
    __rmatmul__=_matmul(1),
)
