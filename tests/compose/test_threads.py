"""Tracing and calling from several threads, and what short-lived jitted functions leave behind."""

import functools
import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

NUM_THREADS = 4
X = np.float32([0.5, 1.5, 2.5])


def in_threads(fun, count=NUM_THREADS):
    """Return the results of ``fun(0), fun(1), ...``, each in a thread of its own."""
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        return list(pool.map(fun, range(count)))


def loss(x, scale):
    turned, _ = lax.scan(lambda c, r: (jnp.sin(c * r) * scale, None), x, jnp.arange(3.0))
    return jnp.sum(jnp.where(turned > 0, turned, turned * x))


def test_one_jitted_function_first_called_by_all_threads(rules):
    @functools.partial(ev.jit, strict=rules == "strict")
    def step(x, scale):
        return ev.value_and_grad(loss)(x, scale)

    found = in_threads(lambda i: step(X, 2.0), 16)
    wanted = ev.value_and_grad(loss)(X, 2.0)
    for value, gradient in found:
        np.testing.assert_allclose(value, wanted[0], rtol=1e-6)
        np.testing.assert_array_equal(gradient, found[0][1])
    assert 1 <= step.cache_info().misses <= NUM_THREADS
    assert step.cache_info().currsize == 1


def test_different_functions_traced_at_once():
    def work(i):
        stacks = [
            lambda x: ev.grad(loss)(x, 1.0 + i),
            lambda x: ev.vmap(lambda s: loss(x, s))(jnp.arange(3.0) + i),
            lambda x: ev.jvp(lambda x: loss(x, 1.0 + i), (x,), (x,))[1],
            lambda x: ev.hessian(loss)(x, 1.0 + i),
        ]
        out = [np.asarray(stack(jnp.asarray(X))) for stack in stacks]
        return out, [str(ev.make_jaxpr(stack)(X)) for stack in stacks]

    found = in_threads(work)
    for i, (values, texts) in enumerate(found):
        wanted, wanted_texts = work(i)
        assert texts == wanted_texts
        for x, y in zip(values, wanted, strict=True):
            np.testing.assert_array_equal(x, y)


def test_threads_see_their_own_configuration():
    def work(i):
        with ev.enable_x64(bool(i % 2)):
            return [str(jnp.asarray(1.5).dtype) for _ in range(50)]

    for i, names in enumerate(in_threads(work)):
        assert set(names) == {"float64" if i % 2 else "float32"}


def test_short_lived_jitted_functions_leave_nothing():
    def burst(count):
        for i in range(count):
            ev.jit(lambda x, i=i: jnp.sin(x) * (i % 7)).trace(X)
        gc.collect()
        return len(gc.get_objects())

    burst(200)
    before = burst(200)
    assert burst(2000) - before < 200


def test_calls_of_short_lived_jitted_functions_leave_nothing():
    def burst(count):
        for i in range(count):
            ev.jit(lambda x, i=i: jnp.sin(x) * (i % 7))(X)
        gc.collect()
        return len(gc.get_objects())

    burst(200)
    before = burst(200)
    assert burst(2000) - before < 200


def test_short_lived_derivatives_leave_nothing():
    def burst(count):
        for _ in range(count):
            ev.grad(lambda x: loss(x, 2.0))(X)
            ev.vjp(lambda x: jnp.sin(x) * 2, X)[1](X)
            ev.vmap(lambda x: x * 2)(X)
        gc.collect()
        return len(gc.get_objects())

    burst(20)
    before = burst(20)
    assert burst(100) - before < 100
