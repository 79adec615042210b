"""`typing.ArrayLike` at run time: libraries ask by `isinstance` whether a value is one."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp


@pytest.mark.parametrize("value", [1, 2.0, 1j, True, np.float32(1), np.bool_(True), np.ones(2)])
def test_numbers_and_arrays_are_instances(value):
    assert isinstance(value, ev.typing.ArrayLike)
    assert not isinstance([value], ev.typing.ArrayLike)


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit, ev.vmap, ev.grad])
def test_arrays_that_are_traced_are_instances(wrap):
    seen = []

    def fun(x):
        seen.append(isinstance(x, ev.typing.ArrayLike))
        return x

    with ev.strict():
        wrap(fun)(jnp.ones(2) if wrap is ev.vmap else jnp.float32(1))
    assert seen == [True]
