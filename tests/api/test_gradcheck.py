"""test_util: right derivatives pass, wrong ones are found, in both modes and at any order."""

import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import test_util as checks

X = np.float32([0.5, 1.5])

RIGHT = {
    "scalar": (jnp.sin, (1.0,)),
    "two arguments": (lambda x, y: jnp.sin(x) * y**2, (X, 3.0)),
    "trees": (lambda p: {"out": p["w"] * p["b"] + 1}, ({"w": X, "b": 2.0},)),
    "integers beside": (lambda x, i: x[i] * 2, (X, 1)),
    "complex": (jnp.exp, (np.complex64([1 + 2j]),)),
    "bfloat16": (lambda x: x * x, (jnp.ones(2, "bfloat16"),)),
    "jitted": (ev.jit(jnp.tanh), (X,)),
    "bent within the first step": (lambda x: jnp.sin(100 * x) / 100, (X,)),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")])
def test_right_derivatives(name, modes):
    f, args = RIGHT[name]
    checks.check_grads(f, args, order=2, modes=modes)


def test_double_precision_is_exact():
    with ev.enable_x64():
        checks.check_grads(jnp.sin, (np.float64(1),), 3, atol=1e-7, rtol=1e-7, eps=1e-4)


def wrong_at(order):
    """Return x**3 whose derivative of that order is wrong."""

    def power(exponent, left):
        @ev.custom_jvp
        def f(x):
            return x**exponent

        @f.defjvp
        def jvp(primals, tangents):
            factor = exponent * (1 if left else 2)
            inner = power(exponent - 1, left - 1) if left else lambda x: x ** (exponent - 1)
            return f(*primals), factor * inner(primals[0]) * tangents[0]

        return f

    return power(3, order - 1)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("order", [1, 2])
def test_wrong_derivatives(mode, order):
    f = wrong_at(order)
    if order > 1:
        checks.check_grads(f, (2.0,), order - 1, modes=mode)
    text = f"derivative and differences are .* apart at result.*: .*In {mode}"
    with pytest.raises(AssertionError, match=text):
        checks.check_grads(f, (2.0,), order, modes=mode)


def test_one_direction_alone():
    checks.check_jvp(jnp.sin, functools.partial(ev.jvp, jnp.sin), (X,))
    checks.check_vjp(jnp.sin, functools.partial(ev.vjp, jnp.sin), (X,))
    with pytest.raises(AssertionError, match=r"check_vjp: .* Of mine\."):
        checks.check_vjp(
            jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * 0 + 9,)), (X,), err_msg="Of mine."
        )


def test_unknown_mode():
    with pytest.raises(ValueError, match=r"check_grads: there are no modes \['sideways'\]"):
        checks.check_grads(jnp.sin, (1.0,), 1, modes="sideways")


def test_the_step_is_made_to_each_side():
    asked = []
    checks.check_vjp(
        lambda x: asked.append(float(x)) or 2 * x,
        lambda x: (2 * x, lambda ct: (2 * ct,)),
        (1.0,),
        eps=0.5,
    )
    value, above, below = asked
    assert above - value == pytest.approx(value - below)
    assert above - value == pytest.approx(0.5 * np.random.RandomState(0).standard_normal())


@pytest.mark.parametrize("check", ["check_jvp", "check_vjp", "check_grads"])
def test_an_array_is_no_tuple_of_arguments(check):
    rows = np.ones((2**20, 3))
    args = (rows, 1) if check == "check_grads" else (ev.jvp, rows)
    with pytest.raises(TypeError, match=r"the arguments come in a tuple[\s\S]*write `\(x,\)`"):
        getattr(checks, check)(jnp.sin, *args)
