"""Cumulative operations within kernels: elements are joined in their order, as on the host."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import array, jaxpr_of, to_numpy

OPERATIONS = (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
SHAPES = {"vector": ((300,), 0), "rows": ((9, 40), 1), "columns": ((40, 9), 0)}
SHAPES.update({"many columns": ((5, 70), 0), "between": ((3, 33, 20), 1), "short": ((70, 3), 1)})


def run(fun, *args):
    """Return what kernels compute, and how many they are."""
    jaxpr, captured = jaxpr_of(fun, *args)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    return [to_numpy(x) for x in tape.run([*captured, *args])], tape.counts()["functions"]


def host(fun, *args):
    """Return what NumPy computes."""
    with config.override(native_kernels=False):
        return [to_numpy(x) for x in fun(*args)]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.__name__)
def test_what_comes_before_and_after_is_in_one_kernel(op, name):
    shape, axis = SHAPES[name]
    x = array(np.random.default_rng(0).normal(size=shape).astype(np.float32))

    def fun(x):
        return op(x * 0.5, axis), op(1 - x, axis, reverse=True)

    got, kernels = run(fun, x)
    for a, b in zip(got, host(fun, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    assert kernels == 2


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_integers_wrap(dtype):
    with ev.enable_x64():
        x = array(np.random.default_rng(0).integers(0, 100, size=(50, 20)).astype(dtype))

        def fun(x):
            return lax.cumsum(x * 3, 0), lax.cumprod(x | 1, 1), lax.cummax(x ^ 5, 0)

        got, kernels = run(fun, x)
        for a, b in zip(got, host(fun, x), strict=True):
            assert a.dtype == b.dtype
            assert (a == b).all()
        assert kernels == 3


def test_doubles_are_joined_in_order():
    with ev.enable_x64():
        x = array(np.random.default_rng(0).normal(size=3000))
        (got,), _ = run(lambda x: (lax.cumsum(x, 0),), x)
        assert (got == np.cumsum(to_numpy(x))).all()


def test_floats_are_added_up_in_double_precision():
    x = array(np.full(200_000, 0.1, np.float32))
    (got,), _ = run(lambda x: (lax.cumsum(x * 1, 0),), x)
    assert got[-1] == np.float32(np.float64(np.float32(0.1)) * 200_000)


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("first", SPECIAL)
def test_special_numbers(op, first):
    rest = np.array(SPECIAL, np.float32)
    x = array(np.stack([np.full(6, first, np.float32), rest, rest[::-1]]))
    (got,), _ = run(lambda x: (op(x, 0),), x)
    with np.errstate(invalid="ignore"):
        (want,) = host(lambda x: (op(x, 0),), x)
    if op is lax.cumlogsumexp:
        np.testing.assert_allclose(got, want, rtol=5e-7)
        return
    assert np.array_equal(got, want, equal_nan=True)
    number = got == got
    assert (np.signbit(got) == np.signbit(want))[number].all()


def test_a_running_sum_of_kernels_is_read_by_others():
    x = array(np.random.default_rng(0).normal(size=(64, 40)).astype(np.float32))

    def fun(x):
        total = lax.cumsum(jnp.exp(x), 1)
        return (jnp.argmax(total > total[:, -1:] / 2, 1),)

    (got,), _ = run(fun, x)
    assert (got == host(fun, x)[0]).all()
