"""Reductions of windows within kernels give what the host does, and what comes before them, too."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import array, jaxpr_of, to_numpy

REDUCTIONS = {"sum": (0, lax.add), "max": (-np.inf, lax.max), "min": (np.inf, lax.min)}
"""With what changes nothing. Elements are small integers, so that sums are exact in any order."""

WINDOWS = {
    "rows": ((5, 90), (1, 7), (1, 1), (1, 1)),
    "columns": ((60, 40), (5, 1), (3, 1), (1, 1)),
    "both, far apart": ((30, 70), (3, 4), (2, 3), (2, 1)),
    "many": ((40, 80), (9, 9), (1, 2), (1, 1)),
    "long": ((3, 900), (1, 300), (1, 100), (1, 1)),
    "channels": ((2, 10, 12, 33), (1, 2, 2, 1), (1, 2, 2, 1), (1, 1, 1, 1)),
    "everything": ((7, 50), (7, 50), (1, 1), (1, 1)),
}


LIMITS = {dtype: (np.iinfo(dtype).min, np.iinfo(dtype).max) for dtype in (np.int8, np.int32)}


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, jnp.bfloat16, np.int8, np.int32], ids=str
)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window, reduction, dtype):
    shape, size, strides, apart = WINDOWS[window]
    first, join = REDUCTIONS[reduction]
    x = array(np.random.default_rng(0).integers(-2, 3, size=shape).astype(dtype))

    def fun(x):
        y = abs(x) - 1
        init = np.clip(first, *LIMITS.get(dtype, (-np.inf, np.inf))).astype(dtype)
        return lax.reduce_window(y, init, join, size, strides, "VALID", window_dilation=apart) * 2

    jaxpr, captured = jaxpr_of(fun, x)
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    got = to_numpy(tape.run([*captured, x])[0])
    with config.override(native_kernels=False):
        want = to_numpy(fun(x))
    assert got.dtype == want.dtype
    assert (got == want).all()
    assert tape.counts()["functions"] == 1


def test_a_nan_goes_through():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    x[3, 4] = np.nan
    jaxpr, captured = jaxpr_of(
        lambda x: lax.reduce_window(x * 1, -np.inf, lax.max, (2, 2), (2, 2), "VALID"), array(x)
    )
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    assert tape.counts()["functions"] == 1
    got = to_numpy(tape.run([*captured, array(x)])[0])
    assert np.argwhere(np.isnan(got)).tolist() == [[1, 2]]
