"""Functions of many devices and processes, on one of each."""

from typing import NamedTuple

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import experimental
from evertrace.experimental import mesh_utils, multihost_utils, pjit, shard_map

MESH = ev.make_mesh((1,), ("x",))


def test_grids_of_devices():
    assert mesh_utils.create_device_mesh((1, 1)).shape == (1, 1)
    grid = mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), process_is_granule=True)
    assert grid.tolist() == [[ev.devices()[0]]]


def test_grids_of_devices_of_several_processes():
    class Device(NamedTuple):
        process_index: int
        number: int

    pod = [Device(p, n) for p in (1, 0, 2, 3) for n in range(4)]

    def grid(*shapes, **options):
        made = mesh_utils.create_hybrid_device_mesh(
            *shapes, pod, process_is_granule=True, **options
        )
        return [[tuple(d) for d in row] for row in made]

    assert grid((1, 4), (4, 1)) == [[(p, n) for n in range(4)] for p in range(4)]
    both = grid((2, 2), (2, 2))
    assert both[0] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert both[3] == [(2, 2), (2, 3), (3, 2), (3, 3)]
    assert grid((1, 4), (4, 1), should_sort_granules_by_key=False)[0][0] == (1, 0)


def test_what_one_process_gathers_is_its_own():
    x = np.arange(3)
    assert multihost_utils.process_allgather(x).shape == (1, 3)
    assert multihost_utils.process_allgather({"a": x}, tiled=True)["a"].shape == (3,)
    assert multihost_utils.broadcast_one_to_all(jnp.arange(3)).tolist() == [0, 1, 2]
    assert multihost_utils.reached_preemption_sync_point(1) is False
    whole = multihost_utils.host_local_array_to_global_array([x], MESH, ev.P("x"))
    assert whole[0].sharding == ev.NamedSharding(MESH, ev.P("x"))
    again = multihost_utils.global_array_to_host_local_array(whole, MESH, ev.P("x"))
    np.testing.assert_array_equal(again[0], x)


def test_former_names():
    assert pjit.pjit is ev.jit
    double = shard_map.shard_map(lambda x: 2 * x, MESH, ev.P("x"), ev.P("x"), check_rep=False)
    assert double(jnp.arange(2)).tolist() == [0, 2]


def test_modules_are_found_as_attributes():
    assert experimental.sparse.BCOO.__module__ == "evertrace.experimental.sparse"
    assert "checkify" in dir(experimental)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(experimental, "nothing")  # noqa: B009


MISTAKES = [
    (lambda: mesh_utils.create_device_mesh((2,)), "need 2 devices, and there are 1"),
    (lambda: mesh_utils.create_hybrid_device_mesh((1,), (1,)), "which slice they belong to"),
    (
        lambda: mesh_utils.create_hybrid_device_mesh((1,), (2,), process_is_granule=True),
        r"dcn_mesh_shape \(2,\) with mesh_shape \(1,\) for 1 process",
    ),
]


@pytest.mark.parametrize(("run", "text"), MISTAKES)
def test_mistakes(run, text):
    with pytest.raises(ValueError, match=text):
        run()
