"""Which engine runs what: the backend behind `core.engine`.

Operations on arrays in CPU memory run on the host engine at once; operations on other devices, and
whole jaxprs, are compiled by the XLA engine, which is imported when it is first needed.
"""

import functools
import sys

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import Literal, eval_jaxpr
from evertrace._src.core.tracer import EVAL, escaped_tracer_error, set_trace
from evertrace._src.engines.host.run import run as run_on_host

_XLA = "evertrace._src.engines.xla.engine"


def eager(prim, args, params):
    """Apply a primitive to concrete arrays and literals."""
    committed, accelerated = None, False
    for x in args:
        if type(x) is Array:
            if x._device is not None:
                accelerated = accelerated or x._device.platform != "cpu"
                if x._committed:
                    committed = x._device
        elif type(x) is not Literal:
            raise escaped_tracer_error(x, prim.name)
    if prim.eager is not None:
        return prim.eager(*args, **params)
    if accelerated:
        return xla().eager(prim, args, params)
    out = run_on_host(prim, args, params)
    if committed is not None:
        for x in out if prim.multiple_results else (out,):
            x._device, x._committed = committed, True
    return out


@functools.cache
def xla():
    """Return the XLA engine's module, importing jaxlib on first use."""
    from evertrace._src.engines.xla import engine

    return engine


def call_jaxpr(closed_jaxpr, args, **options):
    """Compile (cached on the jaxpr) and run a closed jaxpr on concrete arrays."""
    return xla().call_jaxpr(closed_jaxpr, args, **options)


def interpret_jaxpr(closed_jaxpr, args):
    """Run a closed jaxpr equation by equation, without a compiler."""
    with set_trace(EVAL):
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)


def to_host(buffer):
    """Return a device buffer's contents as a read-only NumPy array."""
    return xla().to_host(buffer)


def put(host, device, *, may_alias):
    """Copy a NumPy array into a buffer on `device`."""
    return xla().put(np.asarray(host), device, may_alias=may_alias)


def default_device():
    """Return the device on which uncommitted work runs."""
    return xla().default_device()


@functools.cache
def first_device():
    """Return the device on which work runs that nothing places: its results are not committed."""
    return xla().client.devices()[0]


def placement(args):
    """Return the device where flat arguments live: the committed ones' first."""
    return xla().placement(args)


def compile_jaxpr(jaxpr, name, device, donated, compiler_options):
    """Return the executable of a jaxpr without constvars for `device`."""
    return xla().compile_jaxpr(jaxpr, name, device, donated, xla().Options(compiler_options))


def lower(jaxpr, name, donated, platform=None):
    """Lower a jaxpr without constvars, for the default platform; the text is kept on it."""
    xla().lower(jaxpr, name, donated, platform)


def lowered_text(jaxpr, name, donated, dialect):
    """Return the program as text, see `Lowered.as_text`."""
    return xla().lowered_text(jaxpr, name, donated, dialect)


def cost_of_text(jaxpr, name, donated):
    """Return cost estimates for the unoptimised program."""
    return xla().cost_of_text(jaxpr, name, donated)


def devices(platform=None):
    """Return all devices of a platform."""
    return xla().client.devices(platform)


def local_devices(process_index=None, platform=None):
    """Return the devices of one process."""
    return xla().client.local_devices(process_index, platform)


def platform_client():
    """Return the module that knows devices and processes."""
    return xla().client


def trim():
    """Give memory that was kept for reuse back to the system, if the engine is loaded."""
    if _XLA in sys.modules:
        xla().client.trim_host_memory()
