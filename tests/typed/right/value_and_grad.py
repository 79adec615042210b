"""The value is of the type of the function."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array) -> ev.Array:
    return (w**2).sum()


value, gradient = ev.value_and_grad(loss)(jnp.ones(3))
shape: tuple[int, ...] = value.shape
