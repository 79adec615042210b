"""checkpoint: what is kept, what is computed again, static arguments, names, barriers."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.control import policies as module
from evertrace._src.control.checkpoint import checkpoint, checkpoint_name, optimization_barrier
from tests.support.runtime import to_numpy

pytestmark = pytest.mark.usefixtures("rules")


def sin_of_sin(x):
    return lax.sin(lax.sin(x))


def primitives(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


def test_only_inputs_are_kept():
    jaxpr = ev.make_jaxpr(ev.grad(checkpoint(sin_of_sin)))(1.0).jaxpr
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == "remat2"]
    assert eqn.params["differentiated"]
    assert eqn.invars[0] is jaxpr.invars[0]
    assert "sin" in primitives(eqn.params["jaxpr"])


def test_everything_saveable_computes_nothing_again():
    f = checkpoint(sin_of_sin, policy=module.everything_saveable)
    assert "remat2" not in str(ev.make_jaxpr(ev.grad(f))(1.0))


def test_printed_form():
    assert str(ev.make_jaxpr(checkpoint(sin_of_sin))(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = remat2[\n"
        "      differentiated=False\n"
        "      jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c; e:f32[] = sin d in (e,) }\n"
        "      policy=None\n"
        "      prevent_cse=True\n"
        "    ] a\n"
        "  in (b,) }"
    )


@pytest.mark.parametrize("prevent_cse", [True, False])
def test_barrier_in_the_compiled_program(prevent_cse):
    f = ev.jit(ev.grad(checkpoint(sin_of_sin, prevent_cse=prevent_cse)))
    text = f.lower(np.float32(1)).as_text()
    assert ("optimization_barrier" in text) == prevent_cse
    np.testing.assert_allclose(to_numpy(f(1.0)), np.cos(np.sin(1)) * np.cos(1), rtol=1e-6)


def test_static_arguments():
    @ev_partial(checkpoint, static_argnums=(1,), static_argnames="flip")
    def f(x, n, flip=False, *, scale):
        return lax.mul(lax.neg(x) if flip else x, lax.mul(scale, float(n)))

    assert to_numpy(f(2.0, 3, scale=5.0)) == 30
    assert to_numpy(ev.grad(lambda x: f(x, 3, flip=True, scale=5.0))(2.0)) == -15


def test_defaults_stay_with_the_function():
    f = checkpoint(lambda x, kind="sin": getattr(lax, kind)(x))
    np.testing.assert_allclose(to_numpy(ev.grad(f)(1.0)), np.cos(1), rtol=1e-6)


def ev_partial(decorator, **options):
    return lambda fun: decorator(fun, **options)


def test_captured_values_are_differentiated():
    def f(x):
        return checkpoint(lambda a: lax.mul(a, lax.sin(x)))(2.0)

    np.testing.assert_allclose(to_numpy(ev.grad(f)(1.0)), 2 * np.cos(1), rtol=1e-6)


def test_names_are_the_identity():
    def f(x):
        return checkpoint_name({"y": lax.sin(x)}, "hidden")["y"]

    assert "name[name=hidden]" in str(ev.make_jaxpr(f)(1.0))
    np.testing.assert_allclose(to_numpy(ev.jit(ev.grad(f))(1.0)), np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(to_numpy(ev.vmap(f)(np.ones(2, "f4"))), np.sin([1, 1]), rtol=1e-6)


def test_barriers_pass_values_and_derivatives():
    def f(x):
        a, b = optimization_barrier((lax.sin(x), 2.0))
        return lax.mul(a, b)

    for transform in (ev.grad, lambda f: ev.jit(ev.grad(f)), lambda f: ev.grad(ev.jit(f))):
        np.testing.assert_allclose(to_numpy(transform(f)(1.0)), 2 * np.cos(1), rtol=1e-6)
    _, tangent = ev.jvp(f, (1.0,), (1.0,))
    np.testing.assert_allclose(to_numpy(tangent), 2 * np.cos(1), rtol=1e-6)
    assert ev.vmap(f)(np.ones(3, "f4")).shape == (3,)


def test_errors():
    with pytest.raises(NotImplementedError, match="checkpoint: `concrete=True`"):
        checkpoint(lax.sin, concrete=True)
