"""Modules and public names that are loaded when they are first asked for.

A process pays for what it uses: a first small program needs a third of the package and little of
the standard library.
"""

import functools
import importlib
import os
import sys
from collections.abc import Callable
from threading import get_ident
from time import monotonic, sleep
from typing import Any, NoReturn, TypeVar

from evertrace._src import support

T = TypeVar("T")

_loading: list[int] = []  # the threads that import something


def load(name: str) -> Any:
    """Import a module; the garbage collector, which would walk all that it makes, has a break."""
    thread = get_ident()
    try:
        _loading.append(thread)
        with support.uncollected():
            return importlib.import_module(name)
    finally:
        if thread in _loading:  # else an interrupt came before
            _loading.remove(thread)


def _wait_for_imports() -> None:
    """Let other threads end their imports before a fork, or children could not import the same.

    Not for ever: one of them may be waiting for the thread that forks.
    """
    me, end = get_ident(), monotonic() + 5
    while any(thread != me for thread in _loading) and monotonic() < end:
        sleep(0.001)


def _forget_imports() -> None:
    _loading[:] = [thread for thread in _loading if thread == get_ident()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_forget_imports)


class LazyModule:
    """Stands for a module, which is imported when something of it is first asked for."""

    def __init__(self, name: str):
        """Make the stand-in of the module of that name."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(load(self._name), attribute)
        setattr(self, attribute, value)
        return value


def exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that has a stub; `__all__` is found by them.

    The stub, ``__init__.pyi`` beside the package's ``__init__.py``, is what type checkers read, and
    the only list of the package's names: each is a line ``from module import name as public``. It
    is read when the first name is asked for, and searched for that name only.

    Args:
      package: the name of the package, which is being imported.
    """
    module = sys.modules[package]
    namespace = vars(module)

    def get(name: str) -> Any:
        text = _stub(module)
        if name == "__all__":
            value = sorted(line.split()[-1] for line in text.split("\n") if line[:5] == "from ")
        else:
            end = text.find(f" as {name}\n")
            if end < 0:
                _refuse(package, name)
            _, source, _, original = text[text.rfind("\n", 0, end) : end].split()
            if source == ".":
                return load(f"{package}.{name}")
            owner = load(source)
            value = support.door(getattr(owner, original))
            setattr(owner, original, value)  # where pickles look for it
        namespace[name] = value
        return value

    return _without_frames(get), lambda: sorted({*namespace, *module.__all__})


def refuse_others(module: str) -> None:
    """Have a module that has all its names say of others what could be meant.

    Its `__getattr__` is set here, where no type checker takes it for one that has any name.
    """
    get = _without_frames(functools.partial(_refuse, module))
    vars(sys.modules[module])["__getattr__"] = get


def _refuse(package: str, name: str) -> NoReturn:
    raise Absent(package, name)


def _without_frames(get: Callable[[str], T]) -> Callable[[str], T]:
    """Return a module's `__getattr__` whose refusals show no frames of ours."""

    def outer(name: str) -> T:
        try:
            return get(name)
        except Absent as error:
            error.__traceback__ = None
            raise

    return outer


class Absent(AttributeError):
    """A name that a module does not have; what could be meant is looked for when it is shown.

    `hasattr` and `getattr` with a default, which forget the error, do not pay for it.
    """

    def __init__(self, package: str, name: str):
        """Make the error of a name of a package."""
        super().__init__(package, name, name=name, obj=sys.modules.get(package))

    def __str__(self) -> str:
        package, name = self.args
        try:
            return str(load("evertrace._src.absent").text(package, name))
        except Exception:  # an explanation may never make a call fail
            return f"module {package!r} has no attribute {name!r}"

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)  # to where evertrace may not be loaded


Absent.__name__ = Absent.__qualname__ = "AttributeError"
Absent.__module__ = "builtins"


class _LastFinder:
    """Words the errors of imports from evertrace; no other finder knows the module."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        """Raise in an import of what is not there; who only asks whether it is gets None."""
        package, _, name = fullname.rpartition(".")
        is_ours = package.partition(".")[0] == "evertrace" and "._src" not in fullname
        asks = sys._getframe(2).f_code.co_name
        if is_ours and asks == "_find_and_load_unlocked" and not name.startswith("_"):
            raise load("evertrace._src.absent").import_error(package, name)


# Python takes the frames of its own machinery out of the tracebacks of imports; this is one.
_LastFinder.find_spec.__code__ = _LastFinder.find_spec.__code__.replace(
    co_filename="<frozen importlib._bootstrap>"
)
sys.meta_path.append(_LastFinder)  # type: ignore[arg-type]


@functools.cache
def _stub(module: Any) -> str:
    """Return the text of a package's stub, each import in one line."""
    path = os.path.join(module.__path__[0], "__init__.pyi")
    text = module.__loader__.get_data(path).decode()
    return "\n" + text.replace("(\n    ", "").replace(",\n)", "")
