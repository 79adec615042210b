"""Meshes, partition specs and shardings: what they say, and what they refuse."""

import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    explicit_axes,
    get_abstract_mesh,
    get_mesh,
    use_abstract_mesh,
)
from evertrace.sharding import PartitionSpec as P

MESH = AbstractMesh((4, 2), ("x", "y"))


def device():
    """Return the first device."""
    return ev.devices()[0]


def local_mesh(*names):
    """Return a mesh of one device with these axes."""
    return ev.make_mesh((1,) * len(names), names)


# ------------------------------------------------------------------------ specs


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P(None, "x"), "P(None, 'x')"),
        (P(("x", "y"), None), "P(('x', 'y'), None)"),
        (P(("x",), ()), "P('x', None)"),
        (P("x", unreduced={"y"}), "P('x', unreduced={'y'})"),
        (P(P.UNCONSTRAINED), "P(UNCONSTRAINED,)"),
    ],
)
def test_specs_as_text(spec, text):
    assert repr(spec) == text


def test_specs_are_sequences_that_compare():
    spec = P("x", None, ("y", "z"))
    assert (len(spec), spec[0], spec[2], spec[:1]) == (3, "x", ("y", "z"), ("x",))
    assert list(spec) == ["x", None, ("y", "z")]
    assert spec.index(("y", "z")) == 2
    assert P("x") + P("y") == P("x", "y")
    y = ("y",)
    assert P("x") + y == P("x", "y")
    assert y + P("x") == P("y", "x")
    for add in (lambda: P("x") + 1, lambda: 1 + P("x"), lambda: P("x") + None):
        with pytest.raises(TypeError, match="unsupported operand type"):
            add()
    assert hash(P("x")) == hash(P(("x",)))
    assert P("x") != P("x", None)
    assert ev.P is P
    assert ev.tree.leaves({"a": spec}) == [spec]


# ------------------------------------------------------------------------ meshes


def test_meshes_say_what_they_are():
    mesh = Mesh(np.array([device()]).reshape(1, 1), ("x", "y"))
    assert dict(mesh.shape) == {"x": 1, "y": 1}
    assert (mesh.size, mesh.empty, mesh.axis_names) == (1, False, ("x", "y"))
    assert mesh.device_ids.tolist() == [[device().id]]
    assert mesh == Mesh([[device()]], ["x", "y"])
    assert hash(mesh) == hash(Mesh([[device()]], ["x", "y"]))
    assert mesh != mesh.update(axis_names=("x", "z"))
    assert repr(mesh) == "Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert str(mesh) == "Mesh('x': 1, 'y': 1, axis_types=(Auto, Auto))"
    assert str(MESH) == "AbstractMesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"
    assert (MESH.size, mesh.abstract_mesh.shape_tuple) == (8, mesh.shape_tuple)


def test_types_of_axes():
    mesh = AbstractMesh((1, 1), ("x", "y"), (AxisType.Auto, AxisType.Explicit))
    assert (mesh.auto_axes, mesh.explicit_axes, mesh.manual_axes) == (("x",), ("y",), ())
    assert not mesh.are_all_axes_auto
    assert local_mesh("x").are_all_axes_explicit


MESH_ERRORS = {
    "names": (
        lambda: Mesh([device()], ("x", "y")),
        r"Mesh: 2 axis names \('x', 'y'\) for 1 axes of sizes \(1,\)",
    ),
    "twice": (lambda: Mesh([[device()]], ("x", "x")), "axis names must be distinct and not None"),
    "none": (lambda: Mesh([device()], (None,)), "axis names must be distinct and not None"),
    "types": (lambda: AbstractMesh((2,), ("x",), (AxisType.Auto,) * 2), "2 axis types for 1 axes"),
    "many": (
        lambda: ev.make_mesh((10**6,), ("x",)),
        r"axes of sizes \(1000000,\) need 1000000 devices",
    ),
    "devices": (lambda: MESH.devices, "an abstract mesh has no devices"),
    "set": (lambda: ev.set_mesh(MESH), "set_mesh: expected Mesh or None, got AbstractMesh"),
    "spec alone": (
        lambda: ev.device_put(jnp.ones(2), P("x")),
        "device_put: a PartitionSpec alone needs a mesh",
    ),
    "constraint": (
        lambda: lax.with_sharding_constraint(jnp.ones(2), P("x")),
        "with_sharding_constraint: a PartitionSpec alone",
    ),
}


