"""Pairs of transformations and constructs that once failed under random programs, by name.

Most were found by `test_fuzz`; each is reduced to what it takes.
"""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.ops.indexing import take_along
from evertrace.core import check_jaxpr, eval_jaxpr

pytestmark = pytest.mark.usefixtures("rules")

X = jnp.asarray(np.float32([0.5, 1.5, 2.5]))
Y = jnp.asarray(np.float32([0.3, -0.2, 0.9]))
WEIGHTS = np.float32([1, 2, 3])


def total(fun):
    return lambda *args: jnp.sum(fun(*args))


# ------------------------------------------------------------------ rules that call jvp

BODIES = {
    "plain": lambda x, y: jnp.sin(x) * y,
    "jit": lambda x, y: ev.jit(lambda x, y: (jnp.sin(x) * y, jnp.cos(x)))(x, y)[0],
    "jit_of_jit": lambda x, y: ev.jit(ev.jit(lambda x, y: jnp.sin(x) * y))(x, y),
    "scan": lambda x, y: lax.scan(lambda c, r: (c * jnp.sin(y) + r, r * c), x, y)[0],
    "scan_ys": lambda x, y: lax.scan(lambda c, r: (c * jnp.sin(y) + r, r * c), x, y)[1],
    "fori": lambda x, y: lax.fori_loop(0, 3, lambda i, c: c * x + i, y),
    "cond": lambda x, y: lax.cond(jnp.sum(x) > 0, lambda x, y: jnp.sin(x) * y, jnp.add, x, y),
    "checkpoint": lambda x, y: ev.checkpoint(lambda x, y: jnp.sin(x) * y)(x, y),
    "map": lambda x, y: lax.map(lambda r: jnp.sin(r) * y, x),
    "sort": lambda x, y: jnp.sort(jnp.sin(x)) * y,
}


def by_its_own_jvp(fun):
    wrapped = ev.custom_jvp(fun)
    wrapped.defjvp(lambda primals, tangents: ev.jvp(fun, primals, tangents))
    return wrapped


REVERSE = {
    "grad": lambda f: ev.grad(total(f), (0, 1)),
    "grad_of_jit": lambda f: ev.grad(total(ev.jit(f)), (0, 1)),
    "hessian": lambda f: ev.hessian(total(f)),
    "linearize": lambda f: lambda x, y: ev.linearize(f, x, y)[1](y, x),
}


@pytest.mark.parametrize("transformation", REVERSE)
@pytest.mark.parametrize("body", BODIES)
def test_custom_jvp_rule_that_calls_jvp(body, transformation):
    transform, fun = REVERSE[transformation], BODIES[body]
    found, wanted = transform(by_its_own_jvp(fun))(X, Y), transform(fun)(X, Y)
    ev.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, wanted)


def test_custom_jvp_rule_that_calls_jvp_of_a_batch_of_branches():
    def fun(x):
        return lax.cond(x > 1, jnp.sin, lambda x: x * x, x)

    found = ev.grad(total(ev.vmap(by_its_own_jvp(fun))))(X)
    np.testing.assert_allclose(found, np.where(X > 1, np.cos(X), 2 * X), rtol=1e-6)


# ------------------------------------------------------------------ rules that use arrays

PLACES = {
    "call": lambda f: f,
    "jit": ev.jit,
    "checkpoint": ev.checkpoint,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "cond": lambda f: lambda x: lax.cond(jnp.sum(x) > 0, f, lambda x: x, x),
    "vmap": lambda f: lambda x: ev.vmap(f)(x[None])[0],
}


def jvp_rule_with_arrays():
    @ev.custom_jvp
    def scaled(x):
        return x * jnp.asarray(WEIGHTS)

    held, key = jnp.asarray(WEIGHTS), random.key(0)

    @scaled.defjvp
    def rule(primals, tangents):
        noise = 0 * random.normal(key, (3,))
        return scaled(*primals), tangents[0] * held + noise * tangents[0]

    return scaled


def vjp_rule_with_arrays():
    held = jnp.asarray(WEIGHTS)
    scaled = ev.custom_vjp(lambda x: x * held)
    scaled.defvjp(lambda x: (x * held, None), lambda _, ct: (ct * held,))
    return scaled


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", [jvp_rule_with_arrays, vjp_rule_with_arrays])
def test_custom_rule_that_uses_arrays(make, place, compiled):
    derived = ev.grad(total(PLACES[place](make())))
    found = (ev.jit(derived) if compiled else derived)(X)
    np.testing.assert_allclose(found, WEIGHTS)


