"""A jitted function knows the types of its arguments."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array, name: str) -> ev.Array:
    return x


f(jnp.ones(3), 3)  # wrong
