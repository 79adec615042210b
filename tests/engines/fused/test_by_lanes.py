"""Short rows are reduced several at a time, one for each lane of the result."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from tests.engines.fused.programs import assert_close, drawn
from tests.engines.fused.test_kernels import PROCESSORS, kernel_of, run

PROGRAMS = {
    "a product with a vector": lambda x, v: x @ v + 1,
    "of sums": lambda x, v: jnp.sum(x, 1) * 2,
    "the largest": lambda x, v: jnp.max(x, 1) + 1,
    "where it is": lambda x, v: jnp.argmax(x, 1) + 1,
    "whether any is": lambda x, v: jnp.any(x > 1, 1) * 3 + 1,
}

SHAPES = [(16, 17), (33, 60), (18, 47), (70, 64)]
"""Rows of whole vectors and of remainders, also of lengths that are no powers of two."""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_reduced_by_lanes(name, shape):
    x, v = drawn(shape), drawn(shape[1], seed=1)
    kernel, arrays = kernel_of(PROGRAMS[name], x, v)
    assert kernel.group.is_by_lanes
    (want,) = run(kernel, arrays, PROCESSORS["sse2"])
    np.testing.assert_array_equal(run(kernel, arrays, PROCESSORS["avx2"])[0], want)
    np.testing.assert_array_equal(run(kernel, arrays, None, 3)[0], want)
    assert_close(want, PROGRAMS[name](jnp.array(x), jnp.array(v)))


def test_rows_and_columns_are_one_kernel():
    x, v = drawn((50, 50)), drawn(50, seed=1)
    kernel, arrays = kernel_of(lambda x, v: x @ v - v @ x, x, v)
    assert kernel.group.is_by_lanes
    np.testing.assert_allclose(run(kernel, arrays)[0], x @ v - v @ x, rtol=0, atol=2e-5)


LONG_OR_DEAR = {
    "long rows": (lambda x: jnp.sum(x, 1) * 2, (40, 100)),
    "elements of many instructions": (lambda x: jnp.sum(jnp.exp(x), 1), (40, 60)),
    "few rows": (lambda x: jnp.sum(x, 1) * 2, (15, 60)),
}


@pytest.mark.parametrize("name", LONG_OR_DEAR)
def test_other_rows_are_reduced_one_by_one(name):
    fun, shape = LONG_OR_DEAR[name]
    assert not kernel_of(fun, drawn(shape))[0].group.is_by_lanes
