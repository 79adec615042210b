"""The hook through which arrays and tracers get their operators and methods.

`Operators` names every operator and NumPy method. What they do is defined four layers up, in
`numpy/methods.py`; the first use of any of them imports it, and it then puts the real functions in
place with `install`.
"""

from collections.abc import Callable

resolver: Callable[[], None] | None = None

METHODS = [
    "__abs__",
    "__add__",
    "__and__",
    "__bool__",
    "__complex__",
    "__divmod__",
    "__eq__",
    "__float__",
    "__floordiv__",
    "__format__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__index__",
    "__int__",
    "__invert__",
    "__iter__",
    "__le__",
    "__len__",
    "__lshift__",
    "__lt__",
    "__matmul__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__neg__",
    "__or__",
    "__pos__",
    "__pow__",
    "__radd__",
    "__rand__",
    "__rdivmod__",
    "__reversed__",
    "__rfloordiv__",
    "__rlshift__",
    "__rmatmul__",
    "__rmod__",
    "__rmul__",
    "__ror__",
    "__round__",
    "__rpow__",
    "__rrshift__",
    "__rshift__",
    "__rsub__",
    "__rtruediv__",
    "__rxor__",
    "__setitem__",
    "__sub__",
    "__truediv__",
    "__xor__",
    "__array__",
    "__array_namespace__",
    "__contains__",
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "astype",
    "choose",
    "clip",
    "compress",
    "conj",
    "conjugate",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "flatten",
    "item",
    "max",
    "mean",
    "min",
    "nonzero",
    "partition",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "reshape",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "to_device",
    "tolist",
    "trace",
    "transpose",
    "var",
    "view",
]
PROPERTIES = ("T", "mT", "at", "flat", "imag", "itemsize", "nbytes", "real")


def _load(name):
    """Put the real methods in place and return the one called `name`."""
    assert resolver is not None, "evertrace/__init__ sets the operators resolver"
    resolver()
    return Operators.__dict__[name]


def _deferred_method(name):
    def method(self, *args, **kwargs):
        return _load(name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _deferred_property(name):
    return property(lambda self: _load(name).__get__(self))


class Operators:
    """Base of `Array` and `Tracer`: Python's operators and NumPy's methods."""

    __slots__ = ()

    # NumPy must ask us, not loop over our elements, when it meets us in a binary operation.
    __array_priority__ = 100
    __hash__ = None


def install(**functions):
    """Set methods and properties of every array and tracer class."""
    for name, function in functions.items():
        setattr(Operators, name, function)


install(**{name: _deferred_method(name) for name in METHODS})
install(**{name: _deferred_property(name) for name in PROPERTIES})
