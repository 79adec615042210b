"""`colocated_python`: functions that run where their arguments are, here in this process."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import colocated_python as colocated
from evertrace.sharding import NamedSharding
from evertrace.sharding import PartitionSpec as P

X = np.arange(8, dtype=np.float32)


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(4):
        yield ev.make_mesh((4,), ("x",))


def test_it_runs_at_each_call_on_arrays_as_they_lie(mesh):
    seen = []

    @colocated.colocated_python
    def f(x, *, by):
        seen.append([shard.data.shape for shard in x.addressable_shards])
        return {"y": np.asarray(x) * by, "z": x + 1}

    x = ev.device_put(X, NamedSharding(mesh, P("x")))
    for _ in range(2):
        out = f(x, by=np.float32(2))
    assert seen == [[(2,)] * 4] * 2
    np.testing.assert_array_equal(out["y"], 2 * X)
    assert out["z"].sharding == x.sharding
    assert f.__name__ == "f"


def test_what_is_promised_is_kept(mesh):
    rows = NamedSharding(mesh, P("x"))
    promised = ev.ShapeDtypeStruct((8,), "float32", sharding=rows)
    double = colocated.colocated_python(lambda x: np.asarray(x) * 2)
    for made in (
        double.specialize(out_specs_fn=lambda spec: promised),
        double.specialize(
            in_specs=(promised,),
            out_specs_treedef=ev.tree.structure(0),
            out_specs_leaves=[promised],
            devices=mesh.devices,
        ),
    ):
        assert made(jnp.asarray(X)).sharding == rows
        with pytest.raises(TypeError, match=r"it returned f32\[4\] of structure"):
            made(jnp.asarray(X[:4]))


def test_methods_share_an_object_that_is_made_at_the_first_call(mesh):
    made = []

    class Log:
        """Keeps what it is given."""

        def __init__(self, first):
            made.append(first)
            self.kept = [first]

        def add(self, x):
            self.kept.append(float(x))
            return jnp.float32(sum(self.kept))

    log = colocated.colocated_python_class(Log)(1.0)
    assert not made
    assert [float(log.add(jnp.float32(x))) for x in (2, 3)] == [3, 6]
    assert made == [1.0]
    with pytest.raises(AttributeError, match="'Log' has no method 'remove'"):
        log.remove()


def test_devices_of_a_cpu_are_their_own(mesh):
    assert colocated.colocated_cpu_devices(tuple(mesh.devices)) == list(mesh.devices)
    assert colocated.colocated_cpu_devices(mesh) == mesh


def test_it_is_no_function_of_jit(mesh):
    f = colocated.colocated_python(lambda x: x)
    text = "colocated_python(<lambda>): it runs at once, and is called with a traced value, f32[8]."
    with pytest.raises(TypeError, match=re.escape(text)):
        ev.jit(lambda x: f(x))(X)
    with pytest.raises(TypeError, match="colocated_python: expected a function, got a value"):
        colocated.colocated_python(3)
