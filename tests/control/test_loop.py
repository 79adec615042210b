"""while_loop: values, forward mode, batches whose examples stop at different times, errors."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from tests.support.runtime import to_numpy

pytestmark = pytest.mark.usefixtures("rules")


def double_until(limit):
    return lambda x: lax.while_loop(lambda c: lax.lt(c, limit), lambda c: lax.mul(c, 2), x)


@pytest.mark.parametrize("compiled", [False, True])
def test_value(compiled):
    f = double_until(100)
    assert to_numpy((ev.jit(f) if compiled else f)(3)) == 192


@pytest.mark.parametrize("compiled", [False, True])
def test_examples_stop_when_they_are_done(compiled):
    f = ev.vmap(double_until(100))
    out = (ev.jit(f) if compiled else f)(np.array([1, 3, 50, 200], np.int32))
    np.testing.assert_array_equal(to_numpy(out), [128, 192, 100, 200])


def test_only_the_limit_is_batched():
    f = ev.vmap(lambda limit: double_until(limit)(np.int32(1)))
    np.testing.assert_array_equal(to_numpy(f(np.array([2, 5, 30], np.int32))), [2, 8, 32])


def test_unbatched_condition_stays_scalar():
    def f(x):
        return lax.while_loop(
            lambda s: lax.lt(s[0], 3), lambda s: (lax.add(s[0], 1), lax.add(s[1], x)), (0, x)
        )

    jaxpr = ev.make_jaxpr(ev.vmap(f))(np.ones(4, np.float32)).jaxpr
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == "while"]
    assert [v.aval.shape for v in eqn.params["body_jaxpr"].jaxpr.outvars] == [(), (4,)]
    _, out = ev.vmap(f)(np.ones(4, np.float32))
    np.testing.assert_array_equal(to_numpy(out), [4, 4, 4, 4])


def test_disable_jit_makes_the_turns_of_which_the_condition_is_known():
    with ev.disable_jit():
        out = ev.vmap(double_until(100))(np.array([1, 3, 50, 200], np.int32))
        jaxpr = ev.make_jaxpr(double_until(100))(3)
    np.testing.assert_array_equal(to_numpy(out), [128, 192, 100, 200])
    assert "while[" in str(jaxpr)


@pytest.mark.parametrize("max_steps", [None, 3, 4, 100])
def test_disable_jit_goes_on_as_a_loop_once_a_carry_is_batched(max_steps):
    def turn(s):
        return lax.add(s[0], s[1]), lax.mul(s[1], 2)

    def f(x):  # the first condition is one for all examples, the others are not
        goes_on = lambda s: lax.lt(s[0], 40)  # noqa: E731
        return lax.while_loop(goes_on, turn, (np.int32(0), x), max_steps=max_steps)[0]

    xs = np.array([1, 5, 50], np.int32)
    want = to_numpy(ev.vmap(f)(xs))
    with ev.disable_jit():
        np.testing.assert_array_equal(to_numpy(ev.vmap(f)(xs)), want)


def test_forward_mode():
    f = double_until(np.float32(10))
    out, tangent = ev.jvp(f, (np.float32(3),), (np.float32(1),))
    assert (to_numpy(out), to_numpy(tangent)) == (12, 4)


def test_linearize_works_forwards():
    out, push = ev.linearize(double_until(np.float32(10)), np.float32(3))
    assert (to_numpy(out), to_numpy(push(np.float32(2)))) == (12, 8)


def test_reverse_mode_is_refused():
    with pytest.raises(ValueError, match="while_loop: reverse-mode") as caught:
        ev.grad(double_until(np.float32(10)))(np.float32(3))
    assert "Fix: give a greatest number of turns, `while_loop(..., max_steps=n)`" in str(
        caught.value
    )


def test_reverse_mode_past_a_loop_that_is_not_differentiated():
    def f(x):
        n = lax.while_loop(lambda i: lax.lt(i, 3), lambda i: lax.add(i, 1), 0)
        return lax.mul(x, lax.convert_element_type(n, "float32"))

    assert to_numpy(ev.grad(f)(np.float32(2))) == 3


ERRORS = [
    (
        lambda: lax.while_loop(lambda c: 1.0, lambda c: c, 1.0),
        "while_loop: cond_fun must return a boolean scalar, got weak f32[].",
    ),
    (
        lambda: lax.while_loop(lambda c: (True, True), lambda c: c, 1.0),
        "while_loop: cond_fun must return a boolean scalar, got PyTreeDef((*, *)).",
    ),
    (
        lambda: lax.while_loop(lambda c: True, lambda c: np.ones(3, "f4"), 1.0),
        "while_loop: the carry component c has type weak f32[] on input but f32[3] on output.",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == text


def test_reverse_mode_goes_round_a_loop_behind_stop_gradient():
    def fun(x):
        return x * lax.while_loop(lambda c: c < 10, lambda c: 2 * c, lax.stop_gradient(x))

    assert ev.grad(fun)(1.0) == 16
    assert ev.grad(lambda x: fun(lax.floor(x)) + x)(1.5) == 1
