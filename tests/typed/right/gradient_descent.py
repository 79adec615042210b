"""Fit a line by gradient descent."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array, x: ev.Array, y: ev.Array) -> ev.Array:
    return jnp.mean((x @ w - y) ** 2)


@ev.jit
def step(w: ev.Array, x: ev.Array, y: ev.Array) -> ev.Array:
    gradient: ev.Array = ev.grad(loss)(w, x, y)
    return w - 0.1 * gradient


x, y = jnp.ones((4, 2)), jnp.zeros(4)
w: ev.Array = step(jnp.zeros(2), x, y)
print(float(loss(w, x, y)))
