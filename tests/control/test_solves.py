"""custom_root, custom_linear_solve, linear_call: derivatives by the equations, and errors."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.custom_derivatives import linear_call
from tests.support.gradcheck import check_grads

pytestmark = pytest.mark.usefixtures("rules")

A = np.array([[3.0, 1.0, 0.5], [-1.0, 2.0, 0.0], [0.5, 0.3, 4.0]], np.float32)
B = np.array([1.0, -2.0, 0.5], np.float32)


def lu_solve(a, b, **options):
    return lax.custom_linear_solve(
        lambda x: a @ x,
        b,
        lambda _, b: jnp.linalg.solve(lax.stop_gradient(a), b),
        lambda _, b: jnp.linalg.solve(lax.stop_gradient(a).T, b),
        **options,
    )


def symmetric_solve(a, b):
    a = a + a.T
    solve = lambda _, b: jnp.linalg.solve(lax.stop_gradient(a), b)  # noqa: E731
    return lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)


def jacobi(matvec, b):
    """Solve by an iteration that reverse mode could not go through."""

    def step(x):
        return x + (b - matvec(x)) / 5

    return lax.while_loop(lambda x: jnp.max(jnp.abs(b - matvec(x))) > 1e-6, step, b)


def iterated_solve(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, jacobi)


SOLVES = {
    "lu": (lu_solve, lambda a, b: jnp.linalg.solve(a, b)),
    "symmetric": (symmetric_solve, lambda a, b: jnp.linalg.solve(a + a.T, b)),
    "iterated": (iterated_solve, lambda a, b: jnp.linalg.solve(a, b)),
    "aux": (
        lambda a, b: lax.custom_linear_solve(
            lambda x: a @ x,
            b,
            lambda m, b: (jacobi(m, b), {"n": 3}),
            lambda m, b: (jacobi(m, b), {"n": 4}),
            has_aux=True,
        )[0],
        lambda a, b: jnp.linalg.solve(a, b),
    ),
    "tree": (
        lambda a, b: lax.custom_linear_solve(
            lambda v: {"k": a @ v["k"]},
            {"k": b},
            lambda m, b: {"k": jacobi(lambda x: m({"k": x})["k"], b["k"])},
            lambda m, b: {"k": jacobi(lambda x: m({"k": x})["k"], b["k"])},
        )["k"],
        lambda a, b: jnp.linalg.solve(a, b),
    ),
}


@pytest.mark.parametrize("kind", SOLVES)
def test_solutions_and_derivatives(kind):
    fun, plain = SOLVES[kind]
    close = lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)  # noqa: E731
    close(fun(A, B), plain(A, B))
    for derivative in (ev.jacrev, ev.jacfwd):
        for wrap in (lambda f: f, ev.jit):
            for x, y in zip(
                wrap(derivative(fun, (0, 1)))(A, B), ev.jacrev(plain, (0, 1))(A, B), strict=True
            ):
                close(x, y)


@pytest.mark.parametrize("kind", ["lu", "symmetric"])
def test_all_orders(kind):
    fun, plain = SOLVES[kind]
    check_grads(fun, (A.astype(float), B.astype(float)), order=1)
    loss = lambda f: lambda a, b: jnp.sum(jnp.sin(f(a, b)))  # noqa: E731
    for outer, inner in ((ev.jacrev, ev.jacrev), (ev.jacfwd, ev.jacrev), (ev.jacrev, ev.jacfwd)):
        found = outer(inner(loss(fun), (0, 1)), (0, 1))(A, B)
        want = ev.jacfwd(ev.jacrev(loss(plain), (0, 1)), (0, 1))(A, B)
        for x, y in zip(ev.tree.leaves(found), ev.tree.leaves(want), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("kind", ["lu", "iterated"])
def test_batches(kind, axes):
    fun, plain = SOLVES[kind]
    args = [np.stack([x, x * 1.1]) if d == 0 else x for x, d in zip((A, B), axes, strict=True)]
    one = lambda i: [x[i] if d == 0 else x for x, d in zip(args, axes, strict=True)]  # noqa: E731
    for transform in (lambda f: f, lambda f: ev.grad(lambda a, b: f(a, b).sum())):
        found = ev.jit(ev.vmap(transform(fun), axes))(*args)
        want = np.stack([transform(plain)(*one(i)) for i in range(2)])
        np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-4)


# ---------------------------------------------------------------- roots


def newton(f, x):
    return lax.fori_loop(0, 30, lambda i, x: x - f(x) / ev.grad(lambda x: f(x))(x), x)


def scalar_tangent(g, y):
    return y / g(jnp.ones_like(y))


def cube_root(a):
    return lax.custom_root(lambda x: x**3 - a, jnp.ones_like(a), newton, scalar_tangent)


def while_root(a):
    def solve(f, x):
        return lax.while_loop(lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / (3 * x * x), x)

    return lax.custom_root(lambda x: x**3 - a, a, solve, scalar_tangent)


def fixed_point(a):
    """A root of trees: x = cos(a x), y = a."""

    def f(v):
        return {"x": v["x"] - jnp.cos(a * v["x"]), "y": v["y"] - a}

    def solve(f, v):
        return lax.fori_loop(0, 60, lambda i, v: ev.tree.map(lambda x, r: x - 0.6 * r, v, f(v)), v)

    def tangent_solve(g, v):
        slope = g(ev.tree.map(jnp.ones_like, v))
        return ev.tree.map(lambda x, s: x / s, v, slope)

    return lax.custom_root(f, {"x": a, "y": a}, solve, tangent_solve)["x"]


ROOTS = [
    (cube_root, 8.0, 1 / 12, -1 / 144),
    (while_root, 8.0, 1 / 12, -1 / 144),
    (fixed_point, 0.5, None, None),
]


@pytest.mark.parametrize(("fun", "a", "first", "second"), ROOTS)
def test_roots(fun, a, first, second):
    if first is None:
        check_grads(fun, (np.float64(a),), order=2)
        return
    np.testing.assert_allclose(fun(a), 2.0, rtol=1e-5)
    for derivative in (ev.grad(fun), ev.jacfwd(fun), ev.jit(ev.grad(fun)), ev.grad(ev.jit(fun))):
        np.testing.assert_allclose(derivative(a), first, rtol=1e-4)
    for outer, inner in ((ev.grad, ev.grad), (ev.jacfwd, ev.grad), (ev.grad, ev.jacfwd)):
        np.testing.assert_allclose(outer(inner(fun))(a), second, rtol=1e-3)
    batch = np.array([8.0, 27.0], np.float32)
    np.testing.assert_allclose(ev.vmap(ev.grad(fun))(batch), [1 / 12, 1 / 27], rtol=1e-4)


def test_aux_of_a_root():
    def fun(a):
        solve = lambda f, x: (newton(f, x), {"turns": 30})  # noqa: E731
        return lax.custom_root(lambda x: x**3 - a, 1.0, solve, scalar_tangent, has_aux=True)

    x, aux = fun(8.0)
    np.testing.assert_allclose(x, 2.0, rtol=1e-6)
    assert aux["turns"] == 30
    np.testing.assert_allclose(ev.grad(lambda a: fun(a)[0])(8.0), 1 / 12, rtol=1e-5)


def test_the_guess_has_no_derivative():
    fun = lambda x: lax.custom_root(lambda v: v - 2, x, newton, scalar_tangent)  # noqa: E731
    assert ev.grad(fun)(1.5) == 0.0


# ---------------------------------------------------------------- linear calls


def scaled(r, x):
    """A linear map whose transpose is, wrongly and so that it shows, twice as large."""
    return linear_call(lambda r, x: x * r, lambda r, ct: 2 * ct * r, r, x)


def test_transposes_are_the_given_ones():
    assert scaled(3.0, 2.0) == 6.0
    assert ev.jvp(lambda x: scaled(3.0, x), (2.0,), (1.0,))[1] == 3.0
    back = lambda fun: lambda ct: ev.linear_transpose(fun, 1.0)(ct)[0]  # noqa: E731
    forward = lambda x: scaled(3.0, x)  # noqa: E731
    assert [f(1.0) for f in (forward, back(forward), back(back(forward)))] == [3.0, 6.0, 3.0]
    for wrap in (lambda f: f, ev.jit):
        assert wrap(ev.grad(forward))(2.0) == 6.0
        assert ev.grad(wrap(forward))(2.0) == 6.0


def test_residuals_are_differentiated_as_the_function():
    assert ev.grad(scaled)(3.0, 2.0) == 2.0
    assert ev.jvp(scaled, (3.0, 2.0), (1.0, 1.0))[1] == 5.0
    assert ev.jacfwd(ev.grad(scaled, 1))(3.0, 2.0) == 2.0


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_batches_of_linear_calls(axes):
    args = [B if d == 0 else np.float32(3) for d in axes]
    np.testing.assert_allclose(ev.vmap(scaled, axes)(*args), args[0] * args[1])
    grads = ev.vmap(ev.grad(scaled, 1), axes)(*args)
    np.testing.assert_allclose(grads, np.broadcast_to(2 * args[0], 3))


def test_captured_values_of_linear_calls():
    def fun(r, x):
        return linear_call(lambda _, x: x * r, lambda _, ct: ct * r, (), x)

    assert ev.grad(fun, (0, 1))(3.0, 2.0) == (2.0, 3.0)


# ---------------------------------------------------------------- errors


def identity(_, b):
    return b


ERRORS = [
    (
        lambda: lax.custom_linear_solve(lambda v: (v,), B, identity), TypeError,
        "custom_linear_solve: the result of matvec must be a vector like b; at the root that has a "
        "leaf",
    ),
    (
        lambda: lax.custom_linear_solve(lambda v: v[:1], B, identity), ValueError,
        r"the result of matvec must be a vector like b; that is f32\[3\], this f32\[1\]",
    ),
    (
        lambda: lax.custom_linear_solve(lambda v: v, B, lambda m, b: b[:2]), ValueError,
        r"the result of solve must be a vector like b; that is f32\[3\], this f32\[2\]",
    ),
    (
        lambda: lax.custom_linear_solve(lambda v: v, B, identity, lambda m, b: (b,)), TypeError,
        "the result of transpose_solve must be a vector like b",
    ),
    (
        lambda: lax.custom_linear_solve(lambda v: v, B, lambda m, b: m(b[:1])), ValueError,
        r"the argument of matvec must be a vector like b; that is f32\[3\], this f32\[1\]",
    ),
    (
        lambda: lax.custom_linear_solve(lambda v: v, B, identity, has_aux=True), ValueError,
        r"with `has_aux`, solve must return a pair \(x, aux\)",
    ),
    (
        lambda: ev.grad(lambda b: lax.custom_linear_solve(lambda v: v, b, identity).sum())(B),
        TypeError, "custom_linear_solve: reverse-mode differentiation needs the solution of the "
        "transposed system",
    ),
    (
        lambda: lax.custom_root(lambda v: (v,), B, identity, identity), TypeError,
        "custom_root: the result of f must be a vector like initial_guess",
    ),
    (
        lambda: lax.custom_root(lambda v: v, B, lambda f, v: v[:1], identity), ValueError,
        "custom_root: the result of solve must be a vector like initial_guess",
    ),
    (
        lambda: ev.grad(lambda a: lax.custom_root(
            lambda v: v - a, 1.0, identity, lambda g, y: (y,)))(2.0),
        TypeError, "custom_root: the result of tangent_solve must be a vector like",
    ),
    (
        lambda: ev.grad(lambda a: lax.custom_root(
            lambda v: v - a, 1.0, identity, lambda g, y: g((y,))))(2.0),
        TypeError, "custom_root: the argument of g must be a vector like",
    ),
    (
        lambda: linear_call(lambda r, x: x, lambda r, ct: (ct,), (), B), TypeError,
        "linear_call: fun_transpose must return cotangents like the linear arguments; at the root",
    ),
    (
        lambda: linear_call(lambda r, x: x, lambda r, ct: ct[:1], (), B), TypeError,
        r"linear_call: fun_transpose returns a cotangent of type f32\[1\] for a linear argument",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
