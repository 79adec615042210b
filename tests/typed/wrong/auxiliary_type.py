"""The auxiliary output is of its own type."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array) -> tuple[ev.Array, int]:
    return w.sum(), 3


gradient, count = ev.grad(loss, has_aux=True)(jnp.ones(3))
text: str = count  # wrong
