"""A vectorised function takes the arguments of the function."""

import evertrace as ev
import evertrace.numpy as jnp


def f(x: ev.Array) -> ev.Array:
    return x


ev.vmap(f)(jnp.ones(3), jnp.ones(3))  # wrong
