"""`simulate_devices`: devices that are asked for after something was computed."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(8, 4)


def divided(mesh):
    return ev.device_put(X, NamedSharding(mesh, P("x", "y")))


def test_devices_are_there_for_a_block_and_keep_their_identity():
    jnp.ones(3) + 1  # devices are in use
    before = ev.devices()
    with ev.simulate_devices(8):
        found = ev.devices()
        assert found[: len(before)] == before
        assert [d.id for d in found] == list(range(8))
        assert (ev.device_count(), ev.local_device_count(), ev.process_count()) == (8, 8, 1)
        assert [str(d) for d in found[6:]] == ["cpu:6", "cpu:7"]
        assert repr(found[7]) == "CpuDevice(id=7)"
        with ev.simulate_devices(2):
            assert ev.devices() == found[:2]
        with ev.simulate_devices(256):
            assert ev.devices()[:8] == found
            x = ev.device_put(np.ones((512, 3)), NamedSharding(ev.make_mesh((256,), "x"), P("x")))
            assert (x.sum(0) == 512).all()
    assert ev.devices() == before


@pytest.mark.engine
def test_a_training_step_over_256_devices_is_that_of_one():
    def loss(w, x):
        return (jnp.tanh(x @ w["in"]) @ w["out"]).mean()

    @ev.jit
    def step(w, x):
        return ev.tree.map(lambda p, g: p - g, w, ev.grad(loss)(w, x))

    rng = np.random.default_rng(0)
    whole = {"in": rng.normal(size=(8, 32)), "out": rng.normal(size=(32, 8))}
    whole = ev.tree.map(lambda w: jnp.asarray(w, "float32"), whole)
    data = jnp.asarray(rng.normal(size=(64, 8)), "float32")
    with ev.simulate_devices(256):
        mesh = ev.make_mesh((16, 16), ("data", "model"), (AxisType.Auto,) * 2)
        places = {
            "in": NamedSharding(mesh, P(None, "model")),
            "out": NamedSharding(mesh, P("model")),
        }
        weights = ev.device_put(whole, places)
        found = step(weights, ev.device_put(data, NamedSharding(mesh, P("data"))))
        total = ev.shard_map(
            lambda x: lax.psum(x.sum(), ("data", "model")),
            mesh=mesh,
            in_specs=P("data", "model"),
            out_specs=P(),
        )
        terms = ev.device_put(np.ones((32, 16), "float32"), NamedSharding(mesh, P("data", "model")))
        assert len(terms.addressable_shards) == 256
        assert float(ev.jit(total)(terms)) == 512
    for name, w in step(whole, data).items():
        np.testing.assert_allclose(found[name], w, rtol=1e-5, atol=1e-6)
        assert len(found[name].addressable_shards) == 256
        assert found[name].sharding.is_equivalent_to(places[name], 2)


@pytest.mark.engine
def test_arrays_over_simulated_devices_are_computed_with_as_any():
    with ev.simulate_devices(8):
        x = divided(ev.make_mesh((4, 2), ("x", "y")))
    np.testing.assert_array_equal(x + 1, X + 1)
    assert (x + 1).sharding == x.sharding
    assert ev.jit(lambda x: x.T)(x).sharding.spec == P("y", "x")
    assert [s.data.shape for s in x.addressable_shards] == [(2, 2)] * 8


@pytest.mark.engine
def test_arrays_on_one_simulated_device_stay_there():
    with ev.simulate_devices(4):
        two, three = ev.devices()[2:]
    x, y = ev.device_put(X, two), ev.device_put(X, three)
    for f in (lambda x: x + 1, ev.jit(lambda x: x + 1), ev.jit(lambda x: x + 1, engine="xla")):
        assert f(x).devices() == {two}
        np.testing.assert_array_equal(f(x), X + 1)
    with pytest.raises(ValueError, match="operand 0 is committed to cpu:2, operand 1 to cpu:3"):
        x + y
    donated = ev.device_put(x, three)
    ev.jit(lambda x: x + 1, donate_argnums=0, engine="xla")(donated)
    np.testing.assert_array_equal(x, X)  # the memory is one, the arrays are not


def test_programs_are_really_divided_where_that_is_asked_for():
    with ev.simulate_devices(8):
        mesh = ev.make_mesh((4, 2), ("x", "y"))
    x = divided(mesh)
    f = ev.jit(lambda x: (x @ x.T).sum(0), engine="spmd")
    out = f(x)
    np.testing.assert_allclose(out, (X @ X.T).sum(0))
    (program,) = [v.program for v in f._contract.variants.all()]
    assert [str(place) for place in program.executables] == ["8 devices (x: 4, y: 2)"]
    assert (out + 1).sharding == out.sharding


def test_a_jitted_function_sees_how_many_devices_there_are():
    f = ev.jit(lambda x: x * ev.device_count())
    seen = []
    for count in (4, 8, 4):
        with ev.simulate_devices(count):
            seen.append(int(f(1)))
    assert seen == [4, 8, 4]


def test_what_was_pickled_needs_as_many_devices():
    with ev.simulate_devices(8):
        x = divided(ev.make_mesh((4, 2), ("x", "y")))
        again = pickle.loads(pickle.dumps(x))
    assert again.sharding == x.sharding
    with (
        ev.simulate_devices(4),
        pytest.raises(ValueError, match=r"(?s)8 devices.*`ev.simulate_devices\(8\)`"),
    ):
        pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize(
    ("count", "kind", "text"),
    [
        (0, ValueError, "(?s)0 devices cannot be simulated.*ask for 1 to 2048"),
        (2049, ValueError, "2049 devices cannot be simulated"),
        (1.5, TypeError, "float"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(count, kind, text):
    with pytest.raises(kind, match=text):
        ev.simulate_devices(count)


def test_a_process_that_was_joined_with_others_is_refused(monkeypatch):
    monkeypatch.setattr("evertrace._src.sharding.distributed.membership", lambda: object())
    with pytest.raises(RuntimeError, match="this process was joined with others"):
        ev.simulate_devices(8)


def test_a_mesh_that_is_too_large_says_how_to_have_the_devices():
    with (
        ev.simulate_devices(4),
        pytest.raises(ValueError, match=r"(?s)need 6 devices.*`ev.simulate_devices\(6\)`"),
    ):
        ev.make_mesh((6,), "x")


def test_a_sum_over_two_axes_is_one_message():
    with ev.simulate_devices(8):
        mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=(ev.sharding.AxisType.Auto,) * 2)
        x = ev.device_put(np.arange(64.0, dtype=np.float32).reshape(8, 8), _over(mesh))
        summed = ev.jit(
            ev.shard_map(
                lambda part: lax.psum(part, ("x", "y")),
                mesh=mesh,
                in_specs=ev.P("x", "y"),
                out_specs=ev.P(),
            ),
            engine="spmd",
        )
        text = summed.lower(x).compile().as_text()
        assert text.count(" all-reduce(") == 1
        wanted = np.asarray(x).reshape(4, 2, 2, 4).sum((0, 2))
        np.testing.assert_array_equal(summed(x), wanted)


def _over(mesh):
    return ev.sharding.NamedSharding(mesh, ev.P("x", "y"))


def test_ten_thousand_launches_are_a_script_that_runs():
    """``scripts/nightly`` runs it whole, also over two processes."""
    command = [sys.executable, "-m", "tests.sharding.soak", "--launches", "200", "--seconds", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "8 devices: 200 launches in" in done.stdout


@pytest.mark.parametrize("order", [range(8), range(7, -1, -1), (3, 0, 7, 1, 6, 2, 5, 4)])
def test_an_array_is_made_of_the_parts_by_the_devices_on_which_they_lie(order):
    with ev.simulate_devices(8):
        devices = ev.devices()
        sharding = NamedSharding(ev.make_mesh((8,), ("x",)), P("x"))
        parts = [ev.device_put(X[i : i + 1], devices[i]) for i in order]
        made = ev.make_array_from_single_device_arrays((8, 4), sharding, parts)
        np.testing.assert_array_equal(made, X)


def test_parts_that_lie_on_other_devices_are_refused():
    with ev.simulate_devices(8):
        devices = ev.devices()
        sharding = NamedSharding(ev.make_mesh((2,), ("x",)), P("x"))
        for places in ([0, 0], [0, 5]):
            parts = [ev.device_put(X[:4], devices[i]) for i in places]
            with pytest.raises(ValueError, match=rf"the arrays lie on .*cpu:{places[1]}, and"):
                ev.make_array_from_single_device_arrays((8, 4), sharding, parts)


ROWS, LINE, SAME = (
    ((4, 2), ("x", "y"), P("x")), ((8,), ("i",), P("i")), ((8,), ("x",), P("x")),
)  # fmt: skip


def over(shape, names, spec):
    """Return the sharding of a spec over a mesh, whose axes are left to the compiler."""
    return NamedSharding(ev.make_mesh(shape, names, (AxisType.Auto,) * len(names)), spec)


def on_parts(f, to, out_spec=None):
    """Map a function over the parts of arrays that are divided along the one axis of a mesh."""
    out = to.spec if out_spec is None else out_spec
    return ev.shard_map(f, mesh=to.mesh, in_specs=to.spec, out_specs=out)


def repeated(x, to):
    def body(c, _):
        return lax.with_sharding_constraint(c * 2, to), None

    return lax.scan(body, x, None, length=1)[0]


def square_sum(x, to):
    return on_parts(lambda v: v * v, to)(x).sum()


# name: function of an array and a sharding over another mesh, which says how the result lies
MOVED = {
    "out_shardings": lambda x, to: ev.jit(lambda x: x * 2, out_shardings=to)(x),
    "out_shardings, ahead": lambda x, to: (
        ev.jit(lambda x: x * 2, out_shardings=to).lower(x).compile()(x)
    ),
    "a constraint": lambda x, to: ev.jit(lambda x: lax.with_sharding_constraint(x * 2, to))(x),
    "before the last operation": lambda x, to: ev.jit(
        lambda x: lax.with_sharding_constraint(x, to) * 2
    )(x),
    "in a loop": lambda x, to: ev.jit(lambda x: repeated(x, to))(x),
    "shard_map": lambda x, to: on_parts(lambda v: v * 2, to)(x),
    "compiled shard_map": lambda x, to: ev.jit(on_parts(lambda v: v * 2, to))(x),
    "and its gradient": lambda x, to: ev.jit(ev.grad(lambda x: square_sum(x, to)))(x),
    "one of two arguments": lambda x, to: ev.jit(lambda a, b: (a * 2, b * 2))(
        x, ev.device_put(X, to)
    )[1],
}  # fmt: skip


@pytest.mark.engine
@pytest.mark.parametrize("row", [LINE, SAME], ids=["other names", "other sizes"])
@pytest.mark.parametrize("move", MOVED.values(), ids=MOVED)
def test_results_lie_over_another_mesh_than_arguments(move, row):
    with ev.simulate_devices(8):
        x, to = ev.device_put(X, over(*ROWS)), over(*row)
        for _ in range(3):  # the third one runs in C++ alone
            found = move(x, to)
            assert found.sharding == to
            np.testing.assert_array_equal(found, 2 * X)


@pytest.mark.engine
def test_a_sum_over_another_mesh_than_that_of_the_argument():
    with ev.simulate_devices(8):
        x, to = ev.device_put(X, over(*ROWS)), over(*LINE)
        total = on_parts(lambda v: lax.psum(v, "i"), to, P())
        for f in (total, ev.jit(total)):
            assert f(x).sharding == NamedSharding(to.mesh, P())
            np.testing.assert_array_equal(f(x), X.sum(0, keepdims=True))
        mapped = ev.jit(ev.vmap(on_parts(lambda v: v * 2, to), in_axes=1, out_axes=1))
        assert mapped(x).sharding == to


@pytest.mark.engine
def test_pmap_takes_and_gives_arrays_over_other_meshes():
    with ev.simulate_devices(8):
        x, to = ev.device_put(X, over((8,), ("d",), P("d"))), over(*ROWS)
        found = ev.pmap(lambda v: v * 2)(x)
        np.testing.assert_array_equal(found, 2 * X)
        assert found.sharding.shard_shape((8, 4)) == (1, 4)
        assert ev.jit(on_parts(lambda v: v * 2, to))(found).sharding == to


@pytest.mark.engine
def test_where_two_meshes_meet_that_of_the_first_argument_is_kept():
    with ev.simulate_devices(8):
        x, y = (ev.device_put(X, over(*row)) for row in (ROWS, LINE))
        for f in (lambda a, b: a + b, ev.jit(lambda a, b: a + b)):
            assert f(x, y).sharding == x.sharding
            assert f(y, x).sharding == y.sharding
        outer = ev.jit(lambda a, b: a[:, None] * b)(x, y)
        assert outer.sharding == NamedSharding(x.sharding.mesh, P("x"))


def doubled(x):
    return x * 2


def constrained(to):
    return lambda x: lax.with_sharding_constraint(x * 2, to)


# name: function of an array over eight devices and a sharding over others, which JAX refuses
ELSEWHERE = {
    "out_shardings": lambda x, to: ev.jit(doubled, out_shardings=to)(x),
    "a constraint": lambda x, to: ev.jit(constrained(to))(x),
    "an eager constraint": lambda x, to: constrained(to)(x),
    "in a loop": lambda x, to: ev.jit(lambda x: repeated(x, to))(x),
}
ON_PARTS = {
    "shard_map": lambda x, to: on_parts(doubled, to)(x),
    "compiled shard_map": lambda x, to: ev.jit(on_parts(doubled, to))(x),
}


@pytest.mark.engine
@pytest.mark.parametrize("put", [*ELSEWHERE.values(), *ON_PARTS.values()], ids=ELSEWHERE | ON_PARTS)
def test_results_do_not_lie_over_other_devices_than_arguments(put):
    with ev.simulate_devices(8):
        x, some = ev.device_put(X, over(*ROWS)), over((2,), ("x",), P("x"))
        for to in (some, ev.sharding.SingleDeviceSharding(ev.devices()[5])):
            if put in ON_PARTS.values() and to is not some:
                continue
            for _ in range(3):
                with pytest.raises(ValueError, match=r"committed to 8 devices, .* to be laid out"):
                    put(x, to)
        np.testing.assert_array_equal(put(X, some), 2 * X)  # which is committed to none
        if put in ON_PARTS.values():
            with pytest.raises(
                ValueError, match="committed to cpu:5 are to be laid out over 2 dev"
            ):
                put(ev.device_put(X, ev.devices()[5]), some)


@pytest.mark.engine
def test_results_lie_over_no_devices_but_those_that_a_program_is_compiled_for():
    with ev.simulate_devices(8):
        x, some = ev.device_put(X, over(*ROWS)), over((2,), ("x",), P("x"))
        traced = ev.jit(doubled, out_shardings=some).trace(x)
        with pytest.raises(ValueError, match=r"committed to 8 devices, .* over 2 devices"):
            traced.lower()


@pytest.mark.engine
def test_the_sharding_of_a_traced_array_is_seen(capsys):
    seen, asked = [], []

    def look(x):
        ev.debug.inspect_array_sharding(x * 2, callback=seen.append)
        columns = lax.with_sharding_constraint(x, over((4, 2), ("x", "y"), P(None, "y")))
        ev.debug.inspect_array_sharding(columns + 1, callback=asked.append)
        return x

    with ev.simulate_devices(8):
        for row in (ROWS, ROWS, ((4, 2), ("x", "y"), P("x", "y"))):
            ev.jit(look)(ev.device_put(X, over(*row)))
        assert [str(s.spec) for s in seen] == ["P('x',)", "P('x',)", "P('x', 'y')"]
        assert {s.spec for s in asked} == {P(None, "y")}
        ev.jit(lambda x: ev.debug.visualize_array_sharding(x + 1))(ev.device_put(X, over(*ROWS)))
        assert "CPU 0,1" in capsys.readouterr().out


def test_random_keys_are_parts_of_arrays():
    with ev.simulate_devices(8):
        keys, sharding = ev.random.split(ev.random.key(0), 8), over(*LINE)
        parts = [ev.device_put(keys[i : i + 1], d) for i, d in enumerate(ev.devices())]
        for made in (
            ev.make_array_from_callback((8,), sharding, lambda index: keys[index]),
            ev.make_array_from_single_device_arrays((8,), sharding, parts[::-1]),
        ):
            assert made.sharding == sharding
            assert (made == keys).all()


def test_the_device_of_a_divided_array_is_its_sharding():
    with ev.simulate_devices(8):
        x = ev.device_put(X, over(*ROWS))
        assert x.device is x.sharding
        assert ev.device_put(X, ev.devices()[3]).device == ev.devices()[3]
        assert ev.device_put(X, ev.make_mesh((1,), ("x",)).devices[0]).device == ev.devices()[0]
        assert [y for y in ev.live_arrays("cpu") if y is x]


def test_a_spec_of_what_stands_for_an_array_is_of_the_mesh_in_force():
    with ev.simulate_devices(8):
        to = over(*ROWS)
        with ev.set_mesh(to.mesh):
            assert ev.ShapeDtypeStruct((8, 4), "float32", sharding=P("x")).sharding == to
    with pytest.raises(ValueError, match="ShapeDtypeStruct: a PartitionSpec alone needs a mesh"):
        ev.ShapeDtypeStruct((8, 4), "float32", sharding=P("x"))


def test_types_outside_of_shard_map_vary_along_no_axis():
    with ev.simulate_devices(8):
        for x in (X, ev.device_put(X, over(*ROWS))):
            assert ev.typeof(x).manual_axis_type == (frozenset(), frozenset(), frozenset())


def rows_of(mesh, spec):
    return lambda row: lax.with_sharding_constraint(row, NamedSharding(mesh, spec))


# name: (arguments of vmap, spec of the constraint on a row, that of the result), as in JAX
DIVIDED_BY = {
    "one axis": ({"spmd_axis_name": "x"}, P("y"), P("x", "y")),
    "behind": ({"spmd_axis_name": "x", "out_axes": 1}, P("y"), P("y", "x")),
    "from behind": ({"spmd_axis_name": "x", "in_axes": 1}, P("y"), P("x", "y")),
    "two axes": ({"spmd_axis_name": ("x", "y")}, P(), P(("x", "y"))),
    "none": ({}, P("y"), P(None, "y")),
}


@pytest.mark.engine
@pytest.mark.parametrize(("how", "spec", "want"), DIVIDED_BY.values(), ids=DIVIDED_BY)
def test_vmap_divides_its_axis_where_values_are_constrained(how, spec, want):
    x = np.ones((8, 8), np.float32)
    with ev.simulate_devices(8):
        f = ev.vmap(rows_of(over(*ROWS).mesh, spec), **how)
        assert f(x).sharding.spec == ev.jit(f)(x).sharding.spec == want


@pytest.mark.engine
def test_vmap_divides_its_axis_around_others_and_parts():
    x = np.ones((8, 8, 2), np.float32)
    with ev.simulate_devices(8):
        mesh = over(*ROWS).mesh
        inner = ev.vmap(rows_of(mesh, P()), spmd_axis_name="y")
        found = ev.jit(ev.vmap(inner, spmd_axis_name="x"))(x)
        assert found.sharding.spec == P("x", "y")
        double = ev.shard_map(doubled, mesh=mesh, in_specs=P("y"), out_specs=P("y"))
        found = ev.jit(ev.vmap(double, spmd_axis_name="x"))(x[..., 0])
        assert found.sharding.spec == P("x", "y")
        with pytest.raises(ValueError, match=r"spmd_axis_name \('y',\) is to divide"):
            ev.vmap(rows_of(mesh, P("y")), spmd_axis_name="y")(x)


@pytest.mark.engine
def test_the_axes_of_a_mapped_function_are_manual_in_it():
    seen = []

    def look(x):
        found = ev.sharding.get_abstract_mesh()
        seen.append((found.manual_axes, found.axis_types))
        return x

    manual, auto = AxisType.Manual, AxisType.Auto
    with ev.simulate_devices(8):
        mesh = over(*ROWS).mesh
        to = {"in_specs": P("x"), "out_specs": P("x")}
        ev.shard_map(look, mesh=mesh, **to)(X)
        ev.jit(ev.shard_map(look, mesh=mesh, axis_names={"x"}, **to))(X)
        with ev.set_mesh(mesh):
            inner = ev.shard_map(look, axis_names={"y"}, in_specs=P("y"), out_specs=P("y"))
            ev.shard_map(inner, axis_names={"x"}, **to)(X)
            assert ev.sharding.get_abstract_mesh().manual_axes == ()
    both = ("x", "y"), (manual, manual)
    assert seen == [both, (("x",), (manual, auto)), both]


@pytest.mark.engine
def test_specs_of_parts_do_not_contradict_explicit_axes():
    with ev.simulate_devices(8):
        mesh = ev.make_mesh((4, 2), ("x", "y"))
        x = ev.device_put(X, NamedSharding(mesh, P("x")))
        for spec in (P("y"), P(), P(("x", "y"))):
            f = ev.shard_map(doubled, mesh=mesh, in_specs=spec, out_specs=spec)
            for g in (f, ev.jit(f), ev.jit(lambda x, f=f: f(x * 2))):
                with pytest.raises(ValueError, match="is divided along explicit axes, as P"):
                    g(x)
        f = ev.shard_map(doubled, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        assert f(x).sharding == ev.jit(f)(x).sharding == x.sharding
        for own in (P(), P("x", "y")):
            with pytest.raises(ValueError, match="is divided along explicit axes, as P"):
                f(ev.device_put(X, NamedSharding(mesh, own)))
        np.testing.assert_array_equal(f(X), 2 * X)  # which lies over no mesh
