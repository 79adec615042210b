"""What the laws do not say of convolutions: the forms they come in, padding by name, errors."""

import numpy as np
import pytest

from evertrace._src.errors import DTypeError, ShapeError
from evertrace._src.lax import conv
from evertrace._src.lax.padding import padtype_to_pads
from tests.specs.conv import conv_oracle
from tests.support.runtime import array, run_compiled, to_numpy

NHWC = ("NHWC", "HWIO", "NHWC")


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(
    ("padding", "pads"),
    [
        ("VALID", [(0, 0), (0, 0)]),
        ("SAME", [(0, 1), (1, 1)]),
        ("same_lower", [(1, 0), (1, 1)]),
        ([(3, -1), (0, 2)], [(3, -1), (0, 2)]),
    ],
)
def test_padding_by_name(padding, pads):
    assert padtype_to_pads((6, 5), (3, 3), (2, 1), padding) == pads


def test_dimension_numbers_from_letters():
    numbers = conv.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NWHC", "HIWO", "CNHW"))
    assert numbers == conv.ConvDimensionNumbers((0, 3, 2, 1), (3, 1, 0, 2), (1, 0, 2, 3))
    assert conv.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers) is numbers


@pytest.mark.parametrize("name", ["SAME", "VALID", "SAME_LOWER"])
def test_same_padding_counts_dilated_sizes(name):
    x, w = draw(2, 5, 6, 3), draw(2, 3, 3, 4, seed=1)
    out = conv.conv_general_dilated(array(x), array(w), (2, 1), name, (1, 2), (2, 1), NHWC)
    pads = padtype_to_pads((5, 11), (3, 3), (2, 1), name)
    expected = conv_oracle(x, w, (2, 1), pads, (1, 2), (2, 1), NHWC)
    np.testing.assert_allclose(to_numpy(out), expected, rtol=1e-10, atol=1e-10)


def test_conv_is_features_first():
    x, w = draw(2, 3, 5, 4), draw(4, 3, 2, 2, seed=1)
    expected = conv_oracle(x, w, (1, 2), ((0, 0), (0, 0)), (1, 1), (1, 1), None)
    out = conv.conv(array(x), array(w), (1, 2), "VALID")
    np.testing.assert_allclose(to_numpy(out), expected, rtol=1e-10, atol=1e-10)
    padded = conv.conv_with_general_padding(array(x), array(w), (1, 2), "VALID", None, None)
    np.testing.assert_array_equal(to_numpy(padded), to_numpy(out))


@pytest.mark.parametrize(("strides", "padding"), [((2, 2), "SAME"), ((3, 1), "VALID")])
def test_conv_transpose_is_the_transpose(strides, padding):
    """With its kernel transposed it is the adjoint of the convolution: <y, C x> = <C' y, x>."""
    w = draw(3, 2, 3, 4)
    y = draw(2, 4, 5, 4, seed=1)
    back = to_numpy(
        conv.conv_transpose(array(y), array(w), strides, padding, transpose_kernel=True)
    )
    x = draw(*back.shape, seed=2)
    forward = conv.conv_general_dilated(array(x), array(w), strides, padding, None, None, NHWC)
    assert np.vdot(y, to_numpy(forward)) == pytest.approx(np.vdot(back, x))


def test_consistent_padding_pads_the_convolution():
    x, w = array(draw(1, 4, 2)), array(draw(3, 2, 2, seed=1))
    named = conv.conv_transpose(x, w, (1,), "VALID")
    pairs = conv.conv_transpose(x, w, (1,), [(0, 0)], use_consistent_padding=True)
    np.testing.assert_array_equal(to_numpy(named), to_numpy(pairs))
    assert conv.conv_transpose(x, w, (1,), [(0, 0)]).shape == (1, 2, 2)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_shape_functions(padding):
    x, w = draw(2, 5, 6, 3), draw(3, 2, 3, 4)
    out = conv.conv_general_dilated(array(x), array(w), (2, 1), padding, dimension_numbers=NHWC)
    assert conv.conv_general_shape_tuple(x.shape, w.shape, (2, 1), padding, NHWC) == out.shape
    back = conv.conv_transpose(array(x), array(w), (2, 1), padding)
    assert conv.conv_transpose_shape_tuple(x.shape, w.shape, (2, 1), padding, NHWC) == back.shape


def test_patches_are_the_windows():
    x = draw(1, 4, 5, 2)
    out = to_numpy(
        conv.conv_general_dilated_patches(array(x), (2, 3), (1, 1), "VALID", dimension_numbers=NHWC)
    )
    assert out.shape == (1, 3, 3, 12)
    for c in range(2):
        window = x[0, 1:3, 2:5, c].reshape(-1)
        np.testing.assert_array_equal(out[0, 1, 2, 6 * c : 6 * c + 6], window)


def test_sums_in_a_wider_integer():
    x = np.random.default_rng(0).integers(-128, 128, (1, 5, 5, 3)).astype(np.int8)
    w = np.random.default_rng(1).integers(-128, 128, (3, 3, 3, 2)).astype(np.int8)

    def fun(x, w):
        return conv.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=NHWC, preferred_element_type=np.int32
        )

    pads, ones = ((0, 0), (0, 0)), (1, 1)
    expected = conv_oracle(x.astype(np.int32), w.astype(np.int32), ones, pads, ones, ones, NHWC)
    np.testing.assert_array_equal(to_numpy(fun(array(x), array(w))), expected)
    np.testing.assert_array_equal(run_compiled(fun, array(x), array(w))[0], expected)


X = array(np.ones((2, 4, 5, 3), np.float32))
W = array(np.ones((2, 2, 3, 4), np.float32))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ShapeError, "lhs has 4 features, but rhs takes 2 in each of 1 groups"),
        ({"dimension_numbers": ("NHWC", "HWIO")}, ValueError, "need three strings of 4 letters"),
        ({"dimension_numbers": ["N"] * 10**6}, ValueError, r"numbers \('N', 'N', 'N'\): need"),
        ({"dimension_numbers": ("NHWC", "HWIO", "NHHC")}, ValueError, "'NHHC' should have N, C"),
        (
            {"dimension_numbers": NHWC, "feature_group_count": 2},
            ShapeError, "rhs takes 3 in each of 2 groups",
        ),
        (
            {"dimension_numbers": NHWC, "batch_group_count": 3},
            ShapeError, "the batch of 2 is no multiple",
        ),
        (
            {"dimension_numbers": NHWC, "rhs_dilation": (0, 1)},
            ShapeError, "rhs_dilation .0, 1. must be positive",
        ),
        ({"dimension_numbers": NHWC, "rhs_dilation": (1,)}, ShapeError, "do not fit"),
        (
            {"dimension_numbers": NHWC, "rhs_dilation": (1,), "padding": "SAME"},
            ShapeError, "do not fit",
        ),
    ],
)  # fmt: skip
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        conv.conv_general_dilated(X, W, (1, 1), **({"padding": ((0, 0), (0, 0))} | options))


def test_dtypes_must_agree():
    with pytest.raises(DTypeError, match="must have the same dtype"):
        conv.conv(X, array(np.ones((1, 4, 2, 2), np.float16)), (1, 1), "SAME")
