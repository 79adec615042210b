"""Programs compiled for devices that are not there."""

import pytest

import evertrace as ev
from evertrace.experimental import topologies, transfer

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(("name", "count"), [("8", 8), ("4x2", 8), ("cpu:4x2x8", 64)])
def test_a_name_says_how_many_devices(name, count):
    here = len(ev.devices())
    found = topologies.get_topology_desc(name, platform="cpu")
    assert len(set(found.devices)) == count
    assert len(ev.devices()) == here
    mesh = topologies.make_mesh(found, (count // 4, 4), ("x", "y"))
    assert mesh.axis_sizes == (count // 4, 4)


def test_a_program_is_compiled_for_them():
    topology = topologies.get_topology_desc("4x2")
    mesh = topologies.make_mesh(topology, (4, 2), ("x", "y"), contiguous_submeshes=True)
    x, w = [
        ev.ShapeDtypeStruct(shape, "float32", sharding=ev.NamedSharding(mesh, ev.P(*spec)))
        for shape, spec in (((8, 8), ("x", "y")), ((8, 4), ("y",)))
    ]
    compiled = ev.jit(lambda x, w: x @ w, engine="spmd").lower(x, w).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 4 * (8 * 8 // 8 + 8 * 4 // 2)
    assert "all-reduce(" in compiled.as_text()


def test_what_is_attached():
    assert topologies.get_attached_topology().devices == ev.devices()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: topologies.get_topology_desc("v4:2x2x1", "tpu"), NotImplementedError, "of tpu"),
        (lambda: topologies.get_topology_desc("tpu:2x2"), NotImplementedError, "of tpu that are"),
        (lambda: topologies.get_topology_desc("2", cores=1), NotImplementedError, "with options"),
        (lambda: topologies.get_topology_desc(), ValueError, "'' does not say how many devices"),
        (lambda: topologies.get_topology_desc("4xx"), ValueError, "'4xx' does not say how many"),
        (lambda: topologies.get_topology_desc("99999"), ValueError, "99999"),
        (
            lambda: topologies.make_mesh(topologies.get_topology_desc("4"), (3,), ("x",)),
            ValueError,
            r"axes of sizes \(3,\) need 3 devices, and there are 4",
        ),
        (
            lambda: transfer.start_transfer_server(None),
            NotImplementedError,
            "transfer.start_transfer_server: processes that share no programs send each other",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
