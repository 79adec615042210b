"""Devices and what lies on them, behind XLA's engine, which is imported when it is first needed."""

import functools
import importlib.util
import os
import sys

import numpy as np

from evertrace._src import config, kernels, native
from evertrace._src.arrays.array import Array
from evertrace._src.core.placement import device_of
from evertrace._src.extension import twin

_XLA = "evertrace._src.engines.xla.engine"


@functools.cache
def xla():
    """Return the XLA engine's module, importing jaxlib on first use."""
    from evertrace._src.engines.xla import engine

    return engine


def wait(buffer):
    """Wait until a buffer is computed."""
    xla().block([buffer])


def to_host(buffer):
    """Return a device buffer's contents as a read-only NumPy array."""
    return xla().to_host(buffer)


def parts(buffer):
    """Return (device, NumPy array) for each part of an array on this process's devices."""
    return xla().spread.local_parts(buffer)


def spread(parts, shape, aval, sharding):
    """Copy parts to this process's devices, in their order; returns the buffer of an array."""
    layout = xla().spread.layout_of(sharding, sharding.division(aval.ndim))
    return xla().spread.of_parts(parts, shape, aval, layout)


def put(host, device, *, may_alias):
    """Copy a NumPy array into a buffer on `device`."""
    return xla().put(np.asarray(host), device, may_alias=may_alias)


def default_device():
    """Return the device on which uncommitted work runs."""
    return xla().default_device()


def _default_of(chosen):
    """Return the device that the option `default_device` means: of a platform the first one."""
    return devices(chosen)[0] if type(chosen) is str else device_of("default_device", chosen)


config.CHECKS["default_device"] = _default_of


@functools.cache
def first_device():
    """Return the device on which work runs that nothing places: its results are not committed."""
    return xla().client.local_devices()[0]


def is_first(device):
    """Whether a device is the first one, which None stands for."""
    return device is None or device is first_device()


def leave_world():
    """Have devices asked for anew: this process has left others, or joins some."""
    if _XLA in sys.modules:
        xla().leave_world()
    first_device.cache_clear()


def runs_natively(args):
    """Whether arrays are where tapes run, and their results are: on the first CPU device."""
    if config.current().default_device is not None and not is_first(default_device()):
        return False
    return all(map(is_first, _named_devices(args)))


@twin
def _named_devices(args):
    """Return the devices of those arguments that are arrays and say where they are."""
    return [x._device for x in args if type(x) is Array and x._device is not None]


@functools.cache
def computes_on_cpu():
    """Whether programs that nothing places run on the CPU; jaxlib is asked only if it has to be."""
    asked = config.first_platform()
    if asked:
        return asked == "cpu"
    wheels = [importlib.util.find_spec(name) for name in ("jax_plugins", "libtpu")]
    named = ("PJRT_NAMES_AND_LIBRARY_PATHS", "TPU_LIBRARY_PATH")
    if not any(wheels) and not any(map(os.environ.get, named)):
        return True
    return first_device().platform == "cpu"


def check_platform():
    """Raise unless there is the platform that was asked for, where that is another than the CPU.

    Once per process, before it computes anything: a part of the work runs in host memory whatever
    the platform, and would pass by one that is missing.
    """
    if config.first_platform() not in ("", "cpu"):
        first_device()


def devices(platform=None):
    """Return all devices of a platform."""
    return xla().client.devices(platform)


def local_devices(process_index=None, platform=None):
    """Return the devices of one process."""
    return xla().client.local_devices(process_index, platform)


def client():
    """Return the module that knows devices and processes."""
    return xla().client


def jaxlib_version():
    """Return the version of the library that compiles and runs."""
    return xla().compat.JAXLIB_VERSION


def trim():
    """Give memory that was kept for reuse back to the system, and drop the plans of functions."""
    native.forget_plans()
    kernels.release_memory()
    if _XLA in sys.modules:
        xla().client.trim_host_memory()


def is_open():
    """Whether devices have been asked for or used."""
    return _XLA in sys.modules and xla().client.is_open()


def processes():
    """Return the module that joins processes."""
    return xla().client.processes
