"""Quantiles, covariances and histograms, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import ARRAYS, check_agreement, check_compiled, evaluate
from tests.support.runtime import ENGINES

EXPRESSIONS = [
    "np.median(x)",
    "np.median(x, 1, keepdims=True)",
    "np.median(c, (0, 2))",
    "np.quantile(x, 0.3, axis=1)",
    "np.quantile(x, np.array([0.1, 0.5]), axis=0, keepdims=True)",
    "np.percentile(x, 30)",
    'np.quantile(x, 0.4, method="lower")',
    'np.quantile(x, 0.4, method="higher")',
    'np.quantile(x, 0.4, method="midpoint")',
    "np.nanmedian(n, 0)",
    "np.nanquantile(n, np.array([0.2, .7]), axis=0)",
    "np.nanpercentile(n, 20)",
    "np.median(n, 1)",
    "np.cov(x)",
    "np.cov(x, y, rowvar=False)",
    "np.cov(x, bias=True)",
    "np.cov(x, fweights=np.array([1, 2, 1, 3]))",
    "np.cov(x, aweights=np.abs(v))",
    "np.corrcoef(x)",
    "np.bincount(u)",
    "np.bincount(u, np.arange(5.)*.5, 7)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


# Sizes of these results, or checks on them, need values.
EAGER = ("np.bincount",)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled([e for e in EXPRESSIONS if not e.startswith(EAGER)])


@pytest.mark.parametrize(
    "arguments", ["x", "x, 5, (-1, 1), weights=y", "x, e, density=True", "i, np.array([-2, 0, 3])"]
)
def test_histogram_counts_in_floats(arguments):
    arrays = {name: jnp.asarray(x) for name, x in ARRAYS.items()}
    found = evaluate(f"np.histogram({arguments})", jnp, arrays)
    wanted = evaluate(f"np.histogram({arguments})", np, ARRAYS)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.engine
@pytest.mark.parametrize("bins", [4, 7, 10, 11])
def test_what_lies_on_an_edge_counts_the_same_on_all_engines(bins):
    for x in (jnp.zeros(1), jnp.arange(-3.0, 8), jnp.linspace(-0.7, 0.9, 9)):
        expected = jnp.histogram(x, bins)[0]
        for engine in ENGINES:
            counted = ev.jit(lambda x: jnp.histogram(x, bins)[0], engine=engine)(x)
            np.testing.assert_array_equal(counted, expected)


@pytest.mark.parametrize(
    "expression",
    ["np.histogram2d(v, v, 3)", "np.histogramdd(x, 3)", "np.histogramdd(x, 2, density=True)"],
)
def test_histograms_of_more_dimensions(expression):
    arrays = {name: jnp.asarray(x) for name, x in ARRAYS.items()}
    found, wanted = evaluate(expression, jnp, arrays), evaluate(expression, np, ARRAYS)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_bincount_of_traced_values_needs_a_length():
    u = ARRAYS["u"]
    with pytest.raises(ev.errors.ConcretizationTypeError, match="length"):
        ev.jit(jnp.bincount)(u)
    np.testing.assert_array_equal(ev.jit(lambda u: jnp.bincount(u, length=3))(u), [0, 2, 1])


@pytest.mark.parametrize("quantile", [jnp.quantile, jnp.nanquantile])
def test_quantiles_that_are_elements_are_these(quantile):
    # Each is an element by itself: nothing of its neighbour is added, which may be infinite.
    x = jnp.array([jnp.inf, 1.0, -jnp.inf])
    np.testing.assert_array_equal(quantile(x, jnp.array([0.0, 0.5, 1.0])), [-np.inf, 1, np.inf])
    assert quantile(jnp.array([jnp.inf]), 0.3) == np.inf


def test_quantiles_of_nans_and_infinities():
    assert np.isnan(jnp.median(jnp.asarray([1.0, np.nan, 2.0])))
    assert jnp.quantile(jnp.asarray([-np.inf, 0.0, np.inf]), 0.5) == 0
    assert np.isnan(jnp.nanmedian(jnp.full(3, np.nan)))
