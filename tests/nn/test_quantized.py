"""Products of quantised arrays, against a model of the formats in NumPy.

JAX multiplies quantised arrays on GPUs only; how it quantises them was compared by hand.
"""

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
from evertrace import nn
from evertrace import numpy as enp
from evertrace._src.nn.quantized import quantize
from evertrace.errors import AxisError, DTypeError, ShapeError

RNG = np.random.default_rng(0)
ROWS = (((2,), (2,)), ((0,), (0,)))
MXFP8 = nn.get_scaled_dot_general_config("mxfp8")
NVFP4 = nn.get_scaled_dot_general_config("nvfp4", 0.5)
CONFIGS = {"mxfp8": [MXFP8] * 3, "nvfp4": [NVFP4] * 3, "mixed": [MXFP8, NVFP4, MXFP8]}
JITTED = pytest.param("jit", marks=pytest.mark.engine)


def rounded(x, config):
    """Return what is left of a float32 array whose last dimension is quantised in blocks."""
    count = -(-x.shape[-1] // config.block_size)
    wide = np.zeros((*x.shape[:-1], count * config.block_size), np.float64)
    wide[..., : x.shape[-1]] = x
    blocks = wide.reshape(*x.shape[:-1], count, config.block_size)
    largest = np.abs(blocks).max(-1, keepdims=True)
    if config.mode == "mxfp8":
        with np.errstate(divide="ignore"):
            scales = np.exp2(np.maximum(np.ceil(np.log2(largest / 448)), -127))
    else:
        blocks_scale = np.minimum(largest / 6 / config.global_scale, 448)
        scales = blocks_scale.astype(np.float32).astype(ml_dtypes.float8_e4m3fn)
        scales = scales.astype(np.float64) * config.global_scale
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(scales > 0, blocks / scales, 0)
    limit = float(ml_dtypes.finfo(config.data_type).max)
    data = np.clip(scaled, -limit, limit).astype(np.float32).astype(config.data_type)
    return (data.astype(np.float64) * scales).reshape(wide.shape)[..., : x.shape[-1]]


def normal(*shape):
    """Draw numbers of many magnitudes."""
    return (RNG.standard_normal(shape) * np.exp(RNG.uniform(-6, 3, shape))).astype(np.float32)


def run(fun, how):
    """Return the function, jitted if so wished."""
    return ev.jit(fun) if how == "jit" else fun


@pytest.mark.parametrize("how", ["eager", JITTED])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("k", [64, 40, 1, 0])
def test_products_are_those_of_rounded_operands(k, name, how):
    configs = CONFIGS[name]
    x, y = normal(2, 5, k), normal(2, 3, k)
    found = run(lambda x, y: nn.scaled_dot_general(x, y, ROWS, configs=configs), how)(x, y)
    expected = np.einsum("bmk,bnk->bmn", rounded(x, configs[0]), rounded(y, configs[1]))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("how", ["eager", JITTED])
@pytest.mark.parametrize(
    ("largest", "scale", "second"),
    [(448.0, 0, 144), (449.0, 1, 72), (1.0, -8, 88), (1.75, -8, 144), (1.76, -7, 72), (0, -127, 0)],
)
def test_powers_are_rounded_up(largest, scale, second, how):
    x = np.zeros((1, 1, 32), np.float32)
    x[0, 0, :2] = largest, largest / 3
    data, scales = run(lambda x: quantize(enp.asarray(x), MXFP8), how)(x)
    assert float(scales[0, 0, 0]) == 2.0**scale
    assert float(data[0, 0, 1]) == second


@pytest.mark.parametrize("how", ["eager", JITTED])
def test_what_is_not_a_number_makes_its_products_none(how):
    x = np.ones((1, 3, 64), np.float32)
    x[0, 0, 0], x[0, 1, 40] = np.nan, np.inf
    for name, configs in CONFIGS.items():
        out = run(lambda x, c=configs: nn.scaled_dot_general(x, x, ROWS, configs=c), how)(x)
        finite = np.isfinite(out)[0]
        assert not finite[0].any()
        assert not finite[:, 0].any()
        assert finite[2, 2]
        assert finite[1, 1] == (name == "nvfp4")  # where infinity saturates


@pytest.mark.parametrize("how", ["eager", JITTED])
def test_gradients_pass_through_the_rounding(how):
    x, y, ct = normal(2, 5, 40), normal(2, 3, 40), normal(2, 5, 3)

    def pull(name):
        def fun(x, y):
            return nn.scaled_dot_general(x, y, ROWS, configs=CONFIGS[name])

        return run(lambda ct: ev.vjp(fun, x, y)[1](ct), how)(ct)

    d_x, d_y = pull("nvfp4")  # as if nothing were rounded
    np.testing.assert_allclose(d_x, np.einsum("bmn,bnk->bmk", ct, y), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(d_y, np.einsum("bmn,bmk->bnk", ct, x), rtol=1e-4, atol=1e-4)
    d_x, d_y = pull("mxfp8")  # all along the dimension that is contracted
    turned = [np.swapaxes(a, 1, 2) for a in (x, y, ct)]
    x_t, y_t, ct_t = (rounded(a, MXFP8) for a in turned)
    expected = np.einsum("bmn,bkn->bmk", rounded(ct, MXFP8), y_t)
    np.testing.assert_allclose(d_x, expected, rtol=1e-4, atol=1e-4)
    expected = np.einsum("bnm,bkm->bnk", ct_t, x_t)
    np.testing.assert_allclose(d_y, expected, rtol=1e-4, atol=1e-4)


def test_what_scales_cannot_reach_has_no_gradient():
    x = np.array([[[2688.0 * 0.5, 2689.0 * 0.5, -5000.0]]], np.float32)
    d_x = ev.grad(
        lambda x: nn.scaled_dot_general(x, ev.numpy.ones_like(x), ROWS, configs=[NVFP4] * 3).sum()
    )(x)
    np.testing.assert_array_equal(d_x, [[[1, 0, 0]]])


def test_global_scales_may_be_traced_and_have_no_gradient():
    x = normal(1, 2, 16)

    def fun(scale):
        configs = [nn.get_scaled_dot_general_config("nvfp4", scale)] * 3
        return nn.scaled_dot_general(x, x, ROWS, configs=configs).sum()

    scale = np.full(1, 0.5, np.float32)
    np.testing.assert_allclose(ev.jit(fun)(scale), fun(scale), rtol=1e-6)
    np.testing.assert_array_equal(ev.grad(fun)(scale), [0])


def test_dimensions_go_where_dot_general_has_them():
    x, y = normal(2, 4, 3, 5, 8).astype(ml_dtypes.bfloat16), normal(8, 6, 2, 4)
    dims = (((4, 1), (0, 3)), ((0,), (2,)))
    found = nn.scaled_dot_general(
        x, y, dims, preferred_element_type="bfloat16", configs=[MXFP8] * 3
    )
    plain = nn.scaled_dot_general(x.astype(np.float32), y, dims)
    assert found.dtype == "bfloat16"
    assert found.shape == plain.shape == (2, 3, 5, 6)
    close = np.abs(np.asarray(found, np.float32) - plain) < 0.1 * np.abs(plain).max()
    assert close.all()
    d_x, _ = ev.grad(
        lambda x, y: nn.scaled_dot_general(x, y, dims, configs=[MXFP8] * 3).sum(), argnums=(0, 1)
    )(x, y)
    assert d_x.dtype == x.dtype


@pytest.mark.parametrize(
    ("error", "text", "change"),
    [
        (ValueError, "configs has 2 entries", {"configs": [MXFP8] * 2}),
        (DTypeError, "preferred_element_type is float64", {"preferred_element_type": "float64"}),
        (
            ShapeError,
            "a global scale has shape",
            {"configs": [nn.get_scaled_dot_general_config("nvfp4", np.ones(2))] * 3},
        ),
        (AxisError, r"dimensions \(0, 3\) of lhs", {"dimension_numbers": (((3,), (2,)), ROWS[1])}),
        (
            ShapeError,
            "contracting dimensions have sizes",
            {"dimension_numbers": (((2,), (1,)), ROWS[1])},
        ),
    ],
)
def test_mistakes(error, text, change):
    arguments = {"dimension_numbers": ROWS, "configs": [MXFP8] * 3} | change
    with pytest.raises(error, match=f"scaled_dot_general: {text}"):
        nn.scaled_dot_general(normal(1, 2, 8), normal(1, 3, 8), **arguments)


def test_modes_are_named():
    with pytest.raises(ValueError, match="there is no mode 'fp8'"):
        nn.get_scaled_dot_general_config("fp8")
