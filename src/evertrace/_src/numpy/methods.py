"""Operators and methods of arrays and tracers, put in place when the first of them is used.

Operators give way (`NotImplemented`) to types they do not know, so that a user's class can define
``__radd__``. Lists and tuples are refused, since a silent conversion of a long list is slow.
"""

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.api.devices import device_put
from evertrace._src.core.operators import install
from evertrace._src.lax.elementwise import complex as complex_
from evertrace._src.lax.structural import rev
from evertrace._src.numpy import (
    concrete,
    creation,
    cumulative,
    elementary,
    functional,
    indexing,
    nonzeros,
    products,
    reductions,
    repeating,
    search,
    shape,
    sorting,
    ufuncs,
)
from evertrace._src.numpy.namespace_info import namespace_of
from evertrace._src.numpy.promotion import is_operand
from evertrace._src.numpy.updates import IndexHelper
from evertrace._src.ops.convert import bitcast_convert_type_p, convert
from evertrace._src.ops.structural import reshape as to_shape

# ---------------------------------------------------------------- binary operators


class _Accepted(dict):
    """Memo from a class to whether operators take its instances."""

    def __missing__(self, kind):
        known = (np.ndarray, np.generic, int, float, complex)
        found = is_operand[kind] or issubclass(kind, known) or hasattr(kind, "__jax_array__")
        self[kind] = found
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
    "matmul": ("@", products.matmul),
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


def _iter(self):
    if not self.aval.shape:
        raise TypeError("iteration over a 0-d array")
    return iter(shape.unstack(self))


def _reversed(self):
    return reversed(list(_iter(self)))


def _contains(self, value):
    return bool(reductions.any(ufuncs.equal(self, value)))


def _setitem(self, index, value):
    raise errors.user_error(
        TypeError,
        f"{type(self).__name__} object does not support item assignment: arrays are immutable.",
        fix="use `x = x.at[index].set(value)`, which returns a changed copy; see also "
        "`.at[...].add()`.",
        anchor="immutable",
    )


# ---------------------------------------------------------------- methods


@native.planned(by_type=False)
def _astype(self, dtype, copy=False, device=None):
    return creation.astype(self, dtype, copy=copy, device=device)


