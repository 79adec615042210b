"""vmap keeps the signature."""

import evertrace as ev
import evertrace.numpy as jnp


def norm(x: ev.Array, order: int = 2) -> ev.Array:
    return jnp.linalg.norm(x, ord=order)


norms: ev.Array = ev.vmap(norm)(jnp.ones((3, 4)))
