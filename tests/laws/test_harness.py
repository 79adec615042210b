"""The laws' own tools find what they are there to find."""

import ml_dtypes
import numpy as np
import pytest

from evertrace._src.ops.builders import FLOATING, elementwise
from evertrace._src.ops.elementwise import cos_p, mul_p, sin_p
from tests.support.closeness import assert_same, errors_in_ulps
from tests.support.gradcheck import check_grads

ONE = np.ones(3, np.float32)


@pytest.mark.parametrize(
    "other",
    [
        np.ones(2, np.float32),
        np.ones(3, np.float64),
        np.nextafter(ONE, 2),
        np.array([1, np.nan, 1], np.float32),
    ],
)
def test_differences_are_found(other):
    with pytest.raises(AssertionError):
        assert_same(other, ONE)


def test_sign_of_zero_is_found():
    with pytest.raises(AssertionError):
        assert_same(np.float32(-0.0), np.float32(0.0))


def test_nan_is_the_same_as_nan():
    assert_same(np.float32(np.nan), np.float32(np.nan))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_neighbours_are_an_ulp_apart(dtype):
    one = np.ones((), dtype)
    assert errors_in_ulps(np.nextafter(one, dtype(2)), one) == 1.0


def test_infinity_is_far_from_a_number():
    assert errors_in_ulps(np.float32(np.inf), np.float32(3e38)) == np.inf


def wrong(derivative):
    """Return a sine with another derivative than its own."""
    prim = elementwise("wrong", FLOATING, host=np.sin, deriv=(derivative,))
    return prim.bind


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_derivative_is_found(mode):
    with pytest.raises(AssertionError, match=mode):
        check_grads(wrong(lambda out, x: sin_p.bind(x)), [np.ones(2)], order=1, modes=(mode,))


def test_wrong_second_derivative_is_found():
    # The first derivative, cos(x), is right; its own is not: `half_right` has x.
    half_right = elementwise("half_right", FLOATING, host=np.cos, deriv=(lambda out, x: x,))
    fun = wrong(lambda out, x: half_right.bind(x))
    check_grads(fun, [np.ones(2)], order=1)
    with pytest.raises(AssertionError, match="fwd of"):
        check_grads(fun, [np.ones(2)], order=2)


def test_right_derivatives_pass():
    check_grads(lambda x, y: mul_p.bind(cos_p.bind(x), y), [np.ones(2), np.full(2, 0.5)])
