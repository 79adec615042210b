"""Products of block-scaled matrices, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
from evertrace import nn
from evertrace.errors import ShapeError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16])
@pytest.mark.parametrize("how", ["eager", pytest.param("jit", marks=pytest.mark.engine)])
def test_each_block_has_its_scale(dtype, how):
    x, y = (RNG.standard_normal((2, n, 8)).astype(dtype) for n in (3, 4))
    x_scales = np.exp2(RNG.integers(-2, 3, (2, 3, 2))).astype(ml_dtypes.float8_e8m0fnu)
    y_scales = np.exp2(RNG.integers(-2, 3, (2, 4, 4))).astype(ml_dtypes.float8_e8m0fnu)
    multiply = ev.jit(nn.scaled_matmul) if how == "jit" else nn.scaled_matmul
    found = multiply(x, y, x_scales, y_scales)
    wide = [
        a.astype(np.float32) * np.repeat(s.astype(np.float32), 8 // s.shape[2], axis=2)
        for a, s in ((x, x_scales), (y, y_scales))
    ]
    np.testing.assert_allclose(found, np.einsum("bmk,bnk->bmn", *wide), rtol=1e-5, atol=1e-5)


def test_the_dtype_asked_for_is_that_of_the_result():
    ones = np.ones((1, 2, 4), np.float32)
    out = nn.scaled_matmul(ones, ones, ones, ones, preferred_element_type="bfloat16")
    assert out.dtype.name == "bfloat16"


@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 2, 4), (1, 2, 0), (2, 4)])
def test_scales_that_do_not_fit_are_refused(shape):
    ones = np.ones((1, 2, 4), np.float32)
    with pytest.raises(ShapeError, match="lhs_scales of shape"):
        nn.scaled_matmul(ones, ones, np.ones(shape, np.float32), ones)
