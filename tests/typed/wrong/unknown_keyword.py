"""A jitted function knows its keywords."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array, scale: float = 1.0) -> ev.Array:
    return scale * x


f(jnp.ones(3), scala=2.0)  # wrong
