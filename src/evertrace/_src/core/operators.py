"""The hook through which arrays and tracers get their operators and methods.

`Operators` declares every operator, NumPy method and property. What they do is defined four layers
up, in `numpy/operators.py` and `numpy/methods.py`; the first use of any of them imports the file,
which then puts the real functions in place with `install`, or says with `install_later` how the
rarer ones are found when they are used.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from evertrace._src import support
from evertrace._src.lazy import load

modules: tuple[str, ...] = ()
"""Names of those that install the real functions, in the order in which they are imported."""

Method = Callable[..., Any]
Property = Any


class Operators:
    """Base of `Array` and `Tracer`: Python's operators and NumPy's methods."""

    __slots__ = ()

    # NumPy must ask us, not loop over our elements, when it meets us in a binary operation.
    __array_priority__ = 100
    # As for every class that defines `__eq__`; object's own declaration does not allow for it.
    if TYPE_CHECKING:
        __hash__: Any
    else:  # without an annotation: those name the operators
        __hash__ = None

    __abs__: Method
    __add__: Method
    __and__: Method
    __bool__: Callable[..., bool]
    __complex__: Callable[..., complex]
    __divmod__: Method
    __eq__: Method
    __float__: Callable[..., float]
    __floordiv__: Method
    __format__: Callable[..., str]
    __ge__: Method
    __getitem__: Method
    __gt__: Method
    __index__: Callable[..., int]
    __int__: Callable[..., int]
    __invert__: Method
    __iter__: Callable[..., Iterator[Any]]
    __le__: Method
    __len__: Callable[..., int]
    __lshift__: Method
    __lt__: Method
    __matmul__: Method
    __mod__: Method
    __mul__: Method
    __ne__: Method
    __neg__: Method
    __or__: Method
    __pos__: Method
    __pow__: Method
    __radd__: Method
    __rand__: Method
    __rdivmod__: Method
    __reversed__: Method
    __rfloordiv__: Method
    __rlshift__: Method
    __rmatmul__: Method
    __rmod__: Method
    __rmul__: Method
    __ror__: Method
    __round__: Method
    __rpow__: Method
    __rrshift__: Method
    __rshift__: Method
    __rsub__: Method
    __rtruediv__: Method
    __rxor__: Method
    __delitem__: Method
    __setitem__: Method
    __sub__: Method
    __truediv__: Method
    __xor__: Method
    __array__: Method
    __array_namespace__: Method
    __buffer__: Callable[..., memoryview]
    __contains__: Callable[..., bool]
    all: Method
    any: Method
    argmax: Method
    argmin: Method
    argpartition: Method
    argsort: Method
    astype: Method
    byteswap: Method
    choose: Method
    clip: Method
    compress: Method
    conj: Method
    conjugate: Method
    copy: Method
    cumprod: Method
    cumsum: Method
    diagonal: Method
    dot: Method
    flatten: Method
    item: Method
    max: Method
    mean: Method
    min: Method
    nonzero: Method
    partition: Method
    prod: Method
    ptp: Method
    ravel: Method
    repeat: Method
    reshape: Method
    round: Method
    searchsorted: Method
    sort: Method
    squeeze: Method
    std: Method
    sum: Method
    swapaxes: Method
    take: Method
    to_device: Method
    tolist: Method
    trace: Method
    transpose: Method
    var: Method
    view: Method
    T: Property
    at: Property
    flat: Property
    imag: Property
    itemsize: Property
    mT: Property
    nbytes: Property
    real: Property


def _load(name: str) -> Any:
    """Put the real functions in place and return the one called `name`."""
    for module in modules:
        load(module)
        if name in _later and Operators.__dict__[name] is _deferred[name]:
            install(**{name: _later[name]()})
        if Operators.__dict__[name] is not _deferred[name]:
            return Operators.__dict__[name]
    raise AssertionError(f"none of {modules}, which evertrace/__init__ names, installs {name}")


def _deferred_member(name: str) -> Any:
    if not name.startswith("__"):
        return _DeferredMember(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return _load(name)(self, *args, **kwargs)
        except Exception as error:
            load("evertrace._src.tracebacks").shorten(error)
            raise

    method.__name__ = name
    return method


class _DeferredMember:
    """A method or property that is not there yet; who looks at it gets the real one."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return _load(self.name).__get__(instance, owner)


def install(**functions: Any) -> None:
    """Set methods and properties of every array and tracer class."""
    shortened = load("evertrace._src.tracebacks").shortened
    for name, function in functions.items():
        # Operators are called in every line of a program, so what they can be given they check.
        is_operator = name[:2] == "__" and isinstance(function, FunctionType)
        setattr(Operators, name, shortened(function) if is_operator else support.door(function))


def install_later(**makers: Callable[[], Any]) -> None:
    """Set methods and properties by functions that return them, called at their first use."""
    _later.update(makers)


_later: dict[str, Callable[[], Any]] = {}
_deferred: dict[str, Any] = {name: _deferred_member(name) for name in Operators.__annotations__}
for _name, _method in _deferred.items():
    setattr(Operators, _name, _method)
