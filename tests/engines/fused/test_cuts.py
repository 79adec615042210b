"""Loops over results are cut where what they compute is made otherwise: nothing asks there."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config
from evertrace._src.engines.fused.groups import Fused, divided, of_several
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.engines.fused.programs import drawn
from tests.engines.fused.test_kernels import PROCESSORS, run
from tests.support.runtime import array, jaxpr_of, to_numpy


def _around(x):
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1]


def _tall(x):
    return jnp.concatenate([x * 2, jnp.abs(x), -x])


PROGRAMS = {
    "a window that grows": lambda x: x.at[1:-1, 1:-1].add(0.5 * _around(x)),
    "a window that is set": lambda x: x.at[1:-2, 2:].set(0.5 * _around(x)[:-1]),
    "a window in a corner": lambda x: x.at[:-1, :-1].multiply(2 * x[1:, 1:]),
    "rolled rows": lambda x: jnp.roll(x, 1, 0) * 2 + x,
    "rolled columns": lambda x: jnp.roll(x, -3, 1) * 2 + x,
    "rolled along both": lambda x: jnp.roll(x, (1, 2), (0, 1)) - x,
    "padded": lambda x: jnp.pad(x * 2, ((1, 2), (3, 1))) + 1,
    "cropped and padded": lambda x: lax.pad(x, 7.0, ((-1, 1, 0), (2, -3, 0))) * 2,
    "joined rows": _tall,
    "turned around": lambda x: jnp.concatenate([x, x * 2], 1)[:, ::-1] + 1,
    "of one dimension": lambda x: jnp.concatenate([x[:, 0], x[0] * 2, jnp.pad(x[1], 1)]) + 1,
    "with reductions": lambda x: jnp.roll(x, 1, 1) / (1 + jnp.sum(abs(x), 1, keepdims=True)),
    "halves": lambda x: jnp.roll(x.astype(jnp.float16), 1, 0) * jnp.float16(2),
    "of halves": lambda x: x.astype(jnp.bfloat16).at[1:, 1:].add(1),
}

SHAPES = [(4, 5), (5, 17), (3, 64), (40, 83), (6, 1050)]


def _fused(fun, x):
    jaxpr, captured = jaxpr_of(fun, array(x))
    assert not captured
    return [part for part in divided(jaxpr, of_several(1)).parts if type(part) is Fused]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_as_on_the_host(name, shape):
    fun, x = PROGRAMS[name], array(drawn(shape).round(1))
    jaxpr, captured = jaxpr_of(fun, x)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    with config.override(native_kernels=False):
        want = to_numpy(fun(x))
    got = to_numpy(tape.run([*captured, x])[0])
    assert tape.counts()["functions"] > 0
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-6 if name == "with reductions" else 0)


@pytest.mark.parametrize("name", ["a window that grows", "rolled along both", "padded"])
def test_nothing_is_asked_of_elements(name):
    (kernel,) = _fused(PROGRAMS[name], drawn((40, 83)))
    assert "select" not in kernel.text
    assert "icmp ult" not in kernel.text


def test_threads_share_a_window_that_grows():
    (kernel,) = _fused(PROGRAMS["a window that grows"], drawn((40, 83)))
    assert kernel.units == 40


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_depend_on_neither_processor_nor_pieces(name):
    for kernel in _fused(PROGRAMS[name], drawn((21, 83))):
        ins = [(slot, drawn(slot[0].aval.shape, slot[0].aval.dtype)) for slot in kernel.inputs]
        want = run(kernel, ins, PROCESSORS["sse2"])[0]
        np.testing.assert_array_equal(run(kernel, ins, PROCESSORS["avx2"])[0], want)
        for pieces in (2, 5):
            np.testing.assert_array_equal(run(kernel, ins, None, pieces)[0], want)


def test_many_arrays_that_are_joined_are_no_kernel_of_many_texts():
    found = _fused(lambda x: jnp.concatenate([x * n for n in range(12)]) + 1, drawn((20, 83)))
    assert len(found) > 1
