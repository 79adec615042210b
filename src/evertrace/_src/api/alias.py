"""`as_jax`: libraries that say ``import jax`` get evertrace.

A finder in front of Python's own answers for ``jax`` and all names below it. ``jax`` is a module
of its own, which takes its attributes from evertrace but has JAX's version; ``jax.numpy`` and the
other public modules *are* those of evertrace, so that a value made under either name is the same.
Private modules of JAX hold the few names that libraries use, see `lent`, and refuse all others.
"""

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any

from evertrace._src.lazy import LazyModule
from evertrace._src.support import set_module

# To lend names costs nothing: NumPy is loaded when the first of them is used.
config: Any = LazyModule("evertrace._src.config")
errors: Any = LazyModule("evertrace._src.errors")
lent: Any = LazyModule("evertrace._src.api.lent")

NAME, OURS = "jax", "evertrace"

# What ``import jax`` loads and libraries look for among the loaded modules before they import it.
LOADED = (
    "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug", "dtypes",
    "errors", "export", "ffi", "flatten_util", "image", "lax", "nn", "numpy", "ops", "profiler",
    "random", "scipy", "sharding", "stages", "tree", "tree_util", "typing", "version",
)  # fmt: skip

# The release whose public names and signatures evertrace was compared with.
VERSION = "0.10.2"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads the modules below ``jax``."""

    def find_spec(self, fullname, path=None, target=None):
        """Return how to load a module of JAX, or None for all others."""
        if fullname.split(".")[0] != NAME:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module):
        """Put evertrace's module in the place of the empty one that Python has made."""
        sys.modules[module.__name__] = _find(module.__name__)


def _find(fullname):
    """Return the module of evertrace that stands for a module of JAX; ModuleNotFoundError."""
    below = fullname.removeprefix(f"{NAME}.")
    is_private = any(part.startswith("_") for part in below.split("."))
    if not is_private:
        ours = f"{OURS}.{below}"
        try:
            return importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{ours}.".startswith(f"{error.name}."):
                raise  # it is there, but needs a package that is not
    module = lent.make_module(fullname)
    if module is not None:
        return module
    error = errors.user_error(
        ModuleNotFoundError,
        f"as_jax: evertrace has no module that could stand for {fullname}"
        f"{', which is private to JAX' if is_private else ''}.",
        fix="use what the library offers without it, or the real JAX in another process.",
        anchor="as-jax",
    )
    error.name = fullname
    raise error


_finder = _Finder()


def _make_module():
    """Return the module ``jax``: evertrace's attributes, JAX's version."""
    package = importlib.import_module(OURS)
    module = types.ModuleType(NAME, package.__doc__)
    module.__file__ = __file__  # library code, to the contract of `jit`
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(NAME, _finder, is_package=True)
    vars(module).update(
        __version__=VERSION,
        __version_info__=tuple(map(int, VERSION.split("."))),
        __getattr__=functools.partial(_get, package),
        __dir__=lambda: sorted({*dir(package), *vars(module)}),
    )
    return module


def _get(package, name):
    # Our own private package is not JAX's, which JAX has imported itself.
    return importlib.import_module("jax._src") if name == "_src" else getattr(package, name)


class _Alias:
    """What `as_jax` returns; leaving it as a context takes the names away again."""

    def __init__(self, is_outermost):
        self._is_outermost = is_outermost

    def __enter__(self):
        return sys.modules[NAME]

    def __exit__(self, *exc):
        if self._is_outermost:
            # A list of its own: imports on other threads go through the other one.
            sys.meta_path = [finder for finder in sys.meta_path if finder is not _finder]
            for name in [m for m in sys.modules if m.split(".")[0] == NAME]:
                del sys.modules[name]


def _lend(name):
    """Put a module where libraries look for it without having imported it; it loads when used."""
    ours = f"{OURS}.{name}"
    module = sys.modules.get(ours)
    if module is None:
        spec: Any = importlib.util.find_spec(ours)
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = sys.modules[ours] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(sys.modules[OURS], name, module)
    sys.modules[f"{NAME}.{name}"] = module


@set_module("evertrace")
def as_jax() -> contextlib.AbstractContextManager[Any]:
    """Let ``import jax`` mean evertrace in this process, for libraries that were written for JAX.

    Call it before the first of them is imported::

        import evertrace as ev

        ev.as_jax()
        import optax

    Returns:
      A context manager, for where the names shall go away again:
      ``with ev.as_jax(): import optax``. Libraries keep what they have imported; what they import
      later, in a function, is then not found.

    Raises:
      RuntimeError: the real JAX has been imported: arrays of both would meet.
      ModuleNotFoundError: later, from ``import jax...``, for modules that evertrace does not have.
      AttributeError: later, for names of JAX's private modules that no library was known to use.

    Environment variables that JAX reads, such as ``JAX_ENABLE_X64``, set the option of that name,
    where neither ``EVERTRACE_ENABLE_X64`` nor the program has.

    ``jax.__version__`` is "0.10.2", the release that evertrace was compared with. Only names are
    lent: `importlib.metadata` does not know ``jax``. The user's own `jit` keeps evertrace's
    contract; in one that installed packages call JAX's rules hold, see `library_rules`.

    Example:
      >>> with ev.as_jax() as jax:
      ...     import jax.numpy
      ...
      ...     jax.numpy is ev.numpy, jax.__version__
      (True, '0.10.2')
    """
    if _finder in sys.meta_path:
        return _Alias(is_outermost=False)
    if NAME in sys.modules:
        raise errors.user_error(
            RuntimeError,
            "as_jax: the real JAX has been imported in this process.",
            fix="call `as_jax` before anything that imports jax, or in a process of its own.",
            anchor="as-jax",
        )
    # These two it has taken in any case, and options load what a lent name need not.
    if any(x.startswith("JAX_") for x in {*os.environ} - {"JAX_PLATFORMS", "JAX_PLATFORM_NAME"}):
        config.take_environment_of_jax()
    sys.meta_path.insert(0, _finder)
    sys.modules[NAME] = _make_module()
    for name in LOADED:
        _lend(name)
    return _Alias(is_outermost=True)
