"""Images in other sizes: against sums written out, and by what must hold for every method."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.image import ResizeMethod, resize, scale_and_translate
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
KERNELS = {
    "linear": lambda x: max(1 - x, 0),
    "cubic": lambda x: (
        (1.5 * x - 2.5) * x * x + 1 if x < 1 else ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0
    ),
    "lanczos3": lambda x: np.sinc(x) * np.sinc(x / 3) if x < 3 else 0,
    "lanczos5": lambda x: np.sinc(x) * np.sinc(x / 5) if x < 5 else 0,
}
METHODS = [m for m in ResizeMethod if m is not ResizeMethod.NEAREST]


def resampled(x, size, kernel, antialias):
    """Resize a vector by the definition."""
    ratio = len(x) / size
    width = max(ratio, 1) if antialias else 1
    result = []
    for k in range(size):
        place = (k + 0.5) * ratio - 0.5
        weights = np.array([kernel(abs(place - j) / width) for j in range(len(x))])
        result.append(weights @ x / weights.sum())
    return np.array(result)


@pytest.mark.parametrize("method", KERNELS)
@pytest.mark.parametrize("size", [3, 7, 12])
@pytest.mark.parametrize("antialias", [True, False])
def test_sums_of_kernels(method, size, antialias):
    x = RNG.standard_normal(7)
    want = resampled(x, size, KERNELS[method], antialias)
    with ev.enable_x64():
        found = resize(x, (size,), method, antialias)
    np.testing.assert_allclose(found, want if size != 7 else x, atol=1e-12)


@pytest.mark.parametrize("method", ResizeMethod)
@pytest.mark.parametrize("shape", [(2, 9), (5, 3), (1, 1)])
@pytest.mark.parametrize("antialias", [True, False])
def test_a_plain_image_stays_plain(method, shape, antialias):
    found = resize(jnp.full((4, 5), 3.0), shape, method, antialias)
    np.testing.assert_allclose(found, np.full(shape, 3.0), rtol=1e-5)


def test_areas_have_their_means():
    x = jnp.arange(6.0)
    np.testing.assert_allclose(resize(x, (3,), "area"), [0.5, 2.5, 4.5], rtol=1e-6)
    np.testing.assert_allclose(resize(x, (4,), "area"), [1 / 3, 5 / 3, 10 / 3, 14 / 3], rtol=1e-6)


def test_nearest_elements_keep_their_dtype():
    found = resize(jnp.arange(5), (3,), "nearest")
    assert (found.dtype, found.tolist()) == (np.int32, [0, 2, 4])


@pytest.mark.parametrize("method", METHODS)
def test_derivatives(method):
    x, s = RNG.standard_normal((4, 5)), np.array([1.3, 0.7])
    check_grads(lambda x: resize(x, (3, 7), method), [x], order=1)
    move = lambda x, s, t: scale_and_translate(x, (5, 4), (0, 1), s, t, method)  # noqa: E731
    check_grads(move, [x, s, np.array([0.37, -0.43])], order=1)


def test_resizing_under_jit_and_vmap():
    x = jnp.asarray(RNG.standard_normal((3, 4, 5)), "float32")
    found = ev.jit(ev.vmap(lambda x: resize(x, (8, 2), "cubic")))(x)
    np.testing.assert_allclose(found, resize(x, (3, 8, 2), "cubic"), atol=1e-5)


X = jnp.ones((2, 3))
ERRORS = [
    (lambda: resize(X, (2,), "linear"), ValueError, r"no way from shape \(2, 3\) to \(2,\)"),
    (lambda: resize(X, (2, -1), "linear"), ValueError, r"no way from shape"),
    (lambda: resize(X[:0], (2, 3), "linear"), ValueError, "has no elements"),
    (lambda: resize(X, (2, 2), "sinc"), ValueError, "there is no method 'sinc'"),
    (lambda: resize(X, (2, 2), 3), TypeError, "must be a ResizeMethod or its name, got 3"),
    (
        lambda: scale_and_translate(X, (2, 4), (1,), jnp.ones(2), jnp.ones(1), "linear"),
        ValueError,
        "1 axes need as many scales and translations",
    ),
    (
        lambda: scale_and_translate(X, (4, 4), (1,), jnp.ones(1), jnp.ones(1), "linear"),
        ValueError,
        "changes axes",
    ),
    (
        lambda: scale_and_translate(X, (2, 4), (1,), jnp.ones(1), jnp.ones(1), "nearest"),
        ValueError,
        "there is no method NEAREST",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
