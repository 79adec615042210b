"""Initial value problems with known solutions, and the derivatives of these."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental.ode import odeint
from tests.support.gradcheck import check_grads

TIMES = np.array([0.0, 0.3, 1.0, 2.5])
EXACT = {
    "decay": (lambda y, t: -y, 1.0, np.exp(-TIMES)),
    "swing": (
        lambda y, t: jnp.stack([y[1], -y[0]]),
        np.array([0.0, 1.0]),
        np.stack([np.sin(TIMES), np.cos(TIMES)], 1),
    ),
    "growth by time": (lambda y, t: jnp.cos(t) * y, 1.0, np.exp(np.sin(TIMES))),
    "turn": (lambda y, t: 1j * y, 1.0 + 0j, np.exp(1j * TIMES)),
    "rest": (lambda y, t: 0 * y, 2.0, np.full(4, 2.0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_solutions(name):
    fun, y0, want = EXACT[name]
    with ev.enable_x64():
        found = odeint(fun, y0, jnp.asarray(TIMES), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found, want, atol=2e-9)


def test_errors_fall_with_the_tolerance():
    fun, y0, want = EXACT["growth by time"]
    with ev.enable_x64():
        errors = [
            np.abs(odeint(fun, y0, jnp.asarray(TIMES), rtol=tol, atol=tol) - want).max()
            for tol in (1e-4, 1e-7, 1e-10)
        ]
    assert all(error < 20 * tol for error, tol in zip(errors, (1e-4, 1e-7, 1e-10), strict=True))


def test_derivatives_by_value_times_and_parameters():
    def solution(y0, times, a):
        found = odeint(lambda y, t, a: -a * jnp.sin(y) * t, y0, times, a, rtol=1e-11, atol=1e-11)
        return found[1:]

    check_grads(
        solution, [np.array([1.0, 2.0]), TIMES, np.array([0.5, 0.7])], order=1, modes=("rev",)
    )


def test_second_derivatives():
    def end(a):
        return odeint(lambda y, t: -a * y, 1.0, jnp.array([0.0, 1.0]), rtol=1e-9, atol=1e-9)[-1]

    with ev.enable_x64():
        np.testing.assert_allclose(ev.grad(ev.grad(end))(2.0), np.exp(-2.0), rtol=1e-6)


def test_trees_and_whole_arguments():
    def fun(y, t, a, power):
        return {"a": -a["rate"] * y["a"] ** power, "b": y["a"][0]}

    y0 = {"a": jnp.ones(2), "b": 0.0}
    found = odeint(fun, y0, jnp.array([0.0, 1.0]), {"rate": 2.0}, 1)
    np.testing.assert_allclose(found["a"][1], np.full(2, np.exp(-2.0)), rtol=1e-5)
    np.testing.assert_allclose(found["b"][1], (1 - np.exp(-2.0)) / 2, rtol=1e-5)


def test_solutions_under_jit_and_vmap():
    def solution(a):
        return odeint(lambda y, t, a: -a * y, 1.0, jnp.array([0.0, 1.0]), a)[-1]

    rates = jnp.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(ev.jit(ev.vmap(solution))(rates), np.exp(-rates), rtol=1e-5)
    np.testing.assert_allclose(ev.vmap(ev.grad(solution))(rates), -np.exp(-rates), rtol=1e-4)


def test_times_that_are_not_reached_are_nan():
    found = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 10.0]), mxstep=2)
    assert np.isnan(found).tolist() == [False, True]


T = jnp.array([0.0, 1.0])
ERRORS = [
    (lambda: odeint(3, 1.0, T), TypeError, "expected a function"),
    (lambda: odeint(lambda y, t: y, 1.0, jnp.array([0, 1])), TypeError, "times must be floating"),
    (lambda: odeint(lambda y, t: y, 1.0, jnp.zeros(0)), ValueError, "a vector of one or more"),
    (lambda: odeint(lambda y, t, f: y, 1.0, T, len), TypeError, "must be arrays, got builtin"),
    (lambda: odeint(lambda y, t: [y], 1.0, T), TypeError, "must return a tree like y0"),
    (lambda: odeint(lambda y, t: y[:1], T, T), ValueError, "must return the shapes of y0"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
