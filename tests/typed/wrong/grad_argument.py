"""A gradient takes the arguments of the function."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array, x: ev.Array) -> ev.Array:
    return (w * x).sum()


ev.grad(loss)(jnp.ones(3))  # wrong
