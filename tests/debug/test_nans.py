"""debug_nans and debug_infs: the operation, its line, and the pass of differentiation."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

X = np.float32([1, 0, 4])


def as_it_is(fun):
    """Leave a function uncompiled."""
    return fun


both = pytest.mark.parametrize("run", [as_it_is, ev.jit], ids=["eager", "jit"])


def log_of_negative(x):
    y = jnp.log(-x)  # the culprit
    return jnp.sum(2 * y)


def root(x):
    y = jnp.sqrt(x)  # the culprit
    return jnp.sum(0 * y)


def root_in_jit(x):
    return ev.jit(root)(x)


def logs(x):
    def body(carry, x):
        carry = jnp.log(carry) * x  # the culprit
        return carry, carry

    return lax.scan(body, 2.0, x)


def logs_while(x):
    return lax.while_loop(
        lambda s: s[0] < 9,
        lambda s: (s[0] + 1, jnp.log(s[1])),  # the culprit
        (0, x[0]),
    )


def branches(x):
    return lax.cond(
        x[0] > 0,
        lambda: jnp.log(-x),  # the culprit
        lambda: x,
    )


FORWARD = "log: invalid value (nan) encountered in the forward pass"
BACKWARD = "mul: invalid value (nan) encountered in the backward pass, in the derivative of sqrt"

CASES = {
    "forward": (log_of_negative, X, FORWARD),
    "value and grad": (ev.value_and_grad(log_of_negative), X, FORWARD),
    "backward": (ev.grad(root), X, BACKWARD),
    "backward through jit": (ev.grad(root_in_jit), X, BACKWARD),
    "backward under vmap": (ev.vmap(ev.grad(root)), X.reshape(3, 1), BACKWARD),
    "backward, checkpointed": (ev.grad(ev.checkpoint(root)), X, BACKWARD),
    "scan": (logs, np.ones(10, np.float32), FORWARD),
    "scan, compiled for its length": (logs, np.ones(5000, np.float32), FORWARD),
    "while_loop": (logs_while, X, FORWARD),
    "cond": (branches, X, FORWARD),
}


@both
@pytest.mark.parametrize("name", CASES)
@pytest.mark.quotes_lines
def test_error_names_operation_pass_and_line(run, name):
    fun, x, text = CASES[name]
    with ev.debug_nans(), pytest.raises(FloatingPointError) as raised:
        run(fun)(x)
    message = str(raised.value)
    assert message.startswith(text)
    assert "  # the culprit" in message.splitlines()[1]
    assert message.endswith(" debug-nans`")


@both
def test_how_many_elements(run):
    with ev.debug_nans(), pytest.raises(FloatingPointError, match=r": 2 of 3 elements of the res"):
        run(jnp.log)(-X)


@both
def test_infinities(run):
    with ev.debug_infs(), pytest.raises(FloatingPointError, match=r"log: invalid value \(inf\)"):
        run(jnp.log)(X)
    with ev.debug_infs():
        assert np.isnan(run(lambda x: jnp.log(-x))(1.0))


@both
def test_good_values_pass(run):
    with ev.debug_nans(), ev.debug_infs():
        np.testing.assert_allclose(run(ev.grad(root))(X + 1), 0)
        run(lambda: jnp.arange(3))()
        run(lambda x: jnp.isnan(x))(np.float32(np.nan))
    assert np.isnan(run(jnp.log)(-1.0))


def test_half_precision_and_complex():
    with ev.debug_nans():
        for dtype in ("bfloat16", "float16", "complex64"):
            with pytest.raises(FloatingPointError, match="div: invalid value"):
                jnp.zeros(2, dtype) / jnp.zeros(2, dtype)


def test_arguments_are_not_donated():
    x = jnp.ones(3)
    with ev.debug_nans():
        ev.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert not x.is_deleted()


def test_state_is_not_changed_by_a_call_that_raises():
    class Model:
        w = 1.0

    model = Model()

    @ev.jit
    def step(x):
        model.w = jnp.log(-x)

    with ev.debug_nans(), pytest.raises(FloatingPointError):
        step(jnp.ones(()))
    assert model.w == 1.0


@pytest.mark.quotes_lines
def test_errors_of_derived_equations_name_the_forward_line():
    @ev.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (lax.add(ct, jnp.ones(7)),))

    def loss(x):
        y = f(x)  # differentiated here
        return jnp.sum(y)

    with pytest.raises(TypeError, match=r"shapes \(3,\) and \(7,\)") as raised:
        ev.jit(ev.grad(loss))(jnp.ones(3))
    assert "  # differentiated here" in str(raised.value)
