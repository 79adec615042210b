"""Which engine runs what: the backend behind `core.engine`.

Operations on arrays in CPU memory run on the host engine at once; operations on other devices, and
whole jaxprs, are compiled by the XLA engine, which is imported when it is first needed.
"""

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.engines.host.run import run as run_on_host


def eager(prim, args, params):
    """Apply a primitive to concrete arrays and literals."""
    if prim.eager is not None:
        return prim.eager(*args, **params)
    for x in args:
        if type(x) is Array and x._device is not None and x._device.platform != "cpu":
            return xla().eager(prim, args, params)
    return run_on_host(prim, args, params)


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


