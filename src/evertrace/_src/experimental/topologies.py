"""Devices that are not there, to compile programs for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from evertrace._src import config, errors
from evertrace._src.engines import runtime
from evertrace._src.experimental.devices import create_device_mesh
from evertrace._src.sharding.mesh import Mesh
from evertrace._src.sharding.simulated import check_count
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.topologies")


@public
class TopologyDescription:
    """Devices for which programs are compiled, whether they are there or not.

    Args:
      devices: a list of them.

    Attributes:
      devices: the same.

    Example:
      >>> from evertrace.experimental import topologies
      >>> topologies.TopologyDescription(ev.devices()[:1]).devices == ev.devices()[:1]
      True
    """

    def __init__(self, devices: Any) -> None:
        self.devices: list[Any] = list(devices)


@public
def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the devices that are there.

    Args:
      platform: "cpu", "gpu" or "tpu"; by default the one that programs run on.

    Raises:
      RuntimeError: there is no such platform here.

    Example:
      >>> from evertrace.experimental import topologies
      >>> topologies.get_attached_topology("cpu").devices == ev.devices("cpu")
      True
    """
    return TopologyDescription(runtime.devices(platform))


@public
def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Return as many devices of the CPU as a name says, for meshes to compile programs for.

    Args:
      topology_name: how many, as sizes: ``"8"``, ``"4x2"``, ``"cpu:4x2"``.
      platform: "cpu", or None.
      **kwargs: of other platforms' plugins; none is known here.

    Raises:
      NotImplementedError: it is another platform: its compiler comes with its devices.
      ValueError: the name has no sizes, or there are too many devices.

    A program that is lowered for arguments with shardings over such a mesh, with ``engine="spmd"``,
    compiles as for devices that are there: text, costs and memory are those of one device.

    Example:
      >>> from evertrace.experimental import topologies
      >>> mesh = topologies.make_mesh(topologies.get_topology_desc("cpu:4x2"), (4, 2), ("x", "y"))
      >>> x = ev.ShapeDtypeStruct(
      ...     (8, 8), "float32", sharding=ev.NamedSharding(mesh, ev.P("x", "y"))
      ... )
      >>> f = ev.jit(lambda x: x + 1, engine="spmd").lower(x).compile()
      >>> f.memory_analysis().argument_size_in_bytes
      32
    """
    found = re.fullmatch(r"(?:(\w+):)?(\d+(?:x\d+)*)?", topology_name)
    named = platform or (found and found[1]) or "cpu"
    if named != "cpu" or kwargs:
        raise errors.user_error(
            NotImplementedError,
            f"get_topology_desc: there is no compiler for devices of {named} that are not there"
            f"{': its plugin brings it' if named != 'cpu' else ', with options'}.",
            fix='use platform="cpu" for memory and work per device, as `ev.plan` does, or '
            '`f.trace(x).lower(lowering_platforms=("cuda",))` for the text.',
            anchor="mesh",
        )
    if not found or not found[2]:
        raise errors.user_error(
            ValueError,
            f"get_topology_desc: {topology_name!r} does not say how many devices there are.",
            fix='write sizes: "8", or "4x2".',
            anchor="mesh",
        )
    count = math.prod(map(int, found[2].split("x")))
    check_count("get_topology_desc", count)
    with config.override(simulated_devices=count):
        return TopologyDescription(runtime.devices("cpu"))


@public
def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Return a mesh of the devices of a topology.

    Args:
      topo: of `get_topology_desc` or `get_attached_topology`.
      mesh_shape: sizes of the axes.
      axis_names: their names.
      contiguous_submeshes: of no effect; it is about networks of TPUs.

    Raises:
      ValueError: the number of devices is not the product of the sizes.

    Example:
      >>> from evertrace.experimental import topologies
      >>> topologies.make_mesh(topologies.get_topology_desc("16"), (16,), ("x",)).size
      16
    """
    del contiguous_submeshes
    return Mesh(create_device_mesh(mesh_shape, topo.devices), axis_names)
