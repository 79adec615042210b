"""What is in C++ of arrays and eager functions: the bases of classes, and plans of functions.

They are in an extension module that an installation without a compiler does not have, and that
``EVERTRACE_NATIVE=0`` in the environment leaves alone (`extension`). Without it the bases are those
below, and functions are called as they are. `kernels` has what is called on NumPy arrays.
"""

import atexit
import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from evertrace._src import config, doors, errors, extension
from evertrace._src.extension import twin
from evertrace._src.support import set_module

F = TypeVar("F", bound=Callable[..., Any])

_planned: dict[Any, bool] = {}  # functions of `planned`, and whether Python numbers are operands

_is_missing_said = False


@twin
def parkable(function: F) -> F:
    """Return a function for libraries that call it from C++ of theirs.

    Where the interpreter ends meanwhile, the calling thread sleeps for ever and does not unwind.
    """
    return function


at_end: list[Callable[[], None]] = []
"""Called where the interpreter ends, if no extension module does what is to be done there."""


def _end() -> None:
    for function in at_end:
        function()


if not extension.is_built():  # here, so that whatever is registered later comes before it
    atexit.register(_end)


@twin
def drain_queue() -> None:
    """Wait until what is queued has been computed."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=drain_queue)  # a child has no thread that goes on with it


@twin
def refuse_programs(refuse: Callable[[], None]) -> None:
    """Have a function called, which raises, in the place of each program of XLA's from now on."""


class _AvalFields:
    """The fields of an aval, see `python/array.h`."""

    __slots__ = ("__weakref__", "cache", "dtype", "ndim", "shape", "size", "weak_type")


class _ArrayFields:
    """The fields of an array, see `python/array.h`."""

    # `_sharding` is set only where the array is laid out over a mesh.
    __slots__ = ("__weakref__", "_buffer", "_committed", "_device", "_host", "_sharding", "aval")

    def __init__(self, aval=None, host=None, buffer=None, device=None, committed=False):
        if not isinstance(aval, AvalBase):
            self._not_made_so()
        self.aval, self._host, self._buffer = aval, host, buffer
        self._device, self._committed = device, committed

    _on_host = property(lambda self: self._host is not None)
    _settled = True

    def _not_made_so(self):
        raise NotImplementedError  # as the class of arrays does

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)


class _Indexed:
    """``x.at``: see `numpy.updates`."""

    __slots__ = ("array",)

    place_class: Any = None

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return _Indexed.place_class(self.array, index)


class _Place:
    """``x.at[index]``."""

    __slots__ = ("array", "index")

    def __init__(self, array, index):
        self.array, self.index = array, index


if TYPE_CHECKING:
    AvalBase = _AvalFields
else:
    AvalBase = twin(_AvalFields, "AvalBase")
"""Base of `ShapedArray`."""

ArrayBase: Any = twin(_ArrayFields, "ArrayBase")
"""Base of `Array`."""

IndexHelperBase: Any = twin(_Indexed, "IndexHelperBase")
"""Base of the class of ``x.at``."""

IndexRefBase: Any = twin(_Place, "IndexRefBase")
"""Base of the class of ``x.at[index]``."""


@twin
def set_aval_class(cls: type) -> None:
    """Say that `cls`, made over `AvalBase`, returns the one aval of three facts."""


@twin
def set_array_class(cls: type, operators: type) -> None:
    """Say that `cls` is the class of arrays.

    Args:
      cls: a class over `ArrayBase` that adds no fields.
      operators: the class whose methods are its operators where they are not done in C++.
    """


@twin
def waiting(leaves: list[Any]) -> list[Any]:
    """Return the arrays among leaves whose contents are not here: they may still be computed."""
    return [x for x in leaves if isinstance(x, _ArrayFields) and not x._on_host]


@twin
def settle(array: Any) -> None:
    """Wait until the queue has computed the contents of an array, if it does; raises its error."""


@twin
def set_at_classes(helper: type, place: type) -> None:
    """Say which classes ``x.at`` and ``x.at[index]`` are of."""
    _Indexed.place_class = place


def _as_it_is(function: Any, by_type: bool = False, update: Any = None) -> Any:
    return function


_function: Any = twin(_as_it_is, "Function")


