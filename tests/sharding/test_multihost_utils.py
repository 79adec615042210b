"""`multihost_utils` over two processes, each of which has other values."""

import pytest

from tests.sharding.processes import outcome

PRELUDE = """
import ml_dtypes
from evertrace.experimental import multihost_utils as m
def facts(tree):
    return ev.tree.map(lambda x: (type(x).__name__, str(x.dtype), x.tolist()), tree)
"""

VALUES = """
x = {"i": np.arange(3) + 10 * rank, "b": np.bool_(rank), "h": ml_dtypes.bfloat16(rank + 0.5)}
m.sync_global_devices("start")
assert facts(m.broadcast_one_to_all(x)) == {
    "i": ("ndarray", "int64", [0, 1, 2]), "b": ("ndarray", "bool", False),
    "h": ("ndarray", "bfloat16", 0.5),
}
other = m.broadcast_one_to_all(x, is_source=rank == 1)
assert other["i"].tolist() == [10, 11, 12] and other["h"] == 1.5
assert m.broadcast_one_to_all(jnp.arange(2.0) - rank).tolist() == [0, 1]
assert m.broadcast_one_to_all(()) == () and m.broadcast_one_to_all(np.zeros((0, 2))).shape == (0, 2)

stacked = m.process_allgather(x)
assert stacked["i"].tolist() == [[0, 1, 2], [10, 11, 12]] and stacked["b"].tolist() == [False, True]
assert m.process_allgather(x, tiled=True)["i"].tolist() == [0, 1, 2, 10, 11, 12]
gathered = m.process_allgather((a, np.float32(rank)), tiled=True)
assert gathered[0].tolist() == list(range(8)) and gathered[1].tolist() == [0, 1]

local, specs = (np.arange(2.0) + 2 * rank, np.ones(2)), (P("i"), P())
made = m.host_local_array_to_global_array(local, mesh, specs)
assert made[0].sharding == rows and made[0].shape == (4,) and float(total(made[0])) == 6
assert made[1].sharding == whole and made[1].shape == (2,)
back = m.global_array_to_host_local_array(made, mesh, specs)
assert back[0].is_fully_addressable and back[0].tolist() == [2 * rank, 2 * rank + 1]
assert back[0].sharding.mesh == mesh.local_mesh and back[1].tolist() == [1, 1]
assert mesh.is_multi_process and mesh.local_devices == ev.local_devices()

m.assert_equal({"w": np.ones(3), "n": 3})
print("done")
"""

MISTAKES = """
print(text_of(m.assert_equal, {"w": np.ones(3) + rank}, "weights"))
print(text_of(m.assert_equal, {"w": np.ones(3 + rank)}))
print(text_of(m.assert_equal, [np.ones(3)] * (1 + rank)))
print(text_of(m.broadcast_one_to_all, np.ones(3 + rank)))
print(text_of(m.broadcast_one_to_all, 1, True))
print(text_of(m.process_allgather, np.ones(3, np.int8 if rank else np.float32)))
print(text_of(m.assert_equal, a))
print(text_of(m.sync_global_devices, f"place {rank}"))
"""
SAID = [
    "AssertionError: assert_equal: weights: the array ['w'] has other values in process 1 than in"
    " process 0.",
    "AssertionError: assert_equal: the array ['w'] is float64[4] in process 1, and float64[3] in"
    " process 0.",
    "AssertionError: assert_equal: process 1 has a tree PyTreeDef([*, *]), and process 0"
    " PyTreeDef([*]).",
    "ValueError: broadcast_one_to_all: the array is float64[4] in process 1, and float64[3] in"
    " process 0.",
    "ValueError: broadcast_one_to_all: 2 processes are the source ([0, 1]).",
    "ValueError: process_allgather: the array is int8[3] in process 1, and float32[3] in process"
    " 0.",
    "ValueError: Array: only parts of the array of type f32[8] are in this process.",
]


@pytest.mark.slow
def test_values_of_all_processes():
    assert outcome(PRELUDE + VALUES) == ([0, 0], ["done", "done"])


@pytest.mark.slow
def test_mistakes_are_errors_in_all_processes():
    codes, texts = outcome(PRELUDE + MISTAKES)
    assert codes == [0, 0]
    for rank, text in enumerate(texts):
        *said, last = text.splitlines()
        assert said == SAID
        assert last.startswith("PeerMismatchError: sync_global_devices('place ")
        assert f"process {1 - rank} is in sync_global_devices('place {1 - rank}') at <str" in last
