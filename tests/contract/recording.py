"""Records, on copies, the calls that a package's own tests make of its functions and methods.

A plugin of pytest's. While it is there each function of the package notes what it is called with;
where it is taken away, all is as it was.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import pkgutil
import types

CALLS = 8
"""How many calls of a function are recorded."""

# What a class needs while it is made, or Python while it copies; generators are not jitted.
_LEFT = frozenset({
    "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__getattribute__", "__getstate__",
    "__init_subclass__", "__instancecheck__", "__new__", "__prepare__", "__reduce__",
    "__reduce_ex__", "__set_name__", "__setstate__", "__subclasscheck__", "__subclasshook__",
})  # fmt: skip
_NOT_CALLED_AT_ONCE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Recorder:
    """Records the calls of a package's functions.

    Args:
      package: its name for `import`.

    Attributes:
      calls: (function, positional arguments, keyword arguments) of each call, copied before it.
    """

    def __init__(self, package):
        self.package, self.calls = package, []
        self._replaced, self._made, self._copying = [], {}, False

    def pytest_configure(self):
        """Have the functions of all modules recorded."""
        for module in list(_modules(self.package)):
            self._enter(module, vars(module))

    def pytest_sessionfinish(self):
        """Put the functions back."""
        for owner, name, before in reversed(self._replaced):
            setattr(owner, name, before)
        self._replaced.clear()

    def _enter(self, owner, namespace):
        for name, value in list(namespace.items()):
            if isinstance(value, type):
                if self._is_own(value) and value not in self._made:
                    self._made[value] = value
                    if not issubclass(value, (type, BaseException)):
                        self._enter(value, vars(value))
                continue
            made = self._recorded(value)
            if made is not None:
                with contextlib.suppress(TypeError, AttributeError):  # a property as `__name__`
                    setattr(owner, name, made)
                    self._replaced.append((owner, name, value))

    def _recorded(self, value):
        """Return what records the calls of a function, or of what holds functions, or None."""
        if isinstance(value, staticmethod | classmethod):
            made = self._recorded(value.__func__)
            return None if made is None else type(value)(made)
        if type(value) is property and value.fget is not None:
            made = [self._recorded(f) or f for f in (value.fget, value.fset, value.fdel)]
            return property(*made, value.__doc__)
        if not isinstance(value, types.FunctionType) or not self._is_own(value):
            return None
        if value.__name__ in _LEFT or value.__code__.co_flags & _NOT_CALLED_AT_ONCE:
            return None
        if value not in self._made:
            self._made[value] = self._recording(value)
        return self._made[value]

    def _recording(self, function):
        left = CALLS

        @functools.wraps(function)
        def recording(*args, **kwargs):
            nonlocal left
            if left > 0 and not self._copying:
                left, self._copying = left - 1, True
                with contextlib.suppress(Exception):  # of what cannot be copied
                    if not any(map(_is_used_up, args)):
                        self.calls.append((function, *copy.deepcopy((args, kwargs))))
                self._copying = False
            return function(*args, **kwargs)

        return recording

    def _is_own(self, value):
        name = getattr(value, "__module__", None) or ""
        return name == self.package or name.startswith(f"{self.package}.")


def _is_used_up(x):
    """Whether plain Python cannot be given a value twice: an iterator, or a list of them."""
    return hasattr(type(x), "__next__") or (
        type(x) in (list, tuple) and any(hasattr(type(item), "__next__") for item in x)
    )


def _modules(package):
    """Yield the modules of a package but for its tests and those that cannot be imported."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{package}."):
        if "test" not in found.name and "__main__" not in found.name:
            try:
                yield importlib.import_module(found.name)
            except Exception:  # for want of another package
                continue
