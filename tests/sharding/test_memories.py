"""Memories of devices by their kinds: which there are, and in which arrays and results are."""

import pickle
import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.memory import Space
from evertrace.sharding import NamedSharding, SingleDeviceSharding
from evertrace.sharding import PartitionSpec as P

X = np.arange(8, dtype=np.float32)
KINDS = ["device", "pinned_host", "unpinned_host"]


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh((4, 2), ("x", "y"))


def one(kind=None):
    return SingleDeviceSharding(ev.devices()[0], memory_kind=kind)


PLACES = {
    "mesh": lambda mesh, kind=None: NamedSharding(mesh, P("x"), memory_kind=kind),
    "device": lambda mesh, kind=None: one(kind),
}


def test_the_memories_of_a_device(mesh):
    for device in ev.devices():
        memories = device.addressable_memories()
        assert [memory.kind for memory in memories] == KINDS
        assert memories[0] == device.default_memory() == device.memory("device")
        assert device.memory("pinned_host").addressable_by_devices() == [device]
        assert (memories[1].platform, memories[1].process_index) == ("cpu", 0)
    assert repr(ev.devices()[1].memory("pinned_host")) == "Memory(cpu:1, 'pinned_host')"
    with pytest.raises(ValueError, match="has no memory") as info:
        ev.devices()[0].memory("tape")
    first, *_, fix, _ = str(info.value).split("\n")
    assert first == "memory: cpu:0 has no memory 'tape'."
    assert fix == "  Fix: use one of 'device', 'pinned_host', 'unpinned_host'."


@pytest.mark.parametrize("place", PLACES)
def test_shardings_differ_by_their_memory(mesh, place):
    ordinary, *others = [PLACES[place](mesh, kind) for kind in KINDS]
    assert [s.memory_kind for s in (ordinary, *others)] == KINDS
    assert ordinary == PLACES[place](mesh)
    assert len({ordinary, *others}) == 3
    assert ordinary.with_memory_kind("pinned_host") == others[0] != ordinary
    assert "memory_kind=pinned_host" in repr(others[0])
    with pytest.raises(ValueError, match=re.escape("memory_kind: there is no memory 'tape'.")):
        ordinary.with_memory_kind("tape")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_where_they_are_put(mesh, place, kind):
    wanted = PLACES[place](mesh, kind)
    x = ev.device_put(X, wanted)
    assert x.sharding == wanted
    assert x.sharding.is_equivalent_to(wanted, 1)
    assert {shard.data.sharding.memory_kind for shard in x.addressable_shards} == {kind}
    loaded = pickle.loads(pickle.dumps(x)).sharding  # one device is not named, nor its memory
    assert loaded == (wanted if place == "mesh" else one())
    assert ev.device_put(x, PLACES[place](mesh)).sharding == PLACES[place](mesh)
    assert ev.device_put(X, ev.devices()[0]).sharding == one()
    np.testing.assert_array_equal(x, X)
    assert float(x[3]) == 3.0
    made = ev.make_array_from_callback((8,), wanted, lambda index: X[index])
    assert made.sharding == jnp.zeros(8, device=wanted).sharding == wanted
    text = "float32[8" if kind == "device" else "float32<host>[8"
    assert str(ev.typeof(x)).startswith(text)


WAYS = {"eager": lambda f: f, "jit": ev.jit, "spmd": lambda f: ev.jit(f, engine="spmd")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_results_are_where_operands_are(mesh, place, way):
    wanted = PLACES[place](mesh, "pinned_host")
    x = ev.device_put(X, wanted)

    def f(x):
        return x * 2 + 1, x.sum(), lax.fori_loop(0, 2, lambda i, c: c + x, x), x[:, None] * X

    for _ in range(3):  # also by plans and kept programs
        outs = WAYS[way](f)(x)
        assert [y.sharding.memory_kind for y in outs] == ["pinned_host"] * 4
        assert outs[0].sharding.is_equivalent_to(wanted, 1)
        for y, want in zip(outs, (X * 2 + 1, X.sum(), X * 3, X[:, None] * X), strict=True):
            np.testing.assert_array_equal(y, want)
    ordinary = WAYS[way](f)(ev.device_put(X, PLACES[place](mesh)))
    assert [y.sharding.memory_kind for y in ordinary] == ["device"] * 4


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["jit", "spmd"])
def test_programs_move_between_memories(mesh, place, way):
    host, device = PLACES[place](mesh, "pinned_host"), PLACES[place](mesh)

    def step(state, x):  # a state of an optimizer that is kept in the host's memory
        new = ev.device_put(state, NamedSharding(mesh, P("x"))) + x
        return ev.device_put(new, NamedSharding(mesh, P("x"), memory_kind="pinned_host")), new.sum()

    if place == "mesh":
        new, total = WAYS[way](step)(ev.device_put(X, host), ev.device_put(X, device))
        kinds = [new.sharding.memory_kind, total.sharding.memory_kind]
        assert kinds == ["pinned_host", "device"]
        np.testing.assert_array_equal(new, 2 * X)
    out = ev.jit(lambda x: (x, x + 1), out_shardings=(host, device))(X)
    assert [y.sharding for y in out] == [host, device]
    given = ev.jit(lambda x: x * 2, in_shardings=host)(X)
    assert given.sharding == host
    x = ev.device_put(X, device)
    with pytest.raises(ValueError, match="in_shardings: x of shape"):
        ev.jit(lambda x: x, in_shardings=host)(x)


