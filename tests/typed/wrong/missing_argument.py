"""A jitted function knows its arguments."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array, y: ev.Array) -> ev.Array:
    return x + y


f(jnp.ones(3))  # wrong
