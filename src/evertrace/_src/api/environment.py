"""What there is: processes, living arrays, versions."""

import gc
import platform as system
import sys

import numpy as np

from evertrace._src import native, tree
from evertrace._src.arrays.array import Array
from evertrace._src.engines import runtime
from evertrace._src.support import set_module

public = set_module("evertrace")


@public
def process_indices(backend=None):
    """Return the numbers of the processes that work together, as a list.

    Example:
      >>> ev.process_indices()
      [0]
    """
    return list(range(runtime.client().process_count(backend)))


@public
def host_id(backend=None):
    """Return the number of this process: the old name of `process_index`.

    Example:
      >>> ev.host_id()
      0
    """
    return runtime.client().process_index(backend)


@public
def host_ids(backend=None):
    """Return the numbers of all processes: the old name of `process_indices`.

    Example:
      >>> ev.host_ids()
      [0]
    """
    return process_indices(backend)


@public
def host_count(backend=None):
    """Return the number of processes: the old name of `process_count`.

    Example:
      >>> ev.host_count()
      1
    """
    return len(process_indices(backend))


@public
def live_arrays(platform=None):
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
    return found if platform is None else [x for x in found if x.device.platform == platform]


@public
def copy_to_host_async(x):
    """Begin to copy the arrays of a tree to the host; returns the tree.

    Example:
      >>> ev.copy_to_host_async({"x": jnp.arange(2)})
      {'x': Array([0, 1], dtype=int32)}
    """
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


@public
def print_environment_info(return_string=False):
    """Print versions, devices and the system, for reports of bugs.

    Args:
      return_string: return the text instead.

    Example:
      >>> report = ev.print_environment_info(return_string=True)
      >>> [line.split(":")[0] for line in report.splitlines()][:4]
      ['evertrace', 'jaxlib', 'numpy', 'native kernels']
    """
    devices = runtime.devices()
    client = runtime.client()
    rows = {
        "evertrace": sys.modules["evertrace"].__version__,
        "jaxlib": runtime.jaxlib_version(),
        "numpy": np.__version__,
        "native kernels": "built" if native.is_built() else "not built, for want of a compiler",
        "python": sys.version.replace("\n", " "),
        "devices": f"{len(devices)} of kind {devices[0].device_kind}",
        "process_count": client.process_count(None),
        "platform": system.platform(),
    }
    width = max(map(len, rows)) + 2
    text = "\n".join(f"{name + ':':<{width}}{value}" for name, value in rows.items())
    if return_string:
        return text
    print(text)
    return None
