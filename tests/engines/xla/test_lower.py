"""What the text of a program has to avoid."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp


@pytest.mark.engine
@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
def test_narrow_integers_are_joined(dtype):
    """XLA's CPU compiler ends the process where 2-bit integers are concatenated."""
    x = jnp.array([1, 0, 1]).astype(dtype)
    joined = ev.jit(lambda x: jnp.concatenate([x, x[:1]]))(x)
    assert joined.dtype == x.dtype
    assert joined.astype("int32").tolist() == [1, 0, 1, 1]
