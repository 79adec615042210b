"""NumPy's methods of arrays and tracers, put in place when the first of them is used."""

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.core.operators import install, install_later
from evertrace._src.lazy import LazyModule, load
from evertrace._src.ops.convert import bitcast_convert_type_p, convert
from evertrace._src.ops.structural import reshape as to_shape
from evertrace._src.ops.structural import rev_p

creation: Any = LazyModule("evertrace._src.numpy.creation")
devices: Any = LazyModule("evertrace._src.api.devices")
elementwise: Any = LazyModule("evertrace._src.lax.elementwise")
reductions: Any = LazyModule("evertrace._src.numpy.reductions")
search: Any = LazyModule("evertrace._src.numpy.search")
shape: Any = LazyModule("evertrace._src.numpy.shape")
sorting: Any = LazyModule("evertrace._src.numpy.sorting")
ufuncs: Any = LazyModule("evertrace._src.numpy.ufuncs")
variance: Any = LazyModule("evertrace._src.numpy.variance")


def _contains(self, value):
    return bool(reductions.any(ufuncs.equal(self, value)))


@native.planned(by_type=False)
def _astype(self, dtype, copy=False, device=None):
    """Return the array converted to a dtype; see `astype`."""
    return creation.astype(self, dtype, copy=copy, device=device)


def _compress(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    """Return the slices along an axis for which a condition holds; see `compress`."""
    return search.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _copy(self):
    """Return a copy."""
    return creation.copy(self)


@native.planned(by_type=False)
def _flatten(self, order="C", *, out_sharding=None):
    """Return the elements as a vector; see `ravel`."""
    return shape.ravel(self, order, out_sharding=out_sharding)


@native.planned(by_type=False)
def _reshape(self, *args, order="C", out_sharding=None):
    """Return the elements in a new shape, given as one tuple or as several sizes."""
    sizes = args[0] if len(args) == 1 else args
    return shape.reshape(self, sizes, order, out_sharding=out_sharding)


def _sort(self, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """Return the array sorted along an axis; see `sort`."""
    return sorting.sort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _to_device(self, device, *, stream=None):
    """Return the array on a device, or laid out by a sharding; see `device_put`."""
    return devices.device_put(self, device)


@native.planned(by_type=False)
def _transpose(self, *args):
    """Permute axes, given as one tuple or as several numbers; reverse them by default."""
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
        return elementwise.complex(_byteswap(self.real), _byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return self
    octets = bitcast_convert_type_p.bind(self, new_dtype=np.dtype(np.uint8))
    reversed_ = rev_p.bind(octets, dimensions=(octets.ndim - 1,))
    return bitcast_convert_type_p.bind(reversed_, new_dtype=self.dtype)


def _is_shape(x):
    return isinstance(x, int) or (isinstance(x, tuple) and all(isinstance(n, int) for n in x))


def _view(self, dtype: Any = None, type=None):
    """Return the same bits read as another dtype; the last axis grows or shrinks."""
    if _is_shape(dtype):
        shape = dtype if type is None else (dtype, type)
        raise errors.user_error(
            TypeError,
            f"view: takes a dtype, got {dtype}.",
            fix=f"give another shape by `x.reshape({shape})`.",
            anchor="dtype-unsupported",
        )
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
            anchor="shape-bitcast",
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


def _maker(name, place):
    """Return what finds a method or property in another module of this package, "module.name"."""
    module, _, function = place.partition(".")

    def make():
        found = getattr(load(f"evertrace._src.numpy.{module}"), function)
        return property(found, doc=_PROPERTIES[name]) if name in _PROPERTIES else found

    return make


_PROPERTIES = {
    "T": "The array with its axes in the opposite order.",
    "at": "Places of the array: ``x.at[index].set(values)`` returns a changed array.",
    "flat": "The elements as a vector.",
    "imag": "The imaginary part, 0 for real numbers.",
    "itemsize": "Bytes of an element.",
    "mT": "The array with its last two axes swapped.",
    "nbytes": "Bytes of all elements.",
    "real": "The real part; real numbers as they are.",
}
"""What properties are, in the words of `arrays/members.py`, which only type checkers read."""


_PLACES = {
    "T": "shape.transpose",
    "all": "reductions.all",
    "any": "reductions.any",
    "argmax": "reductions.argmax",
    "argmin": "reductions.argmin",
    "argpartition": "sorting.argpartition",
    "argsort": "sorting.argsort",
    "at": "updates.IndexHelper",
    "choose": "functional.choose",
    "clip": "elementary.clip",
    "conj": "elementary.conj",
    "conjugate": "elementary.conj",
    "cumprod": "cumulative.cumprod",
    "cumsum": "cumulative.cumsum",
    "diagonal": "indexing.diagonal",
    "dot": "products.dot",
    "flat": "shape.ravel",
    "imag": "elementary.imag",
    "item": "concrete.item",
    "mT": "shape.matrix_transpose",
    "max": "reductions.max",
    "mean": "reductions.mean",
    "min": "reductions.min",
    "nonzero": "nonzeros.nonzero",
    "partition": "sorting.partition",
    "prod": "reductions.prod",
    "ptp": "reductions.ptp",
    "ravel": "shape.ravel",
    "real": "elementary.real",
    "repeat": "repeating.repeat",
    "round": "elementary.round",
    "searchsorted": "search.searchsorted",
    "squeeze": "shape.squeeze",
    "std": "variance.std",
    "sum": "reductions.sum",
    "swapaxes": "shape.swapaxes",
    "take": "indexing.take",
    "tolist": "concrete.tolist",
    "trace": "products.trace",
    "var": "variance.var",
}
"""Where the functions are that are methods as they are."""

install(
    __contains__=_contains,
    astype=_astype,
    byteswap=_byteswap,
    compress=_compress,
    copy=_copy,
    flatten=_flatten,
    itemsize=property(_itemsize, doc=_PROPERTIES["itemsize"]),
    nbytes=property(_nbytes, doc=_PROPERTIES["nbytes"]),
    reshape=_reshape,
    sort=_sort,
    to_device=_to_device,
    transpose=_transpose,
    view=_view,
)
install_later(**{name: _maker(name, place) for name, place in _PLACES.items()})
