"""Terms of a sum that is yet to be added up: through what they go, and what is refused of them.

An array may be `unreduced` along axes of a mesh: the devices along these have terms of a sum. An
operation that is linear in it gives terms again; of any other the sum of what it gives for each
term is not what it gives for the sum, and it is an error.
"""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.core.divisions import Unreduced, open_division
from evertrace._src.core.propagation import divide_jaxpr
from evertrace.errors import ShardingTypeError
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P
from tests.laws.rows import ROWS, main_dtype, rng_of

SIZES = {"k": 2}
KEPT = [spec for spec in ROWS if spec.name != "sharding_constraint"]  # has a mesh of its own


def is_summed(jaxpr, terms):
    """Return which outputs are terms where these inputs are; None where that is refused."""
    inputs = [
        Unreduced(open_division(v.aval), {"k"}) if i in terms else open_division(v.aval)
        for i, v in enumerate(jaxpr.invars)
    ]
    try:
        return [type(d) is Unreduced for d in divide_jaxpr(jaxpr, inputs, SIZES)]
    except ShardingTypeError:
        return None


def numbers(fun, operands):
    """Return the leaves of a result, as arrays of 64 bits."""
    found = [np.asarray(x) for x in ev.tree.leaves(fun(*operands))]
    return [x.astype(complex if x.dtype.kind == "c" else float) for x in found]


def accepted(fun, jaxpr, operands, others, terms):
    """Whether terms are accepted; then a sum of results has to be the result of the sum."""
    summed = is_summed(jaxpr, terms)
    if summed is None:
        return False
    pairs = list(enumerate(zip(operands, others, strict=True)))
    both = [x + y if i in terms else x for i, (x, y) in pairs]
    second = [y if i in terms else x for i, (x, y) in pairs]
    found = [numbers(fun, xs) for xs in (both, operands, second)]
    for is_sum, v, x, y, z in zip(summed, jaxpr.outvars, *found, strict=True):
        few = 0.1 if v.aval.dtype.itemsize == 1 else 2e-3  # bits of float8
        np.testing.assert_allclose(x, y + z if is_sum else y, rtol=few, atol=few)
    return True


@pytest.mark.parametrize("spec", KEPT, ids=[spec.name for spec in KEPT])
def test_sums_go_through_what_is_linear_and_nothing_else(spec):
    (case, *_), dtype, rng = spec.cases, main_dtype(spec), rng_of(spec)
    operands, others = [spec.operands(case, dtype, rng) for _ in range(2)]

    def fun(*xs):
        return spec.fun(*xs, **case.kwargs)

    jaxpr = ev.make_jaxpr(fun)(*operands).jaxpr
    floats = [i for i, x in enumerate(operands) if np.asarray(x).dtype.kind in "fc"]
    alone = {i: accepted(fun, jaxpr, operands, others, [i]) for i in floats}
    accepted(fun, jaxpr, operands, others, floats)
    if len(jaxpr.eqns) == 1 and type(linear := jaxpr.eqns[0].primitive.linear) is tuple:
        assert all(alone[i] for i in linear if i in alone)


# ---------------------------------------------------------------- programs

REFUSED = "is yet to be summed along 'x', and the operation"
T, F = np.ones((4, 4), bool), np.ones((4, 4), np.float32)