def _compress(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    return search.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _copy(self):
    return creation.copy(self)


@native.planned(by_type=False)
def _flatten(self, order="C", *, out_sharding=None):
    return shape.ravel(self, order, out_sharding=out_sharding)


@native.planned(by_type=False)
def _reshape(self, *args, order="C", out_sharding=None):
    sizes = args[0] if len(args) == 1 else args
    return shape.reshape(self, sizes, order, out_sharding=out_sharding)


def _round(self, ndigits=None):
    return elementary.round(self, 0 if ndigits is None else ndigits)


def _sort(self, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    return sorting.sort(
        self, axis, kind=kind, order=order, stable=stable, descending=descending
    )  # fmt: skip


def _to_device(self, device, *, stream=None):
    return device_put(self, device)


@native.planned(by_type=False)
def _transpose(self, *args):
    if not args:
        return shape.transpose(self)
    return shape.transpose(self, args[0] if len(args) == 1 else args)


def _byteswap(self):
    """Return the array with the bytes of each element in the opposite order.

    Example:
      >>> jnp.array([1, 256], "int16").byteswap()
      Array([256,   1], dtype=int16)
    """
    if self.dtype.kind == "c":
        return complex_(_byteswap(self.real), _byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return self
    octets = bitcast_convert_type_p.bind(self, new_dtype=np.dtype(np.uint8))
    reversed_ = rev(octets, (octets.ndim - 1,))
    return bitcast_convert_type_p.bind(reversed_, new_dtype=self.dtype)


def _view(self, dtype=None, type=None):
    """Return the same bits read as another dtype; the last axis grows or shrinks."""
    new = self.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, "view")
    if new == self.dtype:
        return self
    if np.bool_ in (new, self.dtype):
        byte = np.dtype(np.uint8)
        x = convert(self, byte) if self.dtype == np.bool_ else _view(self, byte)
        return ufuncs.not_equal(x, 0) if new == np.bool_ else _view(x, new)
    old_bits, new_bits = dtypes.itemsize_bits(self.dtype), dtypes.itemsize_bits(new)
    sizes = self.shape
    if old_bits == new_bits:
        return bitcast_convert_type_p.bind(self, new_dtype=new)
    if not sizes or sizes[-1] * old_bits % new_bits:
        raise errors.user_error(
            ValueError,
            f"view: an array of type {self.aval.str_short()} cannot be viewed as {new}: the last "
            "axis does not hold a whole number of elements.",
            fix="reshape first.",
        )
    last = sizes[-1] * old_bits // new_bits
    x = self
    if old_bits < new_bits:
        x = to_shape(self, (*sizes[:-1], last, new_bits // old_bits))
    return to_shape(bitcast_convert_type_p.bind(x, new_dtype=new), (*sizes[:-1], last))


def _itemsize(self):
    return self.dtype.itemsize


def _nbytes(self):
    return self.size * self.dtype.itemsize


_install_operators()
native.set_operators(
    {
        **{f"__{name}__": function for name, (_, function) in _BINARY.items()},
        **{name: function for name, (_, function) in _COMPARISONS.items()},
        "__neg__": ufuncs.negative,
        "__pos__": elementary.positive,
        "__abs__": ufuncs.absolute,
        "__invert__": ufuncs.invert,
    }
)
install(
    __abs__=ufuncs.absolute,
    __array__=concrete.to_numpy,
    __array_namespace__=namespace_of,
    __bool__=concrete.to_bool,
    __complex__=concrete.to_complex,
    __contains__=_contains,
    __float__=concrete.to_float,
    __format__=concrete.format_array,
    __getitem__=indexing.getitem,
    __index__=concrete.to_index,
    __int__=concrete.to_int,
    __invert__=ufuncs.invert,
    __iter__=_iter,
    __len__=_len,
    __neg__=ufuncs.negative,
    __pos__=elementary.positive,
    __reversed__=_reversed,
    __round__=_round,
    __setitem__=_setitem,
    T=property(shape.transpose),
    all=reductions.all,
    any=reductions.any,
    argmax=reductions.argmax,
    argmin=reductions.argmin,
    argpartition=sorting.argpartition,
    argsort=sorting.argsort,
    astype=_astype,
    at=property(IndexHelper),  # pyright: ignore[reportArgumentType]  (a call of it, in C)
    choose=functional.choose,
    clip=elementary.clip,
    compress=_compress,
    conj=elementary.conj,
    conjugate=elementary.conj,
    copy=_copy,
    cumprod=cumulative.cumprod,
    cumsum=cumulative.cumsum,
    diagonal=indexing.diagonal,
    dot=products.dot,
    flat=property(shape.ravel),
    flatten=_flatten,
    imag=property(elementary.imag),
    item=concrete.item,
    itemsize=property(_itemsize),
    mT=property(shape.matrix_transpose),
    max=reductions.max,
    mean=reductions.mean,
    min=reductions.min,
    nbytes=property(_nbytes),
    nonzero=nonzeros.nonzero,
    partition=sorting.partition,
    prod=reductions.prod,
    ptp=reductions.ptp,
    ravel=shape.ravel,
    real=property(elementary.real),
    repeat=repeating.repeat,
    reshape=_reshape,
    round=elementary.round,
    searchsorted=search.searchsorted,
    sort=_sort,
    squeeze=shape.squeeze,
    std=reductions.std,
    sum=reductions.sum,
    swapaxes=shape.swapaxes,
    take=indexing.take,
    to_device=_to_device,
    tolist=concrete.tolist,
    trace=products.trace,
    transpose=_transpose,
    var=reductions.var,
    byteswap=_byteswap,
    view=_view,
)
