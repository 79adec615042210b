"""Explicit axes where functions are only traced: what disagrees is refused, results have types."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import ShardingTypeError
from evertrace.sharding import AbstractMesh, AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P

SIZES, NAMES = (4, 2), ("x", "y")


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh(SIZES, NAMES)


def placed(mesh, *spec, shape=(8, 8), **sums):
    return ev.device_put(np.ones(shape, np.float32), NamedSharding(mesh, P(*spec, **sums)))


WAYS = {
    "eval_shape": ev.eval_shape,
    "make_jaxpr": lambda f, *xs: ev.make_jaxpr(f)(*xs),
    "trace": lambda f, *xs: ev.jit(f).trace(*xs),
    "lower": lambda f, *xs: ev.jit(f).lower(*xs),
    "call": lambda f, *xs: ev.jit(f)(*xs),
    "export": lambda f, *xs: ev.export.export(ev.jit(f))(*xs),
}
CONFLICTS = {
    "add": lambda a, b: a + b,
    "where": lambda a, b: jnp.where(a > 0, a, b),
    "dot": lambda a, b: a @ a,
    "einsum": lambda a, b: jnp.einsum("ij,ij->i", a, b),
    "concatenate": lambda a, b: jnp.concatenate([a, b]),
    "sums": lambda a, b: a.sum(0) + b.sum(0),
    "update": lambda a, b: lax.dynamic_update_slice(a, b, (0, 0)),
    "in jit": lambda a, b: ev.jit(jnp.multiply)(a, b),
    "in vmap": lambda a, b: ev.vmap(jnp.multiply)(a, b),
    "in checkpoint": lambda a, b: ev.checkpoint(jnp.multiply)(a, b),
    "in a loop": lambda a, b: lax.fori_loop(0, 2, lambda i, c: c + b, a),
    "in a branch": lambda a, b: lax.cond(a[0, 0] > 0, lambda: a + b, lambda: a),
    "branches": lambda a, b: lax.cond(a[0, 0] > 0, lambda: a, lambda: b),
    "switch": lambda a, b: lax.switch(a[0, 0].astype(int), [lambda: a, lambda: a, lambda: b]),
    "carry of scan": lambda a, b: lax.scan(lambda c, i: (b, None), a, jnp.arange(2))[0],
    "carry of while": lambda a, b: lax.while_loop(lambda c: c[0, 0] < 0, lambda c: b, a),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CONFLICTS)
def test_what_disagrees_is_refused_while_it_is_traced(mesh, name, way):
    a, b = placed(mesh, "x", "y"), placed(mesh, "y", "x")
    with pytest.raises(ShardingTypeError) as info:
        WAYS[way](CONFLICTS[name], a, b)
    assert "test_traced.py" in str(info.value)


SUMS = {
    "sin": lambda s: jnp.sin(s),
    "product": lambda s: s * s,
    "number": lambda s: s + 1,
    "largest": lambda s: s.max(),
    "comparison": lambda s: s > 0,
    "rounding": lambda s: s.astype("int32"),
    "in a loop": lambda s: lax.scan(lambda c, i: (jnp.sin(c), None), s, jnp.arange(2))[0],
    "what decides": lambda s: lax.cond(s[0, 0], lambda: 1.0, lambda: 2.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SUMS)
def test_what_is_not_linear_in_a_sum_is_refused_while_it_is_traced(mesh, name, way):
    s = placed(mesh, unreduced={"x"})
    with pytest.raises(ShardingTypeError, match="to be summed along 'x'"):
        WAYS[way](SUMS[name], s)


def test_the_error_names_arguments_line_and_repair(mesh):
    def loss(params, b):
        return (params["w"] + b).sum()

    with pytest.raises(ShardingTypeError) as info:
        ev.eval_shape(loss, {"w": placed(mesh, "x")}, placed(mesh, "y"))
    first, *picture = str(info.value).split("\n")
    assert first == (
        "add: operand 0, params['w']: f32[8@x,8], is divided along 'x' in dimension 0, and operand "
        "1, b: f32[8@y,8], along 'y' in dimension 0, which go together."
    )
    assert "\n".join(picture[:6]) == (
        "    operand 0  operand 1\n    +----+     +----+\n    | x0 |     | y0 |\n"
        "    +----+     +----+\n    | x1 |     | y1 |\n    +----+     +----+"
    )
    assert re.fullmatch(r"  at .*test_traced\.py:\d+ in loss", picture[-3])
    assert picture[-2] == (
        "  Fix: lay one of them out as the other, `reshard(x, P(...))`, or leave the axes to the "
        "compiler, `make_mesh(..., axis_types=(AxisType.Auto, ...))`."
    )


def test_the_error_of_branches(mesh):
    def f(a, b):
        return lax.cond(a[0, 0] > 0, lambda: a, lambda: b)

    with pytest.raises(ShardingTypeError) as info:
        ev.jit(f)(placed(mesh, "x"), placed(mesh, "y"))
    first, line, fix, _ = str(info.value).split("\n")
    assert first == (
        "cond: one value is divided along 'y' in dimension 0 on one of the ways that end in it, "
        "and along 'x' on another."
    )
    assert re.fullmatch(r"  at .*test_traced\.py:\d+ in f", line)
    assert fix == (
        "  Fix: lay it out alike on all of them, `reshard(x, P(...))`: what branches return, or "
        "what a loop begins with and carries on."
    )


def test_what_agrees_goes_through(mesh):
    a, row, whole = placed(mesh, "x", "y"), placed(mesh, "y", shape=(8,)), placed(mesh)

    def f(a, row, whole):
        carried = lax.scan(lambda c, i: (c + a, None), whole, jnp.arange(2))[0]
        return lax.cond(row.sum() > 0, lambda: carried + row, lambda: whole), a @ a.T

    types = ev.eval_shape(f, a, row, whole)
    assert [x.sharding.spec for x in types] == [P("x", "y"), P("x", None)]
    called = ev.jit(f)(a, row, whole)
    assert [str(ev.typeof(x)) for x in called] == ["float32[8@x,8@y]", "float32[8@x,8]"]


def test_automatic_axes_are_left_alone(mesh):
    a, b = placed(mesh, "x"), placed(mesh, "y")
    free = ev.sharding.auto_axes(jnp.add, axes=NAMES, out_sharding=P("x"))
    for run in (free, ev.jit(free)):  # over the mesh of the arguments
        assert str(ev.typeof(run(a, b))) == "float32[8@x,8]"
    with ev.set_mesh(mesh):
        assert ev.eval_shape(free, a, b).sharding.spec == P("x", None)
    auto = ev.make_mesh(SIZES, NAMES, (AxisType.Auto,) * 2)
    c, d = placed(auto, "x"), placed(auto, "y")
    assert ev.eval_shape(CONFLICTS["branches"], c, d).sharding is None


def test_results_have_the_shardings_of_types(mesh):
    def f(a):
        return a.T * 2, a.sum(0)

    a = placed(mesh, "x", "y")
    abstract = AbstractMesh(SIZES, NAMES, (AxisType.Explicit, AxisType.Auto))
    struct = ev.ShapeDtypeStruct((8, 8), "float32", sharding=NamedSharding(abstract, P("x", "y")))
    wanted = [
        NamedSharding(mesh.abstract_mesh, P("y", "x")),
        NamedSharding(mesh.abstract_mesh, P("y")),
    ]
    assert [x.sharding for x in ev.eval_shape(f, a)] == wanted
    assert [x.sharding for x in ev.jit(f).trace(a).out_info] == wanted
    assert [x.sharding for x in ev.make_jaxpr(f, return_shape=True)(a)[1]] == wanted
    given = ev.jit(f, in_shardings=NamedSharding(mesh, P("x", "y")))
    assert [x.sharding for x in given.eval_shape(ev.ShapeDtypeStruct((8, 8), "float32"))] == wanted
    found = ev.eval_shape(f, struct)  # types say nothing of axes that are left to the compiler
    assert [x.sharding for x in found] == [
        NamedSharding(abstract, P(None, "x")),
        NamedSharding(abstract, P(None)),
    ]
    assert ev.eval_shape(jnp.sin, np.ones(3)).sharding is None


def test_symbolic_sizes_are_left_open(mesh):
    (n,) = ev.export.symbolic_shape("n")
    struct = ev.ShapeDtypeStruct((4 * n, 8), "float32", sharding=NamedSharding(mesh, P("x")))
    assert ev.eval_shape(jnp.sin, struct).sharding is None


@pytest.mark.parametrize("way", [lambda f: f, ev.jit, lambda f: ev.jit(f, engine="spmd")])
def test_a_constraint_over_the_mesh_of_types_is_over_that_of_the_argument(mesh, way):
    a, rows = placed(mesh, "y"), NamedSharding(mesh.abstract_mesh, P("x"))
    found = way(lambda a: lax.with_sharding_constraint(a, rows))(a)
    assert found.sharding == NamedSharding(mesh, P("x"))


@pytest.mark.parametrize("way", [lambda f: f, ev.jit, lambda f: ev.jit(f, engine="spmd")])
def test_a_constraint_under_vmap_takes_its_axes_from_the_batch(mesh, way):
    columns = NamedSharding(mesh, P("x"))
    f = ev.vmap(lambda row: lax.with_sharding_constraint(row, columns))
    for spec, wanted in ((("x",), (None, "x")), (("y",), ("y", "x")), ((("y", "x"),), ("y", "x"))):
        found = way(f)(placed(mesh, *spec))
        assert found.sharding.is_equivalent_to(NamedSharding(mesh, P(*wanted)), 2)


def printed(x):
    print(x, ev.typeof(x), sep="|")
    return x * 2


TRACERS = {
    "make_jaxpr": (lambda x: ev.make_jaxpr(printed)(x), "JitTracer({})", "float32[8@x,8@y]"),
    "a result": (
        lambda x: ev.eval_shape(lambda a: printed(a.T), x),
        "JitTracer({})",
        "float32[8@y,8@x]",
    ),
    "vmap": (ev.vmap(printed), "VmapTracer(aval={}, batched=float32[8@x,8@y])", "float32[8@y]"),
    "strict": (ev.jit(printed, strict=True), "JitTracer({})", "float32[8@x,8@y]"),
}


@pytest.mark.parametrize("name", TRACERS)
def test_a_tracer_is_printed_with_its_type(mesh, capsys, name):
    run, text, wanted = TRACERS[name]
    with ev.set_mesh(mesh):
        run(placed(mesh, "x", "y"))
    assert capsys.readouterr().out == f"{text.format(wanted)}|{wanted}\n"


def test_a_tracer_is_printed_without_axes_where_no_mesh_is_in_force(mesh, capsys):
    ev.make_jaxpr(printed)(placed(mesh, "x", "y"))
    assert capsys.readouterr().out == "JitTracer(float32[8,8])|float32[8,8]\n"


def test_a_tangent_is_printed_as_its_value_lies(mesh, capsys):
    with ev.set_mesh(mesh):
        ev.grad(lambda a: printed(a).sum())(placed(mesh, "x"))
    assert capsys.readouterr().out.endswith("typeof(tangent)=f32[8@x,8])|float32[8@x,8]\n")
