"""Where arrays live: `Sharding`, which part of an array each device holds."""

from __future__ import annotations

import itertools
from typing import Any

from evertrace._src import doors, errors
from evertrace._src.core.divisions import Axes
from evertrace._src.support import Cache, set_module

public = set_module("evertrace.sharding")


def is_local(device: Any) -> bool:
    """Whether a device belongs to this process, as those do that are only described."""
    return getattr(device, "is_local", True)


_shared: Cache[Any, Any] = Cache("shardings of arrays")


def shared(sharding: Any) -> Any:
    """Return the sharding that arrays have for all that are equal to it.

    C++ knows layouts by the identity of shardings, and the one that stays knows more by now.
    """
    found = _shared.get(sharding)
    if found is None:
        found = sharding
        _shared.put(sharding, sharding)
    return found


@public
class Sharding:
    """Which part of an array each device holds.

    A kind of sharding says which devices there are (`device_list`, in order) and what each holds
    (`parts`); the rest follows from these.

    Attributes:
      memory_kind: kind of memory of the devices, ``"device"`` for their ordinary one.

    Example:
      >>> isinstance(jnp.ones(3).sharding, ev.sharding.Sharding)
      True
    """

    __slots__ = ()

    memory_kind: Any = "device"

    def device_list(self) -> Any:
        """Return the devices, in order."""
        raise NotImplementedError

    def parts(self, shape: Any) -> list[Any]:
        """Return, per device, the slices of an array of that shape that it holds."""
        raise NotImplementedError

    def division(self, ndim: Any) -> Any:
        """Return which axes of a mesh divide each dimension; None where no mesh of devices is."""
        return None

    def constrained(self) -> Any:
        """Return the sharding of the dimensions that it does not leave open, and these others."""
        return self, frozenset()

    def check(self, where: Any, shape: Any) -> Any:
        """Raise, in the name of a function, if arrays of that shape cannot be divided so."""

    @property
    def device_set(self) -> Any:
        """The set of devices that hold a part."""
        return set(self.device_list())

    @property
    def num_devices(self) -> Any:
        """The number of devices that hold a part."""
        return len(self.device_list())

    @property
    def addressable_devices(self) -> Any:
        """Those of the devices that belong to this process."""
        return {d for d in self.device_list() if is_local(d)}

    @property
    def has_addressable_devices(self) -> Any:
        """Whether some of the devices belong to this process."""
        return any(map(is_local, self.device_list()))

    @property
    def is_fully_addressable(self) -> Any:
        """Whether all of the devices belong to this process."""
        return all(map(is_local, self.device_list()))

    @property
    def is_fully_replicated(self) -> Any:
        """Whether every device holds the whole array."""
        raise NotImplementedError

    def devices_indices_map(self, global_shape: Any) -> Any:
        """Return a dict: device -> the slices of an array of that shape that it holds."""
        return dict(zip(self.device_list(), self.parts(tuple(global_shape)), strict=True))

    def addressable_devices_indices_map(self, global_shape: Any) -> Any:
        """Return a dict: device of this process -> the slices that it holds."""
        return {d: s for d, s in self.devices_indices_map(global_shape).items() if is_local(d)}

    def shard_shape(self, global_shape: Any) -> Any:
        """Return the shape of one device's part of an array of that shape."""
        global_shape = tuple(global_shape)
        part = self.parts(global_shape)[0]
        return tuple(len(range(*s.indices(n))) for s, n in zip(part, global_shape, strict=True))

    def is_equivalent_to(self, other: Any, ndim: Any) -> Any:
        """Whether both give every device the same part of arrays with `ndim` dimensions."""
        if self is other:
            return True
        devices = self.device_list()
        if devices != other.device_list() or self.memory_kind != other.memory_kind:
            return False
        divisible = (len(devices),) * ndim  # by every number of parts
        return self._bounds(divisible) == other._bounds(divisible)

    def _bounds(self, shape: Any) -> list[tuple[Any, ...]]:
        """Return the parts as comparable numbers."""
        return [
            tuple(s.indices(n) for s, n in zip(part, shape, strict=True))
            for part in self.parts(shape)
        ]

    def replica_ids(self, shape: Any) -> Any:
        """Return, per device, how many devices before it hold the same part."""
        seen: dict[Any, int] = {}
        ids: list[int] = []
        for part in self._bounds(shape):
            ids.append(seen.get(part, 0))
            seen[part] = ids[-1] + 1
        return ids


_MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")


