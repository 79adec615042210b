"""What there is: processes, living arrays, versions."""

from __future__ import annotations

import gc
import importlib.util
import os
import pkgutil
import platform as system
import sys
from typing import Any, TypeVar

import numpy as np

from evertrace._src import config, extension, tree
from evertrace._src.arrays.array import Array
from evertrace._src.engines import runtime
from evertrace._src.lazy import LazyModule
from evertrace._src.support import set_module

metadata: Any = LazyModule("importlib.metadata")

T = TypeVar("T")

public = set_module("evertrace")


@public
def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of the processes that work together, as a list.

    Example:
      >>> ev.process_indices()
      [0]
    """
    return list(range(runtime.client().process_count(backend)))


@public
def host_id(backend: str | None = None) -> int:
    """Return the number of this process: the old name of `process_index`.

    Example:
      >>> ev.host_id()
      0
    """
    return runtime.client().process_index(backend)


@public
def host_ids(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes: the old name of `process_indices`.

    Example:
      >>> ev.host_ids()
      [0]
    """
    return process_indices(backend)


@public
def host_count(backend: str | None = None) -> int:
    """Return the number of processes: the old name of `process_count`.

    Example:
      >>> ev.host_count()
      1
    """
    return len(process_indices(backend))


@public
def live_arrays(platform: str | None = None) -> list[Array]:
    """Return all arrays of the process whose contents have not been deleted, in no order.

    Args:
      platform: only arrays on devices of this platform, such as "cpu"; None is all.

    The garbage collector's list of all objects is searched, so it is slow: for looking for leaks.
    Differs from JAX: constants that the library holds are among them.

    Example:
      >>> x = jnp.ones(3)
      >>> any(y is x for y in ev.live_arrays())
      True
    """
    found = [x for x in gc.get_objects() if type(x) is Array and not x.is_deleted()]
    return (
        found
        if platform is None
        else [x for x in found if {d.platform for d in x.devices()} == {platform}]
    )


@public
def copy_to_host_async(x: T) -> T:
    """Begin to copy the arrays of a tree to the host; returns the tree.

    Example:
      >>> ev.copy_to_host_async({"x": jnp.arange(2)})
      {'x': Array([0, 1], dtype=int32)}
    """
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def facts(with_devices=True):
    """Return what a report of a bug should say, and why what is missing is not there.

    Args:
      with_devices: whether devices are opened, for which jaxlib is loaded.

    Returns:
      A dict of texts.
    """
    rows = {
        "evertrace": sys.modules["evertrace"].__version__,
        "jaxlib": _version("jaxlib", "nothing can be compiled by XLA"),
        "numpy": np.__version__,
        "native kernels": _native_kernels(),
        "fused loops": _fused_loops(),
        "accelerators": _accelerators(),
        "python": sys.version.replace("\n", " "),
    }
    if with_devices:
        rows |= _devices()
    return rows | {"platform": system.platform()}


def _version(package, otherwise):
    """Return the version of an installed package, or that it is not there and what is lost."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"not installed, so {otherwise}: `pip install {package}`"


def _native_kernels():
    if extension.is_built() and not config.current().native_kernels:
        return "built, not used: the option native_kernels is off"
    return extension.why_missing() or "built"


def _fused_loops():
    if not extension.is_built():
        return "not there: they need the native kernels"
    found = _version("llvmlite", "loops are not compiled together")
    return found if found.startswith("not") else f"by llvmlite {found}"


def _accelerators():
    """Return the plugins that are installed, or why there is none."""
    asked = config.first_platform()
    if asked == "cpu":
        return 'not used: the option platforms says "cpu" first'
    packages = importlib.util.find_spec("jax_plugins")
    places = (packages and packages.submodule_search_locations) or ()
    found = sorted({plugin.name for plugin in pkgutil.iter_modules(list(places))})
    if importlib.util.find_spec("libtpu"):
        found.append("libtpu")
    if found:
        return f"plugins {', '.join(found)}"
    if os.path.exists("/proc/driver/nvidia/version"):
        return "none: there is an NVIDIA driver and no plugin: `pip install 'evertrace[cuda13]'`"
    return "none: no plugin is installed"


def _devices():
    """Return the rows of devices, which say why there are none where they cannot be opened."""
    try:
        devices = runtime.devices()
        count = runtime.client().process_count(None)
    except Exception as error:
        what = str(error).partition("\n")[0]
        return {"devices": f"cannot be opened: {type(error).__name__}: {what}"}
    return {
        "devices": f"{len(devices)} of kind {devices[0].device_kind}",
        "process_count": str(count),
    }


@public
def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and the system, for reports of bugs.

    Where something is missing the report says why: that an extension was not built, or is for
    another Python, that a package is not installed, that devices cannot be opened.

    Args:
      return_string: return the text instead.

    Example:
      >>> report = ev.print_environment_info(return_string=True)
      >>> [line.split(":")[0] for line in report.splitlines()][:4]
      ['evertrace', 'jaxlib', 'numpy', 'native kernels']
    """
    rows = facts()
    width = max(map(len, rows)) + 2
    text = "\n".join(f"{name + ':':<{width}}{value}" for name, value in rows.items())
    if return_string:
        return text
    print(text)
    return None
