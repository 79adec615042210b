"""`shard_map` as an equation of the jaxprs that `make_jaxpr` shows, and what is made of these."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.core import eval_jaxpr
from evertrace.interpreters import partial_eval as pe
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P
from tests.sharding import test_maps

ROWS = P("x")
X = np.arange(64, dtype=np.float32).reshape(8, 8) / 64


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def part(a):
    return a * 2 + lax.psum(jnp.sin(a), "x")


def mapped(mesh, fun=part, in_specs=ROWS, out_specs=ROWS, **options):
    return ev.shard_map(fun, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def shown(fun, *args):
    """The only equation of a function's jaxpr."""
    (eqn,) = ev.make_jaxpr(fun)(*args).eqns
    assert eqn.primitive.name == "shard_map"
    return eqn


def again(fun, *args):
    """The function that evaluates a function's jaxpr."""
    closed = ev.make_jaxpr(fun)(*args)
    shown(fun, *args)

    def evaluated(*args):
        (out,) = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return out

    return evaluated


def test_the_jaxpr_shows_the_mesh_the_specs_and_a_part(mesh):
    text = str(ev.make_jaxpr(mapped(mesh))(X))
    assert (
        text
        == """\
{ lambda ; a:f32[8,8]. let
    b:f32[8,8] = shard_map[
      check_vma=True
      in_specs=(P('x',),)
      jaxpr={ lambda ; c:f32[2,8]. let
          d:f32[2,8] = mul c 2.0:f32[]
          e:f32[2,8] = sin c
          f:f32[2,8] = psum[axes=('x',) axis_index_groups=None] e
          g:f32[2,8] = add d f
        in (g,) }
      mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))
      newly_manual_axes=frozenset({'x', 'y'})
      out_specs=(P('x',),)
    ] a
  in (b,) }"""
    )


def test_params_are_those_of_jax(mesh):
    eqn = shown(
        mapped(mesh, lambda a, b: (a, b.T), (P("x"), P()), (P("x"), P(None, "y")), check_vma=False),
        X,
        X,
    )
    assert sorted(eqn.params) == [
        *["check_vma", "in_specs", "jaxpr", "mesh", "newly_manual_axes", "out_specs"]
    ]
    assert eqn.params["in_specs"] == (P("x"), P())
    assert eqn.params["out_specs"] == (P("x"), P(None, "y"))
    assert eqn.params["newly_manual_axes"] == {"x", "y"}
    assert (eqn.params["mesh"], eqn.params["check_vma"]) == (mesh, False)
    assert [v.aval.shape for v in eqn.params["jaxpr"].invars] == [(2, 8), (8, 8)]
    assert [v.aval.shape for v in eqn.outvars] == [(8, 8), (8, 16)]


@pytest.mark.parametrize("name", test_maps.CASES)
def test_jaxprs_mean_what_the_functions_mean(mesh, name):
    fun, in_specs, out_specs, x, _ = test_maps.CASES[name]
    mesh = ev.make_mesh((4, 2), ("x", "y"))  # types of explicit axes say where sums are
    f = mapped(mesh, fun, in_specs, out_specs, check_vma=name != "first of many")
    x = jnp.asarray(x)
    wanted = f(x)
    for run in (again(f, x), ev.jit(again(f, x))):
        found = run(x)
        np.testing.assert_array_equal(found, wanted)
        assert found.sharding == wanted.sharding


