"""`explain_sharding`: the collectives of divided programs, before anything is compiled."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import AbstractMesh, NamedSharding
from evertrace.sharding import PartitionSpec as P

MESH = AbstractMesh((4, 2), ("x", "y"))  # whose devices need not be there


def spec(shape, *entries, mesh=MESH):
    """Return the description of an array that is divided so."""
    return ev.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*entries)))


A, W = spec((8, 8), "x", "y"), spec((8, 4), "y")


# name: (function, arguments, (kind, axes, bytes on each device, operation) of each collective)
CASES = {
    "elementwise": (lambda a: jnp.sin(a) + 1, [A], []),
    "sum": (lambda a: a.sum(), [A], [("all-reduce", ("x", "y"), 4, "reduce_sum")]),
    "sum of rows": (lambda a: a.sum(0), [A], [("all-reduce", ("x",), 16, "reduce_sum")]),
    "product": (lambda a, w: a @ w, [A, W], [("all-reduce", ("y",), 32, "dot_general")]),
    "gather": (
        lambda a: a @ a.T,
        [spec((8, 8), "x")],
        [("all-gather", ("x",), 256, "transpose")],
    ),
    "half as many bytes": (
        lambda a: a.astype(jnp.bfloat16).max(0),
        [A],
        [("all-reduce", ("x",), 8, "reduce_max")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_collectives(name):
    function, args, want = CASES[name]
    report = ev.explain_sharding(function)(*args)
    assert [(c.kind, c.axes, c.bytes, c.operation) for c in report.collectives] == want
    assert report.bytes == sum(size for _, _, size, _ in want)


def test_a_mesh_of_many_devices_that_are_not_there():
    pod = AbstractMesh((64, 8), ("data", "model"))
    x, w = spec((1 << 14, 512), "data", mesh=pod), spec((512, 512), None, "model", mesh=pod)
    loss = ev.grad(lambda w, x: (jnp.tanh(x @ w) ** 2).sum())
    report = ev.explain_sharding(loss)(w, x)
    assert report.results == ("f32[512,512] P(None, 'model')",)
    assert [(c.kind, c.axes) for c in report.collectives] == [("all-reduce", ("data",))]


@pytest.mark.quotes_lines
def test_the_text_shows_lines():
    def step(a, w):
        return (a @ w).sum()

    line = step.__code__.co_firstlineno + 1
    text = str(ev.explain_sharding(step)(A, W))
    first, *_, last = text.split("\n")
    assert first == "step over a mesh of x: 4, y: 2"
    assert f"test_explained.py:{line}: return (a @ w).sum()" in text
    assert "argument  f32[8,8] P('x', 'y')" in text
    assert last.endswith("collectives, 36 bytes on each device"), text


def test_a_jitted_function_and_what_it_captures():
    scale = 3.0
    report = ev.explain_sharding(ev.jit(lambda a: a.sum() * scale))(A)
    assert len(report.collectives) == 1


def test_nothing_is_laid_out():
    with pytest.raises(ValueError, match=r"explain_sharding\(sin\): no argument is laid out over"):
        ev.explain_sharding(jnp.sin)(jnp.ones(3))


def step(w, x):
    """Return the gradient of a layer's loss."""
    return ev.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(w)


def test_a_plan_says_what_each_device_takes():
    w, x = spec((64, 32), None, "y"), spec((256, 64), "x")
    found = ev.plan(step, MESH)(w, x)
    per_device = 64 * 32 // 2, 256 * 64 // 4
    assert found.devices == 8
    assert found.argument_bytes == 4 * sum(per_device)
    assert found.result_bytes == 4 * per_device[0]
    assert found.peak_bytes >= found.argument_bytes + found.result_bytes
    products = 2 * 2 * (256 // 4) * 64 * (32 // 2)
    assert products <= found.flops < 1.1 * products
    assert str(found.sharding) == str(ev.explain_sharding(step)(w, x))
    assert str(found).startswith(
        "8 devices, and on each of them\n  arguments                20,480 b"
    )
    assert ev.device_count() < 8  # the devices are there for the plan alone


def test_a_plan_lays_arguments_out_over_the_mesh_it_is_for():
    small, (x, n) = AbstractMesh((1, 1), ("x", "y")), (spec((8, 4), "x"), spec((8, 4)))
    mine = ev.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(small, P("x")))
    for given in (x, mine):
        report = ev.plan(lambda a, b, k: (a + b) * k, MESH)(given, n, k=2.0)
        assert (report.argument_bytes, report.result_bytes) == (32 + 128 + 4, 32)
    pinned = ev.plan(lambda a: lax.with_sharding_constraint(a * 2, P("y", "x")), MESH)(n)
    assert (pinned.argument_bytes, pinned.result_bytes) == (128, 16)


@pytest.mark.parametrize(
    ("mesh", "kind", "text"),
    [
        (3, TypeError, r"plan\(step\): expected a mesh with axes, got 3"),
        (AbstractMesh((), ()), TypeError, "expected a mesh with axes"),
        (AbstractMesh((64, 64), ("x", "y")), ValueError, "plan: 4096 devices cannot be simulated"),
        (
            AbstractMesh((4,), ("x",)),
            ValueError,
            r"names the axis 'y', which is not among the axes",
        ),
        (
            AbstractMesh((3, 2), ("x", "y")),
            ValueError,
            r"plan\(step\): P\('x',\) divides dimension 0",
        ),
    ],
)
def test_a_mesh_that_a_plan_cannot_be_for(mesh, kind, text):
    with pytest.raises(kind, match=text):
        ev.plan(step, mesh)(spec((64, 32), None, "y"), spec((256, 64), "x"))