PASS = {
    "add": lambda u: u + u,
    "product": lambda u: 2 * u * F,
    "matmul": lambda u: F @ u.T,
    "one of two": lambda u: jnp.where(T, u, -u),
    "or zero": lambda u: jnp.triu(u),
    "pad": lambda u: jnp.pad(u, 1),
    "update": lambda u: lax.dynamic_update_slice(u, u[:1], (1, 0)),
    "stop_gradient": lambda u: lax.stop_gradient(u),
    "half": lambda u: u.astype("bfloat16"),
    "scan": lambda u: lax.scan(lambda c, x: (c + x, 2 * c), jnp.zeros(4), u)[1],
    "loop": lambda u: lax.fori_loop(0, 3, lambda i, c: c + u, u),
    "cond": lambda u: lax.cond(True, lambda: u, lambda: 2 * u),
    "checkpoint": lambda u: ev.checkpoint(lambda v: v * F)(u),
    "vmap": ev.vmap(lambda row: row - 2 * row),
}
FAIL = {
    "sin": (jnp.sin, f"sin: operand 0, f32[4,4]{{U:x}}, {REFUSED} is not linear in it alone."),
    "square": (lambda u: u * u, f"{REFUSED} is not linear in it alone."),
    "offset": (lambda u: u + F, f"{REFUSED} adds what is not."),
    "max": (lambda u: u.max(), f"{REFUSED} is not linear in it alone."),
    "one of two": (lambda u: jnp.where(T, u, F), f"{REFUSED} adds what is not."),
    "predicate": (lambda u: jnp.where(u > 0, F, u), f"{REFUSED} is not linear in it alone."),
    "pad": (lambda u: jnp.pad(u, 1, constant_values=1.0), f"{REFUSED} adds what is not."),
    "integers": (lambda u: u.astype("int32"), f"{REFUSED} rounds it."),
    "in a jit": (lambda u: ev.jit(lambda v: jnp.exp(v))(u), f"{REFUSED} is not linear in it alone"),
    "in a scan": (
        lambda u: lax.scan(lambda c, _: (jnp.tanh(c), None), u, length=2),
        f"tanh: operand 0, f32[4,4]{{U:x}}, {REFUSED} is not linear in it alone.",
    ),
    "in a loop": (
        lambda u: lax.while_loop(lambda c: c[0, 0] < 9, lambda c: c + c, u),
        f"{REFUSED} is not linear in it alone.",
    ),
    "in a branch": (lambda u: lax.cond(True, jnp.cos, lambda v: v, u), "is not linear in it alone"),
}
NAMED = {"sin": "x", "in a scan": "c"}
"""What the operand is called where the function is traced."""

WAYS = {
    "eager": lambda f: f,
    "jit": ev.jit,
    "spmd": lambda f: ev.jit(f, engine="spmd"),
    "ahead of time": lambda f: lambda u: ev.jit(f).lower(u).compile()(u),
}


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(4):
        yield ev.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


@pytest.fixture
def u(mesh):
    """An array of which the sum along an axis is yet to come."""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    return ev.device_put(x, NamedSharding(mesh, P(None, None, unreduced={"x"})))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PASS)
def test_a_linear_operation_gives_terms(u, name, way):
    out = WAYS[way](PASS[name])(u)
    assert out.sharding.spec.unreduced == {"x"}
    np.testing.assert_array_equal(out, PASS[name](jnp.asarray(np.asarray(u))))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FAIL)
def test_another_operation_is_refused_with_its_place_and_the_repair(u, name, way):
    fun, text = FAIL[name]
    if way != "eager" and name in NAMED:
        text = text.replace("operand 0, ", f"operand 0, {NAMED[name]}: ")
    with pytest.raises(ShardingTypeError, match=re.escape(text)) as info:
        WAYS[way](fun)(u)
    assert "test_unreduced.py:" in str(info.value)
    assert "Fix: sum it up before: `reshard(x, P(...))` without `unreduced`" in str(info.value)


def test_branches_that_disagree_are_refused(u):
    with pytest.raises(ShardingTypeError, match="cond: one value is yet to be summed along 'x' on"):
        ev.jit(lambda p, u: lax.cond(p, lambda: u, lambda: jnp.asarray(F)))(True, u)


GRADS = {
    "product": lambda u, r: u * r,
    "slice": lambda u, r: u[:2] * r[:2],
    "gather": lambda u, r: u * r[np.array([0, 0, 1, 3])],
    "select": lambda u, r: u * jnp.where(r > 0, r, 0.0),
    "relu": lambda u, r: u * ev.nn.relu(r),
    "used twice": lambda u, r: u * r * r,
    "scan": lambda u, r: lax.scan(lambda c, _: (c * r, None), u, length=2)[0],
    "cond": lambda u, r: lax.cond(r[0, 0] > 0, lambda: u * r, lambda: u),
    "checkpoint": lambda u, r: ev.checkpoint(lambda r: u * jnp.tanh(r))(r),
}


