"""Where the greatest and the least elements are."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from tests.engines.fused.test_kernels import kernel_of, run

SIZES = [2, 16, 17, 40, 500]


def numbers(shape, dtype):
    """Return numbers of which many are equal, the worst ones among them."""
    if np.dtype(dtype).kind == "f":
        values = np.array([-np.inf, np.inf, 0.0, -0.0, 1.0, np.nan], dtype)
    else:
        info = np.iinfo(dtype)
        values = np.array([info.min, info.max, 0, 1], dtype)
    rng = np.random.default_rng(0)
    x = values[rng.integers(0, len(values), shape)]
    x[:, 0], x[0] = values[0], values[0]  # all are the least
    x[:, 1], x[1] = values[1], values[1]
    return x


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", SIZES)
def test_they_are_the_first_ones(size, axis, dtype):
    x = numbers((size, 20) if axis == 0 else (20, size), dtype)
    for of in ("argmax", "argmin"):
        kernel, arrays = kernel_of(lambda x, of=of: getattr(jnp, of)(x, axis) + 1, x)
        (found,) = run(kernel, arrays)
        np.testing.assert_array_equal(found, getattr(np, of)(x, axis) + 1)


def test_what_lies_behind_is_compared_twice():
    # Once more where equal ones are looked for: only lanes, whose places are mixed, need that.
    x = numbers((64, 64), "float32")
    assert kernel_of(lambda x: jnp.argmax(x, 0) + 1, x)[0].text.count("fcmp") == 2
    assert kernel_of(lambda x: jnp.argmax(x.astype(int), 0) + 1, x)[0].text.count("icmp s") <= 3
