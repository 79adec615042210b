"""linearize gives the output and its derivative."""

import evertrace as ev
import evertrace.numpy as jnp


def f(x: ev.Array) -> ev.Array:
    return x**3


y, push = ev.linearize(f, jnp.ones(3))
dy: ev.Array = push(jnp.ones(3))