@pytest.mark.parametrize("way", ["eager", "jit", "spmd"])
@pytest.mark.parametrize("name", GRADS)
def test_cotangents_are_no_terms(mesh, u, name, way):
    """What is multiplied by terms gets the whole sum of what comes back, as whatever it is."""
    r = ev.device_put(F / 2, NamedSharding(mesh, P()))

    def summed(r):
        return ev.sharding.reshard(GRADS[name](u, r), NamedSharding(mesh, P())).sum()

    whole = jnp.asarray(np.asarray(u))
    wanted = ev.grad(lambda r: GRADS[name](whole, r).sum())(jnp.asarray(F / 2))
    found = WAYS[way](ev.grad(summed))(r)
    assert not found.sharding.spec.unreduced
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


# ---------------------------------------------------------------- within shard_map

MAPPED = {
    "sin": (jnp.sin, f"{REFUSED} is not linear in it alone."),
    "square": (lambda t: t * t, f"{REFUSED} is not linear in it alone."),
    "by what differs": (lambda t: t * lax.axis_index("x"), f"{REFUSED} is not linear in it alone."),
    "offset": (lambda t: t + 1, f"{REFUSED} adds what is not."),
    "jit": (lambda t: ev.jit(jnp.sin)(t), f"{REFUSED} is not linear in it alone."),
    "scan": (
        lambda t: lax.scan(lambda c, _: (jnp.sin(c), None), t, length=2)[0],
        f"{REFUSED} is not linear in it alone.",
    ),
    "pmax": (lambda t: lax.pmax(t, "x"), "pmax: the operand is yet to be summed along 'x'."),
    "gather": (lambda t: lax.all_gather(t, "x"), "all_gather: the operand is yet to be summed"),
    "varying": (lambda t: lax.pcast(t, "x", to="varying"), "pcast: the operand is yet to be sum"),
    "result": (lambda t: t, "out_specs has P('x',) for result 0, which is yet to be summed along"),
}


@pytest.mark.parametrize("name", MAPPED)
def test_terms_within_shard_map_are_refused_where_they_are_not_linear(mesh, name):
    fun, text = MAPPED[name]
    mapped = ev.shard_map(
        lambda x: fun(lax.pcast(x, "x", to="unreduced")),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    for run in (mapped, ev.jit(mapped)):
        with pytest.raises(ShardingTypeError, match=re.escape(text)):
            run(F)


SUMS = {
    "psum": lambda t: lax.psum(2 * t, "x"),
    "psum of a scan": lambda t: lax.psum(lax.scan(lambda c, _: (c + c, None), t, length=1)[0], "x"),
    "psum of a jit": lambda t: lax.psum(ev.jit(lambda t: 2 * t)(t), "x"),
    "psum_scatter": lambda t: lax.all_gather(lax.psum_scatter(2 * t, "x", tiled=True), "x"),
    "psum of one of two": lambda t: lax.psum(jnp.where(True, 2 * t, t), "x"),
}


@pytest.mark.parametrize("name", SUMS)
def test_terms_within_shard_map_are_summed(mesh, name):
    def body(x):
        return SUMS[name](lax.pcast(x, "x", to="unreduced")).reshape(2, 4)

    spec = P("x") if name == "psum_scatter" else P()
    mapped = ev.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=spec)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    wanted = 2 * x.reshape(2, 2, 4).sum(0)
    for run in (mapped, ev.jit(mapped)):
        np.testing.assert_array_equal(run(x)[:2], wanted)
    grad = ev.grad(lambda x: (mapped(x)[:2] ** 2).sum())(x)
    np.testing.assert_allclose(grad, np.tile(4 * wanted, (2, 1)))


def test_what_is_not_checked_is_not_refused(mesh):
    mapped = ev.shard_map(
        lambda x: jnp.sin(lax.pcast(x, "x", to="unreduced")),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    np.testing.assert_allclose(mapped(F), np.sin(F), rtol=1e-6)
