"""Accelerators: finding and starting the PJRT plugins of CUDA, ROCm, TPU and others.

The idea: a plugin is a shared library. The wheels that carry the libraries of CUDA and ROCm are
made for JAX, and importing their packages imports JAX; so the libraries are located through
import specifications, which run no code of theirs, and loaded directly. The native module with
the extra kernels of a GPU platform does not depend on JAX and is imported.

`discover` only looks; `start` loads the library and makes the client.
"""

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
from types import ModuleType
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.lazy import LazyModule

glob: Any = LazyModule("glob")


class Plugin(NamedTuple):
    """A shared library that serves one platform.

    Attributes:
      name: name under which it is loaded: "cuda", "rocm", "tpu", or a user's own.
      library: path of the shared library.
      kernels: import name of the native module with additional kernels, or None.
    """

    name: str
    library: str
    kernels: str | None = None


# Import names of the wheels, newest first.
_CUDA_WHEELS = tuple(
    (f"jax_plugins.xla_cuda{n}", f"jax_cuda{n}_plugin.cuda_plugin_extension") for n in (13, 12)
)
_ROCM_WHEELS = tuple(
    (f"jax_plugins.xla_rocm{n}", f"jax_rocm{n}_plugin.rocm_plugin_extension") for n in (7, 60)
)

# Each after those that it needs itself.
_CUDA_LIBRARIES = (
    *("cudart", "nvJitLink", "nvrtc", "cublasLt", "cublas", "nccl", "cupti", "cusparse"),
    *("cusolver", "cufft", "nvshmem_host", "cudnn"),
)


@functools.cache
def discover() -> tuple[Plugin, ...]:
    """The plugins whose hardware may be here, the most preferred first. Nothing is loaded."""
    found = [_tpu_plugin(), _cuda_plugin(), _rocm_plugin()]
    return (*_environment_plugins(), *(plugin for plugin in found if plugin is not None))


def start(plugin: Plugin) -> Any:
    """Load a plugin and make its client; returns jaxlib's client object."""
    if plugin.name == "tpu":
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    if plugin.name == "cuda":
        _preload_cuda_libraries()
    api = compat.load_plugin(plugin.name, plugin.library)
    kernels = _import_kernels(plugin)
    if kernels is not None and api is not None:
        compat.register_gpu_extension(kernels, plugin.name.upper(), api)
    options = compat.gpu_client_options() if plugin.name in ("cuda", "rocm") else {}
    if plugin.name == "rocm":
        options["platform_name"] = "ROCM"
    return compat.make_plugin_client(plugin.name, options)


def _import_kernels(plugin: Plugin) -> ModuleType | None:
    """The plugin's native kernel module; it must come from the same release as the library."""
    if plugin.kernels is None:
        return None
    try:
        return importlib.import_module(plugin.kernels)
    except ImportError as error:
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"the {plugin.name} plugin is installed without its kernels, {plugin.kernels}.",
            fix=f"install the wheel of {plugin.kernels.split('.')[0]} in the plugin's version.",
        ) from error


def _environment_plugins() -> list[Plugin]:
    """The plugins that PJRT_NAMES_AND_LIBRARY_PATHS lists as ``name:path,name:path``."""
    listed = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    pairs = [entry.strip().partition(":") for entry in listed.split(",") if entry.strip()]
    for name, _, path in pairs:
        if not name or not path:
            raise errors.user_error(
                RuntimeError,
                f"PJRT_NAMES_AND_LIBRARY_PATHS: {listed!r} is not of the form name:path,name:path.",
                fix="separate each name from its path by a colon, and the pairs by commas.",
                anchor="devices",
            )
    return [Plugin(name, path) for name, _, path in pairs]


def _tpu_plugin() -> Plugin | None:
    """The TPU library that TPU_LIBRARY_PATH or the libtpu wheel gives, on a machine with TPUs."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    if path:
        return Plugin("tpu", path)
    folder = _package_folder("libtpu")
    if folder is None or not (glob.glob("/dev/accel*") or glob.glob("/dev/vfio/*")):
        return None
    return Plugin("tpu", os.path.join(folder, "libtpu.so"))


def _cuda_plugin() -> Plugin | None:
    """The CUDA library of an installed wheel, on a machine with a driver."""
    if not (glob.glob("/dev/nvidia*") or os.path.exists("/dev/dxg")):  # dxg: Windows' Linux layer
        return None
    return _wheel_plugin("cuda", _CUDA_WHEELS, "xla_cuda_plugin.so")


def _rocm_plugin() -> Plugin | None:
    """The ROCm library of an installed wheel, on a machine with a driver."""
    if not os.path.exists("/dev/kfd"):
        return None
    return _wheel_plugin("rocm", _ROCM_WHEELS, "xla_rocm_plugin.so")


def _wheel_plugin(name: str, wheels: tuple[tuple[str, str], ...], library: str) -> Plugin | None:
    """The first installed wheel that holds `library`."""
    for package, kernels in wheels:
        folder = _package_folder(package)
        if folder is not None and os.path.exists(path := os.path.join(folder, library)):
            return Plugin(name, path, kernels)
    return None


def _package_folder(package: str) -> str | None:
    """Where a package is installed, without importing it; None where it is not.

    The parent of a dotted name is imported; for ``jax_plugins`` that is an empty namespace.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ImportError:
        return None
    return os.path.dirname(spec.origin) if spec and spec.origin else None


def _preload_cuda_libraries() -> None:
    """Open the CUDA libraries that pip installed, so that the plugin finds them by their names.

    Absent ones are passed over: the system may provide them, or the plugin need not.
    """
    try:
        spec = importlib.util.find_spec("nvidia")
    except ImportError:
        return
    roots = list(spec.submodule_search_locations or ()) if spec else []
    for name in _CUDA_LIBRARIES:
        for root in roots:
            for path in glob.glob(os.path.join(root, "*", "lib", f"lib{name}.so.*")):
                with contextlib.suppress(OSError):
                    ctypes.CDLL(path)
