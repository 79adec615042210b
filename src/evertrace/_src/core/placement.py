"""Where arrays live: shardings. One device for now; meshes come with the many-device work."""

from typing import Any


class Sharding:
    """How an array is laid out over devices."""

    __slots__ = ()


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: the device.
      memory_kind: ``"device"`` or None; other kinds are not supported yet.
    """

    __slots__ = ("device", "memory_kind")

    def __init__(self, device, *, memory_kind=None):
        self.device, self.memory_kind = device, memory_kind

    @property
    def device_set(self):
        """The set of devices that hold a part."""
        return {self.device}

    @property
    def is_fully_replicated(self):
        """Whether every device holds the whole array."""
        return True

    def __eq__(self, other):
        return isinstance(other, SingleDeviceSharding) and self.device == other.device

    def __hash__(self):
        return hash((SingleDeviceSharding, self.device))

    def __repr__(self):
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


def device_of(placement: Any) -> Any:
    """Return the one device that a device, a sharding or None asks for."""
    if placement is None or not hasattr(placement, "device_set"):
        return placement
    devices = placement.device_set
    if len(devices) != 1:
        raise NotImplementedError(f"placement on {len(devices)} devices is not built yet")
    return next(iter(devices))