@pytest.mark.parametrize("values", [WEIGHTS, WEIGHTS > 1, WEIGHTS[:0], np.int8([[1, -2]])])
def test_array_in_a_derived_program_compiles(values):
    held = jnp.asarray(values)

    @ev.custom_jvp
    def fun(x):
        return x

    @fun.defjvp
    def rule(primals, tangents):
        return fun(*primals), tangents[0] * jnp.sum(held)

    derived = ev.jit(ev.grad(lambda x: lax.scan(lambda c, _: (fun(c), None), x, None, length=1)[0]))
    assert float(derived(1.0)) == np.sum(values)


# ------------------------------------------------------------------ derivatives as values


def test_pullback_is_returned_from_jit_and_vmap():
    pull = ev.jit(lambda x: ev.vjp(jnp.sin, x)[1])(X)
    np.testing.assert_allclose(pull(Y)[0], np.cos(X) * Y, rtol=1e-6)
    pulls = ev.vmap(lambda x: ev.vjp(ev.jit(jnp.sin), x)[1])(X)
    np.testing.assert_allclose(ev.vmap(lambda p, ct: p(ct))(pulls, Y)[0], np.cos(X) * Y, rtol=1e-6)


def test_pullback_is_a_tree_of_what_it_needs():
    _, pull = ev.vjp(lambda x: jnp.sin(x) * 2, X)
    leaves, treedef = ev.tree.flatten(pull)
    assert all(isinstance(x, ev.Array) for x in leaves)
    again = ev.tree.unflatten(treedef, leaves)
    assert ev.tree.structure(again) == treedef
    np.testing.assert_array_equal(again(Y)[0], pull(Y)[0])


def test_linearized_function_is_returned_from_jit():
    push = ev.jit(lambda x: ev.linearize(jnp.sin, x)[1])(X)
    np.testing.assert_allclose(push(Y), np.cos(X) * Y, rtol=1e-6)


@pytest.mark.parametrize("transform", [lambda f: f, ev.jit, ev.checkpoint])
def test_pullback_as_residual_of_a_batched_custom_vjp(transform):
    def fun(x):
        return jnp.sin(x) * x

    wrapped = ev.custom_vjp(fun)
    wrapped.defvjp(lambda x: ev.vjp(fun, x), lambda pull, ct: pull(ct))
    found = ev.grad(total(ev.vmap(transform(wrapped))))(X)
    np.testing.assert_allclose(found, np.cos(X) * X + np.sin(X), rtol=1e-6)


# ------------------------------------------------------------------ loops


def test_transposing_a_scan_with_a_counter_and_a_custom_vjp():
    double = ev.custom_vjp(lambda x: 2 * x)
    double.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))

    def fun(x):
        def turn(carry, row):
            c, count = carry
            return (double(c) * row, count + 1), c * count

        (last, _), ys = lax.scan(turn, (x, 0), X)
        return last + jnp.sum(ys)

    def plain(x):
        c, out = x, 0.0
        for i in range(3):
            out += c * i
            c = 2 * c * X[i]
        return c + out

    for place in (fun, lambda x: lax.cond(x > 0, fun, lambda x: x, x)):
        np.testing.assert_allclose(ev.grad(place)(1.5), ev.grad(plain)(1.5), rtol=1e-6)
        staged = ev.make_jaxpr(ev.grad(place))(1.5)
        check_jaxpr(staged.jaxpr)


# ------------------------------------------------------------------ shapes


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 1)])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: jnp.sort(x, axis=0),
        lambda x: x[::-1],
        lambda x: x[0:0:-1],
        lambda x: x[..., 0:0:-1],
        lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=-1), axis=-1),
        lambda x: lax.cummax(x, axis=0),
    ],
)
def test_empty_arrays_have_derivatives(fun, shape):
    x = jnp.zeros(shape)
    out, tangent = ev.jvp(fun, (x,), (x,))
    assert tangent.shape == out.shape
    (gradient,) = ev.vjp(fun, x)[1](out)
    assert gradient.shape == shape


def test_elements_along_a_dimension_beside_one_of_size_1():
    x = jnp.asarray(np.float32([[1], [2]]))
    found = take_along(x, jnp.asarray(np.int32([[1], [0]])), 0)
    np.testing.assert_array_equal(found, [[2], [1]])


# ------------------------------------------------------------------ jaxprs


def test_evaluated_jaxpr_returns_arrays():
    closed = ev.make_jaxpr(lambda x: (jnp.asarray(1.5), x, x + 1))(2.0)
    outs = eval_jaxpr(closed.jaxpr, closed.consts, np.float32(2.0))
    assert [type(x) for x in outs] == [ev.Array] * 3
    assert [float(x) for x in outs] == [1.5, 2.0, 3.0]
