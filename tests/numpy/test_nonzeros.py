"""Where arrays are not zero, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement

EXPRESSIONS = [
    "np.nonzero(i)",
    "np.nonzero(b)",
    "np.flatnonzero(b)",
    "np.argwhere(b)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


def test_size_under_tracing():
    x = jnp.asarray([[1, 0], [0, 3]])
    with pytest.raises(ev.errors.ConcretizationTypeError, match="size="):
        ev.jit(jnp.nonzero)(x)
    rows, columns = ev.jit(lambda x: jnp.nonzero(x, size=3, fill_value=(7, 8)))(x)
    np.testing.assert_array_equal(rows, [0, 1, 7])
    np.testing.assert_array_equal(columns, [0, 1, 8])
    assert jnp.nonzero(x, size=1)[0].tolist() == [0]


def test_sizes_of_nothing():
    assert [p.tolist() for p in jnp.nonzero(jnp.zeros((0, 2)), size=2)] == [[0, 0], [0, 0]]
    assert jnp.flatnonzero(jnp.ones(3), size=0).shape == (0,)
    with pytest.raises(ev.errors.ShapeError, match="rank 0"):
        jnp.nonzero(jnp.ones(()))
