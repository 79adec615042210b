"""Binary search and selection, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.searchsorted(np.sort(v), x)",
    'np.searchsorted(np.array([1, 2, 2, 3]), np.array([0, 2, 3, 4]), side="right")',
    "np.extract(b, x)",
    "np.digitize(x, np.array([-1, 0, 1.]))",
    "np.digitize(x, np.array([1., 0, -1]), right=True)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


# Sizes of these results, or checks on them, need values.
EAGER = ("np.compress", "np.extract")


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled([e for e in EXPRESSIONS if not e.startswith(EAGER)])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("method", ["scan", "compare_all", "sort"])
def test_places_of_special_values(side, method):
    a = np.array([-np.inf, -1, 0, 0, 3, np.inf, np.nan], np.float32)
    v = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1, 3], np.float32)
    found = jnp.searchsorted(a, v, side=side, method=method)
    np.testing.assert_array_equal(found, np.searchsorted(a, v, side=side))
    assert found.dtype == jnp.int32


def test_search_in_nothing():
    assert jnp.searchsorted(jnp.ones(0), jnp.ones(2)).tolist() == [0, 0]


def test_compress_with_a_size():
    x, mask = jnp.arange(4.0), jnp.asarray([False, True, False, True])
    compress = ev.jit(jnp.compress, static_argnames=("size", "fill_value"))
    assert compress(mask, x, size=3, fill_value=9).tolist() == [1, 3, 9]
    with pytest.raises(ev.errors.ConcretizationTypeError, match="size="):
        compress(mask, x)
