"""checkpoint keeps the signature."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.checkpoint
def layer(x: ev.Array, w: ev.Array) -> ev.Array:
    return jnp.tanh(x @ w)


y: ev.Array = layer(jnp.ones(3), jnp.eye(3))
