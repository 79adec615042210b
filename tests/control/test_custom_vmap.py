"""custom_vmap and sequential_vmap: when the rule runs, derivatives, errors."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.custom_batching import custom_vmap, sequential_vmap

pytestmark = pytest.mark.usefixtures("rules")
X = np.array([0.5, -1.0, 2.0], np.float32)


def sine(out_batched=True):
    """Return a product whose rule computes another function, so that it shows, and its calls."""
    calls = []

    @custom_vmap
    def fun(x, y):
        return jnp.sin(x) * y["k"]

    @fun.def_vmap
    def _rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched))
        return jnp.cos(x) * y["k"], out_batched

    return fun, calls


TWO = {"k": np.float32(2)}


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit])
def test_the_rule_runs_under_vmap_only(wrap):
    fun, calls = sine()
    np.testing.assert_allclose(wrap(fun)(X[0], TWO), 2 * np.sin(X[0]), rtol=1e-6)
    assert calls == []
    np.testing.assert_allclose(ev.vmap(wrap(fun), (0, None))(X, TWO), 2 * np.cos(X), rtol=1e-6)
    assert calls == [(3, [True, {"k": False}])]
    with ev.strict():  # by the contract a rule leaves state as it is
        np.testing.assert_allclose(wrap(ev.vmap(fun))(X, {"k": X}), X * np.cos(X), rtol=1e-6)
    assert calls[-1] == (3, [True, {"k": True}])


def test_unbatched_calls_do_not_ask_the_rule():
    fun, calls = sine()
    out = ev.vmap(lambda x: x * fun(X[0], TWO))(X)
    np.testing.assert_allclose(out, X * 2 * np.sin(X[0]), rtol=1e-6)
    assert calls == []


def test_nested_vmap_vectorises_the_rule():
    fun, calls = sine()
    xs = np.stack([X, 2 * X])
    out = ev.vmap(ev.vmap(fun, (0, None)), (0, None))(xs, TWO)
    np.testing.assert_allclose(out, 2 * np.cos(xs), rtol=1e-6)
    assert [size for size, _ in calls] == [3]


def test_outputs_that_are_not_batched():
    @custom_vmap
    def fun(x):
        return x, {"n": jnp.float32(1)}

    fun.def_vmap(lambda size, batched, x: ((x, {"n": jnp.float32(size)}), (True, {"n": False})))
    x, rest = ev.vmap(fun, out_axes=(0, None))(X)
    np.testing.assert_array_equal(x, X)
    assert rest["n"] == 3


def test_forward_mode_keeps_the_rule():
    fun, calls = sine()
    point = lambda x: ev.jvp(lambda x: fun(x, TWO), (x,), (1.0,))[1]  # noqa: E731
    np.testing.assert_allclose(point(X[0]), 2 * np.cos(X[0]), rtol=1e-6)
    assert calls == []
    for batch in (ev.vmap(point), ev.jit(ev.vmap(point))):
        np.testing.assert_allclose(batch(X), -2 * np.sin(X), rtol=1e-6)
    outside = ev.jvp(lambda x: ev.vmap(fun, (0, None))(x, TWO), (X,), (np.ones_like(X),))[1]
    np.testing.assert_allclose(outside, -2 * np.sin(X), rtol=1e-6)


def test_batched_tangents_of_unbatched_values():
    fun, _ = sine()
    out = ev.vmap(lambda t: ev.jvp(lambda x: fun(x, TWO), (X[0],), (t,))[1])(X)
    np.testing.assert_allclose(out, -2 * np.sin(X[0]) * X, rtol=1e-6)


def test_reverse_mode_looks_into_the_function():
    fun, calls = sine()
    grad = ev.grad(lambda x: fun(x, TWO))
    for derivative in (grad, ev.jit(grad), ev.grad(ev.jit(lambda x: fun(x, TWO)))):
        np.testing.assert_allclose(derivative(X[0]), 2 * np.cos(X[0]), rtol=1e-6)
    np.testing.assert_allclose(ev.vmap(grad)(X), 2 * np.cos(X), rtol=1e-6)
    assert calls == []
    batched = ev.grad(lambda xs: ev.vmap(fun, (0, None))(xs, TWO).sum())
    np.testing.assert_allclose(batched(X), -2 * np.sin(X), rtol=1e-6)


def test_captured_values():
    def fun(a, x):
        inner = custom_vmap(lambda x: x * a)
        inner.def_vmap(lambda size, batched, x: (x * a, True))
        return inner(x)

    assert ev.grad(fun, (0, 1))(3.0, 2.0) == (2.0, 3.0)
    assert ev.grad(lambda a: fun(a, 2.0))(3.0) == 2.0
    assert ev.jvp(lambda a: ev.jit(lambda x: fun(a, x))(2.0), (3.0,), (1.0,)) == (6.0, 2.0)
    with pytest.raises(ev.errors.UnexpectedTracerError, match="a value that the function closes"):
        ev.vmap(lambda a: ev.jit(lambda x: fun(a, x))(2.0))(X)


def test_sequential_vmap():
    @sequential_vmap
    def fun(x, y):
        assert jnp.shape(x) == ()
        return x * y["k"], {"y": y["k"]}

    for wrap in (lambda f: f, ev.jit):
        out, rest = wrap(ev.vmap(fun, (0, None)))(X, TWO)
        np.testing.assert_allclose(out, 2 * X)
        np.testing.assert_allclose(rest["y"], [2, 2, 2])
    grads = ev.grad(lambda x: ev.vmap(lambda x: fun(x, TWO)[0] ** 2)(x).sum())(X)
    np.testing.assert_allclose(grads, 8 * X)


def pair(rule):
    fun = custom_vmap(lambda x: (x, {"a": x}))
    fun.def_vmap(rule)
    return fun


ERRORS = [
    (lambda n, b, x: (x, {"a": x}, 1), TypeError, "the vmap rule must return a pair"),
    (lambda n, b, x: ((x, x), True), ValueError, r"differ in structure at \[1\]"),
    (
        lambda n, b, x: ((x, {"a": x}), (True, True, True)),
        ValueError,
        "must say of each output whether it is batched",
    ),
    (lambda n, b, x: ((x, {"a": x}), 1), ValueError, "whether it is batched, by booleans"),
    (
        lambda n, b, x: ((x, {"a": x[:2]}), True),
        ValueError,
        r"an output of shape \(2,\) that it is batched; its first dimension must be .* of size 3",
    ),
]


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit])
@pytest.mark.parametrize(("rule", "error", "text"), ERRORS)
def test_errors(rule, error, text, wrap):
    with pytest.raises(error, match=text):
        ev.vmap(wrap(pair(rule)))(X)


def test_a_rule_is_needed():
    with pytest.raises(AttributeError, match="has no batching rule yet"):
        custom_vmap(lambda x: x)(X)
