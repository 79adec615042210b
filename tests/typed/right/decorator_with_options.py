"""The decorator keeps names and types of arguments."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit(static_argnames="n")
def power(x: ev.Array, *, n: int = 2) -> ev.Array:
    return x**n


y: ev.Array = power(jnp.arange(3.0), n=3)
