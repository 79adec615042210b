"""make_jaxpr, eval_shape, and the exact cost of tracing: equations, imports, compilations."""

from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

X = np.float32([1, 2, 3])
SOURCES = Path(ev.__file__).resolve().parents[1]


# ------------------------------------------------------------------ make_jaxpr and eval_shape


def test_make_jaxpr():
    jaxpr = ev.make_jaxpr(lambda d: d["a"] * 2)({"a": X, "b": 1})
    assert str(jaxpr) == "{ lambda ; a:f32[3] b:i32[]. let c:f32[3] = mul a 2.0:f32[] in (c,) }"


@pytest.mark.parametrize("static", [1, (1,), [1]])
def test_make_jaxpr_of_static_arguments(static):
    jaxpr = ev.make_jaxpr(lambda x, n: lax.integer_pow(x, n), static_argnums=static)(X, 4)
    assert [e.params for e in jaxpr.eqns] == [{"y": 4}]


def test_make_jaxpr_with_the_shape_of_the_result():
    jaxpr, shape = ev.make_jaxpr(lambda x: {"y": x * 2}, return_shape=True)(X)
    assert shape == {"y": ev.ShapeDtypeStruct((3,), np.float32)}
    assert len(jaxpr.eqns) == 1


def test_make_jaxpr_of_structs_computes_nothing():
    jaxpr = ev.make_jaxpr(jnp.sin)(ev.ShapeDtypeStruct((10**6, 10**6), np.float32))
    assert jaxpr.out_avals[0].shape == (10**6, 10**6)


def test_make_jaxpr_inside_a_trace():
    seen = []
    ev.jit(lambda x: seen.append(str(ev.make_jaxpr(jnp.sin)(x))) or x)(X)
    assert seen == ["{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"]


OUTSIDE = jnp.asarray(np.float32(2))


@pytest.mark.parametrize(
    "using",
    [
        lambda x: x * OUTSIDE + OUTSIDE,
        lambda x: (OUTSIDE, x),
        ev.grad(lambda x: x * OUTSIDE),
        ev.vmap(lambda x: x * OUTSIDE, axis_size=2, in_axes=None),
        ev.checkpoint(lambda x: x * OUTSIDE),
        ev.jit(lambda x: x * OUTSIDE),
        lambda x: lax.cond(x > 0, lambda x: x * OUTSIDE, lambda x: x, x),
        lambda x: lax.scan(lambda c, _: (c * OUTSIDE, None), x, None, length=3)[0],
        lambda x: lax.while_loop(lambda c: c < OUTSIDE, lambda c: c + 1, x),
    ],
)
def test_make_jaxpr_has_scalar_arrays_from_outside_as_constants(using):
    closed = ev.make_jaxpr(using)(1.0)
    assert len(closed.consts) == 1
    assert closed.consts[0] is OUTSIDE
    assert len(closed.jaxpr.constvars) == 1


@pytest.mark.parametrize(
    "making",
    [
        lambda x: x * 2.0,
        lambda x: x * np.float32(2),
        lambda x: x * np.array(2, np.float32),
        lambda x: x * jnp.array(2.0),
        lambda x: x * jnp.asarray(np.float32(2)),
        lambda x: x * jnp.float32(2),
        lambda x: x * jnp.full((), 2.0),
        ev.grad(lambda x: x * jnp.array(2.0)),
        lambda x: lax.scan(lambda c, _: (c + jnp.array(1), None), jnp.array(0), None, length=3)[0],
    ],
)
def test_make_jaxpr_has_scalars_made_inside_as_literals(making):
    assert ev.make_jaxpr(making)(1.0).consts == []


def test_programs_of_jit_have_scalar_arrays_as_literals():
    """They are the same whether `make_jaxpr` has asked before or not."""

    def f(x):
        return x * OUTSIDE

    strict = ev.jit(f, strict=True)
    ev.make_jaxpr(strict)(1.0)
    assert "mul a 2.0" in str(strict.trace(1.0).jaxpr)
    assert "mul a 2.0" in str(ev.jit(f, strict=True).trace(1.0).jaxpr)


