"""Reading and updating by index."""

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.zeros((3, 4))
row: ev.Array = x[0]
part: ev.Array = x[1:, ..., None]
y: ev.Array = x.at[0, 1].set(2.0).at[:, 2].add(1.0)
z: ev.Array = x[jnp.array([0, 2])]
