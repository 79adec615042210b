"""Devices that are not there, to compile programs for."""

from evertrace._src import lazy
from evertrace._src.experimental.topologies import TopologyDescription as TopologyDescription
from evertrace._src.experimental.topologies import get_attached_topology as get_attached_topology
from evertrace._src.experimental.topologies import get_topology_desc as get_topology_desc
from evertrace._src.experimental.topologies import make_mesh as make_mesh

lazy.refuse_others(__name__)

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]
