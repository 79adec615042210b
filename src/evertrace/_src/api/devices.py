"""Devices, and moving arrays to and from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from evertrace._src import dtypes, errors, native, support, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core import formats, transfers
from evertrace._src.core.formats import Format, Space
from evertrace._src.core.placement import (
    InMemory,
    Sharding,
    carried,
    check_device,
    device_of,
    shared,
)
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import placing, runtime
from evertrace._src.jit import stores
from evertrace._src.jit.laid_out import sharding_of_type
from evertrace._src.jit.opened import opened
from evertrace._src.ops.sharding_constraint import first_device, lay_out
from evertrace._src.support import set_module

if TYPE_CHECKING:
    from evertrace._src.engines.xla.client import Device

T = TypeVar("T")

public = set_module("evertrace")


@public
def devices(backend: str | None = None) -> list[Device]:
    """Return the list of devices of a platform ("cpu", "gpu", "tpu"), default the best one.

    Example:
      >>> ev.devices("cpu")[0].platform
      'cpu'
    """
    return runtime.devices(backend)


@public
def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices that belong to one process, default this one.

    Example:
      >>> ev.local_devices(backend="cpu")[0].process_index
      0
    """
    del host_id
    return runtime.local_devices(process_index, backend)


@public
def device_count(backend: str | None = None) -> int:
    """Return the number of devices of a platform.

    Example:
      >>> ev.device_count() == len(ev.devices())
      True
    """
    return len(runtime.devices(backend))


@public
def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of this process.

    Example:
      >>> ev.local_device_count() * ev.process_count() == ev.device_count()
      True
    """
    return len(runtime.local_devices(None, backend))


@public
def default_backend() -> str:
    """Return the platform of the default device: "cpu", "gpu" or "tpu".

    Example:
      >>> ev.default_backend() == ev.devices()[0].platform
      True
    """
    return runtime.client().default_backend()


@public
def process_index(backend: str | None = None) -> int:
    """Return the number of this process, 0 unless several work together.

    Example:
      >>> ev.process_index()
      0
    """
    return runtime.client().process_index(backend)


@public
def process_count(backend: str | None = None) -> int:
    """Return the number of processes that work together.

    Example:
      >>> ev.process_count()
      1
    """
    return runtime.client().process_count(backend)


@overload
def device_put(
    x: ArrayLike,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Array: ...


@overload
def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any: ...


@public
def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Put the leaves of a tree on a device.

    Args:
      x: tree of arrays, NumPy arrays, scalars.
      device: a device, a sharding, a `Format`, a `memory.Space`, or a tree of these that is a
        prefix of `x`; None leaves arrays where they are.
      src: accepted for compatibility.
      donate: whether the arrays passed are deleted.
      may_alias: accepted for compatibility.

    Returns:
      The tree with arrays committed to the device.

    Raises:
      ValueError: a sharding does not divide an array evenly, or has more entries than it has axes.

    Over several devices of the CPU an array is laid out in name: `sharding` and
    `addressable_shards` say which part belongs to which device, and the memory is that of all of
    them. Results of operations and jitted functions are laid out as their operands say. Several
    accelerators are not supported yet.

    Example:
      >>> x = ev.device_put(np.arange(3.0), ev.devices()[0])
      >>> x.sharding.device_set == {ev.devices()[0]}
      True
    """
    del src, may_alias
    leaves, treedef = tree.flatten(opened(x))
    device = tree.map(_sharding, device, is_leaf=lambda x: isinstance(x, Format))
    targets = tree.flatten_axes("device_put device", treedef, device)
    with transfers.explicit():
        moved = [_put_leaf(leaf, t, donate) for leaf, t in zip(leaves, targets, strict=True)]
    return tree.unflatten(treedef, moved)


_SPEC = "on_context_mesh"  # what makes a `PartitionSpec`, of a layer above, a sharding


def _sharding(placement):
    found = formats.sharding_of("device_put", placement)
    if not (found is None or isinstance(found, (Sharding, Space)) or hasattr(found, _SPEC)):
        check_device("device_put", found)
    return carried(found)


