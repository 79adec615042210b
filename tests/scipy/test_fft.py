"""Cosine transforms, compared with SciPy; their derivatives, with differences."""

import itertools

import numpy as np
import pytest
import scipy.fft

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy import fft
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 5, 6))

TYPES = (1, 2, 3, 4)
NORMS = (None, "backward", "ortho", "forward")
SINGLE = ("dct", "idct")
SEVERAL = ("dctn", "idctn")

CALLS = [
    *((f, {"type": t, "norm": n}) for f, t, n in itertools.product(SINGLE, TYPES, NORMS)),
    *((f, {"type": t, "n": n, "axis": 1}) for f, t, n in itertools.product(SINGLE, TYPES, (3, 8))),
    *((f, {"type": t, "norm": "ortho"}) for f, t in itertools.product(SEVERAL, TYPES)),
    *((f, {"type": t, "s": (4, 7), "axes": (2, 0)}) for f, t in itertools.product(SEVERAL, TYPES)),
    *((f, {"s": (3, 4), "norm": "forward"}) for f in SEVERAL),
    *((f, {"axes": 1}) for f in SEVERAL),
    *((f, {"axes": ()}) for f in SEVERAL),
]


def agrees(found, want, dtype):
    """Compare relative to the largest element."""
    assert found.dtype == dtype
    tolerance = 30 * np.finfo(dtype).eps * max(np.abs(want).max(), 1)
    np.testing.assert_allclose(found, want, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("name", "kwargs"), CALLS)
def test_agrees_with_scipy(name, kwargs):
    want = getattr(scipy.fft, name)(X, **kwargs)
    agrees(getattr(fft, name)(jnp.asarray(X), **kwargs), want, "float32")
    with ev.enable_x64(True):
        agrees(getattr(fft, name)(X, **kwargs), want, "float64")


@pytest.mark.engine
@pytest.mark.parametrize("kind", TYPES)
def test_compiled_and_mapped_agree_with_scipy(kind, rules):
    compiled = ev.jit(ev.vmap(lambda x: (fft.dct(x, kind), fft.idctn(x, kind, norm="ortho"))))
    found = compiled(jnp.asarray(X))
    agrees(found[0], scipy.fft.dct(X, kind), "float32")
    agrees(found[1], scipy.fft.idctn(X, kind, axes=(1, 2), norm="ortho"), "float32")


@pytest.mark.parametrize(("name", "kind"), list(itertools.product(SINGLE, TYPES)))
def test_derivatives_are_numerical_ones(name, kind):
    check_grads(lambda x: getattr(fft, name)(x, kind, 4, norm="ortho"), [X[0]], order=2)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("norm", NORMS)
def test_inverses_undo(kind, norm):
    x = jnp.asarray(X)
    agrees(fft.idct(fft.dct(x, kind, norm=norm), kind, norm=norm), x, "float32")
    agrees(fft.dctn(fft.idctn(x, kind, norm=norm), kind, norm=norm), x, "float32")


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "bfloat16"])
def test_other_numbers_are_computed_in_float32(dtype):
    x = jnp.asarray([3.0, 1.0, 0.0, 2.0]).astype(dtype)
    agrees(fft.dct(x), scipy.fft.dct(np.asarray(x).astype("float64")), "float32")


def test_complex_numbers_are_transformed_by_parts():
    z = (X + 1j * X[::-1]).astype("complex64")
    np.testing.assert_allclose(fft.dct(z), scipy.fft.dct(z), rtol=1e-4, atol=1e-4)


MISTAKES = [
    (lambda: fft.dct(jnp.ones(4), 5), "dct: there is no type 5"),
    (lambda: fft.idct(jnp.ones(4), norm="unit"), "idct: there is no norm 'unit'"),
    (lambda: fft.dct(jnp.ones(1), 1), "dct: type 1 takes 2 elements or more, got 1"),
    (lambda: fft.dct(jnp.ones(4), n=0), "dct: type 2 takes 1 elements or more, got 0"),
    (lambda: fft.dct(jnp.ones(4), axis=1), "dct: axis 1 is out of bounds"),
    (lambda: fft.dctn(jnp.ones((4, 4)), s=(2, 2), axes=(0,)), "dctn: 2 sizes .* for 1 axes"),
    (lambda: fft.idctn(jnp.ones((4, 4)), axes=(0, 0)), "idctn: duplicate value in axes"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_explained(number):
    call, message = MISTAKES[number]
    with pytest.raises((NotImplementedError, ValueError), match=message):
        call()
