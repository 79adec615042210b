"""Arrays of all kinds."""

import evertrace as ev
import evertrace.numpy as jnp

a = jnp.array([[1, 2], [3, 4]])
b = jnp.arange(0, 10, 2)
c = jnp.linspace(0.0, 1.0, 5)
points, step = jnp.linspace(0.0, 1.0, 5, retstep=True)
d = jnp.full((2, 3), 7.0)
e = jnp.eye(3)
width: ev.Array = step + c[0]