def _put_leaf(leaf, target, donate):
    x = as_array(leaf, "device_put")
    if hasattr(target, _SPEC):
        target = target.on_context_mesh("device_put")
    if isinstance(target, Space):
        target = _in_space(x, target)
    over_mesh = isinstance(target, Sharding) and target.division(0) is not None
    if isinstance(target, Sharding):
        target.check("device_put", x.shape)
    if target is None:
        return x
    if isinstance(x, Tracer):
        return lay_out(x, target) if over_mesh else x
    if over_mesh and placing.is_elsewhere([x]):
        return lay_out(x, target)
    moved = _moved(
        x, leaf, first_device(target) if over_mesh else device_of("device_put", target), donate
    )
    if over_mesh:
        moved._sharding = shared(target)
    return moved


def _in_space(x, space):
    """Return how an array lies in such memory, None where it is there."""
    if space is Space.Any:
        return None
    kind = "device" if space is Space.Device else "pinned_host"
    if isinstance(x, Tracer):
        return _traced_in(x, kind)
    is_there = x.sharding.memory_kind == kind
    return None if is_there else carried(x.sharding.with_memory_kind(kind))


def _traced_in(x, kind):
    """Return how a traced array lies in memory of some kind, otherwise as it does."""
    sharding, is_known = sharding_of_type(x)
    if not is_known:
        raise errors.user_error(
            NotImplementedError,
            f"device_put: how an array of type {x.aval.str_short()} lies is not known while it is "
            "traced by JAX's rules (`strict`), so that a memory alone does not say where it goes.",
            fix='name a sharding, `NamedSharding(mesh, spec, memory_kind="pinned_host")`.',
            anchor="devices",
        )
    if sharding is not None and sharding.mesh is not None:
        return sharding.with_memory_kind(kind)
    if kind == (sharding.memory_kind if sharding else "device"):
        return None
    device = sharding.device if sharding else runtime.default_device()
    return InMemory(device, memory_kind=kind)


def _moved(x, leaf, device, donate):
    if device.platform == "cpu":
        # Arrays share host memory, never a buffer: donating one must not delete the other.
        moved = Array(x.aval, x._contents(), None, device, committed=True)
    else:
        moved = Array(
            x.aval, None, runtime.put(x._contents(), device, may_alias=False), device, True
        )
    if donate and x is leaf:
        x.delete()
    return moved


@public
def device_get(x: Any) -> Any:
    """Return a tree with its arrays as NumPy arrays.

    Example:
      >>> ev.device_get({"x": jnp.arange(3)})
      {'x': array([0, 1, 2], dtype=int32)}
    """
    with transfers.explicit():
        return tree.map(_get_leaf, x)


def _get_leaf(leaf):
    # Keys have no NumPy dtype; they stay what they are.
    is_key = type(leaf) is Array and isinstance(leaf.dtype, dtypes.ExtendedDType)
    return leaf.__array__() if type(leaf) is Array and not is_key else leaf


@public
def block_until_ready(x: T) -> T:
    """Wait until all arrays of a tree have been computed; returns the tree.

    Example:
      >>> ev.block_until_ready({"x": jnp.arange(3) + 1})
      {'x': Array([1, 2, 3], dtype=int32)}
    """
    # To flatten one array takes longer than all else.
    for array in native.waiting([x] if type(x) is Array else tree.leaves(x)):
        array.block_until_ready()
    return x


@public
def clear_caches() -> None:
    """Empty every cache of traced and compiled programs in memory; freed memory is given back.

    Example:
      >>> f = ev.jit(lambda x: 2 * x)
      >>> f(1.0), f(jnp.ones(2))
      (Array(2., dtype=float32, weak_type=True), Array([2., 2.], dtype=float32))
      >>> f.cache_info()
      CacheInfo(hits=0, misses=2, maxsize=None, currsize=2)
      >>> ev.clear_caches()
      >>> f.cache_info()
      CacheInfo(hits=0, misses=0, maxsize=None, currsize=0)
    """
    support.clear_all()
    stores.forget_all()
    runtime.trim()
