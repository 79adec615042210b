"""vjp gives the output and a function."""

import evertrace as ev
import evertrace.numpy as jnp


def f(x: ev.Array) -> ev.Array:
    return jnp.sin(x)


y, pull = ev.vjp(f, jnp.ones(3))
(cotangent,) = pull(jnp.ones_like(y))
rounded: ev.Array = y.round(2)
