"""Without has_aux the value is no pair."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array) -> ev.Array:
    return w.sum()


value, gradient = ev.value_and_grad(loss)(jnp.ones(3))
text: str = value  # wrong
