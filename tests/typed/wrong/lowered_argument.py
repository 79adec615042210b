"""lower takes the arguments of the function."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array) -> ev.Array:
    return x


f.lower(jnp.ones(3), 4)  # wrong
