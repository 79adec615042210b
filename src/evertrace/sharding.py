"""Meshes of devices, and how arrays are laid out over them."""

from evertrace._src import lazy
from evertrace._src.core.placement import Sharding as Sharding
from evertrace._src.core.placement import SingleDeviceSharding as SingleDeviceSharding
from evertrace._src.sharding.assembly import auto_axes as auto_axes
from evertrace._src.sharding.assembly import explicit_axes as explicit_axes
from evertrace._src.sharding.assembly import reshard as reshard
from evertrace._src.sharding.layout import NamedSharding as NamedSharding
from evertrace._src.sharding.layout import PartitionSpec as PartitionSpec
from evertrace._src.sharding.layout import (
    make_single_device_sharding as make_single_device_sharding,
)
from evertrace._src.sharding.mesh import AbstractDevice as AbstractDevice
from evertrace._src.sharding.mesh import AbstractMesh as AbstractMesh
from evertrace._src.sharding.mesh import AxisType as AxisType
from evertrace._src.sharding.mesh import ManualAxisType as ManualAxisType
from evertrace._src.sharding.mesh import Mesh as Mesh
from evertrace._src.sharding.mesh import get_abstract_mesh as get_abstract_mesh
from evertrace._src.sharding.mesh import get_mesh as get_mesh
from evertrace._src.sharding.mesh import set_mesh as set_mesh
from evertrace._src.sharding.mesh import use_abstract_mesh as use_abstract_mesh

lazy.refuse_others(__name__)

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "ManualAxisType", "Mesh", "NamedSharding",
    "PartitionSpec", "Sharding", "SingleDeviceSharding", "auto_axes", "explicit_axes",
    "get_abstract_mesh", "get_mesh", "make_single_device_sharding", "reshard", "set_mesh",
    "use_abstract_mesh",
]  # fmt: skip
