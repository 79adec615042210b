"""associative_scan against NumPy's accumulations."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.lax.associative import associative_scan
from tests.support.runtime import to_numpy


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(n, reverse):
    x = np.arange(2 * n, dtype=np.int32).reshape(2, n) - 3
    want = np.cumsum(x[:, ::-1], 1)[:, ::-1] if reverse else np.cumsum(x, 1)
    np.testing.assert_array_equal(
        to_numpy(associative_scan(lax.add, x, reverse=reverse, axis=-1)), want
    )


def test_order_of_a_product_that_does_not_commute():
    def compose(f, g):
        """Composition of affine maps x -> a x + b, `f` first."""
        return lax.mul(f[0], g[0]), lax.add(lax.mul(f[1], g[0]), g[1])

    a, b = np.float32([2, 3, 5, 7, 11]), np.float32([1, 2, 3, 4, 5])
    got = associative_scan(compose, (a, b))
    x, want = np.float32(0), []
    for i in range(5):
        x = a[i] * x + b[i]
        want.append(x)
    np.testing.assert_allclose(to_numpy(got[1]), want)
    np.testing.assert_allclose(to_numpy(got[0]), np.cumprod(a))


def test_compiled_gradient():
    def f(x):
        return lax.reduce_sum(associative_scan(lax.mul, x), (0,))

    x = np.float32([0.5, 2, 3])
    # x0 + x0 x1 + x0 x1 x2
    want = [1 + 2 + 6, 0.5 + 1.5, 1]
    np.testing.assert_allclose(to_numpy(ev.jit(ev.grad(f))(x)), want, rtol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="sizes along axis 0 differ"):
        associative_scan(lax.add, (np.ones(2), np.ones(3)))
    with pytest.raises(ev.errors.AxisError, match="associative_scan: axis 1"):
        associative_scan(lax.add, np.ones(2), axis=1)
    with pytest.raises(TypeError, match="fn must be a function"):
        associative_scan(np.ones(2), lax.add)
