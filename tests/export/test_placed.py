"""Exported functions of arrays that lie over a mesh: on how many devices, and how they lie."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, lax
from evertrace._src.export import container, hostile
from evertrace.sharding import AbstractMesh, AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P

X = np.arange(64, dtype=np.float32).reshape(8, 8)
AUTO = (AxisType.Auto,) * 2


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh((4, 2), ("x", "y"), axis_types=AUTO)


@pytest.fixture
def a(mesh):
    """An array that lies over the mesh."""
    return ev.device_put(X, NamedSharding(mesh, P("x", "y")))


def again(fun, *args, vjp_order=0, **options):
    """Export a function, and read it from the bytes."""
    return export.deserialize(export.export(ev.jit(fun, **options))(*args).serialize(vjp_order))


def lies(x, mesh, *spec):
    """Whether an array lies so."""
    return x.sharding.is_equivalent_to(NamedSharding(mesh, P(*spec)), x.ndim)


def test_arguments_say_over_how_many_devices(mesh, a):
    exported = again(lambda a: a.T * 2, a)
    assert exported.nr_devices == 8
    assert exported.in_shardings_hlo == exported.out_shardings_hlo == (None,)  # as JAX says it
    assert exported.in_shardings_jax(mesh) == (NamedSharding(mesh, P("x", "y")),)
    assert exported.out_shardings_jax(mesh) == (NamedSharding(mesh, P("y", "x")),)


@pytest.mark.parametrize("way", ["eager", "jit", "spmd"])
def test_a_call_lays_out_what_goes_in_and_comes_out(mesh, a, way):
    call = again(lambda a: a.T * 2, a).call
    run = {"eager": call, "jit": ev.jit(call), "spmd": ev.jit(call, engine="spmd")}[way]
    for x in (a, ev.device_put(X, NamedSharding(mesh, P("y")))):
        found = run(x)
        assert lies(found, mesh, "y", "x")
        np.testing.assert_array_equal(found, 2 * X.T)


def test_in_and_out_shardings_say_so_as_well(mesh, a):
    lying = {
        "in_shardings": NamedSharding(mesh, P("x")),
        "out_shardings": NamedSharding(mesh, P(None, "x")),
    }
    exported = again(lambda x: x + 1, ev.ShapeDtypeStruct((8, 8), "float32"), **lying)
    assert exported.nr_devices == 8
    assert lies(exported.call(a), mesh, None, "x")
    with ev.set_mesh(mesh):
        assert lies(exported.call(X), mesh, None, "x")
    with ev.set_mesh(mesh):
        assert lies(ev.jit(exported.call)(X), mesh, None, "x")


def test_a_constraint_says_so_as_well(mesh, a):
    exported = again(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("y"))), X)
    assert exported.nr_devices == 8
    assert exported.in_shardings_jax(mesh) == (None,)
    assert lies(exported.call(a), mesh, "y")


def test_a_shard_map_says_so_as_well(mesh, a):
    total = ev.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    exported = again(total, X)
    assert exported.nr_devices == 8
    np.testing.assert_array_equal(exported.call(a), X.reshape(4, 2, 8).sum(0))


def test_dimensions_may_be_left_open(mesh, a):
    lying = NamedSharding(mesh, P(P.UNCONSTRAINED, "y"))
    exported = again(lambda x: x + 1, X, in_shardings=lying, out_shardings=lying)
    assert exported.out_shardings_jax(mesh) == (lying,)
    found = exported.call(ev.device_put(X, NamedSharding(mesh, P("x"))))
    assert lies(found, mesh, None, "y")
    np.testing.assert_array_equal(found, X + 1)


def test_constraints_over_meshes_of_types_are_kept(mesh, a):
    rows = NamedSharding(mesh.abstract_mesh, P("x"))
    exported = again(lambda a: lax.with_sharding_constraint(a, rows) * 2, a)
    assert '<@mesh, [{"x"}, {}]>' in exported.mlir_module()
    assert lies(exported.call(a), mesh, "x")


def test_devices_need_not_be_there():
    abstract = NamedSharding(AbstractMesh((64, 4), ("x", "y"), AUTO), P("x"))
    exported = again(jnp.sin, ev.ShapeDtypeStruct((64, 8), "float32", sharding=abstract))
    assert exported.nr_devices == 256
    assert exported.out_shardings_jax(abstract.mesh) == (abstract,)


def test_what_lies_over_no_mesh_runs_on_any(mesh, a):
    exported = again(lambda x: x + 1, X)
    assert exported.nr_devices == 1
    assert exported.in_shardings_jax(mesh) == exported.out_shardings_jax(mesh) == (None,)
    np.testing.assert_array_equal(exported.call(a), X + 1)
    np.testing.assert_array_equal(exported.call(X), X + 1)


def test_axes_may_have_other_names(mesh, a):
    exported = again(lambda a: a.T, a)
    other = ev.make_mesh((4, 2), ("data", "model"), axis_types=AUTO)
    found = exported.call(ev.device_put(X, NamedSharding(other, P("data", "model"))))
    assert lies(found, other, "model", "data")


def test_derivatives_lie_as_their_arguments(mesh, a):
    exported = again(lambda a, n: (a.T * n, n), a, 3, vjp_order=1)
    derived = exported.vjp()
    assert derived.nr_devices == 8
    assert [s and s.spec for s in derived.in_shardings_jax(mesh)] == [
        *[P("x", "y"), None],
        P("y", "x"),
    ]
    for run in (lambda f: f, ev.jit):
        grad = run(ev.grad(lambda a: exported.call(a, 3)[0].sum()))(a)
        assert lies(grad, mesh, "x", "y")
        np.testing.assert_array_equal(grad, np.full((8, 8), 3))


def test_explicit_axes_stay_explicit(mesh):
    explicit = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = ev.device_put(X, NamedSharding(explicit, P("x")))
    exported = again(lambda x: x.sum(1), x)
    assert str(ev.typeof(exported.call(x))) == "float32[8@x]"
    sums = ev.device_put(X, NamedSharding(explicit, P(None, None, unreduced={"x"})))
    assert str(ev.typeof(again(lambda u: 2 * u, sums).call(sums))) == "float32[8,8]{U:x}"


def test_symbolic_sizes_are_divided(mesh):
    (n,) = export.symbolic_shape("n")
    rows = NamedSharding(mesh, P("x"))
    exported = again(jnp.sin, ev.ShapeDtypeStruct((4 * n, 2), "float32", sharding=rows))
    assert exported.nr_devices == 8
    found = exported.call(ev.device_put(X[:4, :2], rows))
    np.testing.assert_allclose(found, np.sin(X[:4, :2]), rtol=1e-5)
    with pytest.raises(ev.errors.InconclusiveDimensionOperation, match=r"whether mod\(n, 4\) != 0"):
        again(jnp.sin, ev.ShapeDtypeStruct((n, 2), "float32", sharding=rows))


def shuffled(place):
    """A function within which a value lies otherwise than before and after."""
    return lambda a: lax.with_sharding_constraint(a * 2, place) + 1


def told(call, x):
    """What devices tell each other in a program: kinds and axes."""
    with ev.set_mesh(x.sharding.mesh):
        return {(c.kind, c.axes) for c in ev.explain_sharding(call)(x).collectives}


def test_constraints_within_are_kept(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    given = ev.device_put(X, rows)
    exported = again(shuffled(columns), given, out_shardings=rows)
    assert '\n    %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"x"}]>' in exported.mlir_module()
    assert told(exported.call, given) == {("all-to-all", ("x",))}
    for run in (exported.call, ev.jit(exported.call), ev.jit(exported.call, engine="spmd")):
        np.testing.assert_array_equal(run(given), 2 * X + 1)
    other = ev.make_mesh((4, 2), ("data]", "mesh"), axis_types=AUTO)
    elsewhere = ev.device_put(X, NamedSharding(other, P("data]")))
    assert told(exported.call, elsewhere) == {("all-to-all", ("data]",))}
    found = ev.jit(exported.call, engine="spmd")(elsewhere)
    assert lies(found, other, "data]")
    np.testing.assert_array_equal(found, 2 * X + 1)


def test_constraints_are_kept_where_programs_of_any_size_are_exported_again(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    (n,) = export.symbolic_shape("n")
    given = ev.ShapeDtypeStruct((4 * n, 8), "float32", sharding=rows)
    inner = again(shuffled(columns), given, out_shardings=rows)
    with ev.set_mesh(mesh):
        outer = again(lambda a: inner.call(a).T, given)
    assert inner.mlir_module().count('"sdy.sharding_constraint"') == 1
    assert outer.mlir_module().count('"sdy.sharding_constraint"') == 3  # and two around the call
    assert inner.out_shardings_jax(mesh) == (rows,)
    found = ev.jit(outer.call, engine="spmd")(ev.device_put(X, rows))
    np.testing.assert_array_equal(found, (2 * X + 1).T)
    np.testing.assert_array_equal(outer.call(ev.device_put(X, rows)), (2 * X + 1).T)
    for_jax = export.deserialize(outer.serialize(format="jax"))
    np.testing.assert_array_equal(for_jax.call(ev.device_put(X, rows)), (2 * X + 1).T)


def test_constraints_are_written_for_jax(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
    exported = export.export(ev.jit(shuffled(columns), in_shardings=rows))(X)
    read = export.deserialize(exported.serialize(format="jax"))
    assert '<@mesh, [{}, {"x"}]>' in read.mlir_module()
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in read.mlir_module()
    np.testing.assert_array_equal(read.call(ev.device_put(X, rows)), 2 * X + 1)


def test_a_function_may_be_called_as_meshes_are(mesh, a):
    def whole(a):
        def mesh(x):
            return x * 2

        return ev.jit(mesh)(a) + ev.jit(mesh)(a)

    np.testing.assert_array_equal(ev.jit(whole, engine="spmd")(a), 4 * X)
    np.testing.assert_array_equal(ev.jit(again(whole, a).call, engine="spmd")(a), 4 * X)


def test_a_program_over_another_mesh_is_refused(mesh):
    exported = again(lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("y"))), X)
    line = ev.make_mesh((8,), ("z",), axis_types=AUTO[:1])

    def both(x):
        with ev.set_mesh(mesh):
            return x + 1, exported.call(X)

    with pytest.raises(
        ValueError,
        match=re.escape(
            "export: <lambda> was exported for a mesh of the axes {'x': 4, 'y': 2}, and is called "
            "in a program that is divided over one of {'z': 8}."
        ),
    ):
        ev.jit(both, engine="spmd")(ev.device_put(X, NamedSharding(line, P("z"))))


ERRORS = {
    "one device": (
        lambda e, mesh: e.call(X),
        "export: f was exported for 8 devices, and is called on 1.",
    ),
    "one device, in jit": (
        lambda e, mesh: ev.jit(e.call)(X),
        "export: f was exported for 8 devices, and is called on 1.",
    ),
    "four devices": (
        lambda e, mesh: e.call(ev.device_put(X, NamedSharding(ev.make_mesh((4,), ("x",)), P("x")))),
        "export: f was exported for 8 devices, and is called on 4.",
    ),
    "another mesh": (
        lambda e, mesh: e.call(ev.device_put(X, NamedSharding(ev.make_mesh((8,), ("z",)), P("z")))),
        "export: f was exported for a mesh of the axes {'x': 4, 'y': 2}, and this one has "
        "{'z': 8}.",
    ),
    "a question about another mesh": (
        lambda e, mesh: e.in_shardings_jax(ev.make_mesh((4, 2), ("y", "x"))),
        "export: f was exported for a mesh of the axes {'x': 4, 'y': 2}, and this one has "
        "{'y': 4, 'x': 2}.",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_other_devices_are_refused(mesh, a, name):
    def f(a):
        return a.T

    fun, text = ERRORS[name]
    with pytest.raises(ValueError, match=re.escape(text)):
        fun(again(f, a), mesh)


FORGED = {
    "an axis twice": lambda d: d["axes"].append(["x", 4, "Auto"]),
    "no devices": lambda d: d["axes"].__setitem__(0, ["x", 0, "Auto"]),
    "a kind": lambda d: d["axes"].__setitem__(0, ["x", 4, "Odd"]),
    "another axis": lambda d: d["inputs"].__setitem__(0, [["z"], []]),
    "an axis that divides twice": lambda d: d["inputs"].__setitem__(0, [["x", "x"], []]),
    "too many dimensions": lambda d: d["inputs"].__setitem__(0, [["x", None, None], []]),
    "too few specs": lambda d: d["outputs"].clear(),
    "no list": lambda d: d.update(outputs=None),
    "a sum of what is divided": lambda d: d["inputs"].__setitem__(0, [["x"], ["x"]]),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_layouts_are_refused(a, name):
    blob = export.export(ev.jit(lambda a: a.T))(a).serialize()
    descriptions, programs = container.unpack(blob)
    hostile.check_description(descriptions, programs)
    FORGED[name](descriptions[0]["layout"])
    with pytest.raises(ValueError, match="deserialize: the bytes are not those of an exported fu"):
        export.deserialize(container.pack(descriptions, programs))
