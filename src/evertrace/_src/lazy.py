"""Modules and public names that are loaded when they are first asked for.

A process pays for what it uses: a first small program needs a third of the package and little of
the standard library.
"""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from evertrace._src.support import uncollected


def load(name: str) -> Any:
    """Import a module; the garbage collector, which would walk all that it makes, has a break."""
    with uncollected():
        return importlib.import_module(name)


class LazyModule:
    """Stands for a module, which is imported when something of it is first asked for."""

    def __init__(self, name: str):
        """Make the stand-in of the module of that name."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(load(self._name), attribute)
        setattr(self, attribute, value)
        return value


def exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that has a stub.

    The stub, ``__init__.pyi`` beside the package's ``__init__.py``, is what type checkers read, and
    the only list of the package's names: each is a line ``from module import name as public``.

    Args:
      package: the name of the package, which is being imported.
    """
    module = sys.modules[package]
    namespace = vars(module)
    places = _read(module)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        source, original = places[name]
        if source == ".":
            return load(f"{package}.{name}")
        value = namespace[name] = getattr(load(source), original)
        return value

    return get, lambda: sorted({*namespace, *places}), sorted(places)


def _read(module: Any) -> dict[str, tuple[str, str]]:
    """Return the public names of a stub, each with the module and the name it has there."""
    stub = os.path.join(module.__path__[0], "__init__.pyi")
    text = module.__loader__.get_data(stub).decode()
    lines = text.replace("(\n    ", "").replace(",\n)", "").split("\n")
    imports = [line.split() for line in lines if line.startswith("from ")]
    return {public: (source, name) for _, source, _, name, _, public in imports}
