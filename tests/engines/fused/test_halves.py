"""Kernels of floats of 16 bits give the bits of tapes, which round after each operation."""

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import array, jaxpr_of, to_numpy

DTYPES = pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])


def assert_bits_of_tape(fun, *args):
    """Check that kernels compute what a tape without any does; NaNs are alike."""
    jaxpr, captured = jaxpr_of(fun, *args)
    kernels, tape = [compile_jaxpr(jaxpr, is_wanted=True, fuses=n).tape for n in (1, 0)]
    assert kernels.counts()["functions"]
    outs = [[to_numpy(x) for x in made.run([*captured, *args])] for made in (kernels, tape)]
    for n, (got, want) in enumerate(zip(*outs, strict=True)):
        assert got.dtype == want.dtype
        with np.errstate(invalid="ignore"):
            nan = (got != got) & (want != want)
        bits = f"u{want.itemsize}"
        wrong = np.argwhere(~nan & (got.view(bits) != want.view(bits)))
        assert not len(wrong), f"result {n} at {wrong[0]}"


def _all(dtype):
    """Return every number of a dtype, and every one in another order."""
    bits = np.arange(65536, dtype=np.uint16)
    return array(bits.view(dtype)), array(np.roll(bits, 12345)[::-1].copy().view(dtype))


FUNCTIONS = {
    "arithmetic": lambda x, y: (x + y, x * y - x, x / y, -x, abs(x), x**3),
    "comparisons": lambda x, y: (jnp.maximum(x, y), jnp.clip(x, -3, y), x > y, jnp.isfinite(x)),
    "choices": lambda x, y: (jnp.where(x > 0, x, y), jnp.sign(x), jnp.floor(x * 1.5), jnp.round(y)),
    "conversions": lambda x, y: (x.astype(np.float32), x.astype(np.int32), (x > y).astype(x.dtype)),
    "roots": lambda x, y: (jnp.sqrt(x) + 1, jnp.reciprocal(y)),
}


@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(dtype, name):
    assert_bits_of_tape(FUNCTIONS[name], *_all(dtype))


@DTYPES
def test_doubles_are_rounded_once(dtype):
    rng = np.random.default_rng(0)
    with ev.enable_x64():
        x = array(rng.normal(size=5000) * 10.0 ** rng.integers(-9, 9, size=5000))
        ties = (1 + 2.0 ** -(ml_dtypes.finfo(dtype).nmant + 1)) * 2.0 ** rng.integers(
            -9, 9, size=99
        )
        near = array(np.nextafter(ties, 1e9))  # a float would be the tie again
        assert_bits_of_tape(lambda x, y: (x.astype(dtype), y.astype(dtype)), x, near)


@DTYPES
def test_rows_and_places(dtype):
    x = array(np.random.default_rng(0).normal(size=(100, 300)).astype(dtype))
    assert_bits_of_tape(lambda x: (x.max(1), jnp.argmin(x, 0), nn.relu(x).T, x[:, ::-2] * 2), x)
    assert_bits_of_tape(lambda x: (jnp.take(x, jnp.arange(90) % 77, axis=1) * 2,), x)


@DTYPES
def test_loops(dtype):
    x = array(np.random.default_rng(0).normal(size=(9, 100)).astype(dtype))

    def turn(total, row):
        total = total * 0.5 + row
        return total, total

    assert_bits_of_tape(lambda x: lax.scan(turn, x[0], x), x)
    assert_bits_of_tape(lambda x: (lax.fori_loop(0, 9, lambda i, y: y * 0.75 + i, x),), x)


@DTYPES
def test_a_sum_is_one_of_floats(dtype):
    x = array(np.full((4, 5000), 1, dtype))
    jaxpr, _ = jaxpr_of(lambda x: (x * 2).sum(1), x)
    made = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    (got,) = made.run([x])
    assert to_numpy(got).tolist() == [float(np.asarray(10000, dtype))] * 4