DERIVED = {
    "jvp": lambda f: lambda x: ev.jvp(f, (x,), (jnp.cos(x),))[1],
    "grad": lambda f: ev.grad(lambda x: f(x).sum()),
    "grad in jit": lambda f: ev.jit(ev.grad(lambda x: (f(x) ** 2).sum())),
    "grad of grad": lambda f: ev.grad(lambda x: ev.grad(lambda x: (f(x) ** 2).sum())(x).sum()),
    "jvp of grad": lambda f: lambda x: ev.jvp(ev.grad(lambda x: f(x).sum()), (x,), (x,))[1],
    "linearize": lambda f: lambda x: ev.linearize(f, x)[1](jnp.cos(x)),
    "vmap": lambda f: lambda x: ev.vmap(f)(jnp.stack([x, 2 * x])),
    "vmap of columns": lambda f: lambda x: ev.vmap(f, 1, 2)(jnp.stack([x, 2 * x], 1)),
    "vmap of grad": lambda f: lambda x: ev.vmap(ev.grad(lambda x: f(x).sum()))(x[None]),
    "checkpoint": lambda f: ev.grad(lambda x: ev.checkpoint(f)(x).sum()),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0],
    "divided": lambda f: ev.jit(f, engine="spmd"),
}


@pytest.mark.parametrize("name", DERIVED)
def test_jaxprs_are_transformed_as_the_functions(mesh, name):
    f, x = mapped(mesh), ev.device_put(X, NamedSharding(mesh, P("x")))
    derived = DERIVED[name]
    wanted = derived(f)(x)
    np.testing.assert_allclose(derived(again(f, x))(x), wanted, rtol=1e-5, atol=1e-5)
    closed = ev.make_jaxpr(derived(f))(x)  # and the other way round
    (found,) = eval_jaxpr(closed.jaxpr, closed.consts, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_linear_map_is_transposed(mesh):
    f = mapped(mesh, lambda a: 2 * a + lax.psum(a, "x"))
    (found,) = ev.linear_transpose(again(f, X), X)(X)
    (wanted,) = ev.linear_transpose(f, X)(X)
    np.testing.assert_allclose(found, wanted)


def test_derivatives_and_batches_are_mapped_as_well(mesh):
    f = mapped(
        mesh, lambda a, n: (a * 2, a.sum() * n), (P("x"), P()), (P("x"), P()), check_vma=False
    )
    eqn = shown(lambda a, da: ev.jvp(lambda a: f(a, 3.0), (a,), (da,)), X, X)
    assert eqn.params["in_specs"] == (P("x"), P(), P("x"))
    assert eqn.params["out_specs"] == (P("x"), P(), P("x"), P())
    eqn = shown(ev.vmap(f, (0, None)), X[None], 3.0)
    assert eqn.params["in_specs"] == (P(None, "x"), P())
    assert eqn.params["out_specs"] == (P(None, "x"), P(None))
    named = ev.vmap(mapped(mesh, lambda a: a + lax.psum(a, ("x", "i"))), axis_name="i")
    np.testing.assert_array_equal(again(named, X[None])(X[None]), named(X[None]))


def test_what_nobody_uses_is_left_out(mesh):
    closed = ev.make_jaxpr(lambda a: (mapped(mesh)(a), a + 1))(X)
    jaxpr, used = pe.dce_jaxpr(closed.jaxpr, [False, True])
    assert ([e.primitive.name for e in jaxpr.eqns], used) == (["add"], [True])
    jaxpr, _ = pe.dce_jaxpr(closed.jaxpr, [True, False])
    assert [e.primitive.name for e in jaxpr.eqns] == ["shard_map"]


def test_what_the_function_captures_is_an_operand(mesh):
    w = jnp.asarray(X[:2])
    eqn = shown(mapped(mesh, lambda a: a + w), X)
    assert eqn.params["in_specs"] == (P(), P("x"))
    np.testing.assert_array_equal(
        again(mapped(mesh, lambda a: a + w), X)(X), X + np.tile(X[:2], (4, 1))
    )
    f = lambda a, b: mapped(mesh, lambda p: p * b.sum())(a)  # noqa: E731
    np.testing.assert_allclose(again(lambda a: f(a, a), X)(X), X * X.sum(), rtol=1e-6)


def test_programs_that_run_have_the_operations_on_all_parts(mesh):
    def primitives(jaxpr):
        return {e.primitive.name for e in jaxpr.eqns}

    f = mapped(mesh)
    assert "shard_map" not in primitives(ev.jit(f).trace(X).jaxpr)
    body = ev.make_jaxpr(lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x))(X).eqns[0]
    assert not any(
        ["shard_map" in primitives(j) for j in ev.extend.core.jaxprs_in_params(body.params)]
    )
    prints = mapped(mesh, lambda a: (ev.debug.print("{}", a.sum()), a)[1])
    assert "shard_map" not in primitives(ev.make_jaxpr(prints)(X))


