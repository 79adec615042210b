"""unique with an index gives a tuple."""

import evertrace as ev
import evertrace.numpy as jnp

x: ev.Array = jnp.unique(jnp.ones(3), return_index=True)  # wrong