def memory_of_kind(kind: Any) -> str:
    """Return the kind of memory that a user names; None stands for a device's ordinary one.

    Raises:
      ValueError: there is no such memory.
    """
    if kind is None or kind in _MEMORY_KINDS:
        return kind or "device"
    raise errors.user_error(
        ValueError,
        f"memory_kind: there is no memory {kind!r}.",
        fix=f"use one of {', '.join(map(repr, _MEMORY_KINDS))}, or None.",
        anchor="choice",
    )


@public
class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: the device.
      memory_kind: ``"device"``, which None stands for, ``"pinned_host"`` or ``"unpinned_host"``.

    Raises:
      TypeError: it is no device.
      ValueError: there is no such memory.

    Example:
      >>> one = ev.sharding.SingleDeviceSharding(ev.devices()[0])
      >>> ev.device_put(jnp.ones(3), one).sharding == one
      True
    """

    device: Any
    memory_kind: Any

    __slots__ = ("device", "memory_kind")

    def __init__(self, device: Any, *, memory_kind: Any = None) -> None:
        check_device("SingleDeviceSharding", device)
        self.device, self.memory_kind = device, memory_of_kind(memory_kind)

    def device_list(self) -> Any:
        """Return the device."""
        return (self.device,)

    def parts(self, shape: Any) -> Any:
        """Return slices of all of the array."""
        return [(slice(None),) * len(shape)]

    @property
    def is_fully_replicated(self) -> Any:
        """Whether every device holds the whole array."""
        return True

    def with_memory_kind(self, kind: Any) -> Any:
        """Return the sharding in another kind of memory."""
        return SingleDeviceSharding(self.device, memory_kind=kind)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and self.device == other.device
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self.device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


class InMemory(SingleDeviceSharding):
    """The sharding of arrays that are not in the ordinary memory of their device.

    They carry it as others do one over a mesh; it is one over a mesh that has no axes.
    """

    mesh: Any = None

    __slots__ = ()

    def division(self, ndim: Any) -> Any:
        """Return that no axis divides any of so many dimensions."""
        return ((),) * ndim

    spec_division = division

    def axis_sizes(self) -> Any:
        """Return the axes: none."""
        return _NO_AXES

    def divided(self, division: Any) -> Any:
        """Return itself, for nothing can be divided."""
        return self

    def abstract(self, ndim: Any) -> Any:
        """Return itself."""
        return self

    def marks(self) -> Any:
        """Return what types show of each dimension: nothing."""
        return itertools.repeat("")

    def sum_marks(self) -> Any:
        """Return what types show of sums: nothing."""
        return ""


_NO_AXES = Axes({})


def carried(sharding: Any) -> Any:
    """Return the sharding that an array can carry: an `InMemory` for memories of one device."""
    if type(sharding) is SingleDeviceSharding and sharding.memory_kind != "device":
        return InMemory(sharding.device, memory_kind=sharding.memory_kind)
    return sharding


def as_sharding(where: str, given: Any) -> Any:
    """Return the sharding that a user gives as one: a spec is of the mesh in force.

    Raises:
      TypeError: it is something else.
    """
    if hasattr(given, "on_context_mesh"):  # a `PartitionSpec`, of a layer above
        return given.on_context_mesh(where)
    if isinstance(given, Sharding):
        return given
    raise errors.user_error(
        TypeError,
        f"{where}: an array is laid out by a sharding, got {doors.shown(given)}.",
        fix="pass a `NamedSharding`, a `SingleDeviceSharding`, or a `PartitionSpec` where a mesh "
        "is in force.",
        anchor="partition-spec",
    )


def check_device(where: str, given: Any) -> None:
    """Raise unless a device is given, or what stands for one that is described only."""
    if isinstance(given, type) or not hasattr(given, "platform"):
        raise errors.user_error(
            TypeError,
            f"{where}: {doors.shown(given)} is no device.",
            fix="pass one of those that this process has, such as `ev.devices()[0]`.",
            anchor="devices",
        )


def device_of(where: str, placement: Any) -> Any:
    """Return the one device that a device, a sharding, a spec or None asks for.

    Raises:
      TypeError: it is something else, such as the name of a platform.
    """
    if hasattr(placement, "on_context_mesh"):
        placement = placement.on_context_mesh(where)
    if placement is None:
        return None
    if not isinstance(placement, Sharding):
        check_device(where, placement)
        return placement
    devices = placement.device_set
    if len(devices) != 1:
        raise errors.user_error(
            NotImplementedError,
            f"{where}: placement on {len(devices)} devices is not built yet.",
            fix="name one device.",
            anchor="devices",
        )
    return next(iter(devices))
