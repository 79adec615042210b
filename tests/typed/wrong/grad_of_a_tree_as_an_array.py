"""The gradient of a tree is a tree."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(params: dict[str, ev.Array]) -> ev.Array:
    return params["w"].sum()


ev.grad(loss)({"w": jnp.ones(3)}).sum()  # wrong
