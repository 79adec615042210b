"""The operators and methods of sparse arrays: those of arrays, sparsified."""

from evertrace._src.doors import door
from evertrace._src.experimental.sparse import shapes
from evertrace._src.experimental.sparse.arrays import BCOO, JAXSparse
from evertrace._src.experimental.sparse.sparsify import sparsify

_NAMES = (
    "__abs__", "__add__", "__eq__", "__ge__", "__getitem__", "__gt__", "__le__", "__lt__",
    "__matmul__", "__mul__", "__ne__", "__neg__", "__pos__", "__pow__", "__radd__",
    "__rmatmul__", "__rmul__", "__rsub__", "__sub__", "__truediv__", "astype", "conj", "dot",
    "reshape", "squeeze", "sum", "swapaxes",
)  # fmt: skip


def _delegate(name):
    """Return a method that does what the method of arrays of this name does."""

    @sparsify
    def method(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"Do what the method `{name}` of an array does, by `sparsify`."
    return door(method)


for _name in _NAMES:
    setattr(JAXSparse, _name, _delegate(_name))


@door
def _transpose(self, axes=None):
    """Return the array with its dimensions reversed, or in the order of `axes`."""
    order = range(self.ndim)[::-1] if axes is None else axes
    return shapes.bcoo_transpose(self, permutation=[d % self.ndim for d in order])


BCOO.transpose = _transpose  # type: ignore[attr-defined]
BCOO.T = property(_transpose)  # type: ignore[attr-defined]