def test_errors_are_those_of_calls(mesh):
    bad = {
        "out": mapped(mesh, lambda a: a, out_specs=P()),
        "names": mapped(mesh, lambda a: a, out_specs=P("z")),
        "shape": mapped(mesh, lambda a: a, in_specs=P(("x", "y"))),
        "inside": mapped(mesh, lambda a: a + jnp.ones(3)),
    }
    for name, fun in bad.items():
        texts = []
        for run in (fun, ev.make_jaxpr(fun)):
            with pytest.raises((ValueError, TypeError)) as info:
                run(X[:6] if name == "shape" else X)
            texts.append(str(info.value).split("\n")[0])
        assert texts[0] == texts[1], name
    assert re.match(
        r"shard_map\(<lambda>\): out_specs has P\(\) for result 0", str(_raised(bad["out"]))
    )


def _raised(fun):
    with pytest.raises(ValueError, match="out_specs") as info:
        ev.make_jaxpr(fun)(X)
    return info.value


def test_one_axis_of_the_mesh_in_force(mesh):
    with ev.set_mesh(mesh):
        f = ev.smap(lambda a: a * 2, in_axes=0, out_axes=1, axis_name="y")
        eqn = shown(f, X)
        np.testing.assert_array_equal(again(f, X)(X), f(X))
    assert (eqn.params["in_specs"], eqn.params["out_specs"]) == ((P("y"),), (P(None, "y"),))
    assert eqn.params["newly_manual_axes"] == {"y"}


AHEAD = {
    "trace": lambda f, x: ev.jit(f).trace(x).lower().compile()(X),
    "lower": lambda f, x: ev.jit(f).lower(x).compile()(X),
    "make_jaxpr": lambda f, x: eval_jaxpr(ev.make_jaxpr(f)(x).jaxpr, [], X)[0],
}


def with_shape(x):
    """A part that tells how large it is."""
    return 100 * x.shape[0] + 10 * x.shape[1] + x


@pytest.mark.parametrize("given", ["an array", "what stands for one"])
@pytest.mark.parametrize("ahead", AHEAD.values(), ids=AHEAD)
@pytest.mark.parametrize("spec", [P("x"), P("x", "y"), P(None, "y"), P()], ids=str)
def test_specs_left_out_are_those_of_the_arguments_ahead_of_time(mesh, spec, ahead, given):
    x = ev.device_put(X, NamedSharding(mesh, spec))
    fun = ev.shard_map(with_shape, mesh=mesh, out_specs=spec)
    stands = x if given == "an array" else ev.ShapeDtypeStruct.like(x)
    rows, columns = x.sharding.shard_shape(x.shape)
    want = 100 * rows + 10 * columns + (X + 1)
    np.testing.assert_array_equal(ahead(lambda x: fun(x + 1), stands), want)


def test_specs_left_out_are_known_where_only_shapes_are_asked_for(mesh):
    fun = ev.shard_map(lambda x: x[0], mesh=mesh, out_specs=ROWS)
    assert ev.eval_shape(fun, ev.device_put(X, NamedSharding(mesh, ROWS))).shape == (32,)


def test_in_shardings_say_specs_that_are_left_out(mesh):
    rows = ev.shard_map(lambda x: x + x.shape[0], mesh=mesh, out_specs=ROWS)
    lowered = ev.jit(rows, in_shardings=NamedSharding(mesh, ROWS)).lower(X)
    np.testing.assert_array_equal(lowered.compile()(X), X + 2)
