"""A jitted function knows what it returns."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array) -> ev.Array:
    return x


text: str = f(jnp.ones(3))  # wrong