def test_eval_shape():
    def f(d, *, n):
        return {"w": d["w"] @ d["w"].T, "n": (n, 1), "s": d["w"].sum()}

    out = ev.eval_shape(f, {"w": ev.ShapeDtypeStruct((2, 3), np.float16)}, n=2.0)
    assert out == {
        "w": ev.ShapeDtypeStruct((2, 2), np.float16),
        "n": (
            ev.ShapeDtypeStruct((), np.float32, weak_type=True),
            ev.ShapeDtypeStruct((), np.int32, weak_type=True),
        ),
        "s": ev.ShapeDtypeStruct((), np.float16),
    }


@pytest.mark.parametrize("look", [ev.make_jaxpr, lambda f: lambda *a: ev.eval_shape(f, *a)])
def test_errors(look):
    with pytest.raises(TypeError, match=r"argument x\['k'\] of type str is not an array"):
        look(lambda x: x)({"k": "a"})
    with pytest.raises(TypeError, match="expected a function"):
        look(5)(X)


def test_what_make_jaxpr_does_not_take():
    with pytest.raises(NotImplementedError, match="abstracted_axes"):
        ev.make_jaxpr(jnp.sin, abstracted_axes={0: "n"})


# ------------------------------------------------------------------ numbers of equations


def mlp_loss(params, x, y):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return jnp.mean((x @ w + b - y) ** 2)


def mlp(layers, width=4):
    params = [(np.ones((width, width), np.float32), np.ones(width, np.float32))] * layers
    batch = np.ones((8, width), np.float32)
    return params, batch, batch


def test_equations_of_an_mlp():
    """Linear in the layers: per layer dot, broadcast of the bias, add, tanh."""
    counts = [len(ev.make_jaxpr(mlp_loss)(*mlp(n)).eqns) for n in (1, 2, 3, 20)]
    assert np.diff(counts[:3]).tolist() == [4, 4]
    assert counts[3] == counts[0] + 19 * 4


def test_equations_of_the_gradient_of_an_mlp():
    """JAX has 287 for a loss of 20 layers and 40 parameter arrays."""
    counts = [len(ev.make_jaxpr(ev.value_and_grad(mlp_loss))(*mlp(n)).eqns) for n in (2, 3, 20)]
    assert counts[1] - counts[0] <= 13
    assert counts[2] <= 287
    assert counts[2] == counts[0] + 18 * (counts[1] - counts[0])


def test_residuals_of_a_jitted_layer_are_minimal():
    """The layer keeps its output, nothing else; its derivative is computed in the backward part."""
    layer = ev.jit(lambda x: jnp.tanh(x))
    jaxpr = ev.make_jaxpr(lambda x: ev.vjp(layer, x)[1](x))(X)
    forward, backward = [e for e in jaxpr.eqns if e.primitive.name == "jit"]
    inner = forward.params["jaxpr"].jaxpr
    assert [e.primitive.name for e in inner.eqns] == ["tanh"]
    assert set(inner.outvars) == set(inner.eqns[0].outvars)
    assert len(backward.invars) == 2


def test_the_backward_pass_makes_only_what_is_asked_for():
    def f(x, y):
        return (jnp.sin(x) * jnp.exp(y)).sum()

    names = [e.primitive.name for e in ev.make_jaxpr(ev.grad(f, 1))(X, X).eqns]
    assert "cos" not in names


def test_eval_shape_takes_returned_structs_for_arrays():
    known = ev.ShapeDtypeStruct((2,), "int8")
    found = ev.eval_shape(
        lambda x: {"x": x + 1, "known": known}, ev.ShapeDtypeStruct((), "float32")
    )
    assert found == {"x": ev.ShapeDtypeStruct((), "float32"), "known": known}


@pytest.mark.parametrize("told", [False, True])
def test_a_type_stands_for_an_array_where_nothing_is_computed(told):
    kind = ev.typeof(jnp.ones((2, 3))) if told else ev.core.ShapedArray((2, 3), "float32")
    out = ev.eval_shape(lambda x, y: x["a"] @ y, {"a": kind}, jnp.ones((3, 4)))
    assert out == ev.ShapeDtypeStruct((2, 4), "float32")
    assert str(ev.make_jaxpr(lambda x: x)(kind)) == "{ lambda ; a:f32[2,3]. let  in (a,) }"
    assert ev.jit(jnp.sin).lower(kind).out_info == ev.ShapeDtypeStruct((2, 3), "float32")
    with ev.strict(), pytest.raises(TypeError, match="ShapedArray is not an array"):
        ev.jit(lambda x: x * 2)(kind)
