"""where of one and of three arguments."""

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.arange(5)
y: ev.Array = jnp.where(x > 2, x, 0)
(places,) = jnp.where(x > 2)
count: int = places.size
