"""Devices, and moving arrays to and from them."""

from evertrace._src import support, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.placement import device_of
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import registry
from evertrace._src.jit import dispatch
from evertrace._src.support import set_module

public = set_module("evertrace")


@public
def devices(backend=None):
    """Return the list of devices of a platform ("cpu", "gpu", "tpu"), default the best one."""
    return registry.devices(backend)


@public
def local_devices(process_index=None, backend=None, host_id=None):
    """Return the devices that belong to one process, default this one."""
    del host_id
    return registry.local_devices(process_index, backend)


@public
def device_count(backend=None):
    """Return the number of devices of a platform."""
    return len(registry.devices(backend))


@public
def local_device_count(backend=None):
    """Return the number of devices of this process."""
    return len(registry.local_devices(None, backend))


@public
def default_backend():
    """Return the platform of the default device: "cpu", "gpu" or "tpu"."""
    return registry.platform_client().default_backend()


@public
def process_index(backend=None):
    """Return the number of this process, 0 unless several work together."""
    return registry.platform_client().process_index(backend)


@public
def process_count(backend=None):
    """Return the number of processes that work together."""
    return registry.platform_client().process_count(backend)


@public
def device_put(x, device=None, *, src=None, donate=False, may_alias=None):
    """Put the leaves of a tree on a device.

    Args:
      x: tree of arrays, NumPy arrays, scalars.
      device: a device or a sharding over one device; None leaves arrays where they are.
      src: accepted for compatibility.
      donate: whether the arrays passed are deleted.
      may_alias: accepted for compatibility.

    Returns:
      The tree with arrays committed to the device.
    """
    del src, may_alias
    target = device_of(device)
    return tree.map(lambda leaf: _put_leaf(leaf, target, donate), x)


def _put_leaf(leaf, device, donate):
    x = as_array(leaf, "device_put")
    if device is None or isinstance(x, Tracer):
        return x
    if device.platform == "cpu":
        # Arrays share host memory, never a buffer: donating one must not delete the other.
        moved = Array(x.aval, x.host(), None, device, committed=True)
    else:
        moved = Array(x.aval, None, registry.put(x.host(), device, may_alias=False), device, True)
    if donate and x is leaf:
        x.delete()
    return moved


@public
def device_get(x):
    """Return a tree with its arrays as NumPy arrays."""
    return tree.map(lambda leaf: leaf.__array__() if type(leaf) is Array else leaf, x)


@public
def block_until_ready(x):
    """Wait until all arrays of a tree have been computed; returns the tree."""
    for leaf in tree.leaves(x):
        if type(leaf) is Array:
            leaf.block_until_ready()
    return x


@public
def clear_caches():
    """Empty every cache of traced and compiled programs in memory; freed memory is given back."""
    support.clear_all()
    dispatch.forget_all()
    registry.trim()
