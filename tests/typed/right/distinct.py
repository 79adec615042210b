"""unique gives one array, or several."""

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.array([3, 1, 3])
values: ev.Array = jnp.unique(x)
found, first = jnp.unique(x, return_index=True)
ordered: ev.Array = first[0]
