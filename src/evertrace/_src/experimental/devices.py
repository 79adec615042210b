"""Grids of devices for meshes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.engines import runtime
from evertrace._src.sharding import maps
from evertrace._src.support import set_module

old_shard_map = set_module("evertrace.experimental.shard_map")
mesh_utils = set_module("evertrace.experimental.mesh_utils")


@mesh_utils
def create_device_mesh(
    mesh_shape: Any,
    devices: Any = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return devices as an array to make a `Mesh` of.

    Args:
      mesh_shape: sizes of the axes.
      devices: the devices to use, in order; by default all.
      contiguous_submeshes: of no effect; it is about networks of TPUs.
      allow_split_physical_axes: likewise.

    Returns:
      A NumPy array of devices of shape `mesh_shape`, which keeps their order.

    Raises:
      ValueError: the number of devices is not the product of the sizes.

    Example:
      >>> from evertrace.experimental import mesh_utils
      >>> mesh = ev.sharding.Mesh(mesh_utils.create_device_mesh((1, 1)), ("x", "y"))
      >>> mesh.axis_sizes
      (1, 1)
    """
    del contiguous_submeshes, allow_split_physical_axes
    shape = tuple(mesh_shape)
    found = list(runtime.devices() if devices is None else devices)
    if math.prod(shape) != len(found):
        raise errors.user_error(
            ValueError,
            f"create_device_mesh: axes of sizes {shape} need {math.prod(shape)} devices, and there "
            f"are {len(found)}.",
            fix="pass as many devices, e.g. the first of `ev.devices()`.",
            anchor="mesh",
        )
    grid = np.empty(len(found), dtype=object)
    grid[:] = found
    return grid.reshape(shape)


@mesh_utils
def create_hybrid_device_mesh(
    mesh_shape: Any,
    dcn_mesh_shape: Any,
    devices: Any = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return devices as an array for a mesh whose axes go through a fast and a slow network.

    Args:
      mesh_shape: sizes of the axes within one granule (the devices of a fast network).
      dcn_mesh_shape: number of granules, processes here, along each axis.
      devices: the devices to use, in order; by default all.
      process_is_granule: must be True; devices here do not tell slices.
      should_sort_granules_by_key: whether processes are in the order of their numbers, rather than
        as `devices` names them first.
      allow_split_physical_axes: of no effect.

    Returns:
      A NumPy array of devices whose shape is the product of both, axis by axis.

    Raises:
      ValueError: the sizes do not fit the devices, or slices were asked for.

    Example:
      >>> from evertrace.experimental import mesh_utils
      >>> grid = mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), process_is_granule=True)
      >>> grid.shape
      (1, 1)
    """
    if not process_is_granule:
        raise errors.user_error(
            ValueError,
            "create_hybrid_device_mesh: these devices do not say which slice they belong to.",
            fix="pass process_is_granule=True.",
            anchor="mesh",
        )
    inner, outer = tuple(mesh_shape), tuple(dcn_mesh_shape)
    granules: dict[int, list[Any]] = {}
    for device in runtime.devices() if devices is None else devices:
        granules.setdefault(device.process_index, []).append(device)
    if math.prod(outer) != len(granules) or len(outer) != len(inner):
        raise errors.user_error(
            ValueError,
            f"create_hybrid_device_mesh: dcn_mesh_shape {outer} with mesh_shape {inner} for "
            f"{len(granules)} process{'es' * (len(granules) > 1)}.",
            fix="pass a size per axis of mesh_shape, whose product is the number of processes.",
            anchor="mesh",
        )
    order = sorted(granules) if should_sort_granules_by_key else list(granules)
    options = {"allow_split_physical_axes": allow_split_physical_axes}
    blocks = [create_device_mesh(inner, granules[number], **options) for number in order]
    # Axes of both go in turns: of each axis of the mesh, granules count slower.
    rank = len(inner)
    turns = [axis for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for axis in pair]
    whole = np.stack(blocks).reshape(*outer, *inner).transpose(turns)
    return whole.reshape([a * b for a, b in zip(outer, inner, strict=True)])


@old_shard_map
def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """Call `evertrace.shard_map` by the order of arguments that it once had.

    Args:
      f: function of the parts.
      mesh: the mesh.
      in_specs: how arguments are divided.
      out_specs: how results are put together.
      check_rep: the present `check_vma`.

    Example:
      >>> from evertrace.experimental.shard_map import shard_map
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> shard_map(lambda x: 2 * x, mesh, ev.P("x"), ev.P("x"))(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """
    return maps.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)
