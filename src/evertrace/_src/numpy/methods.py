"""NumPy's methods of arrays and tracers, put in place when the first of them is used."""

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
    operators,
    products,
    reductions,
    repeating,
    search,
    shape,
    sorting,
    ufuncs,
)
from evertrace._src.numpy.updates import IndexHelper
from evertrace._src.ops.convert import bitcast_convert_type_p, convert
from evertrace._src.ops.structural import reshape as to_shape


def _contains(self, value):
    return bool(reductions.any(ufuncs.equal(self, value)))


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


_matmul, _rmatmul = operators.make_operator("@", products.matmul)
native.set_operators({**operators.NATIVE, "__matmul__": products.matmul})
install(
    __contains__=_contains,
    __matmul__=_matmul,
    __rmatmul__=_rmatmul,
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
