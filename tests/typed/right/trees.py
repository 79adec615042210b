"""Trees of parameters."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import tree

params: dict[str, ev.Array] = {"w": jnp.ones(3), "b": jnp.zeros(())}


def loss(params: dict[str, ev.Array], x: ev.Array) -> ev.Array:
    return jnp.sum(params["w"] * x) + params["b"]


gradient = ev.grad(loss)(params, jnp.ones(3))
params = tree.map(lambda p, g: p - 0.1 * g, params, gradient)
