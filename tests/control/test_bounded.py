"""while_loop with max_steps: reverse mode, in memory that grows with the logarithm."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.api.checkpoint import saved_residuals
from evertrace._src.control.bounded import FAN, _sizes
from tests.control.stateful import Box
from tests.support.gradcheck import check_grads

ROWS = np.array([0.3, 1.5, 0.9], np.float32)


def until_large(x, **options):
    """Square and shift until a limit that the examples reach at different times."""
    return lax.while_loop(lambda c: c < 4, lambda c: c * c + x, x, **options)


def in_python(x, max_steps=99):
    c, count = x, 0
    while c < 4 and count < max_steps:
        c, count = c * c + x, count + 1
    return c


def pair_until(x, **options):
    def body(c):
        i, (a, b), key = c
        return i + 1, (jnp.sin(a) * b, b + a * x), key

    return lax.while_loop(
        lambda c: (c[0] < 5) & jnp.all(c[1][1] < 9), body, (0, (x, x * 2), "k" == "k"), **options
    )[1]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("max_steps", [0, 3, 17, 5000])
@pytest.mark.parametrize("compiled", [False, True])
def test_value_and_gradients(max_steps, compiled):
    wrap = ev.jit if compiled else lambda f: f
    fun = wrap(lambda x: until_large(x, max_steps=max_steps))
    for x in ROWS[1:]:
        np.testing.assert_allclose(fun(x), in_python(x, max_steps), rtol=1e-6)
        want = ev.grad(lambda x: in_python(x, max_steps))(x)
        for derivative in (ev.grad, ev.jacfwd, ev.jacrev):
            np.testing.assert_allclose(wrap(derivative(fun))(x), want, rtol=1e-5)


@pytest.mark.parametrize(("max_steps", "order"), [(5, 2), (20, 1)])
def test_all_orders(max_steps, order):
    check_grads(lambda x: pair_until(x, max_steps=max_steps), (np.float64(0.7),), order=order)


@pytest.mark.parametrize("max_steps", [16, 17])
def test_examples_that_stop_at_different_times(max_steps):
    fun = lambda x: until_large(x, max_steps=max_steps)  # noqa: E731
    want = [ev.grad(in_python)(x) for x in ROWS]
    for derivative in (
        ev.vmap(ev.grad(fun)),
        ev.vmap(ev.jacfwd(fun)),
        ev.grad(lambda xs: ev.vmap(fun)(xs).sum()),
    ):
        np.testing.assert_allclose(derivative(ROWS), want, rtol=1e-5)


def test_what_is_made_of_finished_examples_does_not_reach_gradients():
    def fun(x):  # the derivative of the root is infinite at 0, where the first example ends
        return lax.while_loop(lambda c: c > 0, lambda c: jnp.sqrt(c) - 0.5, x, max_steps=8)

    xs = np.array([0.25, 4.0], np.float32)
    np.testing.assert_allclose(ev.vmap(ev.grad(fun))(xs), [ev.grad(fun)(x) for x in xs], rtol=1e-5)


def test_within_other_constructs():
    def turn(c, a):
        c = lax.cond(a > 0.5, lambda: until_large(c * a, max_steps=12), lambda: c + a)
        return jnp.tanh(c), c

    def fun(xs):
        return sum(jnp.sum(y) for y in lax.scan(turn, xs[0], xs))

    def plain(xs):
        c, total = xs[0], 0.0
        for a in xs:
            y = in_python(c * a) if a > 0.5 else c + a
            c, total = jnp.tanh(y), total + y
        return c + total

    for wrapped in (fun, ev.checkpoint(fun), ev.jit(fun)):
        np.testing.assert_allclose(ev.grad(wrapped)(ROWS), ev.grad(plain)(ROWS), rtol=1e-4)


def test_custom_rules_may_push_tangents_through_the_loop():
    @ev.custom_jvp
    def fun(x):
        return until_large(x, max_steps=20)

    @fun.defjvp
    def _rule(primals, tangents):
        return ev.jvp(lambda x: until_large(x, max_steps=20), primals, tangents)

    np.testing.assert_allclose(ev.grad(fun)(ROWS[1]), ev.grad(in_python)(ROWS[1]), rtol=1e-5)


def kept(max_steps):
    residuals = saved_residuals(lambda x: until_large(x, max_steps=max_steps), 1.5)
    return sum(aval.size for aval, _ in residuals)


def test_memory_grows_with_the_logarithm():
    levels = [FAN**n for n in range(1, 6)]
    assert [kept(n) - kept(FAN) for n in levels[1:]] == [kept(FAN**2) - kept(FAN)] * 4
    assert kept(FAN**5) < 10 * FAN


def test_undifferentiated_it_is_one_loop():
    text = ev.jit(lambda x: until_large(x, max_steps=4096)).lower(1.5).as_text()
    assert text.count("stablehlo.while") == 1
    assert "stablehlo.case" not in text


@pytest.mark.parametrize("max_steps", [1, 2, 15, 16, 17, 255, 256, 257, 4097, 123456])
def test_levels(max_steps):
    sizes = _sizes(max_steps)
    assert max(sizes) <= FAN
    assert np.prod(sizes) >= max_steps
    assert len(sizes) == 1 or FAN ** (len(sizes) - 1) < max_steps


def test_without_jit():
    with ev.disable_jit():
        assert until_large(2.0, max_steps=0) == 2.0
        assert until_large(2.0, max_steps=1) == 6.0
        np.testing.assert_allclose(ev.grad(lambda x: until_large(x, max_steps=9))(2.0), 5.0)


@pytest.mark.parametrize(
    ("max_steps", "error", "text"),
    [
        (-1, ValueError, "while_loop: `max_steps` must not be negative, got -1"),
        (2.0, TypeError, "'float' object cannot be interpreted as an integer"),
    ],
)
def test_errors(max_steps, error, text):
    with pytest.raises(error, match=text):
        until_large(1.0, max_steps=max_steps)


def test_it_is_the_fix_for_reverse_mode():
    with pytest.raises(
        ValueError, match=r"greatest number of turns, `while_loop\(..., max_steps=n"
    ):
        ev.grad(until_large)(1.5)


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit])
def test_state_that_the_body_changes(wrap):
    box = Box(h=1.0, turns=0)

    def body(c):
        box.h, box.turns = box.h * c, box.turns + 1
        return c + box.h

    fun = wrap(ev.grad(lambda x: lax.while_loop(lambda c: c < 20, body, x, max_steps=9)))
    np.testing.assert_allclose(fun(1.5), 89, rtol=1e-6)  # by central differences
    assert (box.h, box.turns) == (1.5 * 3 * 7.5, 3)  # c is 1.5, 3, 7.5 before the turns
