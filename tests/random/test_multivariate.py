"""Correlated normal vectors and orthogonal matrices: JAX's numbers, and what they must satisfy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import nn, random

COV = np.array([[2.0, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 3]], np.float32)
MEAN = np.array([1.0, 2, 3], np.float32)
KEY = random.key(3)

# random.multivariate_normal(random.key(3), MEAN, COV, method=...) of jax 0.10.2, new stream
DRAWN = {
    "cholesky": [-1.045316, 2.92863, 4.066002],
    "eigh": [2.679735, 4.088622, 3.26998],
    "svd": [-1.152211, 0.5156736, 0.8023779],
}
# random.orthogonal(random.key(3), 2, m=3) of the same
ROTATION = [[-0.8998209, 0.2379848, -0.3656303], [0.2803364, 0.9575866, -0.06662874]]


@pytest.mark.parametrize("method", DRAWN)
def test_normal_vectors_are_those_of_jax(method):
    found = random.multivariate_normal(KEY, MEAN, COV, method=method)
    np.testing.assert_allclose(found, DRAWN[method], rtol=1e-5)


@pytest.mark.parametrize("method", DRAWN)
def test_normal_vectors_have_their_mean_and_covariance(method):
    found = np.asarray(random.multivariate_normal(KEY, MEAN, COV, (20_000,), method=method))
    np.testing.assert_allclose(found.mean(0), MEAN, atol=0.05)
    np.testing.assert_allclose(np.cov(found.T), COV, atol=0.1)


def test_shapes_of_normal_vectors():
    assert random.multivariate_normal(KEY, jnp.zeros((4, 3)), COV).shape == (4, 3)
    assert random.multivariate_normal(KEY, MEAN, jnp.stack([COV] * 2)).shape == (2, 3)
    assert random.multivariate_normal(KEY, MEAN, COV, (5, 1), "float16").dtype == jnp.float16
    with pytest.raises(ev.errors.ShapeError, match="cov"):
        random.multivariate_normal(KEY, MEAN, COV[:2, :2])
    with pytest.raises(ValueError, match="method"):
        random.multivariate_normal(KEY, MEAN, COV, method="lu")


def test_rotations_are_those_of_jax():
    np.testing.assert_allclose(random.orthogonal(KEY, 2, m=3), ROTATION, rtol=1e-5)


@pytest.mark.parametrize(
    ("n", "m", "dtype"), [(4, 4, "float32"), (2, 5, "float32"), (5, 2, "complex64")]
)
def test_rotations_are_orthonormal(n, m, dtype):
    q = np.asarray(random.orthogonal(KEY, n, (3,), dtype, m))
    q = q if n >= m else q.swapaxes(1, 2)
    product = q.conj().swapaxes(1, 2) @ q
    np.testing.assert_allclose(product, np.stack([np.eye(min(n, m))] * 3), atol=1e-6)


@pytest.mark.parametrize(("shape", "axis"), [((3, 4), -1), ((2, 3, 4), 1), ((4, 2, 3), 0)])
def test_orthogonal_initializer(shape, axis):
    made = np.asarray(nn.initializers.orthogonal(2.0, axis)(KEY, shape))
    matrix = np.moveaxis(made, axis, -1).reshape(-1, shape[axis])
    matrix = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(matrix.shape[1]), atol=1e-5)


def test_delta_orthogonal_initializer():
    made = np.asarray(nn.initializers.delta_orthogonal()(KEY, (3, 4, 2, 3)))
    middle = made[1, 1].copy()
    np.testing.assert_allclose(middle @ middle.T, np.eye(2), atol=1e-6)
    assert np.count_nonzero(made) == np.count_nonzero(middle)
    with pytest.raises(ev.errors.ShapeError, match="outputs"):
        nn.initializers.delta_orthogonal()(KEY, (3, 3, 2))


def test_orthogonal_matrices_have_a_dtype_that_can_be_factored():
    # Found by hostile calls: four thousand million numbers were drawn before QR refused them.
    with pytest.raises(ev.errors.DTypeError, match="orthogonal: does not accept dtype f8_e4m3fn"):
        random.orthogonal(KEY, 2, dtype="float8_e4m3fn", m=2**31)
