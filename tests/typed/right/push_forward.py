"""jvp gives two results of one type."""

import evertrace as ev
import evertrace.numpy as jnp


def f(x: ev.Array) -> ev.Array:
    return jnp.exp(x)


y, dy = ev.jvp(f, (jnp.ones(3),), (jnp.ones(3),))
total: ev.Array = y + dy
