"""Threads share the reduction of a large array to one number, in rows that the shape says."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.fused import flat, groups
from tests.engines.fused.programs import assert_close, drawn
from tests.engines.fused.test_kernels import run

LARGE = flat.SHARED_FROM
SHAPES = [(LARGE,), (99_990,), (131_101,), (300, 400), (9, 20_000), (3, 50_000), (40, 50, 60)]
SHARED = [shape for shape in SHAPES if shape not in ((131_101,), (3, 50_000))]
REDUCTIONS = {
    "sum": lambda x: jnp.exp(x).sum(),
    "max": lambda x: (x * x).max(),
    "min": lambda x: jnp.tanh(x).min(),
    "prod": lambda x: jnp.where(x > 3, 2.0, 1.0).prod(),
    "all": lambda x: (x * 2 < 9).all(),
    "any": lambda x: (x + 1 > 9).any(),
    "integers": lambda x: (x * 100).astype(int).sum(),
    "xor": lambda x: lax.reduce_xor((x * 100).astype(int), (*range(x.ndim),)),
    "halves": lambda x: (x * 2).astype(np.float16).max(),
    "logsumexp": lambda x: ev.nn.logsumexp(x),
    "var": lambda x: x.var(),
}


def first_kernel(x):
    jaxpr = ev.make_jaxpr(lambda x: jnp.exp(x).sum())(x).jaxpr
    return groups.divided(jaxpr, groups.of_several(2)).parts[0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_result_is_the_eager_one(name, shape):
    x, fun = jnp.asarray(drawn(shape)), REDUCTIONS[name]
    assert_close(ev.jit(fun, engine="fused")(x), fun(x))


@pytest.mark.parametrize("shape", SHARED, ids=str)
def test_there_are_rows_for_threads(shape):
    x = drawn(shape)
    kernel = first_kernel(x)
    arrays = [(kernel.inputs[0], x)]
    assert flat.FEWEST_ROWS <= kernel.units <= flat.MOST_ROWS or kernel.units == shape[0]
    (want,) = run(kernel, arrays)
    for pieces in (2, 3, 8):
        np.testing.assert_array_equal(run(kernel, arrays, None, pieces)[0], want)


def test_what_is_small_has_one_loop():
    kernel = first_kernel(drawn(LARGE - 1))
    assert kernel.outvars[0].aval.shape == ()


@pytest.mark.parametrize("size", [LARGE, 10**6, 10**7, 99_990, 2**20, 123_456])
def test_rows_are_whole_vectors_where_they_can_be(size):
    rows = flat._rows_of(size)
    assert size % rows == 0
    assert rows <= flat.MOST_ROWS
    better = [n for n in range(rows + 1, flat.MOST_ROWS + 1) if size % (n * flat.LANES) == 0]
    assert not better
