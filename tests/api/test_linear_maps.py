"""vjp, jvp, linearize and linear_transpose: the linear maps behind derivatives."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import NotLinearError

X = np.float32([1, 2, 3])
T = np.float32([1, 10, 100])
FLOAT0 = np.zeros((), ev.dtypes.float0)


def f(x, y):
    return {"product": x * y, "sum": jnp.sum(x)}


CT = {"product": T, "sum": np.float32(5)}


# ------------------------------------------------------------------ vjp


def test_vjp():
    out, pull = ev.vjp(f, X, 2.0)
    np.testing.assert_array_equal(out["product"], 2 * X)
    for _ in range(2):  # it may be called again
        gx, gy = pull(CT)
        np.testing.assert_array_equal(gx, 2 * T + 5)
        assert float(gy) == np.sum(X * T)


def test_vjp_aux():
    out, pull, aux = ev.vjp(lambda x: (x * 2, {"x": x, "text": "as it is"}), X, has_aux=True)
    np.testing.assert_array_equal(out, 2 * X)
    np.testing.assert_array_equal(aux["x"], X)
    assert aux["text"] == "as it is"
    np.testing.assert_array_equal(pull(T)[0], 2 * T)


def test_vjp_of_integers_is_float0():
    out, pull = ev.vjp(lambda x, n: (x * n, n + 1), X, 3)
    gx, gn = pull((T, FLOAT0))
    np.testing.assert_array_equal(gx, 3 * T)
    assert (gn.dtype, gn.shape) == (ev.dtypes.float0, ())
    np.testing.assert_array_equal(pull((T, np.int32(1)))[0], 3 * T)  # ones_like(out) is accepted
    assert int(out[1]) == 4


@pytest.mark.parametrize(
    ("cotangent", "error", "text"),
    [
        (np.ones((2, 3)), ValueError, r"must be of type float32\[3\].*got float32\[2, 3\]"),
        (1.0, ValueError, r"got float32\[\]"),
        (np.ones(3, np.int32), TypeError, r"got int32\[3\]"),
        ((T,), ValueError, r"has structure PyTreeDef\(\(\*,\)\), the output PyTreeDef\(\*\)"),
        ("a", TypeError, "str is not an array type"),
    ],
)
def test_vjp_checks_the_cotangent(cotangent, error, text):
    _, pull = ev.vjp(jnp.sin, X)
    with pytest.raises(error, match=text):
        pull(cotangent)


def test_vjp_function_is_called_with_one_cotangent():
    _, pull = ev.vjp(jnp.sin, X)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        pull()
    with pytest.raises(TypeError, match=r"takes \d positional arguments? but"):
        pull(T, T)


def test_vjp_function_can_be_transformed_and_passed():
    _, pull = ev.vjp(lambda x: x * x, X)
    np.testing.assert_array_equal(ev.jit(pull)(T)[0], 2 * X * T)
    np.testing.assert_array_equal(ev.vmap(pull)(np.stack([T, X]))[0], 2 * X * np.stack([T, X]))
    np.testing.assert_array_equal(ev.grad(lambda t: pull(t)[0].sum())(T), 2 * X)
    np.testing.assert_array_equal(ev.jit(lambda p, t: p(t))(pull, T)[0], 2 * X * T)


def test_vjp_under_jit():
    pulled = ev.jit(lambda x, t: ev.vjp(jnp.square, x)[1](t)[0])(X, T)
    np.testing.assert_array_equal(pulled, 2 * X * T)


# ------------------------------------------------------------------ jvp


def test_jvp():
    out, tangent = ev.jvp(f, (X, 2.0), (T, 3.0))
    np.testing.assert_array_equal(out["product"], 2 * X)
    np.testing.assert_array_equal(tangent["product"], 2 * T + 3 * X)
    assert float(tangent["sum"]) == T.sum()


def test_jvp_of_trees_and_lists():
    out, tangent = ev.jvp(lambda d: d["a"] * d["b"], [{"a": X, "b": 2.0}], [{"a": T, "b": 0.0}])
    np.testing.assert_array_equal(out, 2 * X)
    np.testing.assert_array_equal(tangent, 2 * T)


def test_jvp_aux():
    out, tangent, aux = ev.jvp(lambda x: (x * x, {"x": x, "n": 3}), (X,), (T,), has_aux=True)
    np.testing.assert_array_equal(out, X * X)
    np.testing.assert_array_equal(tangent, 2 * X * T)
    assert type(aux["x"]) is ev.Array
    assert aux["n"] == 3


def test_jvp_of_integers_is_float0():
    out, tangent = ev.jvp(lambda x, n: (x * n, n, 1), (X, 3), (T, FLOAT0))
    np.testing.assert_array_equal(tangent[0], 3 * T)
    assert tangent[1].dtype == tangent[2].dtype == ev.dtypes.float0
    assert int(out[1]) == 3


def test_outputs_that_do_not_depend_have_zero_tangents():
    _, tangent = ev.jvp(lambda x: (jnp.ones(2), 3.0, x), (X,), (T,))
    np.testing.assert_array_equal(tangent[0], np.zeros(2))
    assert float(tangent[1]) == 0
    np.testing.assert_array_equal(tangent[2], T)


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "text"),
    [
        (X, (T,), TypeError, "primals must be a tuple of arguments, got ndarray"),
        ((X,), T, TypeError, "tangents must be a tuple of arguments, got ndarray"),
        ((X,), (T, T), TypeError, "primals have structure .* tangents"),
        ((X,), ({"a": T},), TypeError, "primals have structure .* tangents"),
        ((X,), (T[:2],), ValueError, r"a tangent must be of type float32\[3\].*got float32\[2\]"),
        ((X,), (np.int32([1, 2, 3]),), TypeError, r"got int32\[3\]"),
        ((2.0,), (jnp.array(1),), TypeError, r"of type float32\[\].*got int32\[\]"),
        ((3,), (1,), TypeError, "a tangent must be of type .*float0.*got int32"),
        (("a",), (1.0,), TypeError, "argument 0 of type str is not an array"),
    ],
)
def test_jvp_checks_primals_and_tangents(primals, tangents, error, text):
    with pytest.raises(error, match=text) as caught:
        ev.jvp(lambda x: x, primals, tangents)
    assert str(caught.value).startswith("jvp(<lambda>): ")


def test_an_array_is_no_tangent_of_another_dtype_though_it_is_weakly_typed():
    def push(t):
        return ev.jvp(jnp.sin, (2.0,), (t,))[1]

    np.testing.assert_array_equal(push(1), push(1.0))  # Python's numbers have no dtype
    for run in push, ev.jit(push), ev.jit(push, strict=True):
        with pytest.raises(ev.errors.DTypeError, match=r"of type float32\[\].*got int32\[\]"):
            run(jnp.array(1))


# ------------------------------------------------------------------ linearize


def test_linearize():
    runs = []

    def counted(x, y):
        runs.append(1)
        return f(x, y)

    out, push = ev.linearize(counted, X, 2.0)
    np.testing.assert_array_equal(out["product"], 2 * X)
    for factor in (1, 2):
        tangent = push(factor * T, factor * np.float32(3))
        np.testing.assert_array_equal(tangent["product"], factor * (2 * T + 3 * X))
    assert len(runs) == 1


def test_linearize_aux_and_integers():
    out, push, aux = ev.linearize(lambda x, n: ((x * n, n), x), X, 3, has_aux=True)
    np.testing.assert_array_equal(aux, X)
    tangent = push(T, FLOAT0)
    np.testing.assert_array_equal(tangent[0], 3 * T)
    assert tangent[1].dtype == ev.dtypes.float0
    assert int(out[1]) == 3


def test_linearize_checks_tangents():
    _, push = ev.linearize(f, X, 2.0)
    with pytest.raises(TypeError, match="primals have structure"):
        push(T)
    with pytest.raises(ValueError, match=r"a tangent must be of type float32\[\]"):
        push(T, T)


def test_linear_function_can_be_transformed():
    _, push = ev.linearize(lambda x: x * x, X)
    np.testing.assert_array_equal(ev.jit(push)(T), 2 * X * T)
    np.testing.assert_array_equal(ev.vmap(push)(np.stack([T, X])), 2 * X * np.stack([T, X]))
    np.testing.assert_array_equal(ev.linear_transpose(push, X)(T)[0], 2 * X * T)
    second = ev.grad(lambda x: ev.linearize(jnp.square, x)[1](T).sum())(X)
    np.testing.assert_array_equal(second, 2 * T)


def test_linearize_has_no_nonlinear_equations():
    """Sines and cosines are computed once, not per tangent."""
    _, push = ev.linearize(lambda x: jnp.sin(jnp.cos(x)), X)
    names = {e.primitive.name for e in _flat_eqns(ev.make_jaxpr(push)(T).jaxpr)}
    assert names <= {"mul", "neg"}


def _flat_eqns(jaxpr):
    for eqn in jaxpr.eqns:
        if "jaxpr" in eqn.params:
            yield from _flat_eqns(eqn.params["jaxpr"].jaxpr)
        else:
            yield eqn


# ------------------------------------------------------------------ linear_transpose


def test_linear_transpose():
    transposed = ev.linear_transpose(lambda x, y: 2 * x + y.sum(), X, X)
    gx, gy = transposed(T)
    np.testing.assert_array_equal(gx, 2 * T)
    np.testing.assert_array_equal(gy, np.full(3, T.sum()))


def test_linear_transpose_needs_only_types():
    struct = ev.ShapeDtypeStruct((3,), np.float32)
    out = ev.linear_transpose(lambda d: {"y": -d["x"], "z": 3 * d["x"]}, {"x": struct})
    np.testing.assert_array_equal(out({"y": T, "z": X})[0]["x"], 3 * X - T)


@pytest.mark.parametrize("transform", [lambda f: f, ev.jit, ev.vmap])
def test_linear_transpose_under_transformations(transform):
    transposed = transform(ev.linear_transpose(lambda x: x * 3, jnp.ones(())))
    if transform is ev.vmap:
        np.testing.assert_array_equal(transposed(T)[0], 3 * T)
    else:
        assert float(transposed(np.float32(2))[0]) == 6


def test_linear_transpose_of_a_jitted_function():
    np.testing.assert_array_equal(ev.linear_transpose(ev.jit(lambda x: x * 3), X)(T)[0], 3 * T)


def test_an_argument_that_is_not_used_has_cotangent_zero():
    gx, gy = ev.linear_transpose(lambda x, y: y, X, X)(T)
    np.testing.assert_array_equal(gx, np.zeros(3))
    np.testing.assert_array_equal(gy, T)


@pytest.mark.parametrize("fun", [jnp.sin, lambda x: x * x, lambda x: 1 / x, ev.jit(jnp.exp)])
def test_other_functions_have_no_transpose(fun):
    with pytest.raises(NotLinearError, match="in which it is not linear"):
        ev.linear_transpose(fun, X)(T)


@pytest.mark.parametrize(
    ("cotangent", "text"),
    [
        (T[:2], r"the cotangent must be of type f32\[3\], as the output is, got f32\[2\]"),
        (np.int32([1, 2, 3]), r"got i32\[3\]"),
        ((T,), "the cotangent has structure"),
    ],
)
def test_linear_transpose_checks_the_cotangent(cotangent, text):
    with pytest.raises(TypeError, match=text):
        ev.linear_transpose(lambda x: x * 2, X)(cotangent)


@pytest.mark.parametrize("transform", [ev.vjp, ev.linearize, ev.linear_transpose])
def test_functions_must_be_callable(transform):
    with pytest.raises(TypeError, match=f"{transform.__name__}: expected a function, got a value"):
        transform(X, X)
    with pytest.raises(TypeError, match="jvp: expected a function"):
        ev.jvp(5, (X,), (X,))


def test_transposes_are_adjoint():
    """<ct, L t> = <L^T ct, t> for L the derivative of a function with every kind of rule."""

    def g(x, y):
        z = lax.dot_general(jnp.outer(x, y), y, (((1,), (0,)), ((), ())))
        return jnp.tanh(jnp.sort(z) / 50) + jnp.cumsum(x) * y.sum()

    ct, tx, ty = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    pushed = ev.jvp(g, (X, T / 50), (tx, ty))[1]
    gx, gy = ev.vjp(g, X, T / 50)[1](ct)
    np.testing.assert_allclose(np.vdot(ct, pushed), np.vdot(gx, tx) + np.vdot(gy, ty), rtol=1e-5)


def test_linear_transpose_takes_types():
    aval = ev.typeof(jnp.asarray(X))
    (transposed,) = ev.linear_transpose(jnp.cumsum, aval)(T)
    np.testing.assert_allclose(transposed, [111, 110, 100])


def test_linear_transpose_leaves_aside_what_the_result_does_not_depend_on():
    def gradient(x):
        return ev.grad(lambda x: jnp.sum((x - T) * (x - T)))(x) + 2 * T

    for f in (gradient, ev.jit(gradient)):
        np.testing.assert_allclose(ev.linear_transpose(f, X)(T)[0], 2 * T)
    with pytest.raises(NotLinearError, match="mul: transposed with respect to an operand in which"):
        ev.linear_transpose(lambda x: (x * x, x), X)((T, T))
    with pytest.raises(NotLinearError, match=r"^sin: "):
        ev.linear_transpose(lambda x: 2 * jnp.sin(x) + x, X)(T)
