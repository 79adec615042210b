"""Reductions that leave NaNs out, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.nansum(n, 1)",
    "np.nanprod(n)",
    "np.nanmax(n, 1)",
    "np.nanmin(n, 0)",
    "np.nanmean(n, 1)",
    "np.nanvar(n, 0)",
    "np.nanstd(n)",
    "np.nanargmax(n, 1)",
    "np.nanargmin(n)",
    "np.nancumsum(n, 1)",
    "np.nancumprod(n)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_lines_of_nans():
    x = jnp.full((2, 3), np.nan)
    assert np.isnan(jnp.nanmax(x, axis=1)).all()
    assert np.isnan(jnp.nanmean(x, axis=1)).all()
    np.testing.assert_array_equal(jnp.nanargmax(x, axis=1), [-1, -1])
    np.testing.assert_array_equal(jnp.nansum(x, axis=1), [0, 0])


@pytest.mark.parametrize("deviation", [jnp.nanstd, lambda x: jnp.std(x, where=~jnp.isnan(x))])
def test_what_is_left_out_leaves_the_derivatives_of_deviations_finite(deviation):
    found = ev.grad(deviation)(jnp.array([1.0, jnp.nan, 5.0]))
    np.testing.assert_allclose(found, [-0.5, 0.0, 0.5])
