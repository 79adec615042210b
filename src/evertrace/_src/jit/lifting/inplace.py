"""What stands, during a trace, in the place of a function, or module, that users may name.

Who calls it gets another function. Who compares it, looks it up in a table or shows it finds the
function itself; and that is what is kept, see `function_of`.
"""

import types
from typing import Any

from evertrace._src.support import WeakKeys
from evertrace._src.tracebacks import in_place_of_python


class InPlace:
    """Stands for a function: equal to it, named like it, and to most callers the same."""

    def __init__(self, real: Any):
        # What `functools.update_wrapper` gives it and it would not find by `__getattr__`.
        self.__module__ = getattr(real, "__module__", self.__module__)
        self.__doc__, self.__wrapped__ = real.__doc__, real
        self.real = real

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def __eq__(self, other: object) -> bool:
        return self is other or self.real == function_of(other)

    def __hash__(self) -> int:
        return hash(self.real)

    def __repr__(self) -> str:
        return repr(self.real)

    def __reduce__(self) -> Any:
        return self.real.__reduce__()


class Calling(InPlace):
    """Stands for a function, and calls another."""

    def __init__(self, real: Any, called: Any):
        super().__init__(real)
        self.called = called

    @in_place_of_python
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.called(*args, **kwargs)


class ModuleInPlace(types.ModuleType):
    """Stands for a module of functions that have stand-ins: equal to it."""

    __class__ = property(lambda self: types.ModuleType)  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, real: types.ModuleType):
        super().__init__(real.__name__, real.__doc__)
        vars(self).update(vars(real))
        replaces(self, real)

    def __eq__(self, other: object) -> bool:
        return function_of(other) is function_of(self)

    def __hash__(self) -> int:
        return hash(function_of(self))


_replaced: Any = WeakKeys()  # what is called in place of another -> the other


def function_of(value: Any) -> Any:
    """Return what a stand-in stands for, to be kept; other values as they are."""
    if issubclass(type(value), InPlace):  # `isinstance` would ask a stand-in
        return value.real
    return _replaced.get(value, value) if type(value) in _REPLACING else value


_REPLACING = {types.FunctionType}


def replaces(made: Any, value: Any) -> None:
    """Note that something is called in place of another."""
    _REPLACING.add(type(made))
    _replaced[made] = value
