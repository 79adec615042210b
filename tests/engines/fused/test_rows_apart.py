"""Numbers of rows come from a kernel of their own where vectors of them are cheaper."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.engines.fused import groups
from tests.engines.fused.programs import assert_close, drawn

ROWS, COLUMNS = 20_000, 50


def dear_rows(z, x):
    """Computes for each row what takes longer than all its elements."""
    weights = jnp.exp(-jnp.log1p(jnp.exp(z))) / (1 + z * z)
    return jnp.tanh(x * weights[:, None])


def dear_columns(z, x):
    return x.T * (jnp.exp(-jnp.log1p(jnp.exp(z))) / (1 + z * z))


def cheap_rows(z, x):
    return jnp.exp(x) * (z + 1)[:, None]


def rows_of_reductions(z, x):
    return x / jnp.exp(jnp.log1p(jnp.sum(x * x, 1)))[:, None]


def kernels_of(fun, *args):
    jaxpr = ev.make_jaxpr(fun)(*args).jaxpr
    parts = groups.divided(jaxpr, groups.of_several(2)).parts
    return [x for x in parts if type(x) is groups.Fused]


@pytest.mark.parametrize(
    ("fun", "count"), [(dear_rows, 2), (dear_columns, 1), (cheap_rows, 1), (rows_of_reductions, 1)]
)
def test_kernels_that_there_are(fun, count):
    z, x = drawn(ROWS), drawn((ROWS, COLUMNS))
    parts = kernels_of(fun, z, x)
    assert len(parts) == count
    if count == 2:
        assert [p.outvars[0].aval.shape for p in parts] == [(ROWS,), (ROWS, COLUMNS)]


def test_few_rows_are_not_worth_it():
    assert len(kernels_of(dear_rows, drawn(64), drawn((64, 8)))) == 1


@pytest.mark.parametrize("fun", [dear_rows, dear_columns, cheap_rows, rows_of_reductions])
def test_the_result_is_the_eager_one(fun):
    z, x = jnp.asarray(drawn(ROWS)), jnp.asarray(drawn((ROWS, COLUMNS)))
    assert_close(ev.jit(fun, engine="fused")(z, x), fun(z, x))


def test_whole_program_of_rows_that_others_need():
    """The second derivative of a logistic loss: six numbers of each row, for all its columns."""

    def loss(w, x, y):
        z = x @ w
        return jnp.mean(ev.nn.softplus(z) - y * z)

    x = jnp.asarray(drawn((4_000, 30)))
    y, w = jnp.asarray((drawn(4_000) > 0).astype(np.float32)), jnp.asarray(drawn(30)) * 0.1
    p = 1 / (1 + np.exp(-np.asarray(x, np.float64) @ np.asarray(w, np.float64)))
    want = (np.asarray(x).T * (p * (1 - p))) @ np.asarray(x) / len(p)
    got = ev.jit(ev.hessian(loss), engine="fused")(w, x, y)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
