"""fwd_and_bwd: two functions, compiled once each."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.usefixtures("rules")
X = np.array([0.5, -1.0, 2.0], np.float32)
W = np.array([2.0, 3.0, 4.0], np.float32)


def product(x, w):
    return jnp.sin(x) * w["k"]


@pytest.mark.parametrize("jitted", [True, False])
@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (0, 1), [1, 0]])
def test_cotangents(argnums, jitted):
    fwd, bwd = ev.fwd_and_bwd(product, argnums, jitted=jitted)
    out, residuals = fwd(X, {"k": W})
    np.testing.assert_allclose(out, np.sin(X) * W, rtol=1e-6)
    want = ev.grad(lambda *args: product(*args).sum(), argnums)(X, {"k": W})
    found = bwd(residuals, np.ones_like(X))
    assert ev.tree.structure(found) == ev.tree.structure(want)
    for a, b in zip(ev.tree.leaves(found), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_aux():
    fwd, bwd = ev.fwd_and_bwd(lambda x: (x * x, {"x": x}), 0, has_aux=True)
    out, residuals, aux = fwd(X)
    np.testing.assert_allclose(out, X * X)
    np.testing.assert_allclose(aux["x"], X)
    np.testing.assert_allclose(bwd(residuals, X), 2 * X * X)


def test_each_pass_is_traced_once():
    fwd, bwd = ev.fwd_and_bwd(jnp.sin, 0)
    bwd(fwd(X)[1], W)
    with ev.no_retrace():
        for scale in (1.0, 2.0, 3.0):
            _, residuals = fwd(X * np.float32(scale))
            found = bwd(residuals, W)
            np.testing.assert_allclose(found, np.cos(X * np.float32(scale)) * W, rtol=1e-6)


def test_batches():
    fwd, bwd = ev.fwd_and_bwd(lambda x, w: jnp.sin(x) * w, 0)
    out, residuals = ev.vmap(fwd)(X, W)
    np.testing.assert_allclose(out, np.sin(X) * W, rtol=1e-6)
    np.testing.assert_allclose(ev.vmap(bwd)(residuals, W), np.cos(X) * W * W, rtol=1e-6)


def test_errors():
    fwd, bwd = ev.fwd_and_bwd(jnp.sin, 3)
    with pytest.raises(TypeError, match="fwd_and_bwd: argnums names argument 3, but the call has"):
        fwd(X)
    fwd, bwd = ev.fwd_and_bwd(jnp.sin, 0)
    with pytest.raises(ValueError, match="the cotangent must be of type"):
        bwd(fwd(X)[1], W[:2])
