"""The one door to the extension module in C++, which may be missing or not wanted.

Whoever has something in Python that stands beside C++ asks `twin` once, where it is defined, for
the one to be used; what only the C++ needs is `call`ed. So nothing else asks whether the module is
there, but for what it says to users: `is_built`.

With ``EVERTRACE_NATIVE=0`` in the environment it is ignored: everything then runs by the Python
code that it stands beside, which says what its parts mean. With ``EVERTRACE_NATIVE=1`` it has to be
there: why it cannot be loaded is then an error.
"""

import importlib.machinery
import itertools
import os
from typing import Any, TypeVar

T = TypeVar("T")

native: Any = None
"""The module, or None. Kernels, which have no twins, are called by it (`kernels`)."""

_wanted = os.environ.get("EVERTRACE_NATIVE")

is_wanted = _wanted != "0"
"""Whether to do without it was not asked for."""

failure = ""
"""Why it could not be loaded, in Python's words."""

if is_wanted:
    try:
        from evertrace._src import _native  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:  # it was not built, or for another Python
        failure = str(error)
        if _wanted == "1":
            raise
    else:
        native = _native


def is_built() -> bool:
    """Whether the extension module is there."""
    return native is not None


def _named(name: str) -> Any:
    """Return what the module has under a name; it has all names of the Python code of its time."""
    try:
        return getattr(native, name)
    except AttributeError:
        raise ImportError(
            f"evertrace's extension module has no {name}: it was built from other sources than the "
            f"Python code that it stands beside ({native.__file__}).\n"
            "  Fix: install again, by `pip install .`, or `pip install -e .` in a clone; without "
            "a compiler, set EVERTRACE_NATIVE=0 in the environment."
        ) from None


def twin(python: T, name: str = "") -> T:
    """Return what the extension module has under a name, or its twin in Python without the module.

    As a decorator it takes the name of the function or class. One whose body is a docstring does
    nothing without the module.
    """
    return python if native is None else _named(name or getattr(python, "__name__", ""))


def call(name: str, *args: Any) -> Any:
    """Return what a function or class of the module returns, or None without the module."""
    return None if native is None else _named(name)(*args)


class _Codes(dict[str, int]):
    def __missing__(self, name: str) -> int:
        if is_built():
            raise KeyError(name)
        return -1


def codes(name: str) -> dict[str, int]:
    """Return the numbers that an enum of the module has for names; -1 for all without the module.

    Args:
      name: under which the module has the names, in the order of their numbers.
    """
    names = () if native is None else _named(name)
    return _Codes(zip(names, itertools.count()))


def why_missing() -> str:
    """Return why the extension module is not there, or "" where it is."""
    if is_built():
        return ""
    if not is_wanted:
        return "not wanted: EVERTRACE_NATIVE=0 is in the environment"
    folder = os.path.dirname(__file__)
    found = sorted(name for name in os.listdir(folder) if name.startswith("_native."))
    wanted = [f"_native{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    if not found:
        return "not built: there was no C++ compiler at the installation, or the sources were moved"
    if not set(found) & set(wanted):
        return f"built for another Python: there is {', '.join(found)}, and it takes {wanted[0]}"
    return f"built, but Python cannot load it: {failure}"