@pytest.mark.parametrize("way", WAYS)
def test_operands_in_two_memories(mesh, way):
    host, device = (ev.device_put(X, PLACES["mesh"](mesh, kind)) for kind in KINDS[1::-1])

    def f(a, b):
        return a + b

    with pytest.raises(ValueError, match="is in memory") as info:
        WAYS[way](f)(host, device)
    text = str(info.value)
    assert text.startswith("add: operand 0 is in memory 'pinned_host', operand 1 in 'device'.\n")
    assert re.search(r"test_memories\.py:\d+ in f", text)
    assert "Fix: put them in the same one: `device_put(x, x.sharding.with_memory_kind(" in text
    np.testing.assert_array_equal(WAYS[way](f)(host, X), 2 * X)  # what nobody has put anywhere


def test_spaces(mesh):
    for sharding in (one(), NamedSharding(mesh, P("x"))):
        x = ev.device_put(X, sharding)
        host = ev.device_put(x, Space.Host)
        assert host.sharding == sharding.with_memory_kind("pinned_host")
        assert ev.device_put(host, Space.Any) is host
        assert ev.device_put(host, Space.Device).sharding == sharding
        assert ev.device_put(x, Space.Device) is x


SPACES = {"jit": ev.jit, "nested": lambda f: ev.jit(ev.jit(f)), "spmd": WAYS["spmd"]}


@pytest.mark.parametrize("way", SPACES)
@pytest.mark.parametrize("place", PLACES)
def test_traced_arrays_are_put_in_spaces(mesh, place, way):
    sharding = PLACES[place](mesh)
    host = sharding.with_memory_kind("pinned_host")
    x = ev.device_put(X, sharding)

    def moved(x):
        there = ev.device_put(jnp.sin(x), Space.Host)
        same = ev.device_put(there, Space.Host), ev.device_put(x, Space.Device)
        back = ev.device_put(there * 2, Space.Device)
        return there, there + 1, same, back, ev.device_put(there, Space.Any)

    for _ in range(3):
        there, more, same, back, kept = SPACES[way](moved)(x)
        for y in (there, more, same[0], kept):
            assert y.sharding.memory_kind == "pinned_host"
            assert y.sharding.is_equivalent_to(host, 1)
        for y in (same[1], back):
            assert y.sharding.is_equivalent_to(sharding, 1)
        np.testing.assert_allclose(back, 2 * np.sin(X), rtol=1e-6)
    jaxpr = ev.make_jaxpr(lambda x: ev.device_put(x, Space.Host))(x)
    (eqn,) = jaxpr.eqns
    assert eqn.params["sharding"].memory_kind == "pinned_host"


@pytest.mark.parametrize("place", PLACES)
def test_spaces_are_transformed(mesh, place):
    x = ev.device_put(X, PLACES[place](mesh))

    def offloaded(x):
        return (ev.device_put(ev.device_put(x, Space.Host) * 3, Space.Device) * x).sum()

    gradient = ev.jit(ev.grad(offloaded))(x)
    assert gradient.sharding.is_equivalent_to(x.sharding, 1)
    np.testing.assert_allclose(gradient, 6 * X)
    mapped = ev.jit(ev.vmap(lambda v: ev.device_put(v, Space.Host)))(x)
    assert mapped.sharding.is_equivalent_to(x.sharding.with_memory_kind("pinned_host"), 1)


def test_a_space_alone_needs_to_know_how_a_value_lies(mesh):
    with ev.strict(), pytest.raises(NotImplementedError) as info:
        ev.jit(lambda x: ev.device_put(x, Space.Host))(X)
    text = str(info.value)
    assert text.startswith("device_put: how an array of type f32[8] lies is not known while it is ")
    assert "Fix: name a sharding, `NamedSharding(mesh, spec, memory_kind=" in text
    assert re.search(r"test_memories\.py:\d+", text)
