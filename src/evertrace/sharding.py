"""Where arrays live. One device for now."""

from evertrace._src.core.placement import Sharding as Sharding
from evertrace._src.core.placement import SingleDeviceSharding as SingleDeviceSharding

__all__ = ["Sharding", "SingleDeviceSharding"]