@pytest.mark.parametrize(("make", "text"), MESH_ERRORS.values(), ids=MESH_ERRORS)
def test_errors_of_meshes(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_the_mesh_in_force():
    mesh = local_mesh("x")
    assert get_mesh().empty
    with ev.set_mesh(mesh) as entered:
        assert entered is mesh is get_mesh()
        assert get_abstract_mesh() == mesh.abstract_mesh
        with ev.set_mesh(None):
            assert get_mesh().empty
        with use_abstract_mesh(MESH):
            assert get_abstract_mesh() == MESH
            assert get_mesh().empty
        assert get_mesh() is mesh
    with mesh:
        assert get_mesh() is mesh
    assert get_abstract_mesh().empty


def test_equal_meshes_are_one():
    mesh = local_mesh("x")
    assert local_mesh("x") is pickle.loads(pickle.dumps(mesh)) is mesh.update() is mesh
    assert local_mesh("y") is not mesh
    with pytest.raises(ValueError, match="read-only"):
        mesh.devices[0] = None
    with mesh, local_mesh("x"):
        assert get_mesh() is mesh
    assert get_mesh().empty


def test_a_mesh_can_be_set_without_a_block():
    setting = ev.set_mesh(local_mesh("x"))
    assert get_mesh().axis_names == ("x",)
    setting.__exit__(None, None, None)
    assert get_mesh().empty


# ------------------------------------------------------------------------ shardings


SHARDS = [  # spec, shape, shape of a part, parts of devices 0, 1 and 7
    (P("x"), (8,), (2,), [((0, 2),), ((0, 2),), ((6, 8),)]),
    (P("x", "y"), (8, 4), (2, 2), [((0, 2), (0, 2)), ((0, 2), (2, 4)), ((6, 8), (2, 4))]),
    (P("y", "x"), (2, 4), (1, 1), [((0, 1), (0, 1)), ((1, 2), (0, 1)), ((1, 2), (3, 4))]),
    (P(("x", "y")), (8,), (1,), [((0, 1),), ((1, 2),), ((7, 8),)]),
    (P(("y", "x")), (8,), (1,), [((0, 1),), ((4, 5),), ((7, 8),)]),
    (P(None, "y"), (3, 2), (3, 1), [((0, 3), (0, 1)), ((0, 3), (1, 2)), ((0, 3), (1, 2))]),
    (P(), (3, 2), (3, 2), [((0, 3), (0, 2))] * 3),
    (P("x"), (0, 5), (0, 5), [((0, 0), (0, 5))] * 3),
]


@pytest.mark.parametrize(("spec", "shape", "shard", "parts"), SHARDS)
def test_which_part_a_device_holds(spec, shape, shard, parts):
    sharding = NamedSharding(MESH, spec)
    assert sharding.shard_shape(shape) == shard
    found = sharding.parts(shape)
    for place, want in zip((0, 1, 7), parts, strict=True):
        got = [s.indices(n)[:2] for s, n in zip(found[place], shape, strict=True)]
        assert tuple(got) == want
    copies = 8 // len({str(part) for part in found})
    assert max(sharding.replica_ids(shape)) == copies - 1


SPEC_ERRORS = {
    "unknown": (P("z"), (8,), "names the axis 'z', which is not among the axes"),
    "twice": (P("x", "x"), (8, 8), "names the axis 'x' 2 times"),
    "twice in all": (P(("x", "y"), "y"), (8, 8), "names the axis 'y' 2 times"),
    "entries": (P("x", None), (8,), r"has 2 entries, .* shape \(8,\) has 1 dimensions"),
    "scalar": (P(None), (), r"has 1 entries, .* shape \(\) has 0 dimensions"),
    "divides": (
        P("x"),
        (6,),
        r"divides dimension 0 of an array of shape \(6,\) into 4 parts, and its size 6",
    ),
    "divides by all": (
        P(None, ("x", "y")),
        (3, 12),
        r"divides dimension 1 .* into 8 parts, and its size 12",
    ),
}


@pytest.mark.parametrize(
    "make",
    [
        lambda kind: NamedSharding(MESH, P("x"), memory_kind=kind),
        lambda kind: NamedSharding(MESH, P("x")).with_memory_kind(kind),
        lambda kind: ev.sharding.SingleDeviceSharding(device(), memory_kind=kind),
    ],
)
def test_kinds_of_memory(make):
    assert make("pinned_host").memory_kind == "pinned_host"
    assert make(None).memory_kind == "device"
    with pytest.raises(ValueError, match="memory_kind: there is no memory 'disk'"):
        make("disk")


@pytest.mark.parametrize(("spec", "shape", "text"), SPEC_ERRORS.values(), ids=SPEC_ERRORS)
def test_specs_that_do_not_fit(spec, shape, text):
    with pytest.raises(ValueError, match=text):
        NamedSharding(MESH, spec).shard_shape(shape)


def test_shardings_compare():
    one, other = NamedSharding(MESH, P("x")), NamedSharding(MESH, P("x", None))
    assert one == NamedSharding(MESH, P("x"))
    assert one != other
    assert hash(one) == hash(NamedSharding(MESH, P("x")))
    assert not one.is_fully_replicated
    assert NamedSharding(MESH, P(None)).is_fully_replicated
    assert one.replicated_axes == {"y"}
    assert one.update(spec=P()).spec == P()
    assert repr(one) == f"NamedSharding(mesh={MESH}, spec=P('x',))"  # as in JAX, of no device
    over = NamedSharding(Mesh([[device()]], ["x", "y"]), P("x"))
    assert repr(over).endswith("spec=P('x',), memory_kind=device)")
    local = NamedSharding(local_mesh("x"), P("x"))
    assert local.is_equivalent_to(SingleDeviceSharding(device()), 2)
    assert local.is_equivalent_to(NamedSharding(local_mesh("z"), P()), 1)


def test_kinds_of_arguments_are_checked():
    with pytest.raises(TypeError, match="NamedSharding: expected a Mesh, got list"):
        NamedSharding([device()], P())
    with pytest.raises(TypeError, match="NamedSharding: expected a PartitionSpec, got tuple"):
        NamedSharding(MESH, ("x",))


# ------------------------------------------------------------------------ arrays


def test_arrays_know_how_they_are_laid_out():
    sharding = NamedSharding(local_mesh("x", "y"), P("x"))
    x = ev.device_put(np.arange(6.0).reshape(2, 3), sharding)
    (shard,) = x.addressable_shards
    assert (x.sharding, x.committed, x.devices()) == (sharding, True, {device()})
    assert (shard.device, shard.replica_id) == (device(), 0)
    np.testing.assert_array_equal(shard.data, x)
    np.testing.assert_array_equal(x + 1, np.arange(6.0).reshape(2, 3) + 1)
    np.testing.assert_array_equal(ev.jit(lambda x: x * 2)(x), np.arange(6).reshape(2, 3) * 2)


def test_device_put_takes_trees_of_shardings():
    mesh = local_mesh("x")
    tree = {"a": jnp.ones(2), "b": [jnp.ones(3), jnp.ones(())]}
    where = {"a": NamedSharding(mesh, P("x")), "b": NamedSharding(mesh, P())}
    put = ev.device_put(tree, where)
    assert put["a"].sharding == where["a"]
    assert put["b"][1].sharding == where["b"]
    with ev.set_mesh(mesh):
        assert ev.device_put(jnp.ones(2), P("x")).sharding == where["a"]
        assert ev.reshard(tree, {"a": P("x"), "b": None})["a"].sharding == where["a"]


def test_tracers_are_checked_and_stay():
    spec_too_long = NamedSharding(MESH, P("x", "y"))
    with pytest.raises(ValueError, match=r"device_put: .* has 2 entries"):
        ev.jit(lambda x: ev.device_put(x, spec_too_long))(jnp.ones(8))
    with pytest.raises(ValueError, match=r"with_sharding_constraint: .* into 4 parts"):
        ev.jit(lambda x: lax.with_sharding_constraint(x, NamedSharding(MESH, P("x"))))(jnp.ones(6))
    fits = NamedSharding(MESH, P("x"))
    np.testing.assert_array_equal(
        ev.jit(lambda x: lax.with_sharding_constraint(x, fits) + 1)(jnp.ones(8)), np.full(8, 2)
    )


def test_jit_takes_shardings_over_one_device():
    sharding = NamedSharding(local_mesh("x"), P("x"))
    double = ev.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    np.testing.assert_array_equal(double(jnp.ones(2)), [2, 2])
    with ev.set_mesh(local_mesh("x")):
        assert float(ev.jit(lambda x: x.sum(), in_shardings=P("x"))(jnp.ones(2))) == 2


def test_arrays_of_parts():
    sharding = NamedSharding(local_mesh("x"), P("x"))
    whole = np.arange(4.0, dtype="float32")
    made = [
        ev.make_array_from_callback((4,), sharding, lambda index: whole[index]),
        ev.make_array_from_process_local_data(sharding, whole),
        ev.make_array_from_process_local_data(sharding, whole, (4,)),
        ev.make_array_from_single_device_arrays((4,), sharding, [jnp.asarray(whole)]),
    ]
    for x in made:
        np.testing.assert_array_equal(x, whole)
        assert x.sharding == sharding


PARTS = {
    "shape": (
        lambda s: ev.make_array_from_callback((4,), s, lambda _: np.ones(3)),
        r"a part of shape \(3,\) where",
    ),
    "dtype": (
        lambda s: ev.make_array_from_callback((4,), s, lambda _: np.ones(4), "int32"),
        "parts of dtype float64, and dtype int32",
    ),
    "global": (
        lambda s: ev.make_array_from_process_local_data(s, np.ones(4), (8,)),
        r"data of shape \(4,\) for an array of shape \(8,\), of which the devices",
    ),
    "number": (
        lambda s: ev.make_array_from_single_device_arrays((4,), s, []),
        "0 arrays for the 1 devices",
    ),
    "array": (
        lambda s: ev.make_array_from_single_device_arrays((4,), s, [jnp.ones(2)]),
        r"a part of shape \(2,\) where",
    ),
}


@pytest.mark.parametrize(("make", "text"), PARTS.values(), ids=PARTS)
def test_parts_that_do_not_fit(make, text):
    with pytest.raises(ValueError, match=text):
        make(NamedSharding(local_mesh("x"), P("x")))


def test_axes_left_to_the_compiler_or_stated():
    with ev.set_mesh(local_mesh("x")):
        doubled = ev.sharding.auto_axes(axes="x", out_sharding=P("x"))(lambda x: x * 2)(jnp.ones(2))
        assert doubled.sharding.spec == P("x")
        specs = explicit_axes(lambda x: x.sharding.spec, in_sharding=P("x"))
        assert specs(jnp.ones(2)) == P("x")


def test_one_process():
    ev.distributed.shutdown()
    assert not ev.distributed.is_initialized()
    ev.distributed.initialize()
    assert ev.distributed.is_initialized()
    with pytest.raises(RuntimeError, match="it has been called before"):
        ev.distributed.initialize()
    ev.distributed.shutdown()


def test_a_call_may_say_how_results_or_arguments_lie():
    mesh = local_mesh("x")
    with ev.set_mesh(mesh):
        double = ev.sharding.auto_axes(lambda x: x * 2)
        assert double(jnp.ones(2), out_sharding=P("x")).sharding.spec == P("x")
        seen = ev.sharding.explicit_axes(lambda x: x.sharding.spec)
        assert seen(jnp.ones(2), in_sharding=P("x")) == P("x")


def test_a_type_is_divided_over_the_mesh_in_force():
    assert ev.typeof(jnp.ones(3)).sharding.mesh.empty
    mesh = local_mesh("x")
    with ev.set_mesh(mesh):
        sharding = ev.typeof(jnp.ones(3)).sharding
        assert (sharding.mesh, sharding.spec) == (mesh.abstract_mesh, P(None))
        assert sharding.update(spec=P("x")).spec == P("x")


@pytest.mark.parametrize("how", [lambda fun: fun, ev.jit], ids=["eager", "jit"])
def test_the_sharding_of_a_type_without_a_mesh_asks_for_nothing(how):
    x = jnp.ones((2, 3))
    product = how(lambda x: jnp.matmul(x, x.T, out_sharding=ev.typeof(x).sharding))(x)
    assert jnp.array_equal(product, jnp.full((2, 2), 3))


def test_specs_print_their_axes_in_order():
    spec = P("x", unreduced={"z", "y", "a"}, reduced=["c", "b"])
    assert repr(spec) == "P('x', unreduced={'a', 'y', 'z'}, reduced={'b', 'c'})"
