"""Devices as arrays, to make meshes of."""

from evertrace._src import lazy
from evertrace._src.experimental.devices import create_device_mesh as create_device_mesh
from evertrace._src.experimental.devices import (
    create_hybrid_device_mesh as create_hybrid_device_mesh,
)

lazy.refuse_others(__name__)

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
