"""unique, sort and others give one array, or several."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

x = jnp.array([3, 1, 3])
values: ev.Array = jnp.unique(x)
found, first = jnp.unique(x, return_index=True)
ordered: ev.Array = first[0]
least: ev.Array = lax.sort(x)
keys, rows = lax.sort((x, x))
largest: ev.Array = lax.sort_key_val(x, x)[1].max()
line: ev.Array = jnp.polyfit(jnp.arange(3.0), jnp.ones(3), 1).round()
