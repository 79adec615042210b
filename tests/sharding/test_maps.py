"""`shard_map`, `smap` and `pmap`: functions of one part, for all parts.

Abstract meshes have axes longer than there are devices, which is all that a mapped function sees.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import AbstractMesh, use_abstract_mesh
from evertrace.sharding import PartitionSpec as P
from tests.support.gradcheck import check_grads

pytestmark = pytest.mark.engine

MESH = AbstractMesh((4, 2), ("x", "y"))
X = np.arange(32.0, dtype="float32").reshape(8, 4)
V = np.arange(8.0, dtype="float32")
RING = [(i, (i + 1) % 4) for i in range(4)]


def mapped(f, in_specs, out_specs, **options):
    """Map a function of a part over the mesh."""
    return ev.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


CASES = {
    "elementwise": (lambda a: a * 2, P("x", "y"), P("x", "y"), X, X * 2),
    "other way": (lambda a: a.T, P("x", "y"), P("y", "x"), X, X.T),
    "sum over one": (
        lambda a: lax.psum(a, "x"),
        P("x", "y"),
        P(None, "y"),
        X,
        X.reshape(4, 2, 4).sum(0),
    ),
    "terms of a sum": (
        lambda a: lax.pcast(a, "x", to="unreduced"),
        P("x", "y"),
        P(None, "y", unreduced={"x"}),
        X,
        X.reshape(4, 2, 4).sum(0),
    ),
    "terms that all share": (lambda a: a, P("y"), P("y", unreduced={"x"}), V, 4 * V),
    "terms of an argument": (
        lambda a: lax.psum(2 * a, "x"),
        P("y", unreduced={"x"}),
        P("y"),
        V,
        2 * V,
    ),
    "terms in and out": (
        lambda a: lax.pcast(lax.pcast(a, "x", to="reduced") * 3, ("x",), to="unreduced"),
        P(unreduced={"x", "y"}),
        P(unreduced={"y", "x"}),
        V,
        3 * V,
    ),
    "sum over both": (lambda a: lax.psum(a.sum(), ("x", "y")), P("x", "y"), P(), X, X.sum()),
    "mean": (lambda a: lax.pmean(a.mean(), "x"), P("x"), P(), V, V.mean()),
    "max": (lambda a: lax.pmax(a.max(), "x"), P("x"), P(), V, 7.0),
    "index": (
        lambda a: a + lax.axis_index("x"),
        P("x"),
        P("x"),
        np.zeros(8),
        np.arange(4).repeat(2),
    ),
    "index of both": (
        lambda a: a + lax.axis_index(("x", "y")),
        P(("x", "y")),
        P(("x", "y")),
        np.zeros(8),
        V,
    ),
    "index, slowest last": (
        lambda a: a + lax.axis_index("x"),
        P(("y", "x")),
        P(("y", "x")),
        np.zeros(8),
        np.tile(np.arange(4), 2),
    ),
    "gather": (lambda a: lax.all_gather(a, "x", tiled=True), P("x"), P(), V, V),
    "gather, new axis": (lambda a: lax.all_gather(a, "x"), P("x"), P(), V, V.reshape(4, 2)),
    "scatter": (lambda a: lax.psum_scatter(a, "x", tiled=True), P(), P("x"), V, V * 4),
    "ring": (lambda a: lax.ppermute(a, "x", RING), P("x"), P("x"), V, np.roll(V, 2)),
    "transpose": (lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), P("x"), P(None, "x"), X, X),
    "transpose over both": (
        lambda a: lax.all_to_all(a, ("x", "y"), 1, 0, tiled=True),
        P(("x", "y")),
        P(None, ("x", "y")),
        V[:, None] + 8 * V,
        V[:, None] + 8 * V,
    ),
    "transpose, slowest last": (
        lambda a: lax.all_to_all(a, ("y", "x"), 1, 0, tiled=True),
        P(("y", "x")),
        P(None, ("y", "x")),
        V[:, None] + 8 * V,
        V[:, None] + 8 * V,
    ),
    "copies in": (lambda a: a.sum(keepdims=True), P(), P("x"), V, np.full(4, 28.0)),
    "same result": (lambda a: jnp.ones(2), P("x"), P("x"), V, np.ones(8)),
    "first of many": (lambda a: a, P("x"), P(), V, V[:2]),
    "part per device": (lambda a: a.sum()[None], P("x"), P("x"), V, V.reshape(4, 2).sum(1)),
    "scan": (
        lambda a: lax.scan(lambda c, v: (c + lax.psum(v, "x"), c), 0.0, a)[0],
        P("x"),
        P(),
        V,
        28.0,
    ),
    "branch": (
        lambda a: lax.cond(lax.axis_index("x") > 1, lambda: a, lambda: -a),
        P("x"),
        P("x"),
        V,
        np.where(V > 3, V, -V),
    ),
    "jit": (
        lambda a: ev.jit(lambda b: b + lax.axis_index("y"))(a),
        P("y"),
        P("y"),
        V,
        V + (np.arange(8) > 3),
    ),
    "no elements": (lambda a: a, P("x"), P("x"), V[:0], V[:0]),
    "places of both": (
        lambda a: lax.ppermute(a, ("x", "y"), [(i, 7 - i) for i in range(8)]),
        P(("x", "y")),
        P(("x", "y")),
        V,
        V[::-1],
    ),
    "sum within groups": (
        lambda a: lax.psum(a, "x", axis_index_groups=[[0, 3], [1, 2]]),
        P("x"),
        P("x"),
        V,
        np.array([6.0, 8, 6, 8, 6, 8, 6, 8]),
    ),
    "gradient of the sum": (
        lambda a: ev.grad(lambda w: lax.psum((w**2).sum(), "x"))(a),
        P("x"),
        P("x"),
        V,
        2 * V,
    ),
    "gradient of what all share": (
        lambda a: ev.grad(lambda w: lax.pmean((w * a).sum(), ("x", "y")))(jnp.ones(2)),
        P("x"),
        P(),
        V,
        V.reshape(4, 2).mean(0),
    ),
    "gradient in a loop": (
        lambda a: ev.grad(
            lambda w: lax.scan(lambda c, v: (c + lax.psum(v * w[0], "x"), None), 0.0, a)[0]
        )(jnp.ones(1)),
        P("x"),
        P(),
        V,
        np.full(1, 28.0),
    ),
    "pullback": (
        lambda a: ev.jit(lambda: ev.vjp(lambda w: w * a, jnp.ones(2))[1])()(a)[0],
        P("x"),
        P(),
        V,
        (V.reshape(4, 2) ** 2).sum(0),
    ),
}


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("how", ["plainly", "jitted"])
@pytest.mark.parametrize("case", CASES)
def test_shard_map_computes_all_parts(case, how):
    f, in_specs, out_specs, x, want = CASES[case]
    function = mapped(f, in_specs, out_specs, check_vma=case != "first of many")
    got = (ev.jit(function) if how == "jitted" else function)(x)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_trees_of_arguments_and_results():
    f = mapped(
        lambda d, k, rest: {"s": d["a"] * k, "k": k},
        ({"a": P("x")}, None, P()),
        {"s": P("x"), "k": P()},
    )
    got = f({"a": V}, 3.0, [1, 2])
    np.testing.assert_array_equal(got["s"], V * 3)
    assert float(got["k"]) == 3


def test_the_mesh_in_force_and_decorators():
    @ev.shard_map(in_specs=P("x"), out_specs=P())
    def total(a):
        return lax.psum(a, "x")

    jitted = ev.jit(lambda a: total(a))
    for size in (4, 2):
        with use_abstract_mesh(AbstractMesh((size,), ("x",))):
            want = V.reshape(size, -1).sum(0)
            np.testing.assert_array_equal(total(V), want)
            np.testing.assert_array_equal(jitted(V), want)  # traced anew for another mesh


def test_specs_are_taken_from_the_arguments():
    mesh = ev.make_mesh((1,), ("x",))
    x = ev.device_put(jnp.ones(2), ev.NamedSharding(mesh, P("x")))
    out = ev.shard_map(lambda a, b: a + b, mesh=mesh, out_specs=P("x"))(x, 1.0)
    assert out.sharding == ev.NamedSharding(mesh, P("x"))


def test_some_axes_of_the_mesh():
    f = mapped(lambda a: lax.psum(a, "x"), P("x"), P(), axis_names={"x"})
    np.testing.assert_array_equal(f(V), [12, 16])
    text = r"names the axis 'y', which is not among the axes \('x',\)"
    with pytest.raises(ValueError, match=text):
        mapped(lambda a: a, P("y"), P(), axis_names={"x"})(V)


def product(x, w):
    """Multiply matrices that are divided along the contracted dimension."""
    return mapped(lambda a, b: lax.psum(a @ b, "y"), (P("x", "y"), P("y")), P("x"))(x, w)


def test_derivatives_and_batches():
    w = np.linspace(-1, 1, 12).reshape(4, 3)
    check_grads(product, [X.astype(float) / 8, w], order=1)
    ws = np.stack([w, 2 * w]).astype("float32")
    np.testing.assert_allclose(ev.vmap(product, (None, 0))(X, ws), X @ ws, rtol=1e-5)
    gradient = ev.jit(ev.grad(lambda w: (product(X, w) ** 2).sum()))(ws[0])
    np.testing.assert_allclose(gradient, 2 * X.T @ (X @ ws[0]), rtol=1e-4)


def test_state_that_is_the_same_on_all_devices():
    seen = ev.new_ref(0.0)

    def f(a):
        seen[...] = lax.psum(a.sum(), "x")
        return a

    mapped(f, P("x"), P("x"))(V)
    assert float(seen[...]) == 28


ERRORS = {
    "unknown": (P("z"), P(), V, "in_specs: .* names the axis 'z'"),
    "divides": (P("x"), P("x"), V[:6], r"in_specs: .* into 4 parts, and its size 6"),
    "entries": (P("x", None), P("x"), V, "in_specs: .* has 2 entries"),
    "results": (
        P("x"),
        P("x", None),
        V,
        "out_specs has .*, with 2 entries, for result 0, whose parts have 1",
    ),
    "twice": (P("x"), P("x", "x"), X, "out_specs: .* names the axis 'x' 2 times"),
    "differs": (P("x"), P(), V, "not known to be the same along the axis 'x'"),
    "differs in one": (P("x", "y"), P("x"), X, "not known to be the same along the axis 'y'"),
    "arguments": ((P("x"), P()), P("x"), V, "in_specs is not a tree prefix"),
    "kind": (("x",), P("x"), V, "in_specs must hold PartitionSpecs, got str"),
}


@pytest.mark.parametrize(("in_specs", "out_specs", "x", "text"), ERRORS.values(), ids=ERRORS)
def test_what_shard_map_refuses(in_specs, out_specs, x, text):
    with pytest.raises((ValueError, TypeError), match=text):
        mapped(lambda a: a, in_specs, out_specs)(x)


def test_no_mesh():
    with pytest.raises(ValueError, match="there is no mesh, neither passed nor in force"):
        ev.shard_map(lambda a: a, in_specs=P(), out_specs=P())(V)
    with pytest.raises(TypeError, match="shard_map: expected a function, got a value of type int"):
        ev.shard_map(3, mesh=MESH, in_specs=P(), out_specs=P())


def test_smap_divides_one_dimension():
    with use_abstract_mesh(MESH):
        f = ev.smap(lambda a, b: a * b, in_axes=(1, None), out_axes=1, axis_name="y")
        np.testing.assert_array_equal(f(X, 2.0), X * 2)
        total = ev.smap(in_axes=0, out_axes=None, axis_name="x")(lambda a: lax.psum(a, "x"))
        np.testing.assert_array_equal(total(V), [12, 16])


def test_errors_in_pmap_name_the_users_function():
    def row(x):
        return jnp.sum(x, axis=4)

    with pytest.raises(ValueError, match=r"called from vmap\(row\), jit\(row\)"):
        ev.pmap(row)(jnp.ones((1, 3)))


def test_pmap_on_devices_that_are_named():
    with ev.simulate_devices(8):
        _map_over(ev.devices())


def _map_over(devices):
    total = ev.pmap(lambda a, k: lax.psum(a, "i") * k, "i", in_axes=(0, None), devices=devices)
    np.testing.assert_array_equal(total(V, 2.0), np.full(8, 56))
    power = ev.pmap(lambda a, n: a**n, static_broadcasted_argnums=1, devices=devices)
    np.testing.assert_array_equal(power(V, 2), V**2)
    np.testing.assert_array_equal(ev.pmap(lambda *, a: a, devices=devices)(a=V), V)
    with pytest.raises(
        ValueError, match=r"pmap\(<lambda>\): the mapped axis has size 8, and there are 4"
    ):
        ev.pmap(lambda a: a, devices=devices[:4])(V)


DEVICES = """
    import numpy as np, evertrace as ev, evertrace.numpy as jnp
    from evertrace import lax
    from evertrace.sharding import NamedSharding, PartitionSpec as P

    ev.config.update("num_cpu_devices", 8)
    mesh = ev.make_mesh((4, 2), ("x", "y"), (ev.sharding.AxisType.Auto,) * 2)
    sharding = NamedSharding(mesh, P("x", "y"))
    whole = np.arange(32.0, dtype="float32").reshape(8, 4)
    x = ev.device_put(whole, sharding)
    assert x.devices() == set(ev.devices()) and len(x.addressable_shards) == 8
    for shard in x.addressable_shards:
        assert shard.data.devices() == {shard.device}
        np.testing.assert_array_equal(shard.data, whole[shard.index])
    rows = ev.device_put(whole, NamedSharding(mesh, P("x")))
    assert [s.replica_id for s in rows.addressable_shards] == [0, 1] * 4
    parts = [s.data for s in x.addressable_shards]
    again = ev.make_array_from_single_device_arrays((8, 4), sharding, parts)
    np.testing.assert_array_equal(again, whole)
    calls = []
    part = lambda index: calls.append(index) or whole[index]
    np.testing.assert_array_equal(ev.make_array_from_callback((8, 4), rows.sharding, part), whole)
    assert len(calls) == 4
    f = ev.shard_map(lambda a: lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    np.testing.assert_array_equal(f(x), whole.reshape(4, 2, 4).sum(0))
    np.testing.assert_array_equal(ev.jit(f)(x), whole.reshape(4, 2, 4).sum(0))
    np.testing.assert_array_equal(ev.jit(lambda a: a @ a.T)(x), whole @ whole.T)
    out = ev.pmap(lambda a: lax.psum(a, "i"), "i")(jnp.arange(8.0))
    np.testing.assert_array_equal(out, np.full(8, 28))
"""


def test_a_mesh_of_eight_devices():
    code = textwrap.dedent(DEVICES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_each_device_calls_back(run):
    seen = []

    def callback(x):
        seen.append(x.shape)
        return 2 * x

    def double(x):
        return ev.pure_callback(callback, ev.ShapeDtypeStruct.like(x), x)

    np.testing.assert_array_equal(run(mapped(double, P("x"), P("x")))(V), 2 * V)
    assert set(seen) == {(2,)}
    with pytest.raises(NotImplementedError, match="vmap_method is None"):
        run(ev.vmap(double))(V)


def test_specs_that_nobody_knows_are_not_guessed():
    total = ev.shard_map(lambda x: lax.psum(x.sum(), ("x", "y")), mesh=MESH, out_specs=P())
    want = "in_specs cannot be left out here: how an argument is divided is not known"
    with pytest.raises(ValueError, match=want):
        ev.jit(ev.vmap(total))(jnp.ones((2, 8)))
    with ev.strict(True), pytest.raises(ValueError, match=want):
        ev.jit(total)(jnp.ones(8))
    compiled = ev.jit(total).lower(jnp.ones(8)).compile()  # for arguments that lie like these
    assert float(compiled(jnp.ones(8))) == float(total(jnp.ones(8)))


def test_specs_are_known_of_what_the_function_lays_out_itself():
    seen = []

    def double(part):
        seen.append(part.shape)
        return part * 2

    with ev.simulate_devices(4), ev.strict(True):
        rows = ev.NamedSharding(ev.make_mesh((4,), ("x",)), P("x"))
        of_parts = ev.shard_map(double, mesh=rows.mesh, out_specs=P("x"))
        whole = ev.jit(lambda x: of_parts(lax.with_sharding_constraint(x, rows)))
        np.testing.assert_array_equal(whole(V), 2 * V)
    assert set(seen) == {(V.size // 4,)}


@ev.custom_vjp
def summed_forward(a):
    """Sum up forward, and leave cotangents as they are: the second half of a divided layer."""
    return lax.psum(a, "x")


summed_forward.defvjp(lambda a: (lax.psum(a, "x"), None), lambda _, ct: (ct,))

# name: (function of a part, in_specs, out_specs, the derivative of the sum by each element of X)
UNCHECKED = {
    "the same everywhere": (lambda a: a * 2, P("x"), P(), 0.5),
    "along both axes": (lambda a: a * 2, P("x", "y"), P(), 0.25),
    "along one of them": (lambda a: a * 2, P("x", "y"), P(None, "y"), 0.5),
    "of all": (lambda a: a * 2, P(), P(), 2),
    "a sum": (lambda a: lax.psum(a * 2, "x"), P("x"), P(), 2),
    "a sum and a part": (lambda a: lax.psum(a * 2, "x") + a, P("x"), P(), 2.25),
    "gathered": (lambda a: lax.all_gather(a * 2, "x", tiled=True), P("x"), P(), 2),
    "summed forward only": (lambda a: summed_forward(a * 2), P("x"), P(), 0.5),
}


@pytest.mark.parametrize(("f", "ins", "outs", "want"), UNCHECKED.values(), ids=UNCHECKED)
def test_results_that_are_said_to_be_the_same_share_their_cotangent(f, ins, outs, want):
    g = mapped(f, ins, outs, check_vma=False)
    for transform in (lambda h: h, ev.jit):
        found = transform(ev.grad(lambda a: g(a).sum()))(X)
        np.testing.assert_allclose(found, np.full_like(X, want), rtol=1e-6)


def test_a_result_that_is_said_to_be_the_same_is_that_of_the_first_device():
    g = mapped(lambda a: a * 2, P("x"), P(), check_vma=False)
    np.testing.assert_array_equal(ev.jvp(g, (X,), (3 * X,))[1], 6 * X[:2])
    np.testing.assert_array_equal(g(X.astype(int)), 2 * X[:2].astype(int))
    np.testing.assert_array_equal(ev.vmap(g, 2, 2)(np.stack([X, -X], 2))[..., 1], -2 * X[:2])


@ev.custom_jvp
def summed(a):
    """Sum up, with a rule that says the same."""
    return lax.psum(a, "x")


summed.defjvp(lambda primals, tangents: (lax.psum(*primals, "x"), lax.psum(*tangents, "x")))


@ev.custom_vjp
def summed_backward(a):
    """Leave as it is forward, and sum cotangents up: the first half of a divided layer."""
    return a


summed_backward.defvjp(lambda a: (a, None), lambda _, ct: (lax.psum(ct, "x"),))


@ev.custom_vjp
def weighted(a, w):
    """Return the sum of products, of parts with what all devices have."""
    return lax.psum(a * w, "x")


weighted.defvjp(
    lambda a, w: (weighted(a, w), (a, w)),
    lambda aw, ct: (lax.pcast(ct * aw[1], "x", to="varying"), lax.psum(ct * aw[0], "x")),
)


def repeatedly(f):
    return lambda a: lax.scan(lambda c, _: (f(c), None), a, None, length=2)[0]


# name: (function of a part, in_specs, out_specs, the derivative of the sum by each element of X,
# for results that are known to be the same and for those that are said to be), as JAX has it, which
# wants a `pcast` in rules that return for a part what all share
RULES = {
    "sum, its own derivative": (summed, P("x"), P(), 1, 1),
    "sum, forward": (summed_forward, P("x"), P(), 1, 0.25),
    "sum, backward": (summed_backward, P(), P(), 4, 4),
    "sum, backward, of parts": (summed_backward, P(), P("x"), 16, 16),
    "compiled": (lambda a: ev.jit(summed_backward)(a), P(), P("x"), 16, 16),
    "in a loop": (repeatedly(summed_backward), P(), P("x"), 64, 64),
    "around a layer": (
        lambda a: summed_forward(summed_backward(a) * lax.axis_index("x")), P(), P(), 24, 6,
    ),
    "of what all share": (lambda a: ev.nn.relu(a + 1), P(), P(), 1, 1),
    "of a sum": (lambda a: ev.nn.relu(lax.psum(a + 1, "x")), P("x"), P(), 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(("f", "ins", "outs", "known", "said"), RULES.values(), ids=RULES)
def test_custom_rules_speak_of_axes(f, ins, outs, known, said, check):
    g = mapped(f, ins, outs, check_vma=check)
    for transform in (lambda h: h, ev.jit):
        found = transform(ev.grad(lambda a: g(a).sum()))(X)
        np.testing.assert_allclose(found, np.full_like(X, known if check else said), rtol=1e-6)


def test_custom_rules_of_parts_and_of_what_all_share():
    g = mapped(weighted, (P("x"), P()), P())
    by_part, by_weight = ev.grad(lambda a, w: g(a, w).sum(), (0, 1))(X, X[:2])
    np.testing.assert_array_equal(g(X, X[:2]), (X.reshape(4, 2, 4) * X[:2]).sum(0))
    np.testing.assert_array_equal(by_weight, X.reshape(4, 2, 4).sum(0))
    np.testing.assert_array_equal(by_part, np.tile(X[:2], (4, 1)))
    shown = ev.make_jaxpr(mapped(summed_forward, P("x"), P()))(X)
    assert shown.out_avals[0].shape == (2, 4)


def test_a_rule_whose_result_differs_where_that_of_the_function_does_not():
    @ev.custom_jvp
    def total(a):
        return lax.psum(a, "x")

    total.defjvp(lambda primals, tangents: (lax.psum(*primals, "x"), *tangents))
    with pytest.raises(ValueError, match="an output that is the same along the axis 'x', and its"):
        ev.jvp(mapped(total, P("x"), P()), (X,), (X,))