def planned(*, by_type: bool) -> Callable[[F], F]:
    """Decorate an eager function: what it does for arrays of some types is repeated in C++.

    It gets a plan (`engines.host.plans`) where it is called with arrays, also in lists and tuples,
    with Python scalars and what else has a value that does not change, and where all it does are
    operations that have kernels; it is called itself in all other cases, of which tracing is one.

    Args:
      by_type: whether Python numbers are operands, of which only the types matter; such a function
        must not look at contents. Else they are part of what it does, as an axis is.
    """

    def decorate(function: Any) -> Any:
        within = doors.door(function)
        made = _function(within, by_type)
        if made is not within:
            _planned[functools.update_wrapper(made, function)] = by_type
        return made

    return decorate


def planned_in(module: str) -> Callable[[F], F]:
    """Decorate a public function of a module, whose numbers are no operands, as `planned`."""
    return lambda function: set_module(module)(planned(by_type=False)(function))


def alias(name: str, function: F, module: str | None = None) -> F:
    """Return a public function under another name, which it, its pickles and tracebacks have.

    Args:
      name: of the result.
      function: a plain function, or one of `planned`.
      module: where pickles look for the result, if it is another than that of the function.
    """
    by_type, given = _planned.get(function), cast("Any", function)
    inner = given if by_type is None else given.__wrapped__
    code = inner.__code__.replace(co_name=name, co_qualname=name)
    made: Any = FunctionType(code, inner.__globals__, name, inner.__defaults__, inner.__closure__)
    made.__kwdefaults__, made.__annotations__ = inner.__kwdefaults__, inner.__annotations__
    made.__dict__.update(inner.__dict__)
    made.__doc__, made.__module__ = inner.__doc__, module or inner.__module__
    return made if by_type is None else planned(by_type=by_type)(made)


def rename(module: dict[str, Any], *names: str) -> None:
    """Give functions that a module has under other names than their own these names, by `alias`.

    Type checkers read plain assignments and imports, which say what the signatures are.
    """
    for name in names:
        value = module[name]
        if getattr(value, "__name__", name) != name:
            module[name] = alias(name, value, module["__name__"])


def forget_plans() -> None:
    """Drop all plans; they are made anew."""
    for function in _planned:
        function._forget_plans()


def updating(operation: str) -> Callable[[F], F]:
    """Decorate a method of ``x.at[index]``: at static indices, it is done in C++.

    Args:
      operation: the primitive that combines old and new elements, "" for none.
    """

    def decorate(function: Any) -> Any:
        within = doors.door(function)
        made = _function(within, update=operation)
        return made if made is within else functools.update_wrapper(made, function)

    return decorate


@twin
def set_operators(functions: dict[str, Any]) -> None:
    """Name the functions that operators call, by the names of their methods."""


@twin
def set_planner(planner: Callable[..., Any]) -> None:
    """Name what describes the functions of `planned`."""


@twin
def set_recording(flag: bool) -> bool:
    """Say whether functions of `planned` are done in Python in this thread; returns what it was."""
    return False


def warn_missing() -> None:
    """Say once per process that the extension module is not there, unless that was asked for."""
    global _is_missing_said
    if _is_missing_said or not extension.is_wanted or not config.current().native_kernels:
        return
    _is_missing_said = True
    errors.user_warning(
        errors.PerformanceWarning,
        "evertrace was installed without its C++ extension module. Everything works, but each "
        "jitted program waits for XLA, small calls take tens of times as long, and sorting, "
        "searching and running sums of large arrays are up to a hundred times slower.",
        fix="install a C++ compiler, then `pip install --force-reinstall --no-cache-dir evertrace` "
        "(pip keeps what it has built), or set EVERTRACE_NATIVE=0 in the environment to accept it.",
        anchor="native-kernels",
    )


@twin
def begin_spans(hidden: str) -> None:
    """Note calls that run no Python from now on, for a profile.

    Args:
      hidden: prefix of the names of files whose frames are not the user's.
    """


@twin
def end_spans() -> list[tuple[Any, ...]]:
    """Stop that; returns ``(what ran, the code that called, its line, thread, begin, end)`` each.

    Times are those of `time.monotonic_ns`. Without the extension module all calls run Python.
    """
    return []
